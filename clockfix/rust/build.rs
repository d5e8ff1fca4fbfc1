// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compiles libclockfix into one object that shows `clockfix_*` only. `CC`, `AR` and `OBJCOPY`
//! choose the tools, `CLOCKFIX_CFLAGS` adds options.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn tool(variable: &str, default: &str) -> String {
    println!("cargo:rerun-if-env-changed={variable}");
    env::var(variable).unwrap_or_else(|_| default.into())
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("{command:?}: {status}"),
        Err(error) => panic!("{command:?}: {error}; a C compiler and binutils are needed"),
    }
}

fn sources(place: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(place)
        .unwrap_or_else(|error| panic!("{}: {error}", place.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().map_or(false, |extension| extension == "c"))
        .collect();
    found.sort();
    found
}

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        panic!("clockfix is for Linux");
    }
    let cc = tool("CC", "cc");
    let ar = tool("AR", "ar");
    let objcopy = tool("OBJCOPY", "objcopy");
    let flags = tool("CLOCKFIX_CFLAGS", "");
    let csrc = root.join("csrc");
    let linux = csrc.join("linux");
    let include = root.join("include");
    let internal = out.join("internal.a");
    let mut objects = Vec::new();

    for source in sources(&csrc).into_iter().chain(sources(&linux)) {
        let object = out.join(source.file_stem().unwrap()).with_extension("o");
        run(Command::new(&cc)
            .args(["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE"])
            .args(["-pthread", "-c"])
            .args(flags.split_whitespace())
            .arg("-I").arg(&include)
            .arg("-I").arg(&csrc)
            .arg("-I").arg(&linux)
            .arg("-o").arg(&object)
            .arg(&source));
        objects.push(object);
    }
    let _ = fs::remove_file(&internal);
    run(Command::new(&ar).arg("crs").arg(&internal).args(&objects));
    run(Command::new("sh")
        .arg(csrc.join("archive.sh")).arg(&internal).arg(out.join("libclockfix.a"))
        .args([&objcopy, &ar, &cc])
        .args(flags.split_whitespace()));
    println!("cargo:rerun-if-changed=csrc");
    println!("cargo:rerun-if-changed=include");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=clockfix");
    println!("cargo:include={}", include.display());
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compiles libclockfix into one object that shows `clockfix_*` only. `CC`, `AR` and `OBJCOPY`
//! choose the tools, `CLOCKFIX_CFLAGS` adds options.

use std::env;
use std::process::Command;

fn tool(variable: &str, default: &str) -> String {
    println!("cargo:rerun-if-env-changed={variable}");
    env::var(variable).unwrap_or_else(|_| default.into())
}

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap();
    let out = env::var("OUT_DIR").unwrap();
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        panic!("clockfix is for Linux");
    }
    let script = format!(
        "sh csrc/archive.sh \"$OUT_DIR/libclockfix.a\" {} {} {} -std=gnu11 -O2 -g -fPIC \
         -fvisibility=hidden -D_GNU_SOURCE -pthread {} -Iinclude -Icsrc -Icsrc/linux \
         csrc/*.c csrc/linux/*.c",
        tool("OBJCOPY", "objcopy"), tool("AR", "ar"), tool("CC", "cc"), tool("CLOCKFIX_CFLAGS", ""),
    );
    let status = Command::new("sh").args(["-c", &script]).current_dir(&root).status();
    if !status.map_or(false, |status| status.success()) {
        panic!("{script}: a C compiler and binutils are needed");
    }
    println!("cargo:rerun-if-changed=csrc");
    println!("cargo:rerun-if-changed=include");
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=clockfix");
    println!("cargo:include={root}/include");
}

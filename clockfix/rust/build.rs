// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compiles libclockfix, by the compiler for the target that `cc` finds. `CLOCKFIX_CFLAGS` adds options.

use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap();
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        panic!("clockfix is for Linux");
    }
    println!("cargo:rerun-if-env-changed=CLOCKFIX_CFLAGS");
    println!("cargo:rerun-if-changed=csrc");
    println!("cargo:rerun-if-changed=include");
    let sources = ["csrc", "csrc/linux"].iter().flat_map(|place| fs::read_dir(place).expect(place))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().map_or(false, |name| name == "c"));
    let mut build = cc::Build::new();
    build.files(sources).includes(["include", "csrc", "csrc/linux"]).flag("-std=gnu11").opt_level(2)
        .define("_GNU_SOURCE", None).flag("-fvisibility=hidden").flag("-pthread");
    for flag in env::var("CLOCKFIX_CFLAGS").unwrap_or_default().split_whitespace() {
        build.flag(flag);
    }
    build.compile("clockfix");
    println!("cargo:include={root}/include");
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compiles libclockfix, by the compiler for the target that `cc` finds, and makes Rust of its header.
//! `CLOCKFIX_CFLAGS` adds options.

use std::{env, fs};

/// Of a C type that is no pointer.
fn rust_type(c: &str) -> &str {
    match c {
        "int" => "c_int",
        "unsigned int" => "c_uint",
        "double" => "c_double",
        "void" => "c_void",
        "size_t" => "usize",
        "int32_t" => "i32",
        "uint32_t" => "u32",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        name => name.trim_start_matches("struct "),
    }
}

/// `const struct x *name` or `x name[SIZE]`, a field or a parameter.
fn variable(c: &str) -> String {
    let (c, size) = c.split_once('[').unwrap_or((c, ""));
    let start = c.rfind([' ', '*']).map_or(0, |at| at + 1);
    let (before, name) = c.split_at(start);
    let pointer = if before.starts_with("const ") { "*const " } else { "*mut " };
    let base = rust_type(before.trim_start_matches("const ").trim_end_matches([' ', '*']));
    let whole = pointer.repeat(before.matches('*').count()) + base;
    match size.strip_suffix(']') {
        Some(size) => format!("r#{name}: [{whole}; {size} as usize]"),
        None => format!("r#{name}: {whole}"),
    }
}

/// One of the header's declarations. Typedefs are in sys.rs.
fn declaration(c: &str) -> String {
    if c.starts_with("typedef") {
        return String::new();
    }
    if let Some((name, fields)) = c.strip_suffix("; }").and_then(|c| c.split_once(" { ")) {
        // what the library points to is not for programs to set
        let visible = |field: &str| if field.contains('*') { "pub(crate)" } else { "pub" };
        let fields: String = fields.split("; ")
            .map(|field| format!("    {} {},\n", visible(field), variable(field)))
            .collect();
        // what points to a timer must not outlive it
        let derives = if fields.contains('*') { "Debug" } else { "Debug, Clone, Copy" };
        return format!("#[repr(C)]\n#[derive({derives})]\npub struct {} {{\n{fields}}}\n",
                       rust_type(name));
    }
    if let Some((head, parameters)) = c.strip_suffix(')').and_then(|c| c.split_once('(')) {
        let (result, name) = head.rsplit_once(' ').expect(c);
        let parameters: Vec<_> =
            parameters.split(", ").filter(|p| *p != "void").map(variable).collect();
        let result = if result == "void" { "()" } else { rust_type(result) };
        let parameters = parameters.join(", ");
        return format!("extern \"C\" {{ pub fn {name}({parameters}) -> {result}; }}\n");
    }
    if let Some((_, constants)) = c.strip_suffix(", }").and_then(|c| c.split_once(" { ")) {
        // each says its value, or has the next
        let mut next = 0;
        return constants.split(", ").map(|constant| {
            let (name, value) = constant.split_once(" = ").unwrap_or((constant, ""));
            next = value.parse().unwrap_or(next) + 1;
            format!("pub const {name}: i32 = {};\n", next - 1)
        }).collect();
    }
    format!("#[repr(C)]\npub struct {} {{ _private: [u8; 0] }}\n", rust_type(c))
}

/// The header in Rust.
fn rust_of(header: &str) -> String {
    let (_, c) = header.split_once("extern \"C\" {\n#endif\n").expect("a header");
    let (c, _) = c.rsplit_once("#ifdef").expect("a header");
    let code: String =
        c.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let (defines, code): (Vec<&str>, Vec<&str>) =
        code.lines().partition(|line| line.starts_with("#define "));
    let constants = defines.iter().map(|line| {
        let (name, value) = line[8..].split_once(char::is_whitespace).expect(line);
        format!("pub const {name}: u32 = {};\n", value.trim().replace("1u", "1"))
    });
    let mut depth = 0;
    let code = code.join("\n");
    let declarations = code.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ';' && depth == 0
    });
    constants.chain(
        declarations.map(|c| c.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|c| !c.is_empty())
            .map(|c| declaration(&c))
    ).collect()
}

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap();
    let out = env::var("OUT_DIR").unwrap();
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
    let header = fs::read_to_string(format!("{root}/include/clockfix.h")).expect("the header");
    fs::write(format!("{out}/header.rs"), rust_of(&header)).expect("OUT_DIR");
    println!("cargo:include={root}/include");
}

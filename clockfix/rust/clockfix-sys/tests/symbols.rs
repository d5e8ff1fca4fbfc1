// SPDX-License-Identifier: LGPL-2.1-or-later
//! The archive shows what the header declares and nothing else: a program may have its own names.

use std::process::Command;

#[test]
fn the_archive_shows_clockfix_only() {
    let archive = concat!(env!("OUT_DIR"), "/libclockfix.a");
    let nm = Command::new("nm").args(["-g", "--defined-only", archive]).output().unwrap();
    let text = String::from_utf8(nm.stdout).unwrap();
    let names: Vec<_> = text.lines().filter_map(|line| line.splitn(3, ' ').nth(2)).collect();

    assert!(names.contains(&"clockfix_create"), "{archive}");
    let others: Vec<_> = names.iter().filter(|name| !name.starts_with("clockfix_")).collect();
    assert!(others.is_empty(), "{others:?}");
}

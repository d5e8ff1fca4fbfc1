// SPDX-License-Identifier: LGPL-2.1-or-later
//! The structures and constants are those of the header: a C compiler compares them.

use ::clockfix::sys::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::{size_of, MaybeUninit};
use std::process::{Command, Stdio};
use std::ptr::addr_of;

macro_rules! structure {
    ($text:ident, $name:ident: $($field:ident),+) => {
        let place = MaybeUninit::<$name>::uninit();
        let base = place.as_ptr();
        writeln!($text, "_Static_assert(sizeof(struct {0}) == {1}, \"{0}\");",
                 stringify!($name), size_of::<$name>()).unwrap();
        $(
            // SAFETY: the address of a field, which is not read
            let offset = unsafe { addr_of!((*base).$field) as usize } - base as usize;
            let field = stringify!($field).trim_start_matches("r#");
            writeln!($text, "_Static_assert(offsetof(struct {0}, {1}) == {2}, \"{0}.{1}\");",
                     stringify!($name), field, offset).unwrap();
        )+
    };
}

macro_rules! constants {
    ($text:ident: $($name:ident),+) => {
        $(writeln!($text, "_Static_assert({0} == {1}, \"{0}\");", stringify!($name), $name)
            .unwrap();)+
    };
}

fn compiles(text: &str) -> bool {
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let mut compiler = Command::new(cc)
        .args(["-x", "c", "-fsyntax-only", "-I", include, "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    compiler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    compiler.wait().unwrap().success()
}

#[test]
fn layout() {
    let mut text = String::from("#include <clockfix.h>\n");
    structure!(text, clockfix_run: instant, started, index, missed, job, timer);
    structure!(text, clockfix_options: size, flags, cpu, policy, priority,
               cpu_latency_us, source, late_ppm, cpu_ppm, max_jobs, job_reserve, name);
    structure!(text, clockfix_spec: size, clock, missed, start, period, runs, r#fn, arg);
    structure!(text, clockfix_histogram: count, sum, max, bucket);
    structure!(text, clockfix_stats: size, jobs, cancelled, pending, sleeps, disturbed, deferred,
               trials, missed, late, counter_faults, prediction, learning_cost, polled,
               longest_job, late_ppm, cpu_ppm, limit, lateness, oversleep, polling);
    constants!(text: CLOCKFIX_SOURCE_CLOCK, CLOCKFIX_LOCK_MEMORY,
               CLOCKFIX_STRICT, CLOCKFIX_DROP_PENDING,
               CLOCKFIX_MISSED_SKIP, CLOCKFIX_MISSED_CATCH_UP, CLOCKFIX_MISSED_REPORT,
               CLOCKFIX_HISTOGRAM_BUCKETS);
    assert!(compiles(&text), "{text}");
    // and the comparison can fail
    assert!(!compiles("#include <clockfix.h>\n_Static_assert(CLOCKFIX_STRICT == 0, \"expected\");"));
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//! What is used of clockfix.h, in Rust. The library refuses structures that are smaller than its own.

use std::os::raw::{c_double, c_int};

pub const CLOCK_MONOTONIC: c_int = 1;

#[repr(C)]
pub struct clockfix_sleeper {
    _private: [u8; 0],
}

/// Options of a sleeper, by the names that `clockfix.h` explains. Begin with the defaults:
/// `Options { late_ppm: 1000, ..Options::default() }`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub size: usize,
    /// The thread's CPU, policy and priority are its own affair: leave them alone.
    pub cpu: i32,
    pub policy: i32,
    pub priority: i32,
    pub estimator: i32,
    pub late_ppm: u32,
    pub cpu_ppm: u32,
    pub max_jobs: u32,
}

/// A histogram of durations.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Histogram {
    pub count: u64,
    pub sum: i64,
    pub max: i64,
    pub bucket: [u64; 640],
}

/// What happened so far, by the names that `clockfix.h` explains.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Stats {
    pub size: usize,
    pub jobs: u64,
    pub cancelled: u64,
    pub pending: u64,
    pub sleeps: u64,
    pub missed: u64,
    pub late: u64,
    pub stopped: u64,
    pub polled: i64,
    pub late_ppm: i64,
    pub cpu_ppm: i64,
    pub lateness: Histogram,
}

extern "C" {
    pub fn clockfix_options_init(options: *mut Options);
    pub fn clockfix_now(clock: c_int) -> i64;
    pub fn clockfix_sleeper_create(
        sleeper: *mut *mut clockfix_sleeper, options: *const Options,
    ) -> c_int;
    pub fn clockfix_sleeper_destroy(sleeper: *mut clockfix_sleeper);
    pub fn clockfix_sleep_until(
        sleeper: *mut clockfix_sleeper, clock: c_int, instant: i64,
    ) -> c_int;
    pub fn clockfix_sleeper_fd(sleeper: *mut clockfix_sleeper) -> c_int;
    pub fn clockfix_sleeper_arm(sleeper: *mut clockfix_sleeper, instant: i64) -> c_int;
    pub fn clockfix_sleeper_finish(sleeper: *mut clockfix_sleeper) -> c_int;
    pub fn clockfix_sleeper_stats_read(sleeper: *mut clockfix_sleeper, stats: *mut Stats) -> c_int;
    pub fn clockfix_histogram_quantile(histogram: *const Histogram, q: c_double) -> i64;
}

impl Default for Options {
    fn default() -> Self {
        let mut options = std::mem::MaybeUninit::uninit();
        // SAFETY: it fills in all of it
        unsafe {
            clockfix_options_init(options.as_mut_ptr());
            options.assume_init()
        }
    }
}

impl Histogram {
    /// The value that a share of `q` (0 to 1) does not exceed; 0 without values.
    pub fn quantile(&self, q: f64) -> i64 {
        // SAFETY: a valid histogram
        unsafe { clockfix_histogram_quantile(self, q) }
    }
}

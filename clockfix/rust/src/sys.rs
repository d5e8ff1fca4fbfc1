// SPDX-License-Identifier: LGPL-2.1-or-later
//! libclockfix as it is; its header explains it.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_double, c_int, c_uint, c_void};

/// A timer.
#[repr(C)]
pub struct clockfix {
    _private: [u8; 0],
}

/// A sleeper.
#[repr(C)]
pub struct clockfix_sleeper {
    _private: [u8; 0],
}

pub const CLOCK_MONOTONIC: clockid_t = 1;

pub type clockid_t = c_int;
pub type clockfix_job = u64;
pub type clockfix_fn = unsafe extern "C" fn(arg: *mut c_void, run: *const clockfix_run);

/// What a job is told when it runs.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct clockfix_run {
    pub instant: i64,
    pub started: i64,
    pub index: u64,
    pub missed: u64,
    pub job: clockfix_job,
    pub timer: *mut clockfix,
}

pub const SCHED_FIFO: i32 = 1;
pub const CLOCKFIX_SOURCE_CLOCK: i32 = 2;
pub const CLOCKFIX_LOCK_MEMORY: u32 = 1 << 0;
pub const CLOCKFIX_STRICT: u32 = 1 << 1;
pub const CLOCKFIX_DROP_PENDING: c_uint = 1 << 0;
pub const CLOCKFIX_MISSED_SKIP: i32 = 0;
pub const CLOCKFIX_MISSED_CATCH_UP: i32 = 1;
pub const CLOCKFIX_MISSED_REPORT: i32 = 2;
pub const CLOCKFIX_HISTOGRAM_BUCKETS: usize = 640;

/// Options of a timer or sleeper, by the names that `clockfix_create(3)` explains. Begin with the
/// defaults: `Options { policy: SCHED_FIFO, priority: 80, ..Options::default() }`.
///
/// A value that is out of its range is an error of [`Timer::new`](crate::Timer::new). What asks for
/// a privilege is tried, and where it is refused the timer runs without; with [`CLOCKFIX_STRICT`]
/// in `flags` it fails.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct clockfix_options {
    pub size: usize,
    pub flags: u32,
    pub cpu: i32,
    pub policy: i32,
    pub priority: i32,
    pub cpu_latency_us: i32,
    pub source: i32,
    pub late_ppm: u32,
    pub cpu_ppm: u32,
    pub max_jobs: u32,
    pub job_reserve: u32,
    pub name: [c_char; 16],
}

impl Default for clockfix_options {
    fn default() -> Self {
        let mut options = std::mem::MaybeUninit::uninit();
        // SAFETY: it fills in all of it
        unsafe {
            clockfix_options_init(options.as_mut_ptr());
            options.assume_init()
        }
    }
}

/// A job in full.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct clockfix_spec {
    pub size: usize,
    pub clock: clockid_t,
    pub missed: i32,
    pub start: i64,
    pub period: i64,
    pub runs: u64,
    pub r#fn: Option<clockfix_fn>,
    pub arg: *mut c_void,
}

/// A histogram of durations.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct clockfix_histogram {
    pub count: u64,
    pub sum: i64,
    pub max: i64,
    pub bucket: [u64; CLOCKFIX_HISTOGRAM_BUCKETS],
}

/// What happened so far.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct clockfix_stats {
    pub size: usize,
    pub jobs: u64,
    pub cancelled: u64,
    pub pending: u64,
    pub sleeps: u64,
    pub disturbed: u64,
    pub deferred: u64,
    pub trials: u64,
    pub missed: u64,
    pub late: u64,
    pub counter_faults: u64,
    pub prediction: i64,
    pub learning_cost: i64,
    pub polled: i64,
    pub longest_job: i64,
    pub late_ppm: i64,
    pub cpu_ppm: i64,
    pub limit: i64,
    pub lateness: clockfix_histogram,
    pub oversleep: clockfix_histogram,
    pub polling: clockfix_histogram,
}

impl clockfix_histogram {
    /// The value that a share of `q` (0 to 1) does not exceed; 0 without values.
    pub fn quantile(&self, q: f64) -> i64 {
        // SAFETY: a valid histogram
        unsafe { clockfix_histogram_quantile(self, q) }
    }
}

/// Statistics, by one of the functions that read them.
pub(crate) fn stats_by(read: impl FnOnce(*mut clockfix_stats) -> i32) -> std::io::Result<clockfix_stats> {
    // SAFETY: integers only
    let mut stats: clockfix_stats = unsafe { std::mem::zeroed() };
    stats.size = std::mem::size_of::<clockfix_stats>();
    crate::checked(read(&mut stats))?;
    Ok(stats)
}

extern "C" {
    pub fn clockfix_options_init(options: *mut clockfix_options);
    pub fn clockfix_spec_init(spec: *mut clockfix_spec);
    pub fn clockfix_create(
        timer: *mut *mut clockfix,
        options: *const clockfix_options,
    ) -> c_int;
    pub fn clockfix_destroy(timer: *mut clockfix, flags: c_uint) -> c_int;
    pub fn clockfix_drain(timer: *mut clockfix) -> c_int;
    pub fn clockfix_now(clock: clockid_t) -> i64;
    pub fn clockfix_schedule(
        timer: *mut clockfix,
        spec: *const clockfix_spec,
        job: *mut clockfix_job,
    ) -> c_int;
    pub fn clockfix_reschedule(
        timer: *mut clockfix,
        job: *mut clockfix_job,
        instant: i64,
    ) -> c_int;
    pub fn clockfix_adjust(
        timer: *mut clockfix,
        job: clockfix_job,
        shift: i64,
        period: i64,
    ) -> c_int;
    pub fn clockfix_cancel(timer: *mut clockfix, job: clockfix_job) -> c_int;
    pub fn clockfix_cancel_wait(timer: *mut clockfix, job: clockfix_job) -> c_int;
    pub fn clockfix_sleeper_create(
        sleeper: *mut *mut clockfix_sleeper,
        options: *const clockfix_options,
    ) -> c_int;
    pub fn clockfix_sleeper_destroy(sleeper: *mut clockfix_sleeper);
    pub fn clockfix_sleep_until(
        sleeper: *mut clockfix_sleeper,
        clock: clockid_t,
        instant: i64,
    ) -> c_int;
    pub fn clockfix_histogram_quantile(histogram: *const clockfix_histogram, q: c_double) -> i64;
    pub fn clockfix_stats_read(timer: *mut clockfix, stats: *mut clockfix_stats) -> c_int;
    pub fn clockfix_sleeper_stats_read(
        sleeper: *mut clockfix_sleeper,
        stats: *mut clockfix_stats,
    ) -> c_int;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//! libclockfix as it is, made from its header by build.rs, which explains it.
#![allow(non_camel_case_types, unused_parens, clippy::all)]

use std::os::raw::{c_double, c_int, c_uint, c_void};

pub const CLOCK_MONOTONIC: clockid_t = 1;
pub const SCHED_FIFO: i32 = 1;

pub type clockid_t = c_int;
pub type clockfix_job = u64;
pub type clockfix_fn = Option<unsafe extern "C" fn(arg: *mut c_void, run: *const clockfix_run)>;

pub type clockfix_release = Option<unsafe extern "C" fn(arg: *mut c_void)>;

include!(concat!(env!("OUT_DIR"), "/header.rs"));

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

impl clockfix_options {
    /// As the library may read them: it believes the size.
    pub(crate) fn sized(&self) -> Self {
        clockfix_options { size: std::mem::size_of::<Self>(), ..*self }
    }
}

impl Default for clockfix_histogram {
    fn default() -> Self {
        // SAFETY: integers only
        unsafe { std::mem::zeroed() }
    }
}

impl clockfix_histogram {
    /// Count a value: a job that wants statistics apart from its timer's adds `started - instant`.
    pub fn add(&mut self, value: i64) {
        // SAFETY: a valid histogram
        unsafe { clockfix_histogram_add(self, value) }
    }

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

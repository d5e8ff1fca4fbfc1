// SPDX-License-Identifier: LGPL-2.1-or-later
//! Options of a timer or sleeper.

use crate::sys;
use std::convert::TryFrom;
use std::mem::MaybeUninit;
use std::time::Duration;

const SCHED_FIFO: i32 = 1;

/// Options; what is not set is the library's default. A value that is out of its range is an error
/// of [`Timer::new`](crate::Timer::new).
///
/// What asks for a privilege is tried, and where it is refused the timer runs without. With
/// [`strict`](Options::strict) it fails.
#[derive(Debug, Clone)]
pub struct Options(pub(crate) sys::clockfix_options);

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        let mut options = MaybeUninit::uninit();
        // SAFETY: it fills in all of it
        Options(unsafe {
            sys::clockfix_options_init(options.as_mut_ptr());
            options.assume_init()
        })
    }

    /// Pin the timer's thread to this CPU.
    #[must_use]
    pub fn cpu(mut self, cpu: u32) -> Self {
        self.0.cpu = i32::try_from(cpu).unwrap_or(i32::MAX);
        self
    }

    /// `SCHED_FIFO` with this priority, 1 to 99.
    #[must_use]
    pub fn fifo(mut self, priority: i32) -> Self {
        self.0.policy = SCHED_FIFO;
        self.0.priority = priority;
        self
    }

    /// Keep CPUs out of idle states that take longer than this to leave.
    #[must_use]
    pub fn cpu_latency(mut self, latency: Duration) -> Self {
        self.0.cpu_latency_us = i32::try_from(latency.as_micros()).unwrap_or(i32::MAX);
        self
    }

    /// Of a million jobs so many may start more than 1 us late: 1000 is 1 in 1,000.
    #[must_use]
    pub fn late_ppm(mut self, ppm: u32) -> Self {
        self.0.late_ppm = ppm;
        self
    }

    /// Waiting may take that many millionths of a CPU: 50,000 is 5 %.
    #[must_use]
    pub fn cpu_ppm(mut self, ppm: u32) -> Self {
        self.0.cpu_ppm = ppm;
        self
    }

    /// How many jobs may be pending.
    #[must_use]
    pub fn max_jobs(mut self, jobs: u32) -> Self {
        self.0.max_jobs = jobs;
        self
    }

    /// How many jobs that were scheduled by jobs may be pending.
    #[must_use]
    pub fn job_reserve(mut self, jobs: u32) -> Self {
        self.0.job_reserve = jobs;
        self
    }

    /// The name of the timer's thread; what exceeds 15 bytes is cut off.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        let last = self.0.name.len() - 1;
        self.0.name = [0; 16];
        for (to, from) in self.0.name[..last].iter_mut().zip(name.bytes()) {
            *to = from as std::os::raw::c_char;
        }
        self
    }

    /// Lock what the timer's thread touches into memory.
    #[must_use]
    pub fn lock_memory(self) -> Self {
        self.flag(sys::CLOCKFIX_LOCK_MEMORY)
    }

    /// Fail if an option can't be had.
    #[must_use]
    pub fn strict(self) -> Self {
        self.flag(sys::CLOCKFIX_STRICT)
    }

    fn flag(mut self, flag: u32) -> Self {
        self.0.flags |= flag;
        self
    }
}

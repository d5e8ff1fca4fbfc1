// SPDX-License-Identifier: LGPL-2.1-or-later
//! Call a closure at an exact time.
//!
//! ```
//! clockfix::sleep_until(clockfix::now() + 1_000_000)?;    // returns in a millisecond
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! An operating system's timers fire late. A [`Timer`] learns how late, sleeps for that much less,
//! and polls the clock for the rest. So a closure starts tens of nanoseconds after its time and
//! never before it. Times are nanoseconds of `CLOCK_MONOTONIC`, see [`now`].
//!
//! ```
//! use clockfix::{Options, Timer};
//! use std::time::Duration;
//!
//! let timer = Timer::new(&Options::default())?;
//! let job = timer.every(Duration::from_millis(1), |run| {
//!     // each millisecond, on the timer's thread
//!     assert!(run.started >= run.instant);
//! })?;
//! std::thread::sleep(Duration::from_millis(20));
//! timer.cancel(&job)?;
//! timer.close()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! One thread runs all jobs of a timer, one after the other; signals are blocked there. By itself
//! it never takes a lock, allocates or frees: a closure is dropped when its job is over, by the thread
//! that cancels it, or by one that schedules, drains or drops the timer. A closure that schedules or
//! cancels others may drop some. A closure that panics aborts the program.
//!
//! Errors are those of the library, as [`std::io::Error`] with its errno. In a child made by
//! `fork()` there is no thread: there functions fail with `ECHILD`.
#![warn(missing_docs, unsafe_op_in_unsafe_fn)]

mod sleeper;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod sys;
mod timer;

pub use sleeper::{sleep_until, sleep_until_by, Sleeper};
/// A histogram of durations.
pub use sys::clockfix_histogram as Histogram;
/// Options of a timer or sleeper, by the names that `clockfix.h` explains. Begin with the
/// defaults: `Options { policy: SCHED_FIFO, priority: 80, ..Options::default() }`.
///
/// A value that is out of its range, or a policy that is not permitted, is an error of [`Timer::new`].
pub use sys::clockfix_options as Options;
/// What a job is told when it runs.
pub use sys::clockfix_run as Run;
/// What happened so far.
pub use sys::clockfix_stats as Stats;
pub use sys::SCHED_FIFO;
pub use timer::{Cancelled, Job, Jobs, Missed, Schedule, Timer};

use std::io;

/// What `CLOCK_MONOTONIC` shows, in nanoseconds.
pub fn now() -> i64 {
    // SAFETY: reads a clock
    unsafe { sys::clockfix_now(sys::CLOCK_MONOTONIC) }
}

pub(crate) fn checked(ret: i32) -> io::Result<i32> {
    if ret < 0 {
        return Err(io::Error::from_raw_os_error(-ret));
    }
    Ok(ret)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

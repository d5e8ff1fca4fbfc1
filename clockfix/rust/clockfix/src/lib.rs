// SPDX-License-Identifier: LGPL-2.1-or-later
//! Run a closure at exactly its instant.
//!
//! A timer of the operating system rings late: the interrupt, the scheduler, an idle CPU that has
//! to wake up, all take their time. A [`Timer`] learns how late, goes to sleep for that much less,
//! and polls the clock for what is then left. So a job starts tens of nanoseconds after its
//! instant and never before it, for a fraction of the CPU time that polling throughout would take.
//!
//! ```
//! use clockfix::{Options, Timer};
//! use std::time::Duration;
//!
//! let timer = Timer::new(&Options::new())?;
//! let job = timer.every(Duration::from_millis(1), |run| {
//!     // each millisecond, on the timer's thread
//!     assert!(run.started() >= run.instant());
//! })?;
//! std::thread::sleep(Duration::from_millis(20));
//! timer.cancel(&job)?;
//! timer.close()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The timer's thread
//!
//! One thread runs all jobs of a timer, one after the other; signals are blocked there. By itself
//! it never takes a lock, allocates or frees: closures are dropped by the threads that schedule,
//! or with the timer. What a closure does is its own affair; [`Run::jobs`] schedules from there,
//! which takes a mutex and allocates.
//!
//! # Panics
//!
//! A panic in a closure ends its job. The next [`Jobs::drain`] or [`Timer::close`] resumes it.
//!
//! # Errors
//!
//! Functions return what the library says, as an [`std::io::Error`] with that errno. In a child
//! made by `fork()` there is no thread: there they fail with `ECHILD`.
#![warn(missing_docs, unsafe_op_in_unsafe_fn)]

mod instant;
mod job;
mod options;
mod sleeper;
mod stats;
mod timer;

pub use instant::{Clock, Instant};
pub use job::{Job, Run};
pub use options::Options;
pub use sleeper::Sleeper;
pub use stats::{Capabilities, Histogram, Stats, Status};
pub use timer::{Cancelled, Jobs, Missed, Schedule, Timer};

use std::io;

pub(crate) const EINPROGRESS: i32 = 115;
pub(crate) const ENOENT: i32 = 2;
pub(crate) const EDEADLK: i32 = 35;
pub(crate) const EINVAL: i32 = 22;

pub(crate) fn checked(ret: i32) -> io::Result<i32> {
    if ret < 0 {
        return Err(io::Error::from_raw_os_error(-ret));
    }
    Ok(ret)
}

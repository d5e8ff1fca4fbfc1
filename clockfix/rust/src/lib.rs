// SPDX-License-Identifier: LGPL-2.1-or-later
//! Go on at an exact time.
//!
//! ```
//! clockfix::sleep_until(clockfix::now() + 1_000_000)?;    // returns in a millisecond
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! An operating system's sleeps end late. A [`Sleeper`] learns how late, sleeps for that much less,
//! and polls the clock for the rest. So it returns tens of nanoseconds after the time and never
//! before it. Times are nanoseconds of `CLOCK_MONOTONIC`, see [`now`].
//!
//! Errors are those of the library, as [`std::io::Error`] with its errno.
#![warn(missing_docs, unsafe_op_in_unsafe_fn)]

mod sleeper;
#[allow(missing_docs, non_camel_case_types)]
mod sys;

pub use sleeper::{sleep_until, sleep_until_by, Sleeper};
pub use sys::{Histogram, Options, Stats};

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

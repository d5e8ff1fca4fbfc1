// SPDX-License-Identifier: LGPL-2.1-or-later
//! Sleep in one's own thread.

use crate::{checked, stats, Clock, Instant, Options, Stats};
use clockfix_sys as sys;
use std::io;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// Returns at exactly an instant; it learns from the sleeps of the thread that uses it.
///
/// ```
/// use clockfix::{Clock, Instant, Options, Sleeper};
/// use std::time::Duration;
///
/// let mut sleeper = Sleeper::new(&Options::new())?;
/// let mut instant = Instant::now();
/// for _ in 0..10 {
///     instant = instant + Duration::from_micros(500);
///     sleeper.sleep_until(Clock::Monotonic, instant)?;
///     assert!(Instant::now() >= instant);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Sleeper(NonNull<sys::clockfix_sleeper>);

// SAFETY: a sleeper may be used by any thread, by one at a time
unsafe impl Send for Sleeper {}

impl Sleeper {
    /// Of the options those about estimation, clock source and polling; others are the caller's
    /// affair and an error.
    pub fn new(options: &Options) -> io::Result<Self> {
        let mut sleeper = ptr::null_mut();
        // SAFETY: valid pointers; it is set on success
        checked(unsafe { sys::clockfix_sleeper_create(&mut sleeper, &options.0) })?;
        Ok(Sleeper(NonNull::new(sleeper).expect("set on success")))
    }

    /// Return at that instant, at once if it has passed. With [`io::ErrorKind::Interrupted`] a
    /// signal's handler ran during the sleep, and the instant has not come.
    pub fn sleep_until(&mut self, clock: Clock, instant: Instant) -> io::Result<()> {
        // SAFETY: &mut self: nobody else uses it
        checked(unsafe {
            sys::clockfix_sleep_until(self.0.as_ptr(), clock.id(), instant.as_nanos())
        })?;
        Ok(())
    }

    /// Return that long after the call, whatever signals come.
    pub fn sleep(&mut self, duration: Duration) -> io::Result<()> {
        let instant = Instant::now() + duration;
        loop {
            match self.sleep_until(Clock::Monotonic, instant) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                done => return done,
            }
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> io::Result<Stats> {
        // SAFETY: valid pointers
        stats::read(|native| unsafe {
            sys::clockfix_sleeper_stats_read(self.0.as_ptr(), native)
        })
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more
        unsafe { sys::clockfix_sleeper_destroy(self.0.as_ptr()) }
    }
}

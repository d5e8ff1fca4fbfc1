// SPDX-License-Identifier: LGPL-2.1-or-later
//! Sleep in a thread of one's own.

use crate::{checked, sys, Options, Stats};
use std::io;
use std::os::unix::io::RawFd;
use std::ptr::{self, NonNull};

/// Return when `CLOCK_MONOTONIC` shows `instant`, at once if that has passed. The thread has a sleeper
/// of its own for it, which the first call makes (that takes a third of a millisecond). A signal's
/// handler does not end it.
pub fn sleep_until(instant: i64) -> io::Result<()> {
    sleep_until_by(sys::CLOCK_MONOTONIC, instant)
}

/// The same by another clock that `clockfix.h` knows, as `CLOCK_TAI`, 11.
pub fn sleep_until_by(clock: i32, instant: i64) -> io::Result<()> {
    loop {
        // SAFETY: the thread's own sleeper
        let ret = unsafe { sys::clockfix_sleep_until(ptr::null_mut(), clock, instant) };
        match checked(ret) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            done => return done.map(drop),
        }
    }
}

/// Returns at an exact time; it learns from the sleeps of the thread that uses it.
///
/// ```
/// let mut sleeper = clockfix::Sleeper::new(&clockfix::Options::default())?;
/// let mut instant = clockfix::now();
/// for _ in 0..10 {
///     instant += 500_000;
///     sleeper.sleep_until(instant)?;
///     assert!(clockfix::now() >= instant);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Sleeper(NonNull<sys::clockfix_sleeper>);

// SAFETY: a sleeper may be used by any thread, by one at a time
unsafe impl Send for Sleeper {}

impl Sleeper {
    /// Options that concern the thread (CPU, policy) are an error: they are the caller's own affair.
    pub fn new(options: &Options) -> io::Result<Self> {
        let mut sleeper = ptr::null_mut();
        // the library believes the size
        let options = Options { size: std::mem::size_of::<Options>(), ..*options };
        // SAFETY: valid pointers; it is set on success
        checked(unsafe { sys::clockfix_sleeper_create(&mut sleeper, &options) })?;
        Ok(Sleeper(NonNull::new(sleeper).expect("set on success")))
    }

    /// Return when `CLOCK_MONOTONIC` shows `instant`, at once if that has passed. With
    /// [`io::ErrorKind::Interrupted`] a signal's handler ran, and it does not show it yet.
    pub fn sleep_until(&mut self, instant: i64) -> io::Result<()> {
        self.sleep_until_by(sys::CLOCK_MONOTONIC, instant)
    }

    /// The same by another clock that `clockfix.h` knows.
    pub fn sleep_until_by(&mut self, clock: i32, instant: i64) -> io::Result<()> {
        // SAFETY: &mut self: nobody else uses it
        checked(unsafe { sys::clockfix_sleep_until(self.0.as_ptr(), clock, instant) })?;
        Ok(())
    }

    /// For event loops: readable shortly before the instant of `arm()`. It stays the sleeper's.
    pub fn descriptor(&mut self) -> io::Result<RawFd> {
        // SAFETY: &mut self: nobody else uses it
        checked(unsafe { sys::clockfix_sleeper_fd(self.0.as_ptr()) })
    }

    /// Have the descriptor become readable before `CLOCK_MONOTONIC` shows `instant`. Replaces what
    /// was armed.
    pub fn arm(&mut self, instant: i64) -> io::Result<()> {
        // SAFETY: &mut self: nobody else uses it
        checked(unsafe { sys::clockfix_sleeper_arm(self.0.as_ptr(), instant) })?;
        Ok(())
    }

    /// When it is readable: wait out the rest, and return at the instant.
    /// [`io::ErrorKind::WouldBlock`]: it is not; `Interrupted`: as [`Sleeper::sleep_until`].
    pub fn finish(&mut self) -> io::Result<()> {
        // SAFETY: &mut self: nobody else uses it
        checked(unsafe { sys::clockfix_sleeper_finish(self.0.as_ptr()) })?;
        Ok(())
    }

    /// What happened so far.
    pub fn stats(&self) -> io::Result<Stats> {
        // SAFETY: integers only
        let mut stats: Stats = unsafe { std::mem::zeroed() };
        stats.size = std::mem::size_of::<Stats>();
        // SAFETY: valid pointers
        checked(unsafe { sys::clockfix_sleeper_stats_read(self.0.as_ptr(), &mut stats) })?;
        Ok(stats)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more
        unsafe { sys::clockfix_sleeper_destroy(self.0.as_ptr()) }
    }
}

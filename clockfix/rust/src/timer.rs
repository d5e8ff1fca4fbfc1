// SPDX-License-Identifier: LGPL-2.1-or-later
//! Timers and their jobs.

use crate::{checked, sys, Options, Run, Stats};
use std::io;
use std::ops::Deref;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::time::Duration;

const EINPROGRESS: i32 = 115;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;

/// What happens to instants of a periodic job that were missed: the next one came before its run
/// could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// No run for them; the next one is told how many.
    Skip = sys::CLOCKFIX_MISSED_SKIP as isize,
    /// Run all of them, one after the other.
    CatchUp = sys::CLOCKFIX_MISSED_CATCH_UP as isize,
}

/// When a job runs: at `start + k * period`.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// In nanoseconds of `CLOCK_MONOTONIC`.
    pub start: i64,
    /// Not zero.
    pub period: Duration,
    /// k is less than that; 0: no limit. The closure is not dropped by its last run: who receives until a
    /// sender in it is dropped waits for ever without [`Timer::drain`] before.
    pub runs: u64,
    /// What happens to instants that were missed.
    pub missed: Missed,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { start: 0, period: Duration::ZERO, runs: 0, missed: Missed::Skip }
    }
}

/// A job's handle; dropping it leaves the job alone.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    handle: sys::clockfix_job,
    /// Its timer's address: two timers may have handles that are equal.
    timer: usize,
}

/// What cancelling a job came to. In no case does it start again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It was pending.
    Pending,
    /// It is running, or starts within 5 us; for the last time.
    Running,
    /// It was over, or had been cancelled.
    Over,
}

unsafe extern "C" fn trampoline<F: FnMut(&Run)>(call: *mut c_void, run: *const Run) {
    // SAFETY: it lives until it is released; this thread alone calls the closure
    let (call, run) = unsafe { (&mut *(call as *mut F), &*run) };

    if catch_unwind(AssertUnwindSafe(|| call(run))).is_err() {
        eprintln!("clockfix: a closure panicked on the timer's thread");
        std::process::abort();
    }
}

unsafe extern "C" fn release<F>(call: *mut c_void) {
    // SAFETY: called once, when the job is over
    drop(unsafe { Box::from_raw(call as *mut F) });
}

/// What a [`Timer`], and in a closure its [`Run`], can do with the timer's jobs. Whoever has one by
/// reference has a timer that is alive.
#[derive(Debug)]
#[repr(transparent)]
pub struct Jobs(*mut sys::clockfix);

impl Jobs {
    /// Call a closure when `CLOCK_MONOTONIC` shows `instant`; as soon as possible if that passed.
    /// `ECANCELED`: the timer is being closed or dropped, and runs no more jobs.
    pub fn at<F: FnOnce(&Run) + Send + 'static>(&self, instant: i64, call: F) -> io::Result<Job> {
        let mut call = Some(call);
        self.add(Schedule { start: instant, ..Schedule::default() }, 0, move |run| {
            if let Some(call) = call.take() {
                call(run);
            }
        })
    }

    /// Call a closure each `period`, for the first time one period from now.
    pub fn every<F: FnMut(&Run) + Send + 'static>(
        &self, period: Duration, call: F,
    ) -> io::Result<Job> {
        let start = crate::now().saturating_add(nanos(period));
        self.schedule(Schedule { start, period, ..Schedule::default() }, call)
    }

    /// Call a closure periodically. `EINVAL`: times out of range; `ENOMEM`: as many jobs are
    /// pending as the options allow; `ECANCELED`: as [`Jobs::at`].
    pub fn schedule<F: FnMut(&Run) + Send + 'static>(
        &self, when: Schedule, call: F,
    ) -> io::Result<Job> {
        // 0 would be once
        let period = if when.period.is_zero() { -1 } else { nanos(when.period) };
        self.add(when, period, call)
    }

    fn add<F: FnMut(&Run) + Send + 'static>(
        &self, when: Schedule, period: i64, call: F,
    ) -> io::Result<Job> {
        let call = Box::into_raw(Box::new(call));
        let spec = sys::clockfix_spec {
            size: std::mem::size_of::<sys::clockfix_spec>(),
            missed: when.missed as i32,
            start: when.start,
            period,
            runs: when.runs,
            r#fn: Some(trampoline::<F>),
            arg: call as *mut c_void,
            release: Some(release::<F>),
        };
        let mut job = Job { handle: 0, timer: self.0 as usize };

        // SAFETY: the timer is alive; the closure stays until it is released
        let ret = unsafe { sys::clockfix_schedule(self.0, &spec, &mut job.handle) };
        if ret < 0 {
            // SAFETY: the library has not taken it
            drop(unsafe { Box::from_raw(call) });
        }
        checked(ret)?;
        Ok(job)
    }

    /// See to it that a job does not start again. One that was running runs for the last time.
    /// `EINVAL`: it is another timer's.
    pub fn cancel(&self, job: &Job) -> io::Result<Cancelled> {
        self.cancel_by(sys::clockfix_cancel, job)
    }

    fn cancel_by(
        &self, by: unsafe extern "C" fn(*mut sys::clockfix, sys::clockfix_job) -> i32, job: &Job,
    ) -> io::Result<Cancelled> {
        self.check(job)?;
        // SAFETY: the timer is alive; a handle is safe to use for ever
        match unsafe { by(self.0, job.handle) } {
            ret if ret == -ENOENT => Ok(Cancelled::Over),
            ret if ret == -EINPROGRESS => Ok(Cancelled::Running),
            ret => Ok(if checked(ret)? == 1 { Cancelled::Running } else { Cancelled::Pending }),
        }
    }

    fn check(&self, job: &Job) -> io::Result<i32> {
        checked(if job.timer == self.0 as usize { 0 } else { -EINVAL })
    }
}

/// A thread that calls closures at exact times; [`Jobs`] has how.
///
/// Dropping it waits for a run in progress; pending jobs do not run. One of its own jobs may drop
/// it, too: it then ends when that job has returned.
#[derive(Debug)]
pub struct Timer(Jobs);

// SAFETY: any thread may call the library's functions; closures are Send, and one thread calls them
unsafe impl Send for Timer {}
unsafe impl Sync for Timer {}

impl Deref for Timer {
    type Target = Jobs;

    fn deref(&self) -> &Jobs {
        &self.0
    }
}

impl Timer {
    /// Start one.
    pub fn new(options: &Options) -> io::Result<Self> {
        let mut timer = ptr::null_mut();
        let options = options.sized();
        // SAFETY: valid pointers; it is set on success
        checked(unsafe { sys::clockfix_create(&mut timer, &options) })?;
        Ok(Timer(Jobs(timer)))
    }

    fn raw(&self) -> *mut sys::clockfix {
        self.0 .0
    }

    /// As [`Jobs::cancel`], and wait for the end of a run in progress. `EDEADLK`: called by one of
    /// the jobs.
    pub fn cancel_wait(&self, job: &Job) -> io::Result<Cancelled> {
        self.cancel_by(sys::clockfix_cancel_wait, job)
    }

    /// Wait until no job is pending or running. `EDEADLK`: called by one of the jobs.
    pub fn drain(&self) -> io::Result<()> {
        // SAFETY: a valid timer
        checked(unsafe { sys::clockfix_drain(self.raw()) })?;
        Ok(())
    }

    /// Wait until all that is pending has run, periodic jobs not again, and end the thread.
    /// `EDEADLK`: called by one of the jobs; the timer is dropped all the same.
    pub fn close(self) -> io::Result<()> {
        // SAFETY: this owns it
        checked(unsafe { sys::clockfix_destroy(self.raw(), 0) })?;
        std::mem::forget(self);
        Ok(())
    }

    /// What happened so far.
    pub fn stats(&self) -> io::Result<Stats> {
        // SAFETY: valid pointers
        sys::stats_by(|stats| unsafe { sys::clockfix_stats_read(self.raw(), stats) })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more
        unsafe { sys::clockfix_destroy(self.raw(), sys::CLOCKFIX_DROP_PENDING) };
    }
}

/// The timer is alive while its job runs: a closure needs no reference to it.
impl Deref for Run {
    type Target = Jobs;

    fn deref(&self) -> &Jobs {
        // SAFETY: Jobs is nothing but such a pointer
        unsafe { &*ptr::addr_of!(self.timer).cast() }
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//! Timers and their jobs.

use crate::{checked, now, sys, Options, Run, Stats};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

const EINPROGRESS: i32 = 115;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;

/// What happens to instants of a periodic job that were missed: the next one came before its run
/// could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// No run for them.
    Skip = sys::CLOCKFIX_MISSED_SKIP as isize,
    /// Run all of them, one after the other.
    CatchUp = sys::CLOCKFIX_MISSED_CATCH_UP as isize,
    /// One run at once for all of them; `missed` counts.
    Report = sys::CLOCKFIX_MISSED_REPORT as isize,
}

/// When a job runs: at `start + k * period`.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// In nanoseconds of `CLOCK_MONOTONIC`.
    pub start: i64,
    /// Not zero.
    pub period: Duration,
    /// k is less than that; 0: no limit.
    pub runs: u64,
    /// What happens to instants that were missed.
    pub missed: Missed,
}

/// A job's handle; dropping it leaves the job alone.
#[derive(Debug)]
pub struct Job {
    handle: sys::clockfix_job,
    state: Weak<State>,
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

type Call = Box<dyn FnMut(&Run) + Send>;

/// What the library points to until the job is over. Meanwhile the timer owns it.
struct State {
    /// The timer's address.
    owner: usize,
    periodic: bool,
    runs: u64,
    /// The last that the timer's thread does with it.
    over: AtomicBool,
    call: UnsafeCell<Call>,
}

// SAFETY: the timer's thread alone calls the closure, and it is dropped when that is over
unsafe impl Sync for State {}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

unsafe extern "C" fn trampoline(arg: *mut c_void, run: *const Run) {
    // SAFETY: the timer owns the state until it is over; this thread alone calls the closure
    let (state, run) = unsafe { (&*(arg as *const State), &*run) };
    // the last instants may have been missed: it is ended here, not by the library
    let beyond = state.runs != 0 && run.index >= state.runs;
    let last = beyond || state.runs != 0 && run.index + 1 == state.runs;

    if !beyond {
        let call = AssertUnwindSafe(|| unsafe { (*state.call.get())(run) });
        if catch_unwind(call).is_err() {
            std::process::abort();
        }
    }
    if last {
        // SAFETY: the timer is alive while its job runs
        unsafe { sys::clockfix_cancel(run.timer, run.job) };
    }
    if last || !state.periodic {
        state.over.store(true, Ordering::Release);
    }
}

/// A thread that calls closures at exact times.
///
/// Dropping it waits for a run in progress; pending jobs do not run. A timer must not be dropped
/// or closed by one of its own jobs: that aborts the program.
pub struct Timer {
    timer: NonNull<sys::clockfix>,
    /// Of the jobs that are not over, and some that are.
    states: Mutex<VecDeque<Arc<State>>>,
}

// SAFETY: any thread may call the library's functions; closures are Send, and one thread calls them
unsafe impl Send for Timer {}
unsafe impl Sync for Timer {}

impl Timer {
    /// Start one.
    pub fn new(options: &Options) -> io::Result<Self> {
        let mut timer = ptr::null_mut();
        let options = options.sized();
        // SAFETY: valid pointers; it is set on success
        checked(unsafe { sys::clockfix_create(&mut timer, &options) })?;
        Ok(Timer {
            timer: NonNull::new(timer).expect("set on success"),
            states: Mutex::default(),
        })
    }

    /// Call a closure when `CLOCK_MONOTONIC` shows `instant`; as soon as possible if that passed.
    pub fn at<F: FnOnce(&Run) + Send + 'static>(&self, instant: i64, call: F) -> io::Result<Job> {
        let mut call = Some(call);
        self.add(instant, 0, 0, Missed::Skip, Box::new(move |run| {
            if let Some(call) = call.take() {
                call(run);
            }
        }))
    }

    /// Call a closure each `period`, for the first time one period from now.
    pub fn every<F: FnMut(&Run) + Send + 'static>(
        &self, period: Duration, call: F,
    ) -> io::Result<Job> {
        let start = now().saturating_add(nanos(period));
        self.schedule(Schedule { start, period, runs: 0, missed: Missed::Skip }, call)
    }

    /// Call a closure periodically. `EINVAL`: times out of range; `ENOMEM`: as many jobs are
    /// pending as the options allow.
    pub fn schedule<F: FnMut(&Run) + Send + 'static>(
        &self, when: Schedule, call: F,
    ) -> io::Result<Job> {
        // 0 would be once
        let period = if when.period.is_zero() { -1 } else { nanos(when.period) };
        self.add(when.start, period, when.runs, when.missed, Box::new(call))
    }

    fn add(&self, start: i64, period: i64, runs: u64, missed: Missed, call: Call)
        -> io::Result<Job> {
        let state = Arc::new(State {
            owner: self.timer.as_ptr() as usize,
            periodic: period != 0,
            runs,
            over: AtomicBool::new(false),
            call: UnsafeCell::new(call),
        });
        let mut job = Job { handle: 0, state: Arc::downgrade(&state) };
        let spec = sys::clockfix_spec {
            size: std::mem::size_of::<sys::clockfix_spec>(),
            clock: sys::CLOCK_MONOTONIC,
            missed: missed as i32,
            start,
            period,
            runs: 0,
            r#fn: Some(trampoline),
            arg: Arc::as_ptr(&state) as *mut c_void,
        };

        self.keep(Arc::clone(&state));
        // SAFETY: the state stays until it is over
        let ret = unsafe { sys::clockfix_schedule(self.timer.as_ptr(), &spec, &mut job.handle) };
        state.over.fetch_or(ret < 0, Ordering::Release);
        checked(ret)?;
        Ok(job)
    }

    /// Keep a state, and drop two others if they are over: after the lock.
    fn keep(&self, state: Arc<State>) {
        let mut gone = Vec::new();
        // what was changed under the lock is whole even if its holder panicked
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.push_back(state);
        for _ in 0..2 {
            let oldest = states.pop_front().expect("this one is not over");
            if oldest.over.load(Ordering::Acquire) {
                gone.push(oldest);
            } else {
                states.push_back(oldest);
            }
        }
    }

    /// A job's state, unless it is over. Two timers may have handles that are equal.
    fn own(&self, job: &Job) -> io::Result<Option<Arc<State>>> {
        let state = job.state.upgrade();
        match &state {
            Some(state) if state.owner != self.timer.as_ptr() as usize => checked(-EINVAL)?,
            _ => 0,
        };
        Ok(state)
    }

    /// See to it that a job does not start again. One that was running runs for the last time.
    /// `EINVAL`: it is another timer's.
    pub fn cancel(&self, job: &Job) -> io::Result<Cancelled> {
        self.cancel_by(sys::clockfix_cancel, job)
    }

    /// The same, and wait for the end of a run in progress. `EDEADLK`: called by one of the jobs.
    pub fn cancel_wait(&self, job: &Job) -> io::Result<Cancelled> {
        self.cancel_by(sys::clockfix_cancel_wait, job)
    }

    fn cancel_by(
        &self, by: unsafe extern "C" fn(*mut sys::clockfix, sys::clockfix_job) -> i32, job: &Job,
    ) -> io::Result<Cancelled> {
        let state = match self.own(job)? {
            Some(state) => state,
            None => return Ok(Cancelled::Over),
        };
        // SAFETY: a handle is safe to use for ever
        let ret = unsafe { by(self.timer.as_ptr(), job.handle) };
        if ret == -ENOENT {
            return Ok(Cancelled::Over);
        }
        if ret == -EINPROGRESS {
            // its closure is dropped with the timer
            return Ok(Cancelled::Running);
        }
        checked(ret)?;
        state.over.store(true, Ordering::Release);
        Ok(if ret == 1 { Cancelled::Running } else { Cancelled::Pending })
    }

    /// Move a pending job to another instant, in one step. A periodic job keeps its period and
    /// counts its runs anew. False: it is over, or running.
    pub fn reschedule(&self, job: &mut Job, instant: i64) -> io::Result<bool> {
        if self.own(job)?.is_none() {
            return Ok(false);
        }
        // SAFETY: a handle is safe to use for ever
        let ret = unsafe { sys::clockfix_reschedule(self.timer.as_ptr(), &mut job.handle, instant) };
        if ret == -ENOENT || ret == -EINPROGRESS {
            return Ok(false);
        }
        checked(ret)?;
        Ok(true)
    }

    /// Wait until no job is pending or running. `EDEADLK`: called by one of the jobs.
    pub fn drain(&self) -> io::Result<()> {
        // SAFETY: a valid timer
        checked(unsafe { sys::clockfix_drain(self.timer.as_ptr()) })?;
        Ok(())
    }

    /// Wait until all that is pending has run, periodic jobs not again, and end the thread.
    pub fn close(self) -> io::Result<()> {
        // SAFETY: this owns it; its states live until it returns
        let ret = unsafe { sys::clockfix_destroy(self.timer.as_ptr(), 0) };
        if ret < 0 {
            std::process::abort();
        }
        let mut ended = std::mem::ManuallyDrop::new(self);
        // SAFETY: nobody uses them any more
        unsafe { ptr::drop_in_place(&mut ended.states) };
        Ok(())
    }

    /// What happened so far.
    pub fn stats(&self) -> io::Result<Stats> {
        // SAFETY: valid pointers
        sys::stats_by(|stats| unsafe { sys::clockfix_stats_read(self.timer.as_ptr(), stats) })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more
        if unsafe { sys::clockfix_destroy(self.timer.as_ptr(), sys::CLOCKFIX_DROP_PENDING) } < 0 {
            std::process::abort();
        }
    }
}

impl Run {
    /// For a periodic job, from its own closure: move the next instant and all that follow by
    /// `shift` nanoseconds; with `period`, change that too.
    pub fn adjust(&self, shift: i64, period: Option<Duration>) -> io::Result<()> {
        // SAFETY: the timer is alive while its job runs
        checked(unsafe {
            sys::clockfix_adjust(self.timer, self.job, shift, period.map_or(0, nanos))
        })?;
        Ok(())
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

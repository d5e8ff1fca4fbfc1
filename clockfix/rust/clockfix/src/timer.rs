// SPDX-License-Identifier: LGPL-2.1-or-later
//! Timers and their jobs.

use crate::instant::nanos;
use crate::job::{trampoline, Call, Over, State, CANCELLED, RUNNING};
use crate::{checked, stats, Capabilities, Instant, Job, Options, Run, Stats};
use crate::{EDEADLK, EINPROGRESS, EINVAL, ENOENT};
use clockfix_sys as sys;
use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::mem::{self, MaybeUninit};
use std::ops::Deref;
use std::os::raw::c_void;
use std::panic::resume_unwind;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens to instants of a periodic job that were missed. An instant is missed when the next
/// one has come as well before its run could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// No run for them.
    Skip,
    /// Run all of them, one after the other.
    CatchUp,
    /// One run at once for all of them; [`Run::missed`] counts.
    Report,
}

/// When a job runs.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Schedule {
    spec: sys::clockfix_spec,
    runs: u64,
}

impl Schedule {
    /// Once; as soon as possible if that has passed.
    pub fn at(instant: Instant) -> Self {
        let mut spec = MaybeUninit::uninit();
        // SAFETY: it fills in all of it
        let mut spec: sys::clockfix_spec = unsafe {
            sys::clockfix_spec_init(spec.as_mut_ptr());
            spec.assume_init()
        };
        spec.start = instant.as_nanos();
        Schedule { spec, runs: 0 }
    }

    /// And then at that instant + k * `period`, without drift.
    pub fn every(mut self, period: Duration) -> Self {
        // 0 would be once: what can't be is refused
        self.spec.period = if period.is_zero() { -1 } else { nanos(period) };
        self
    }

    /// For that many k, run or missed; 0: for ever.
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }

    /// What happens to instants that were missed.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.spec.missed = match missed {
            Missed::Skip => sys::CLOCKFIX_MISSED_SKIP,
            Missed::CatchUp => sys::CLOCKFIX_MISSED_CATCH_UP,
            Missed::Report => sys::CLOCKFIX_MISSED_REPORT,
        };
        self
    }
}

/// What cancelling a job came to. In no case does its closure start (again).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It was pending.
    Pending,
    /// It is running at this moment.
    Running,
    /// It was over, or had been cancelled.
    Over,
}

/// A timer's jobs: what can be done with a timer by its owner, by other threads and by jobs.
#[derive(Debug)]
pub struct Jobs {
    timer: NonNull<sys::clockfix>,
    states: Mutex<HashMap<*const State, Arc<State>>>,
    over: Over,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the library's functions may be called by any thread; the states are Send and Sync
unsafe impl Send for Jobs {}
unsafe impl Sync for Jobs {}

/// What was changed under the lock is whole even if its holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// Run a closure at an instant.
    pub fn at<F>(&self, instant: Instant, call: F) -> io::Result<Job>
    where
        F: FnOnce(&Run<'_>) + Send + 'static,
    {
        let mut call = Some(call);
        self.schedule(Schedule::at(instant), move |run| {
            if let Some(call) = call.take() {
                call(run);
            }
        })
    }

    /// Run a closure that long from now.
    pub fn after<F>(&self, duration: Duration, call: F) -> io::Result<Job>
    where
        F: FnOnce(&Run<'_>) + Send + 'static,
    {
        self.at(Instant::now() + duration, call)
    }

    /// Run a closure each `period`, for the first time one period from now.
    pub fn every<F>(&self, period: Duration, call: F) -> io::Result<Job>
    where
        F: FnMut(&Run<'_>) + Send + 'static,
    {
        self.schedule(Schedule::at(Instant::now() + period).every(period), call)
    }

    /// Run a closure.
    ///
    /// An error is `EINVAL` for times that can't be, `ENOMEM` if as many jobs are pending as the
    /// options allow.
    pub fn schedule<F>(&self, schedule: Schedule, call: F) -> io::Result<Job>
    where
        F: FnMut(&Run<'_>) + Send + 'static,
    {
        self.schedule_boxed(schedule, Box::new(call))
    }

    fn schedule_boxed(&self, schedule: Schedule, call: Call) -> io::Result<Job> {
        let Schedule { mut spec, runs } = schedule;
        if runs != 0 && spec.period == 0 {
            return Err(io::Error::from_raw_os_error(EINVAL));
        }
        let state = Arc::new(State::new(self, spec.period != 0, runs, call));
        let key = Arc::as_ptr(&state);
        let weak = Arc::downgrade(&state);
        let mut handle = 0;

        self.sweep();
        lock(&self.states).insert(key, state);
        spec.r#fn = Some(trampoline);
        spec.arg = key as *mut c_void;
        // SAFETY: the state stays until it is over
        let ret = unsafe { sys::clockfix_schedule(self.timer.as_ptr(), &spec, &mut handle) };
        if ret < 0 {
            let state = lock(&self.states).remove(&key);
            drop(state);
        }
        checked(ret)?;
        Ok(Job { state: weak, handle })
    }

    /// Drop what is over, closures not under the lock.
    fn sweep(&self) {
        let over = self.over.take();
        if over.is_empty() {
            return;
        }
        let mut states = lock(&self.states);
        let dropped: Vec<_> = over.iter().map(|state| states.remove(state)).collect();
        drop(states);
        drop(dropped);
    }

    pub(crate) fn over(&self) -> &Over {
        &self.over
    }

    pub(crate) fn panicked(&self, payload: Box<dyn Any + Send>) {
        lock(&self.panic).get_or_insert(payload);
    }

    fn state_of(&self, job: &Job) -> io::Result<Option<Arc<State>>> {
        match job.state.upgrade() {
            Some(state) if !ptr::eq(state.jobs, self) => {
                Err(io::Error::from_raw_os_error(EINVAL))
            }
            state => Ok(state),
        }
    }

    /// See to it that a job does not run (again). `EINVAL`: it is another timer's.
    pub fn cancel(&self, job: &Job) -> io::Result<Cancelled> {
        let state = match self.state_of(job)? {
            Some(state) => state,
            None => return Ok(Cancelled::Over),
        };
        // SAFETY: a handle is safe to use for ever
        match unsafe { sys::clockfix_cancel(self.timer.as_ptr(), job.handle) } {
            0 => {
                state.finish(&self.over);
                Ok(Cancelled::Pending)
            }
            ret if ret == -ENOENT => Ok(Cancelled::Over),
            ret if ret == -EINPROGRESS => self.cancel_in_progress(job, &state),
            ret => Err(io::Error::from_raw_os_error(-ret)),
        }
    }

    fn cancel_in_progress(&self, job: &Job, state: &State) -> io::Result<Cancelled> {
        let before = state.status.fetch_or(CANCELLED, std::sync::atomic::Ordering::AcqRel);
        if before & RUNNING != 0 {
            // its run finishes it
            return Ok(Cancelled::Running);
        }
        // it is on its way to the closure, which it will find cancelled, or from there: some us
        unsafe { sys::clockfix_cancel_wait(self.timer.as_ptr(), job.handle) };
        state.finish(&self.over);
        Ok(Cancelled::Pending)
    }

    /// The same, and wait for the end of a run in progress. `EDEADLK`: called by one of the jobs.
    pub fn cancel_wait(&self, job: &Job) -> io::Result<Cancelled> {
        let state = match self.state_of(job)? {
            Some(state) => state,
            None => return Ok(Cancelled::Over),
        };
        // SAFETY: a handle is safe to use for ever
        let ret = unsafe { sys::clockfix_cancel_wait(self.timer.as_ptr(), job.handle) };
        if ret == -ENOENT {
            return Ok(Cancelled::Over);
        }
        let running = checked(ret)? == 1;
        state.finish(&self.over);
        Ok(if running { Cancelled::Running } else { Cancelled::Pending })
    }

    /// Move a pending job to another instant, in one step. A periodic job keeps its
    /// period and counts its runs anew. False: it is over, or running at this moment.
    pub fn reschedule(&self, job: &mut Job, instant: Instant) -> io::Result<bool> {
        if self.state_of(job)?.is_none() {
            return Ok(false);
        }
        // SAFETY: a handle is safe to use for ever
        let ret = unsafe {
            sys::clockfix_reschedule(self.timer.as_ptr(), &mut job.handle, instant.as_nanos())
        };
        if ret == -ENOENT || ret == -EINPROGRESS {
            return Ok(false);
        }
        checked(ret)?;
        Ok(true)
    }

    /// Wait until no job is pending or running. A periodic job is pending until it is cancelled or
    /// has reached its number of runs. `EDEADLK`: called by one of the jobs.
    ///
    /// # Panics
    ///
    /// If a closure has.
    pub fn drain(&self) -> io::Result<()> {
        // SAFETY: a valid timer
        checked(unsafe { sys::clockfix_drain(self.timer.as_ptr()) })?;
        self.resume_panic();
        Ok(())
    }

    fn resume_panic(&self) {
        let panic = lock(&self.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> io::Result<Stats> {
        // SAFETY: valid pointers
        stats::read(|native| unsafe { sys::clockfix_stats_read(self.timer.as_ptr(), native) })
    }

    /// What became of the options.
    pub fn capabilities(&self) -> io::Result<Capabilities> {
        Capabilities::read(self.timer.as_ptr())
    }
}

/// A thread that runs closures at exactly their instants; all else is done with its [`Jobs`].
///
/// Dropping it waits for a run in progress; what is pending does not run. If a job drops its own
/// timer, the thread goes on until the end of the process.
#[derive(Debug)]
pub struct Timer {
    jobs: Arc<Jobs>,
    ended: bool,
}

impl Timer {
    /// Start one.
    pub fn new(options: &Options) -> io::Result<Self> {
        let mut timer = ptr::null_mut();
        // SAFETY: valid pointers; it is set on success
        checked(unsafe { sys::clockfix_create(&mut timer, &options.0) })?;
        Ok(Timer {
            jobs: Arc::new(Jobs {
                timer: NonNull::new(timer).expect("set on success"),
                states: Mutex::default(),
                over: Over::new(),
                panic: Mutex::default(),
            }),
            ended: false,
        })
    }

    /// Wait until all that is pending has run, periodic jobs not again, and end the thread.
    ///
    /// # Panics
    ///
    /// If a closure has.
    pub fn close(mut self) -> io::Result<()> {
        self.destroy(0)?;
        self.jobs.resume_panic();
        Ok(())
    }

    fn destroy(&mut self, flags: u32) -> io::Result<()> {
        self.ended = true;
        // SAFETY: nobody can use it after this: `jobs` is lent out by this object only, or by runs
        let ret = unsafe { sys::clockfix_destroy(self.jobs.timer.as_ptr(), flags) };
        if ret == -EDEADLK {
            mem::forget(Arc::clone(&self.jobs));
        }
        checked(ret)?;
        Ok(())
    }
}

impl Deref for Timer {
    type Target = Jobs;

    fn deref(&self) -> &Jobs {
        &self.jobs
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.ended {
            // an error is EDEADLK, see above
            let _ = self.destroy(sys::CLOCKFIX_DROP_PENDING);
        }
    }
}

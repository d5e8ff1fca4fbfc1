// SPDX-License-Identifier: LGPL-2.1-or-later
//! A closure on its way through the library.

use crate::{checked, Instant, Jobs};
use clockfix_sys as sys;
use std::cell::UnsafeCell;
use std::io;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use std::sync::Weak;
use std::time::Duration;

/// A job's handle; dropping it leaves the job alone.
#[derive(Debug)]
pub struct Job {
    pub(crate) state: Weak<State>,
    pub(crate) handle: sys::clockfix_job,
}

/// What a closure is told when it runs.
#[derive(Debug)]
pub struct Run<'a> {
    raw: &'a sys::clockfix_run,
    state: &'a State,
}

impl Run<'_> {
    /// When it was meant to run.
    pub fn instant(&self) -> Instant {
        Instant::from_nanos(self.raw.instant)
    }

    /// When waiting ended, immediately before it ran.
    pub fn started(&self) -> Instant {
        Instant::from_nanos(self.raw.started)
    }

    /// Of a periodic job: this run is for start + index * period.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// Of a periodic job: instants passed over since the last run.
    pub fn missed(&self) -> u64 {
        self.raw.missed
    }

    /// See to it that a periodic job does not run again.
    pub fn stop(&self) {
        // SAFETY: the timer is alive while its job runs
        unsafe { sys::clockfix_cancel(self.raw.timer, self.raw.job) };
        self.state.status.fetch_or(CANCELLED, Ordering::AcqRel);
    }

    /// Move the next instant of a periodic job, and so all after it, by `shift` nanoseconds; with
    /// `period`, change that too. For jobs that follow an outer clock.
    pub fn adjust(&self, shift: i64, period: Option<Duration>) -> io::Result<()> {
        let period = period.map_or(0, crate::instant::nanos);
        // SAFETY: the timer is alive while its job runs
        checked(unsafe { sys::clockfix_adjust(self.raw.timer, self.raw.job, shift, period) })?;
        Ok(())
    }

    /// The timer's jobs, to schedule more.
    pub fn jobs(&self) -> &Jobs {
        // SAFETY: they outlive the timer's thread, which runs this
        unsafe { &*self.state.jobs }
    }

    /// How long after its instant the job started.
    pub fn lateness(&self) -> Duration {
        self.started().saturating_duration_since(self.instant())
    }
}

pub(crate) type Call = Box<dyn FnMut(&Run<'_>) + Send>;

/// The closure is being called.
pub(crate) const RUNNING: u8 = 1;
/// The library has been told, and will not run the job after the run in progress, if there is one.
pub(crate) const CANCELLED: u8 = 2;
/// The library has nothing to do with it any more.
const OVER: u8 = 4;

/// What the library holds a pointer to, from scheduling until OVER. All that time `Jobs` owns it.
pub(crate) struct State {
    pub(crate) status: AtomicU8,
    pub(crate) jobs: *const Jobs,
    periodic: bool,
    runs: u64,
    /// in the list of those that are over
    next: AtomicPtr<State>,
    call: UnsafeCell<Call>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("status", &self.status).finish_non_exhaustive()
    }
}

// SAFETY: `call` is used by the timer's thread alone, and dropped when that is through with it;
// `jobs` is only followed on that thread, or compared
unsafe impl Send for State {}
unsafe impl Sync for State {}

impl State {
    pub(crate) fn new(jobs: *const Jobs, periodic: bool, runs: u64, call: Call) -> Self {
        State {
            status: AtomicU8::new(0),
            jobs,
            periodic,
            runs,
            next: AtomicPtr::new(ptr::null_mut()),
            call: UnsafeCell::new(call),
        }
    }

    /// Hand it over to be dropped, once. The caller must not use it after this, unless it owns a
    /// reference.
    pub(crate) fn finish(&self, over: &Over) {
        if self.status.fetch_or(OVER, Ordering::AcqRel) & OVER == 0 {
            over.push(self);
        }
    }

    /// On the timer's thread. True: there will be no other run.
    fn run(&self, raw: &sys::clockfix_run) -> bool {
        let before = self.status.fetch_or(RUNNING, Ordering::AcqRel);
        // instants at the end may have been skipped
        let beyond = self.runs != 0 && raw.index >= self.runs;
        let mut last = !self.periodic || beyond || raw.index + 1 == self.runs;
        let run = Run { raw, state: self };

        if before & CANCELLED == 0 && !beyond {
            // SAFETY: this thread alone, and one run after the other
            let call = unsafe { &mut *self.call.get() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| call(&run))) {
                run.jobs().panicked(panic);
                last = true;
            }
        }
        if last && self.periodic {
            run.stop();
        }
        let before = self.status.fetch_and(!RUNNING, Ordering::AcqRel);
        last || before & CANCELLED != 0
    }
}

/// What the library calls.
pub(crate) unsafe extern "C" fn trampoline(arg: *mut c_void, raw: *const sys::clockfix_run) {
    // SAFETY: `Jobs` owns the state until it is over, and outlives this thread
    let state = unsafe { &*(arg as *const State) };
    let over = unsafe { (*state.jobs).over() };

    // SAFETY: valid during this call
    if state.run(unsafe { &*raw }) {
        state.finish(over);
    }
}

/// A list of states that are over. Pushing takes no lock and allocates nothing.
#[derive(Debug)]
pub(crate) struct Over(AtomicPtr<State>);

impl Over {
    pub(crate) fn new() -> Self {
        Over(AtomicPtr::new(ptr::null_mut()))
    }

    fn push(&self, state: &State) {
        let this = state as *const State as *mut State;
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            state.next.store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, this, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    /// Take all. Their owner must not have dropped them.
    pub(crate) fn take(&self) -> Vec<*const State> {
        let mut found = Vec::new();
        let mut state = self.0.swap(ptr::null_mut(), Ordering::Acquire) as *const State;
        while !state.is_null() {
            found.push(state);
            // SAFETY: its owner drops what has been taken only
            state = unsafe { (*state).next.load(Ordering::Relaxed) };
        }
        found
    }
}

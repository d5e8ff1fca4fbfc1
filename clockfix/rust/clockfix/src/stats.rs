// SPDX-License-Identifier: LGPL-2.1-or-later
//! What happened so far, and what became of the options.

use crate::checked;
use clockfix_sys as sys;
use std::fmt;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::time::Duration;

/// Durations, with a relative error of 1/16 at most.
#[derive(Clone)]
pub struct Histogram(sys::clockfix_histogram);

impl Histogram {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.count
    }

    /// The longest, exactly.
    pub fn max(&self) -> Duration {
        duration(self.0.max)
    }

    /// The mean, exactly; zero if there is none.
    pub fn mean(&self) -> Duration {
        duration(self.0.sum / self.0.count.max(1) as i64)
    }

    /// What a share of `q` (0 to 1) does not exceed; zero if there is none.
    pub fn quantile(&self, q: f64) -> Duration {
        // SAFETY: a valid histogram
        duration(unsafe { sys::clockfix_histogram_quantile(&self.0, q) })
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

fn duration(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0) as u64)
}

/// What happened so far. Each figure is exact, but they need not be of the very same moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Runs of jobs.
    pub jobs: u64,
    /// Jobs cancelled before they ran.
    pub cancelled: u64,
    /// Jobs pending now.
    pub pending: u64,
    /// Times the thread slept.
    pub sleeps: u64,
    /// Instants of periodic jobs that were missed.
    pub missed: u64,
    /// Jobs that started more than 1 us late.
    pub late: u64,
    /// Share of late jobs of late, in millionths.
    pub late_ppm: i64,
    /// CPU time that waiting took meanwhile, in millionths of a CPU.
    pub cpu_ppm: i64,
    /// Why more jobs are late than wanted: `enum clockfix_limit`, 0 if they are not.
    pub limit: i64,
    /// Times the CPU's counter disagreed with the clock.
    pub counter_faults: u64,
    /// The oversleep that is predicted at present.
    pub prediction: Duration,
    /// Time spent polling.
    pub polled: Duration,
    /// The longest run of a job.
    pub longest_job: Duration,
    /// Start of jobs after their instants.
    pub lateness: Histogram,
    /// Wake-ups after the time asked for.
    pub oversleep: Histogram,
    /// Polling before jobs.
    pub polling: Histogram,
}

pub(crate) fn read(
    function: impl FnOnce(*mut sys::clockfix_stats) -> i32,
) -> io::Result<Stats> {
    // SAFETY: integers only
    let mut native: sys::clockfix_stats = unsafe { MaybeUninit::zeroed().assume_init() };
    native.size = size_of::<sys::clockfix_stats>();
    checked(function(&mut native))?;
    Ok(Stats {
        jobs: native.jobs,
        cancelled: native.cancelled,
        pending: native.pending,
        sleeps: native.sleeps,
        missed: native.missed,
        late: native.late,
        late_ppm: native.late_ppm,
        cpu_ppm: native.cpu_ppm,
        limit: native.limit,
        counter_faults: native.counter_faults,
        prediction: duration(native.prediction),
        polled: duration(native.polled),
        longest_job: duration(native.longest_job),
        lateness: Histogram(native.lateness),
        oversleep: Histogram(native.oversleep),
        polling: Histogram(native.polling),
    })
}

/// What became of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is in force.
    InForce,
    /// It was not asked for.
    NotAsked,
    /// It was refused, with this errno.
    Refused(i32),
}

impl From<i32> for Status {
    fn from(value: i32) -> Self {
        match value {
            0 => Status::InForce,
            sys::CLOCKFIX_NOT_ASKED => Status::NotAsked,
            errno => Status::Refused(-errno),
        }
    }
}

/// What the machine offers, and what became of a timer's options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether the CPU's counter is sound, so that it is polled.
    pub counter: Status,
    /// Its frequency.
    pub counter_hz: u64,
    /// Option `cpu`.
    pub affinity: Status,
    /// Options `fifo`, `round_robin`.
    pub scheduling: Status,
    /// Option `lock_memory`.
    pub memory: Status,
    /// Option `cpu_latency`.
    pub cpu_latency: Status,
    /// A timer slack of 1 ns, which is always asked for.
    pub timer_slack: Status,
}

impl Capabilities {
    /// Of this machine; no option was asked for.
    pub fn of_machine() -> io::Result<Self> {
        Self::read(std::ptr::null_mut())
    }

    pub(crate) fn read(timer: *mut sys::clockfix) -> io::Result<Self> {
        // SAFETY: integers only
        let mut native: sys::clockfix_capabilities =
            unsafe { MaybeUninit::zeroed().assume_init() };
        native.size = size_of::<sys::clockfix_capabilities>();
        // SAFETY: valid pointers, or null, which stands for the machine
        checked(unsafe { sys::clockfix_capabilities_read(timer, &mut native) })?;
        Ok(Capabilities {
            counter: native.counter.into(),
            counter_hz: native.counter_hz,
            affinity: native.affinity.into(),
            scheduling: native.scheduling.into(),
            memory: native.memory.into(),
            cpu_latency: native.cpu_latency.into(),
            timer_slack: native.timer_slack.into(),
        })
    }
}

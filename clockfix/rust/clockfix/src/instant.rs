// SPDX-License-Identifier: LGPL-2.1-or-later
//! Instants in nanoseconds.

use clockfix_sys as sys;
use std::convert::TryFrom;
use std::ops::{Add, Sub};
use std::time::Duration;

/// The clock that a sleeper's instants are meant by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// `CLOCK_MONOTONIC`
    Monotonic,
    /// `CLOCK_TAI`
    Tai,
}

impl Clock {
    /// What it shows.
    pub fn now(self) -> Instant {
        // SAFETY: reads a clock
        Instant(unsafe { sys::clockfix_now(self.id()) })
    }

    pub(crate) fn id(self) -> sys::clockid_t {
        match self {
            Clock::Monotonic => 1,
            Clock::Tai => 11,
        }
    }
}

/// An instant of a [`Clock`]; unlike [`std::time::Instant`] its value can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// What `CLOCK_MONOTONIC` shows.
    pub fn now() -> Self {
        Clock::Monotonic.now()
    }

    /// That many nanoseconds after the clock's zero.
    pub const fn from_nanos(nanos: i64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the clock's zero.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// How much later than `earlier` it is; zero if it is not.
    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Saturates: what is that far away is an error where it is used.
impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(duration)))
    }
}

/// Saturates.
impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(nanos(duration)))
    }
}

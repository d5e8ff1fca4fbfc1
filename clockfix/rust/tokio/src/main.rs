// SPDX-License-Identifier: LGPL-2.1-or-later
//! Sleep exactly in a task of tokio: its reactor waits for a sleeper's descriptor, which becomes readable
//! shortly before the instant; the task waits out the rest, and holds up its thread meanwhile.

use clockfix::{now, Options, Sleeper};
use std::io::{ErrorKind, Result};
use std::os::unix::io::RawFd;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Sleeps of one task; dropped with the descriptor first, which the sleeper closes.
struct AsyncSleeper {
    descriptor: AsyncFd<RawFd>,
    sleeper: Sleeper,
}

impl AsyncSleeper {
    fn new() -> Result<Self> {
        let mut sleeper = Sleeper::new(&Options::default())?;
        let descriptor = AsyncFd::with_interest(sleeper.descriptor()?, Interest::READABLE)?;
        Ok(AsyncSleeper { descriptor, sleeper })
    }

    async fn sleep_until(&mut self, instant: i64) -> Result<()> {
        self.sleeper.arm(instant)?;
        loop {
            let mut ready = self.descriptor.readable().await?;
            let done = self.sleeper.finish();
            ready.clear_ready();
            match done {
                Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    return clockfix::sleep_until(instant);
                }
                done => return done,
            }
        }
    }
}

async fn steps() -> Result<()> {
    let mut sleeper = AsyncSleeper::new()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        let instant = now() + 1_000_000;
        sleeper.sleep_until(instant).await?;
        ours.push(now() - instant);
        let instant = now() + 1_000_000;
        tokio::time::sleep(Duration::from_millis(1)).await;
        theirs.push(now() - instant);
    }
    assert!(ours.iter().all(|late| *late >= 0));
    ours.sort_unstable();
    theirs.sort_unstable();
    println!("late by {} ns (median), tokio::time::sleep() by {} ns", ours[500], theirs[500]);
    Ok(())
}

fn main() -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(steps())
}

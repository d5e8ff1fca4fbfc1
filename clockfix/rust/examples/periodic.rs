// SPDX-License-Identifier: LGPL-2.1-or-later
//! A control loop of 1 kHz for a second, and how late it was.

use clockfix::{Options, Timer, SCHED_FIFO};
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let timer = Timer::new(&Options { policy: SCHED_FIFO, priority: 80, ..Options::default() })
        .or_else(|_| Timer::new(&Options::default()))?; // where that is not permitted
    let job = timer.every(Duration::from_millis(1), |run| {
        // what is to be done each millisecond
        if run.missed > 0 {
            eprintln!("{} missed before step {}", run.missed, run.index);
        }
    })?;
    std::thread::sleep(Duration::from_secs(1));
    timer.cancel_wait(&job)?;
    let late = timer.stats()?.lateness;
    println!("{} steps, late by {} ns (median), {} ns (99 %)", late.count, late.quantile(0.5),
             late.quantile(0.99));
    timer.close()
}

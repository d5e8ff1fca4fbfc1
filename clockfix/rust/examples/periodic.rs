// SPDX-License-Identifier: LGPL-2.1-or-later
//! A control loop of 1 kHz for a second, and how late it was.

use clockfix::{now, Options, Sleeper};

fn main() -> std::io::Result<()> {
    let mut sleeper = Sleeper::new(&Options::default())?;
    let mut instant = now();
    for _ in 0..1000 {
        instant += 1_000_000;
        sleeper.sleep_until(instant)?;
        // what is to be done each millisecond
    }
    let late = sleeper.stats()?.lateness;
    println!("{} steps, late by {} ns (median), {} ns (99 %)", late.count, late.quantile(0.5),
             late.quantile(0.99));
    Ok(())
}

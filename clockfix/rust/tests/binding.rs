// SPDX-License-Identifier: LGPL-2.1-or-later
//! What the crate adds to the library. None of this depends on how late the machine is.

use clockfix::{now, Options, Sleeper, Stats};
use std::io::ErrorKind;
use std::mem::size_of;
use std::thread;

const HOUR: i64 = 3_600_000_000_000;
const MS: i64 = 1_000_000;

#[test]
fn options_are_those_of_the_library() {
    assert_eq!(Options::default().size, size_of::<Options>());
    assert_eq!(Options::default().cpu, -1);
    assert!(Sleeper::new(&Options { late_ppm: 1_000_001, ..Options::default() }).is_err());
    assert!(Sleeper::new(&Options { max_jobs: 1, ..Options::default() }).is_err());
    assert!(Sleeper::new(&Options { cpu: 0, ..Options::default() }).is_err());
    // how large they are is none of the program's business
    Sleeper::new(&Options { size: 1, ..Options::default() }).unwrap();
}

#[test]
fn threads_have_sleepers_of_their_own() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                for length in [-MS, 0, 10_000, 300_000].repeat(10) {
                    let instant = now() + length;
                    clockfix::sleep_until(instant).unwrap();
                    assert!(now() >= instant);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    clockfix::sleep_until_by(11, 1).unwrap();
    assert_eq!(clockfix::sleep_until_by(99, 1).unwrap_err().raw_os_error(), Some(22));
}

#[test]
fn sleepers_are_never_early() {
    let mut sleeper = Sleeper::new(&Options { cpu_ppm: 500_000, ..Options::default() }).unwrap();
    for length in [-MS, 0, 10_000, 300_000, 2 * MS].repeat(10) {
        let instant = now() + length;
        sleeper.sleep_until(instant).unwrap();
        assert!(now() >= instant);
    }
    let link = format!("/proc/self/fd/{}", sleeper.descriptor().unwrap());
    assert_eq!(std::fs::read_link(link).unwrap().to_str(), Some("anon_inode:[timerfd]"));
    sleeper.arm(now() + HOUR).unwrap();
    assert_eq!(sleeper.finish().unwrap_err().kind(), ErrorKind::WouldBlock);
    let instant = now() + 5 * MS;
    sleeper.arm(instant).unwrap();
    while sleeper.finish().is_err() {}
    assert!(now() >= instant);
    let stats = sleeper.stats().unwrap();
    // it tells the size that it has filled in
    assert_eq!((stats.size, stats.jobs, stats.lateness.count), (size_of::<Stats>(), 51, 51));
    assert!(stats.lateness.quantile(0.5) <= stats.lateness.max);
    assert!(sleeper.sleep_until_by(99, 1).is_err());
}

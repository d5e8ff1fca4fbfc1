// SPDX-License-Identifier: LGPL-2.1-or-later
//! What the crate adds to the library. None of this depends on how late the machine is.

use clockfix::{now, sys, Cancelled, Missed, Options, Schedule, Sleeper, Timer};
use std::io::ErrorKind;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

const HOUR: i64 = 3_600_000_000_000;
const MS: i64 = 1_000_000;

/// Threads may share it.
fn timer() -> Timer {
    fn shared<T: Send + Sync>(timer: T) -> T {
        timer
    }
    shared(Timer::new(&Options::default()).unwrap())
}

/// Counts how many of it are alive.
struct Canary(Arc<AtomicU32>);

impl Canary {
    fn new(alive: &Arc<AtomicU32>) -> Self {
        alive.fetch_add(1, SeqCst);
        Canary(Arc::clone(alive))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn closures_are_told_what_the_library_says() {
    let timer = timer();
    let (send, receive) = mpsc::channel();
    let start = now() + 5 * MS;
    let period = Duration::from_millis(2);
    let when = Schedule { start, period, runs: 4, missed: Missed::CatchUp };
    timer
        .schedule(when, move |run| {
            assert!(now() >= run.instant);
            send.send(run.instant - start).unwrap();
        })
        .unwrap();
    timer.close().unwrap();
    let seen: Vec<i64> = receive.iter().collect();
    // close() does not run periodic jobs again: those that did are right
    assert!([0, 2 * MS, 4 * MS, 6 * MS].starts_with(&seen));
}

#[test]
fn closures_are_dropped() {
    let alive = Arc::new(AtomicU32::new(0));
    let canary = || Canary::new(&alive);
    let timer = timer();
    for _ in 0..100 {
        let held = canary();
        let job = timer.at(now() + HOUR, move |_| drop(held)).unwrap();
        assert_eq!(timer.cancel(&job).unwrap(), Cancelled::Pending);
        assert_eq!(timer.cancel(&job).unwrap(), Cancelled::Over);
        assert_eq!(timer.cancel_wait(&job).unwrap(), Cancelled::Over);
    }
    let held = canary();
    timer.at(now(), move |_| drop(held)).unwrap();
    let held = canary();
    let period = Duration::from_micros(100);
    // of these the last may be missed
    timer
        .schedule(Schedule { start: now(), period, runs: 5, ..Schedule::default() }, move |run| {
            let _ = &held;
            assert!(run.index < 5);
            thread::sleep(Duration::from_micros(150));
        })
        .unwrap();
    timer.drain().unwrap();
    assert_eq!(alive.load(SeqCst), 0);
    let held = canary();
    timer.at(now() + HOUR, move |_| drop(held)).unwrap();
    drop(timer);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn a_run_in_progress_is_waited_for() {
    let timer = timer();
    let (started, ended) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let theirs = (Arc::clone(&started), Arc::clone(&ended));
    let job = timer
        .at(now(), move |_| {
            theirs.0.wait();
            thread::sleep(Duration::from_millis(20));
            theirs.1.store(1, SeqCst);
        })
        .unwrap();
    started.wait();
    assert_eq!(timer.cancel_wait(&job).unwrap(), Cancelled::Running);
    assert_eq!(ended.load(SeqCst), 1);
}

/// Handles of two timers may be equal.
#[test]
fn jobs_belong_to_their_timer() {
    let (one, two) = (timer(), timer());
    let first = one.at(now() + HOUR, |_| ()).unwrap();
    let second = two.at(now() + HOUR, |_| ()).unwrap();
    assert_eq!(two.cancel(&first).unwrap_err().raw_os_error(), Some(22));
    assert_eq!(two.cancel_wait(&first).unwrap_err().raw_os_error(), Some(22));
    assert_eq!(one.cancel(&first).unwrap(), Cancelled::Pending);
    assert_eq!(two.cancel(&second).unwrap(), Cancelled::Pending);
}

#[test]
fn a_job_drops_its_timer() {
    let alive = Arc::new(AtomicU32::new(0));
    let (held, dropped) = (Arc::new(Mutex::new(Some(timer()))), Arc::new(Barrier::new(2)));
    let (theirs, canaries) = ((Arc::clone(&held), Arc::clone(&dropped)), [Canary::new(&alive), Canary::new(&alive)]);
    let [first, second] = canaries;
    let guard = held.lock().unwrap();
    guard.as_ref().unwrap().at(now() + HOUR, move |_| drop(first)).unwrap();
    guard.as_ref().unwrap().at(now(), move |run| {
        let timer = theirs.0.lock().unwrap().take().unwrap();
        assert_eq!(timer.close().unwrap_err().raw_os_error(), Some(35));
        // neither does it run what comes now, and says so
        assert_eq!(run.at(now(), |_| ()).unwrap_err().raw_os_error(), Some(125));
        drop(second);
        theirs.1.wait();
    }).unwrap();
    drop(guard);
    dropped.wait();
    while alive.load(SeqCst) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn errors_have_the_librarys_errno() {
    let errno = |error: std::io::Error| error.raw_os_error();
    let timer = timer();
    assert_eq!(errno(timer.every(Duration::ZERO, |_| ()).unwrap_err()), Some(22));
    assert_eq!(errno(timer.at(-1, |_| ()).unwrap_err()), Some(22));
    assert!(Timer::new(&Options { late_ppm: 1_000_001, ..Options::default() }).is_err());
    assert!(Sleeper::new(&Options { cpu: 0, ..Options::default() }).is_err());
    // how large they are is none of the program's business
    Timer::new(&Options { size: 65536, ..Options::default() }).unwrap();
    Sleeper::new(&Options { size: 1, ..Options::default() }).unwrap();
    let small = Timer::new(&Options { max_jobs: 16, ..Options::default() }).unwrap();
    let refused = (0..1000).find_map(|_| small.at(now() + HOUR, |_| ()).err());
    assert_eq!(refused.and_then(errno), Some(12));
}

/// Of what build.rs made of the header; the C compiler says how large it is.
#[test]
fn structures_are_those_of_the_library() {
    let mut spec = std::mem::MaybeUninit::<sys::clockfix_spec>::uninit();
    // SAFETY: it fills in all of it
    let spec = unsafe {
        sys::clockfix_spec_init(spec.as_mut_ptr());
        spec.assume_init()
    };
    assert_eq!(spec.size, size_of::<sys::clockfix_spec>());
    assert_eq!(Options::default().size, size_of::<Options>());
    // of another size it would be refused
    assert_eq!(timer().stats().unwrap().size, size_of::<clockfix::Stats>());
    assert_eq!(sys::CLOCKFIX_DROP_PENDING, 1);
    assert_eq!(sys::CLOCKFIX_LIMIT_SLEEPING, 3);
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
    assert_eq!(stats.jobs, 51);
    assert!(stats.lateness.quantile(0.5) <= stats.lateness.max);
    assert!(sleeper.sleep_until_by(99, 1).is_err());
}

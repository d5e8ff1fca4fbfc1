// SPDX-License-Identifier: LGPL-2.1-or-later
//! None of this depends on how late the machine is.

use clockfix::{Cancelled, Capabilities, Clock, Instant, Missed, Options, Schedule, Sleeper, Timer};
use std::io::ErrorKind;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

fn timer() -> Timer {
    Timer::new(&Options::new()).unwrap()
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
fn cancelled_jobs_are_dropped() {
    let timer = timer();
    let alive = Arc::new(AtomicU32::new(0));
    for _ in 0..100 {
        let canary = Canary::new(&alive);
        let job = timer.after(HOUR, move |_| drop(canary)).unwrap();
        assert_eq!(timer.cancel(&job).unwrap(), Cancelled::Pending);
        assert_eq!(timer.cancel(&job).unwrap(), Cancelled::Over);
        assert_eq!(timer.cancel_wait(&job).unwrap(), Cancelled::Over);
    }
    timer.after(Duration::ZERO, |_| ()).unwrap();
    assert_eq!(alive.load(SeqCst), 0);
    let canary = Canary::new(&alive);
    timer.after(HOUR, move |_| drop(canary)).unwrap();
    drop(timer);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn cancelled_while_running() {
    let timer = timer();
    let (started, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let ended = Arc::new(AtomicBool::new(false));
    let alive = Arc::new(AtomicU32::new(0));
    let canary = Canary::new(&alive);
    let theirs = (Arc::clone(&started), Arc::clone(&go), Arc::clone(&ended), canary);
    let job = timer
        .every(ms(1), move |_| {
            let (started, go, ended, _canary) = &theirs;
            started.wait();
            go.wait();
            thread::sleep(ms(20));
            ended.store(true, SeqCst);
        })
        .unwrap();
    started.wait();
    assert_eq!(timer.cancel(&job).unwrap(), Cancelled::Running);
    go.wait();
    timer.drain().unwrap();
    assert!(ended.load(SeqCst));
    timer.after(Duration::ZERO, |_| ()).unwrap();
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn a_job_schedules_others_and_stops_itself() {
    let timer = timer();
    let runs = Arc::new(AtomicU32::new(0));
    let others = Arc::new(AtomicU32::new(0));
    let theirs = (Arc::clone(&runs), Arc::clone(&others));
    timer
        .every(us(200), move |run| {
            let (runs, others) = &theirs;
            let others = Arc::clone(others);
            let count = move |_: &clockfix::Run<'_>| {
                others.fetch_add(1, SeqCst);
            };
            run.jobs().after(us(50), count).unwrap();
            assert_eq!(run.jobs().drain().unwrap_err().raw_os_error(), Some(35));
            if runs.fetch_add(1, SeqCst) == 9 {
                run.stop();
            }
        })
        .unwrap();
    timer.drain().unwrap();
    assert_eq!((runs.load(SeqCst), others.load(SeqCst)), (10, 10));
}

#[test]
fn a_panic_ends_its_job_and_is_resumed() {
    let timer = timer();
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    timer
        .every(ms(1), move |_| {
            count.fetch_add(1, SeqCst);
            panic!("expected");
        })
        .unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| timer.drain())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"expected"));
    assert_eq!(runs.load(SeqCst), 1);
    timer.after(Duration::ZERO, |_| panic!("again")).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| timer.close())).is_err());
}

#[test]
fn reschedule_and_adjust() {
    let timer = timer();
    let (send, receive) = mpsc::channel();
    let later = send.clone();
    let mut job = timer.after(HOUR, move |run| later.send(run.instant()).unwrap()).unwrap();
    let instant = Instant::now() + ms(1);
    assert!(timer.reschedule(&mut job, instant).unwrap());
    timer.drain().unwrap();
    assert_eq!(receive.recv().unwrap(), instant);
    assert!(!timer.reschedule(&mut job, instant).unwrap());

    let start = Instant::now() + ms(1);
    let schedule = Schedule::at(start).every(ms(2)).runs(4).missed(Missed::CatchUp);
    timer
        .schedule(schedule, move |run| {
            match run.index() {
                0 => run.adjust(500_000, None).unwrap(),
                1 => run.adjust(0, Some(ms(3))).unwrap(),
                _ => (),
            }
            send.send(run.instant()).unwrap();
        })
        .unwrap();
    timer.drain().unwrap();
    let seen: Vec<_> = receive.try_iter().collect();
    assert_eq!(seen, [0, 2500, 5500, 8500].map(|k| start + us(k)));
}

#[test]
fn dropped_by_its_own_job() {
    let (send, receive) = mpsc::channel();
    let place = Arc::new(Mutex::new(None));
    let own = Arc::clone(&place);
    let timer = timer();
    timer
        .after(ms(50), move |_| {
            drop(own.lock().unwrap().take());
            send.send(()).unwrap();
        })
        .unwrap();
    *place.lock().unwrap() = Some(timer);
    receive.recv().unwrap();
}

#[test]
fn errors() {
    let invalid = |error: std::io::Error| error.kind() == ErrorKind::InvalidInput;
    let (one, other) = (timer(), timer());
    let mut job = one.after(HOUR, |_| ()).unwrap();
    assert!(invalid(other.cancel(&job).unwrap_err()));
    assert!(invalid(other.cancel_wait(&job).unwrap_err()));
    assert!(invalid(other.reschedule(&mut job, Instant::now()).unwrap_err()));
    assert!(invalid(one.every(Duration::ZERO, |_| ()).unwrap_err()));
    assert!(invalid(one.at(Instant::from_nanos(-1), |_| ()).unwrap_err()));
    assert!(invalid(one.after(Duration::MAX, |_| ()).unwrap_err()));
    assert!(invalid(one.schedule(Schedule::at(Instant::now()).runs(2), |_| ()).unwrap_err()));
    assert!(invalid(Timer::new(&Options::new().late_ppm(1_000_001)).unwrap_err()));
    assert!(invalid(Timer::new(&Options::new().cpu_ppm(1_000_001)).unwrap_err()));
    Timer::new(&Options::new().late_ppm(1000)).unwrap();
    assert!(invalid(Timer::new(&Options::new().fifo(100)).unwrap_err()));
    assert!(invalid(Sleeper::new(&Options::new().cpu(0)).unwrap_err()));

    let small = Timer::new(&Options::new().max_jobs(16)).unwrap();
    let alive = Arc::new(AtomicU32::new(0));
    let refused = (0..1000).find_map(|_| {
        let canary = Canary::new(&alive);
        small.after(HOUR, move |_| drop(canary)).err()
    });
    assert_eq!(refused.unwrap().raw_os_error(), Some(12));
    assert_eq!(u64::from(alive.load(SeqCst)), small.stats().unwrap().pending);
}

#[test]
fn figures() {
    let timer = Timer::new(&Options::new().name("rusty")).unwrap();
    let schedule = Schedule::at(Instant::now()).every(ms(1)).runs(20).missed(Missed::CatchUp);
    timer.schedule(schedule, |_| ()).unwrap();
    timer.drain().unwrap();
    let stats = timer.stats().unwrap();
    assert_eq!((stats.jobs, stats.lateness.count()), (20, 20));
    assert!(stats.lateness.quantile(0.5) <= stats.lateness.max());
    assert!(stats.lateness.mean() <= stats.lateness.max());
    let capabilities = timer.capabilities().unwrap();
    assert_eq!(capabilities.timer_slack, clockfix::Status::InForce);
    assert_eq!(capabilities.affinity, clockfix::Status::NotAsked);
    assert_eq!(Capabilities::of_machine().unwrap().counter, capabilities.counter);
}

#[test]
fn sleeper() {
    let mut sleeper = Sleeper::new(&Options::new()).unwrap();
    for clock in [Clock::Monotonic, Clock::Tai] {
        for length in [0, 10, 300, 2000].repeat(10) {
            let instant = clock.now() + us(length);
            sleeper.sleep_until(clock, instant).unwrap();
            assert!(clock.now() >= instant);
        }
    }
    let start = Instant::now();
    sleeper.sleep(ms(3)).unwrap();
    assert!(Instant::now().saturating_duration_since(start) >= ms(3));
    assert!(sleeper.stats().unwrap().jobs >= 81);
}

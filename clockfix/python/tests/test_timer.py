# SPDX-License-Identifier: LGPL-2.1-or-later
"""Timers. None of this depends on how late the machine is."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from clockfix import Job, Missed, Options, Timer, capabilities
from clockfix.timer import ClosedError, _open

MS = 1_000_000


def test_arguments_and_the_past() -> None:
    calls: list[object] = []
    with Timer() as timer:
        timer.at(timer.now() - MS, calls.append, 1)
        timer.after(0.001, calls.extend, (2, 3))
    assert calls == [1, 2, 3]


def test_runs_of_which_the_last_are_missed() -> None:
    calls: list[int] = []

    def run() -> None:
        calls.append(job.index)
        time.sleep(0.02)

    with Timer() as timer:
        job = timer.every(0.002, run, runs=5)
        timer.drain()
        assert not job.pending
    # 0 and perhaps another; the machine may have been busy even before
    assert all(index < 5 for index in calls)
    assert len(calls) < 5


def test_cancel() -> None:
    calls: list[int] = []
    with Timer() as timer:
        job = timer.after(3600, calls.append, 1)
        assert [job.pending, job.cancel(), job.pending, job.cancel()] == [True, True, False, False]
        timer.drain()
    assert not calls
    assert not job.cancel()


def test_cancel_waits_for_the_call_in_progress() -> None:
    begun, ended = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        time.sleep(0.05)
        ended.set()

    with Timer() as timer:
        job = timer.every(0.001, run)
        begun.wait()
        assert not job.cancel(wait=True)
        assert ended.is_set()


def test_reschedule() -> None:
    calls: list[int] = []
    with Timer() as timer:
        job = timer.after(3600, calls.append, 1)
        assert job.reschedule(timer.now() + MS)
        timer.drain()
        assert calls == [1]
        assert not job.reschedule(timer.now())
        every = timer.every(3600, lambda: calls.append(every.index), runs=1)
        assert every.reschedule(timer.now())
        timer.drain()
        with pytest.raises(ValueError, match="range"):
            timer.after(3600, int).reschedule(-1)
        with pytest.raises(ValueError, match="range"):
            timer.after(3600, int).reschedule(2**70)
        timer.close(drop=True)
    assert calls == [1, 0]


def test_adjust() -> None:
    instants: list[int] = []

    def run() -> None:
        instants.append(job.instant)
        if len(instants) == 1:
            job.adjust(MS // 2)
        elif len(instants) == 2:
            job.adjust(seconds=0.003)

    with Timer() as timer:
        job = timer.every(0.002, run, runs=4, missed=Missed.CATCH_UP)
        timer.drain()
        with pytest.raises(PermissionError):
            job.adjust(1)
    assert [after - before for before, after in itertools.pairwise(instants)] == [
        2 * MS + MS // 2, 3 * MS, 3 * MS]


def test_jobs_submit_jobs() -> None:
    calls: list[int] = []

    with Timer() as timer:
        def run(left: int) -> None:
            calls.append(left)
            if left:
                timer.after(0.0001, run, left - 1)

        timer.after(0, run, 100)
        timer.drain()
    assert calls == list(range(100, -1, -1))


def test_what_a_function_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    hooked: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append(args.exc_type))
    with Timer() as timer:
        job = timer.every(0.001, lambda: 1 // 0, missed=Missed.CATCH_UP)
        with pytest.raises(ZeroDivisionError):
            timer.drain()
        assert not job.pending
        assert job.index == 0
        timer.after(0, int, "x")
        timer.after(0.001, [].remove, 1)
        with pytest.raises(ValueError, match="invalid literal"):
            timer.drain()
        # one is raised, others go where those of threads go
        assert hooked == [ValueError]
        monkeypatch.setattr(threading, "excepthook", int)
        for _ in range(2):
            timer.after(0, int, "x")
        with pytest.raises(ValueError, match="invalid literal"):
            timer.drain()
        timer.drain()
        timer.after(0, sys.exit, 3)
        with pytest.raises(SystemExit):
            timer.close()


def test_the_worker_can_not_wait_for_itself() -> None:
    errors: list[str] = []

    def run() -> None:
        for wait in (timer.drain, timer.close, lambda: job.cancel(wait=True)):
            try:
                wait()
            except RuntimeError as error:
                errors.append(str(error))

    with Timer() as timer:
        job = timer.after(0.01, run)
        timer.drain()
    assert len(errors) == 3


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="negative"):
        Timer(gil_lead=-1)
    with pytest.raises(ValueError, match="range"):
        Timer(Options(late_ppm=1000001))
    with pytest.raises(ValueError, match="range"):
        Timer(Options(cpu=2**40))
    with Timer() as timer:
        for period in (0, -1):
            with pytest.raises(ValueError, match="period"):
                timer.every(period, print)
        with pytest.raises(ValueError, match="runs"):
            timer.every(1, print, runs=-1)
        for instant in (-1, 2**63 - 1, 2**80):
            with pytest.raises(ValueError, match="range"):
                timer.at(instant, print)
        with pytest.raises(TypeError, match="called"):
            timer.at(0, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="closed"):
        timer.after(0, print)
    assert timer.stats().pending == 0


def test_gil_lead_is_never_early() -> None:
    early: list[int] = []

    def run() -> None:
        if time.monotonic_ns() < job.instant:
            early.append(job.index)

    with Timer(gil_lead=0.0002) as timer:
        start = timer.now() + MS
        job = timer.every(0.001, run, start=start, runs=300)
        timer.drain()
        assert (job.instant - start) % MS == 0
    assert not early


def test_rehearsals() -> None:
    calls: list[int] = []
    rehearsals: list[int] = []
    with Timer() as timer:
        job = timer.every(0.005, lambda: (calls if job.started else rehearsals).append(job.index),
                          runs=30, missed=Missed.CATCH_UP, rehearse=True)
        timer.drain()
        assert calls == list(range(30))
        assert rehearsals == sorted(set(rehearsals))
        job = timer.every(0.005, lambda: None if job.started else calls.clear(), rehearse=True)
        while calls:
            time.sleep(0.001)
        job.cancel(wait=True)
        job = timer.every(0.005, lambda: None if job.started else job.adjust(1), rehearse=True)
        with pytest.raises(PermissionError):
            timer.drain()
        # what one raises ends the job
        job = timer.every(0.005, lambda: None if job.started else 1 // 0, rehearse=True)
        with pytest.raises(ZeroDivisionError):
            timer.drain()
        assert job.started == 0


def test_stats_and_capabilities() -> None:
    with Timer(Options(late_ppm=1000, cpu_ppm=500000)) as timer:
        timer.every(0.001, int, runs=20, missed=Missed.CATCH_UP)
        timer.drain()
        stats = timer.stats()
        assert stats.jobs == 20
        assert stats.longest_job > 0
        assert stats.lateness.count == stats.jobs
        assert 0 <= stats.lateness.quantile(0.5) <= stats.lateness.quantile(1)
        assert timer.capabilities().timer_slack == "in force"
        assert timer.capabilities().affinity == "not asked"


def test_no_leak() -> None:
    class Canary:
        def __call__(self) -> None:
            pass

    canary = Canary()
    died = weakref.ref(canary)
    with Timer() as timer:
        jobs: list[Job] = [timer.after(0, canary), timer.every(0.001, canary, runs=3),
                           timer.after(3600, canary)]
        jobs[2].cancel()
        timer.drain()
        del jobs, canary
        gc.collect()
        # its last frame may still be unwinding
        deadline = time.monotonic() + 5
        while died() and time.monotonic() < deadline:
            time.sleep(0.001)
        assert died() is None


def test_fork() -> None:
    with Timer() as timer:
        job = timer.every(0.001, int)
        held, forked = threading.Event(), threading.Event()

        def hold() -> None:
            with timer._worker.changed:
                held.set()
                forked.wait()

        threading.Thread(target=hold).start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            refused = 0
            try:
                for use in (lambda: timer.after(0, int), timer.stats, timer.drain, job.cancel,
                            lambda: job.cancel(wait=True), lambda: job.reschedule(0)):
                    try:
                        use()
                    except OSError:
                        refused += 1
                timer.close()
                with Timer() as own:
                    own.after(0, int)
            finally:
                os._exit(refused)
        forked.set()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6


def test_interrupt() -> None:
    # a shell starts what runs in the background with SIGINT ignored
    script = ("import clockfix, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
              "with clockfix.Timer() as t:\n    t.after(3600, int)\n    ")
    for wait in ("t.drain()", "print(flush=True); pass"):
        child = subprocess.Popen([sys.executable, "-c", script + "print(flush=True); " + wait],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout
        child.stdout.readline()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        assert "KeyboardInterrupt" in errors


ARMS_ITSELF = """
import clockfix, sys, threading, time
def tick():
    calls.append(1)
    timer.after(0.0001, tick)
calls = []
timer = clockfix.Timer()
timer.after(0, tick)
while len(calls) < 10:
    time.sleep(0.001)
"""


@pytest.mark.parametrize("end", [
    "", "timer.close()", "timer.close(drop=True)", "timer.__exit__(None, None, None)",
    "\ntry:\n    with timer: raise KeyboardInterrupt\nexcept KeyboardInterrupt: pass", "sys.exit()",
    "timer = None",
    # a signal's handler, in the middle of another call
    "\nwith timer._worker.changed: timer.close()",
])
def test_a_job_that_arms_itself_does_not_keep_a_timer(end: str) -> None:
    done = subprocess.run([sys.executable, "-c", ARMS_ITSELF + end], capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_instants_that_are_skipped_do_not_keep_a_timer() -> None:
    for _ in range(200):
        with Timer() as timer:
            timer.every(0.00001, int, start=timer.now())
            time.sleep(0.0005)


def test_threads_that_submit_do_not_keep_a_timer() -> None:
    for drop in (False, True):
        timer = Timer()
        refused: list[str] = []

        def submit(timer: Timer = timer, refused: list[str] = refused) -> None:
            try:
                while True:
                    timer.after(0.0005, int)
                    timer.after(3600, int).cancel()
                    timer.stats()
            except ClosedError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=submit) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        timer.close(drop=drop)
        for thread in threads:
            thread.join()
        assert refused == ["the timer is closed"] * 3
    assert not _open


def test_a_timer_is_collected() -> None:
    before = threading.active_count()
    with pytest.warns(ResourceWarning, match="not closed"):
        Timer().after(3600, int)
        gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert threading.active_count() == before


@pytest.mark.parametrize(("missed", "runs", "expected"), [
    # is it called, with which job.missed; instants that count as missed; index of the next call
    (Missed.SKIP, 0, (False, 0, 3, 6)), (Missed.SKIP, 5, (False, 0, 2, 5)),
    (Missed.REPORT, 0, (True, 2, 2, 6)), (Missed.REPORT, 5, (True, 1, 1, 5)),
    (Missed.CATCH_UP, 0, (True, 0, 1, 4)),
])
def test_missed(missed: Missed, runs: int, expected: tuple[bool, int, int, int]) -> None:
    with Timer() as timer:
        start = timer.now() + 3600 * 1000 * MS
        job = timer.every(1, int, start=start, runs=runs, missed=missed)
        job._advance(3)
        # instant 3 is due, and 4 and 5 have passed, too
        called, passed = job._begin(start + 5_500 * MS)
        job._advance(1)
        assert (called, job.missed, passed, job._next_index) == expected
        # not twice in a row
        assert job._begin(start + 50_000 * MS)[0]
        timer.close(drop=True)


def test_an_earlier_job_comes_first() -> None:
    calls: list[int] = []
    with Timer() as timer:
        start = timer.now()
        for wait in (0.3, 0.2, 0.1):
            timer.after(wait, lambda: calls.append(timer.now() - start))
            time.sleep(0.01)
    assert [call // (100 * MS) for call in calls] == [1, 2, 3]


def test_the_thread_takes_no_signals() -> None:
    with Timer() as timer:
        masks: list[set[int]] = []
        timer.after(0, lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    assert signal.SIGINT in masks[0]


def test_options_take_effect() -> None:
    cpu = max(os.sched_getaffinity(0))
    seen: list[set[int]] = []
    with Timer(Options(cpu=cpu, name="my timer")) as timer:
        timer.after(0, lambda: seen.append(os.sched_getaffinity(0)))
        assert timer.capabilities().affinity == "in force"
        assert timer.capabilities().scheduling == "not asked"
        assert "my timer\n" in [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    assert seen == [{cpu}]
    with pytest.raises(OSError, match=os.strerror(22)), Timer(Options(cpu=1023, strict=True)):
        pass
    with Timer(Options(cpu=1023)) as timer:
        assert timer.capabilities().affinity == os.strerror(22)
    with pytest.raises(ValueError, match="priority"):
        Timer(Options(policy=os.SCHED_FIFO))
    with pytest.raises(ValueError, match="15 bytes"):
        Options(name="much too long a name").native()
    with Timer(Options(max_jobs=16)) as timer:
        jobs = [timer.after(3600, int) for _ in range(16)]
        with pytest.raises(MemoryError):
            timer.after(3600, int)
        jobs[3].cancel()
        timer.after(0, int)
        timer.close(drop=True)

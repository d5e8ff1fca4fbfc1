# SPDX-License-Identifier: GPL-2.0-or-later
"""blame on the machine itself: their options, their output, and how they end.

Whether the figures are right is tested in guests (tests/blame*.c).
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMAND = ""
LOOP = ("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
NOT_SUPPORTED = (3, 4)
CLEAR = b"\033[H\033[J"
HOG = """import threading
for _ in range(2): threading.Thread(target=exec, args=("while 1: 0",)).start()"""
COPIES = """import mmap, os, signal, time
pages = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages.madvise(mmap.MADV_NOHUGEPAGE)
pages.madvise(23)  # MADV_POPULATE_WRITE
child = os.fork()
if not child: signal.pause()
total = 0
for page in range(0, len(pages), mmap.PAGESIZE):
    begin = time.perf_counter_ns()
    pages[page] = 1
    took = time.perf_counter_ns() - begin
    total += took if took < 20000 else 0
print(total)
os.kill(child, signal.SIGKILL)"""
SHORT = """import threading, time
for _ in range(200):
    thread = threading.Thread(target=time.sleep, args=(0.002,))
    thread.start()
    thread.join()"""
MANY = """import subprocess, sys, threading
for _ in range(4200):
    thread = threading.Thread()
    thread.start()
    thread.join()
subprocess.run(["chrt", "-f", "5", "sh", "-c", "sleep .1; " + sys.argv[1]])"""


def run(*words: str, seconds: float = 300) -> "subprocess.CompletedProcess[str]":
    """Run the command and wait for its end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False,
                          timeout=seconds)


def start(*words: str, out: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    """Start the command."""
    return subprocess.Popen([COMMAND, *words], stdout=out, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def company() -> Iterator[None]:
    """Something runs on CPU 0: "nothing has run" would end with another status."""
    with subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while sleep 0.01; do :; done"],
                          start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


class Screen:
    """The command on a terminal, picture by picture."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self.text = b""

    def read(self, seconds: float) -> bool:
        """More of what is drawn; false if nothing comes, or if the command has ended."""
        more = b""
        if select.select([self.terminal], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                more = os.read(self.terminal, 65536)
        self.text += more
        return bool(more)

    def picture(self, wanted: bytes) -> bytes:
        """The next picture that has WANTED; it is whole when another one begins."""
        while True:
            picture, clear, rest = self.text.partition(CLEAR)
            if not clear:
                assert self.read(60), (wanted, self.text)
                continue
            self.text = rest
            if wanted in picture:
                return picture

    def rest(self, silence: float) -> bytes:
        """The last picture, after which nothing came for so long; or the command has ended."""
        deadline = time.monotonic() + 60
        while self.read(silence):
            assert time.monotonic() < deadline, self.text
        return self.text.rpartition(CLEAR)[2]


def resize(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def as_nobody() -> None:
    os.setgroups([])
    os.setuid(65534)


class UsageTest(unittest.TestCase):
    """What is refused, by any user."""

    def test_bad_arguments(self) -> None:
        for words in (("blame", "-c", "x"), ("blame", "-p", "0"), ("blame", "-s", "0"),
                      ("blame", "--over", "-1"), ("blame", "--max", "x"),
                      ("blame", "-p", "1", "--", "true"), ("blame", "--interval=1")):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(f"help {words[0]}'", done.stderr, words)

    def test_no_such_cpu(self) -> None:
        done = run("blame", "-c", "0,8191")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such CPU: CPU 8191 (this machine has ", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "becomes nobody")
    def test_as_nobody(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            copy = Path(directory) / "timershield"
            copy.write_bytes(Path(COMMAND).read_bytes())
            copy.chmod(0o755)
            Path(directory).chmod(0o755)
            done = subprocess.run([copy, "blame"], capture_output=True, text=True, check=False,
                                  timeout=60, preexec_fn=as_nobody)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("root", done.stderr)


@unittest.skipUnless(os.geteuid() == 0, "blame is for root")
class BlameTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        done = run("blame", "-s", "0.1")
        if done.returncode in NOT_SUPPORTED:
            raise unittest.SkipTest(done.stderr)

    def blame(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run("blame", *words)

    def json(self, *words: str) -> Any:
        done = self.blame("--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_rows_sum_to_what_was_taken(self) -> None:
        found = self.json("--", *LOOP)
        self.assertTrue(found["victims"])
        for victim in found["victims"]:
            self.assertEqual(sum(c["total_ns"] for c in victim["culprits"]), victim["taken_ns"])
            self.assertIn("unexplained", [c["kind"] for c in victim["culprits"]])

    def test_rows_of_threads_and_processes(self) -> None:
        """Of two processes with two busy threads each; a row of several has no single pid."""
        hogs = [subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", HOG])
                for _ in range(2)]
        try:
            pids = {hog.pid for hog in hogs}
            victim = ("taskset", "-c", "0", "sh", "-c", LOOP[2].replace("200000", "20000"))
            threads, processes = (self.json(*words, "--", *victim)["victims"][0]["culprits"]
                                  for words in (("--threads",), ()))
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        threads = [c for c in threads if c["kind"] == "task" and c["pid"] in pids]
        processes = [c for c in processes if c["kind"] == "task" and c["pid"] in pids]
        self.assertGreater(len(threads), 2)
        self.assertEqual(sorted(c["pid"] for c in processes), sorted(pids))
        self.assertIn("(2 threads)", str(processes))

    def test_realtime(self) -> None:
        command = ("sh", "-c", f"{LOOP[2]}; chrt -f 5 sh -c 'sleep .1; {LOOP[2]}'; true")
        self.assertIn("OTHER", {v["level"] for v in self.json("--", *command)["victims"]})
        found = self.json("--realtime", "--", *command)["victims"]
        self.assertEqual({v["level"] for v in found}, {"FIFO 5"})

    def test_more_threads_than_can_be_watched(self) -> None:
        """But not at a time: those that have ended leave room for others."""
        found = self.json("--realtime", "--", sys.executable, "-c", MANY, LOOP[2])
        self.assertEqual({v["level"] for v in found["victims"]}, {"FIFO 5"})
        self.assertEqual(found["lost_targets"], 0)

    def test_threads_that_live_for_a_moment(self) -> None:
        """To watch them takes no time in which events are lost."""
        found = self.json("--", sys.executable, "-c", SHORT)
        self.assertGreater(len(found["victims"]), 150)
        self.assertLess(found["lost_events"], 5000)

    def test_faults_that_copy(self) -> None:
        """After fork() each takes longer than those that blame measures when it starts."""
        done = self.blame("--json", "--", "/usr/bin/python3", "-c", COPIES)
        self.assertEqual(done.returncode, 0, done.stderr)
        itself, _, found = done.stdout.partition("\n")
        victims = json.loads(found)["victims"]
        taken = sum(c["total_ns"] for v in victims for c in v["culprits"]
                    if c["kind"] == "page-fault")
        self.assertGreater(taken, 0.8 * int(itself))
        self.assertLess(taken, 1.3 * int(itself))

    def test_openmetrics(self) -> None:
        done = self.blame("--openmetrics", "--", *LOOP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("\n# EOF\n"))
        self.assertRegex(done.stdout,
                         r'\ntimershield_blame_taken_seconds_total{victim="sh\[\d+\]",kind="')

    def test_interval(self) -> None:
        """Each object has what was taken since the start, and the last one is the whole."""
        done = self.blame("--json=line", "--interval=.2", "--", "sh", "-c", LOOP[2] + "; sleep 1")
        found = [json.loads(line)["elapsed_ns"] for line in done.stdout.splitlines()]
        self.assertGreater(len(found), 1, done.stderr)
        self.assertEqual(found, sorted(found))
        self.assertEqual(self.blame("--interval=1", "--", "true").returncode, 2)

    @unittest.skipUnless(shutil.which("unshare"), "needs unshare")
    def test_container(self) -> None:
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", COMMAND, "blame", "-s", "1"],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--pid=host", done.stderr)

    def test_statuses_of_a_command(self) -> None:
        for command, status in (("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM)):
            self.assertEqual(self.blame("--", "sh", "-c", command).returncode, status)
        for command, status in (("/nonexistent/x", 127), ("/etc/passwd", 126)):
            done = self.blame("--", command)
            self.assertEqual((done.returncode, done.stdout), (status, ""), command)
            # a slow start says so
            said = [s for s in done.stderr.splitlines() if not s.endswith("is still starting")]
            self.assertEqual(len(said), 1, done.stderr)
        self.assertEqual(self.blame("-p", "999999999").returncode, 1)

    def test_process_that_sleeps_or_ends(self) -> None:
        """If nothing has run that is no success; blame does not outlive the process."""
        process = subprocess.Popen(["sleep", "5"])
        threading.Thread(target=process.wait).start()
        done = self.blame("-p", str(process.pid), "-s", "0.3")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        before = time.monotonic()
        self.blame("-p", str(process.pid), "-s", "50")
        self.assertLess(time.monotonic() - before, 40)

    def test_max(self) -> None:
        done = self.blame("--max", "0.001", "--", *LOOP)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Longer than --max", done.stdout)
        self.assertEqual(self.blame("--max", "1e9", "--", *LOOP).returncode, 0)

    def test_over(self) -> None:
        worst = self.json("--over", "0.1", "--", *LOOP)["worst_episode"]
        self.assertTrue(worst["parts"])
        for part in worst["parts"]:
            self.assertLessEqual(part["at_ns"] + part["ns"], worst["length_ns"])
        starts = [part["at_ns"] for part in worst["parts"]]
        self.assertEqual(starts, sorted(starts))
        self.assertIn("The worst episode:", self.blame("--over", "0.1", "--", *LOOP).stdout)
        self.assertIn("No episode was longer", self.blame("--over", "1e9", "--", *LOOP).stdout)

    def test_signals_end_it_with_the_summary(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for pause in (1, 5, 25):    # a busy machine needs seconds until it watches
                with company():
                    process = start("blame", "-c", "0", "--json")
                    time.sleep(pause)
                    process.send_signal(number)
                    out, err = process.communicate(timeout=300)
                if not process.returncode:
                    break
            self.assertEqual(process.returncode, 0, err)
            self.assertIn("victims", json.loads(out))

    def test_reader_that_goes(self) -> None:
        """Silent, with the status of any command in a pipe, however much there was to write."""
        for more in ((), ("--json",)):
            process = start("blame", "-c", "0", "-s", "2", *more)
            assert process.stdout is not None
            process.stdout.close()
            self.assertEqual(process.wait(timeout=300), -signal.SIGPIPE)
            assert process.stderr is not None
            with process.stderr as errors:
                self.assertNotIn("standard output", errors.read())

    def test_terminal(self) -> None:
        os.environ["TERM"] = "xterm"    # a dumb one shows no pictures
        master, slave = pty.openpty()
        screen = Screen(master)
        resize(slave, 24, 80)
        with company(), start("blame", "-c", "0", out=slave) as process:
            screen.picture(b"culprit\r\n")
            resize(slave, 12, 40)
            narrow = screen.picture(b"  total us   share  culprit\r\n")
            lines = re.sub(rb"\033\[[0-9;]*m", b"", narrow).split(b"\r\n")
            self.assertLessEqual(max(map(len, lines)), 40)
            process.send_signal(signal.SIGINT)
            while screen.read(0.2) or process.poll() is None:
                pass
            _, errors = process.communicate()
        summary = screen.rest(0.2)
        os.close(slave)     # not before: what is not read yet would be lost
        os.close(master)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("CPU 0: ran", summary.decode())


if __name__ == "__main__":
    COMMAND = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

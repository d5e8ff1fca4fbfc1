# SPDX-License-Identifier: GPL-2.0-or-later
"""Building clockfix-bench, running it on this machine, and keeping what it measures."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.measure.systems import SWITCH, System
from lab import processes
from lab.errors import LabError
from lab.kernels.kernels import locked
from lab.kernels.platforms import Mode
from lab.kernels.toolchain import meson_ready, require
from lab.paths import BUILD, REPO

DIRECTORY = BUILD / "clockfix-test"
"""Not build/clockfix, which docs/clockfix.md has the user configure."""
PROGRAM = DIRECTORY / "bench" / "clockfix-bench"


def host_system() -> System:
    """This machine as it is: the shield, if there is one, is left as it stands."""
    if not SWITCH.exists():
        return System(None, Mode.STOCK)
    return System(None, Mode.OFF if SWITCH.read_text().strip() == "0" else Mode.SHIELDED)


def build() -> Path:
    """Build clockfix-bench as far as it is out of date."""
    require("meson", "ninja", "gcc")
    with locked("clockfix"):
        source = REPO / "clockfix"
        if not meson_ready(DIRECTORY, source):
            _call(["meson", "setup", "-Dtests=enabled", str(DIRECTORY), str(source)])
        _call(["meson", "compile", "-C", str(DIRECTORY)])
    return PROGRAM


def _call(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}")


def run(rivals: Sequence[str], intervals: Sequence[str], seconds: float,
        jobs: int) -> tuple[dict[str, Any], str]:
    """What clockfix-bench measured, and its command line."""
    words = ["--quiet", "--json", f"--rivals={','.join(rivals)}",
             f"--intervals={','.join(intervals)}", f"--seconds={seconds:g}", f"--jobs={jobs}"]
    measured: dict[str, Any] = json.loads(_bench(words))
    return measured, " ".join([PROGRAM.name, *words])


def _bench(words: Sequence[str]) -> str:
    done = processes.run([str(build()), *words], stderr=subprocess.PIPE)
    if done.returncode:
        raise LabError(f"clockfix-bench failed with status {done.returncode}:\n"
                       f"{done.stderr.strip()[-2000:]}")
    return done.stdout


def costs(directory: Path, samples: int) -> str:
    """Keep what reading the clock and learning take as costs.csv; return the command line."""
    words = ["--costs", f"--jobs={samples}"]
    found = _bench(words)
    directory.mkdir(exist_ok=True)
    (directory / "costs.csv").write_text(found)
    (directory / "summary.csv").write_text(f"name,value\nsamples,{samples}\n")
    return " ".join([PROGRAM.name, *words])


def keep(directory: Path, measured: dict[str, Any], interval: int) -> None:
    """Write the cells of one interval as quantiles.csv, rivals.csv and summary.csv."""
    directory.mkdir(exist_ok=True)
    cells = [c for c in measured["cells"] if c["interval"] == interval and c["jobs"]]
    quantiles = ["rival,share,late_ns"]
    rivals = ["rival,jobs,p1_ns,p50_ns,p95_ns,p99_ns,p999_ns,max_ns,share_over_1us,cpu_share"]
    for cell in cells:
        points = cell["cdf"]
        quantiles += [f"{cell['rival']},{i / (len(points) - 1):.4f},{ns}"
                      for i, ns in enumerate(points)]
        rivals.append(",".join(str(cell[key]) for key in (
            "rival", "jobs", "p1", "p50", "p95", "p99", "p99.9", "max", "share_over_1us",
            "cpu_share")))
    (directory / "quantiles.csv").write_text("\n".join(quantiles) + "\n")
    (directory / "rivals.csv").write_text("\n".join(rivals) + "\n")
    with (directory / "summary.csv").open("a") as summary:
        if not summary.tell():
            summary.write("name,value\n")
        summary.write(f"interval_ns,{interval}\nfifo_priority,{measured['fifo_priority']}\n")

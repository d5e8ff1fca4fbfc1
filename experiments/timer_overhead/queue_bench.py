# SPDX-License-Identifier: GPL-2.0-or-later
"""The queue's own benchmark, in real nanoseconds of this machine: kernel/tests/bench.c."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable

from experiments.common.claims import EACH, Claim, Found
from experiments.common.experiment import Context
from experiments.common.shown import Shown, column
from experiments.measure.results import Measured, write_host_meta
from experiments.measure.systems import System
from lab.errors import LabError
from lab.kernels.kernels import locked, stock_tree
from lab.kernels.platforms import Mode
from lab.paths import BUILD, REPO

PLATFORM = "host"
SYSTEM = f"{PLATFORM}-queue"
SCENARIO = "queue"
TITLE = "the queue in user space"
SAMPLES = 5000


def run(context: Context, experiment: str) -> None:
    """Build the benchmark from the kernel's own files, run it, keep its table."""
    if not context.wants(SCENARIO):
        return
    tree = stock_tree(context.progress, "7.3")
    output = BUILD / "kernel-bench"
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "O")}
    with locked("queue-bench"):
        done = subprocess.run(
            ["make", "-s", "-C", str(REPO / "kernel/tests"), f"O={output}", f"KERNEL_TREE={tree}",
             f"{output}/bench"],
            capture_output=True, text=True, check=False, env=environment,
        )
    if done.returncode:
        raise LabError(f"the queue's benchmark cannot be built:\n{done.stdout}{done.stderr}")
    with context.store(experiment).replacing(SYSTEM) as directory:
        (directory / SCENARIO).mkdir()
        command = [str(output / "bench"), str(context.samples(SAMPLES))]
        bench = subprocess.run(command, capture_output=True, text=True, check=False)
        if bench.returncode:
            raise LabError(f"{' '.join(command)}:\n{bench.stderr}")
        (directory / SCENARIO / "queue.csv").write_text(bench.stdout)
        (directory / SCENARIO / "summary.csv").write_text(
            f"name,value\nsamples,{context.samples(SAMPLES)}\n")
        write_host_meta(directory, System(None, Mode.STOCK), {SCENARIO: TITLE},
                        {SCENARIO: "kernel/tests/bench.c"})


def _times(*operations: str) -> Callable[[Measured], Found | None]:
    """How many times as long the paper's binary-indexed trees take for these operations in all."""
    def metric(system: Measured) -> Found | None:
        if system.name != SYSTEM or not system.has(SCENARIO):
            return None
        table = system.table(SCENARIO, "queue")
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for operation, *load, ns in zip(
                *(table[k].tolist() for k in ("operation", "timers", "levels", "queue", "p50_ns")),
                strict=True):
            if operation in operations:
                found[tuple(load)] += float(ns)
        times = [found[(*load, "indexed")] / found[(*load, queue)]
                 for *load, queue in found if queue == "timershield"]
        return Found(f"{min(times):.2f} to {max(times):.2f} times", min(times))
    return metric


CLAIMS = (
    Claim("Two binary-indexed trees take at least as long to update as the segment tree",
          _times("enqueue", "dequeue"), least=1, rows="T5", of=EACH,
          paper="III-B: a segment tree is updated faster"),
    Claim("A query of a binary-indexed tree, against the segment tree's", _times("query"), of=EACH,
          paper="III-B: no figure"),
)
SHOWN = Shown("the queue alone on this machine, median of an operation, ns",
              column("queue", "p50_ns", "queue", "operation", "timers", "levels"), "mean")

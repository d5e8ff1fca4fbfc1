# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that look like those of a run, of every experiment and scenario."""

from collections.abc import Callable, Iterable
from pathlib import Path

from experiments import registry
from experiments.base import Experiment
from experiments.clockfix.learning_cost import FUNCTIONS
from experiments.clockfix.oversleep import RIVALS
from lab.kernels.object_sizes import KINDS
from lab.measure.results import write_meta
from lab.unit_tests import test_aoi
from lab.unit_tests.described import described

JOBS = 20
Files = dict[str, str]


def csv(head: str, rows: Iterable[Iterable[object]]) -> str:
    """A table as text."""
    return "".join(f"{line}\n" for line in (head, *(",".join(map(str, r)) for r in rows)))


def summary(**values: float) -> str:
    """A summary.csv."""
    return csv("name,value", values.items())


def spans(*names: str) -> str:
    """Twenty executions of each of ``names``, those named first within those named last."""
    return csv("span,cpu,begin,instructions", (
        (name, 0, 10_000 * i - 10 * depth, 300 + 20 * depth + i)
        for i in range(1, JOBS + 1) for depth, name in enumerate(names)))


def _response(experiment: str, scenario: str) -> Files:
    """What experiments/response leaves; products where it multiplies matrices."""
    tasks = [] if scenario.endswith("none") else [0, 1]
    return {
        "jobs.csv": csv("due_ns,latency_ns,response_ns,interruptions,stolen_ns,products", (
            (i * 1_000_000, 2_000 + i, 298_000 + 13 * i, i % 3, 150 * (i % 3),
             2_000 - i if scenario.startswith("matrix") else 0) for i in range(JOBS))),
        "tasks.csv": csv("task,kind,policy,priority,period_ns,phase_ns,expected,served,early", (
            (t, "sleepers", 1, 70, 1_000_000, 0, 5, 5, 0) for t in tasks)),
        "releases.csv": csv("task,due_ns,lateness_ns,response_ns", (
            (t, i * 1_000_000, 2_000, 2_500 + i) for t in tasks for i in range(5))),
        "summary.csv": summary(jobs=JOBS, window_ns=20_000_000, timer_interrupts=50,
                               spare_rounds=100 if scenario.startswith("spare") else 0),
        **({"spans.csv": spans("tree-del", "tree-add", "enqueue", "cancel", "start")}
           if experiment == "timer-overhead" else {}),
        **({"spans.csv": spans("work")} if experiment == "together" else {}),
    }


def _switch(_: str, scenario: str) -> Files:
    marks = {"spans.csv": spans("threshold", "switch")}
    if scenario.startswith("job-"):
        return {**_response("context-switch", scenario), **marks}
    return {**marks, "rounds.csv": csv("round_ns", ((16_000 + i % 2,) for i in range(JOBS))),
            "summary.csv": summary(rounds=JOBS, done_each=1, elapsed_ns=320_010)}


def _caches(*_: str) -> Files:
    return {"spans.csv": csv("span,cpu,begin,instructions,l1_misses,l2_misses", (
        (name, 0, 10_000 * i, 300 + i, 20 + i, i % 2)
        for name in ("switch", "arm", "interrupt", "job") for i in range(1, JOBS + 1)))}


def _blame(_: str, scenario: str) -> Files:
    """What experiments/{response,switch} and timershield blame leave."""
    turns = scenario.startswith("turns")
    culprits = csv("victim_rank,culprit,tid,rank,how,function,masked,count,total_ns", (
        ("FIFO 99", "hostile[7]", 7, "SCHED_OTHER", "timerfd", "timerfd_tmrproc", "yes", 5, 9_000),
        ("FIFO 99", "tick", 0, "", "", "tick_sched_timer", "no", 3, 6_000)))
    return {**(_switch if turns else _response)("blame", scenario),
            **({"culprits.csv": culprits} if "-bpf" in scenario or "-trace" in scenario else {})}


def _rank(*_: str) -> Files:
    return {"spans.csv": spans("policy", "inherit", "settime", "follow", "rise", "fall", "job"),
            "summary.csv": summary(repeats=JOBS, count=0)}


def _sizes(*_: str) -> Files:
    return {"objects.csv": csv(",".join(("object", "feature", *KINDS)), (
                (f"{feature[0]}.o", feature, *range(100, 100 + len(KINDS)))
                for feature in ("TimerShield", "neither"))),
            "summary.csv": summary(image_text=1e6, image_data=1e5, image_bss=1e4, image_percpu=1e3)}


def _sets(*_: str) -> Files:
    return {"tasks.csv": csv("set,task,level,api,jobs,lateness_ns,unexplained_ns", (
                (s, t, 99 - t, "nanosleep", 10, 5_000 + t, 4_000 + t)
                for s in range(3) for t in range(4))),
            "summary.csv": summary(sets=3)}


def _shielded(*_: str) -> Files:
    return {"samples.csv": csv("interrupt,woke_ns,interval_ns,response_ns", (
                (i, i * 488_281, 488_281, 9_000 + 7 * i) for i in range(1, JOBS))),
            "visitors.csv": csv("kind,id,name,bound,first_ms,later", (
                ("task", 7, "load", 0, 3, 4), ("irq", 8, "rtc", 1, 1, 9),
                ("lost", 0, "events", 0, 0, 0))),
            "summary.csv": summary(samples=JOBS, period_ns=488_281, shielded=0, missed=0)}


def _clockfix(*_: str) -> Files:
    percents = "p1_ns,p50_ns,p95_ns,p99_ns,p999_ns,max_ns"
    return {
        "rivals.csv": csv(f"rival,jobs,{percents},share_over_1us,cpu_share", (
            (rival, 1000, 20 + i, 30 + i, 40 + i, 50 + i, 60 + i, 90 + i, 0.01, 0.5)
            for i, rival in enumerate(RIVALS))),
        "quantiles.csv": csv("rival,share,late_ns", (
            (rival, share / 10, 20 + share) for rival in RIVALS
            for share in range(11))),
        "costs.csv": csv("what,took_ns,count", (
            (what, 20 + i, 100) for what in (*FUNCTIONS, "clock_gettime", "counter")
            for i in range(5))),
        "summary.csv": summary(interval_ns=100_000, fifo_priority=0, stolen_ms=0, samples=500),
    }


def _queue(*_: str) -> Files:
    ticks = "min,p5,p50,p95,p99,max,p50_ns,p50_ratio,p95_ratio"
    return {"queue.csv": csv(f"operation,timers,levels,queue,samples,{ticks}", (
                (operation, 50, "one", queue, 527, 23.4, 25.7, 26.6, 27.7, 36.1, 811.0, 13.2, 1, 1)
                for operation in ("enqueue", "dequeue")
                for queue in ("timerqueue", "timershield"))),
            "summary.csv": summary(samples=527)}


MAKERS: dict[str, Callable[[str, str], Files]] = {
    "response-time": _response, "hostile": _response, "low-priority": _response,
    "bounds": _response, "together": _response, "timer-overhead": _response,
    "context-switch": _switch, "caches": _caches, "rank-cost": _rank, "code-size": _sizes,
    "task-sets": _sets,
    "shielded-cpu": _shielded, "blame": _blame,
    **dict.fromkeys(("oversleep", "clock-precision", "learning-cost"), _clockfix),
}
INTERVALS = {"nanosleep": 100_000, "clockfix": 80_000}
SYSTEMS = ("x86_64-preempt-stock", "x86_64-preempt-off", "x86_64-preempt-shielded",
           "arm64-rt-shielded")
OTHERS = {
    "together": (*SYSTEMS, "x86_64-preempt-2cpus-stock", "x86_64-preempt-2cpus-shielded",
                 "host-stock"),
    "timer-overhead": (*SYSTEMS, "host-queue"),
    "shielded-cpu": ("x86_64-preempt-off", "arm64-rt-off"),
    "age-of-information": ("host-stock", "x86_64-preempt-stock"),
    **dict.fromkeys(("response-time", "hostile", "low-priority"), (*SYSTEMS, "host-stock")),
    **dict.fromkeys(("oversleep", "clock-precision", "learning-cost"), ("host-stock",)),
}


def systems(experiment: str) -> tuple[str, ...]:
    """What the experiment can have results of."""
    return OTHERS.get(experiment, SYSTEMS)


def scenarios(experiment: Experiment, system: str) -> list[str]:
    """What it can have measured there."""
    queue = [s for s in experiment.scenarios() if s == "queue"]
    return queue if system == "host-queue" else [s for s in experiment.scenarios()
                                                 if s not in queue]


def write(root: Path, experiment: Experiment, system: str, chosen: list[str]) -> None:
    """Leave the results of some scenarios of a system."""
    directory = root / experiment.name / system
    for scenario in chosen:
        if experiment.name == "age-of-information":
            test_aoi.write_scenario(directory / scenario, INTERVALS)
            continue
        (directory / scenario).mkdir(parents=True)
        make = _queue if scenario == "queue" else MAKERS[experiment.name]
        for name, text in make(experiment.name, scenario).items():
            (directory / scenario / name).write_text(text)
    titles = experiment.scenarios()
    write_meta(directory, {
        "system": described(system), "target": "guest", "kernel": "Linux", "time": "counted",
        "scenarios": chosen, "titles": {s: titles[s] for s in chosen},
        "commands": {s: experiment.name for s in chosen},
    })


def write_all(root: Path) -> None:
    """Leave everything."""
    for experiment in registry.EXPERIMENTS:
        for system in systems(experiment.name):
            write(root, experiment, system, scenarios(experiment, system))

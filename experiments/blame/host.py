# SPDX-License-Identifier: GPL-2.0-or-later
"""The same on this machine: rounds in which each source has its turn, for the machine changes."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Context, Scenario
from lab import processes
from lab.errors import LabError
from lab.kernels import guests
from lab.kernels.arch import own
from lab.measure import results
from lab.measure.systems import MODES, System, host_description, host_modes

ROUNDS = 10
JOINED = ("jobs.csv", "rounds.csv", "culprits.csv")
"""Files that have rows of all rounds; of the others the first round's is kept."""


def _keep(directory: Path, file: Path) -> None:
    target = directory / file.name
    if not target.exists():
        target.write_bytes(file.read_bytes())
    elif file.name in JOINED:
        with target.open("a") as joined:
            joined.writelines(file.read_text().splitlines(keepends=True)[1:])


def _run(out: Path, scenario: Scenario, directory: Path) -> None:
    words = [str(out / Path(w).name) if w.startswith("/bin/") else w for w in scenario.words]
    with tempfile.TemporaryDirectory(prefix="timershield-") as place:
        Path(place).chmod(0o755)
        done = processes.run([str(out / scenario.program), *words], place, scenario.timeout)
        if done.returncode:
            raise LabError(f"{scenario.name} failed with status {done.returncode}:\n{done.stdout}")
        directory.mkdir(exist_ok=True)
        for file in sorted(Path(place).iterdir()):
            _keep(directory, file)


def run(context: Context, experiment: str, scenarios: Sequence[Scenario]) -> None:
    """Each scenario ROUNDS times, taking turns."""
    out = guests.build(own().name, ["response_loop", "context_switch", "timershield"])
    system = System(None, host_modes(MODES)[-1])
    with context.store(experiment).replacing(system.name) as directory, context.progress.bar(
        f"{experiment}: running", ROUNDS * len(scenarios)
    ) as bar:
        for _ in range(ROUNDS):
            for scenario in scenarios:
                _run(out, scenario, directory / scenario.name)
                bar.advance()
        results.write_meta(directory, {
            "system": system.described(), "target": "host", "kernel": host_description(),
            "time": "real", "scenarios": [s.name for s in scenarios],
            "titles": {s.name: s.title for s in scenarios},
            "commands": {s.name: " ".join([s.program, *s.words]) for s in scenarios},
        })

# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment is, and what the user asked of it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from experiments.common.claims import Claim, Judged
from experiments.common.shown import Shown
from experiments.guard import SHIELD
from experiments.measure import results
from experiments.measure.systems import System
from lab.boot import qemu
from lab.errors import LabError
from lab.kernels.platforms import MODES, Mode, Platform
from lab.progress import Progress


def shield(command: str) -> str:
    """kernel.timershield for a guest program: only levels tell real-time tasks apart."""
    ranks = r"\b(sleepers|cyclictest):|--priority=[1-9]\d*,[1-9]"
    return "2" if re.search(ranks, command) else "1"


@dataclass(frozen=True)
class Scenario:
    """One run of a guest program."""

    name: str
    title: str
    words: tuple[str, ...]
    timeout: int = 120
    program: str = ""
    """Another program than the experiment's."""
    tools: tuple[str, ...] = ()
    """Programs that it calls."""

    @property
    def shield(self) -> str:
        """kernel.timershield, where it has modes."""
        return shield(" ".join(self.words))


@dataclass
class Context:
    """What the user asked for."""

    progress: Progress
    root: Path
    """Where results go."""
    platforms: list[Platform] = field(
        default_factory=lambda: [Platform("x86_64", "preempt")])
    modes: list[Mode] = field(default_factory=lambda: list(MODES))
    jobs: int = 1000
    only: list[str] = field(default_factory=list)
    """Names of scenarios; empty: all."""
    offered: set[str] = field(default_factory=set)
    """Names that could have been chosen of what was run."""
    cpu: int = 0
    host: bool = False
    quick: bool = False
    """A tenth of the samples; ``jobs`` is already that."""
    parallel: int = field(default_factory=qemu.default_jobs)
    of: tuple[str, ...] = ()
    """The sources of what is measured."""

    def wants(self, scenario: str, usually: bool = True) -> bool:
        """Whether a scenario is to be run; ``usually``: if the user did not name any."""
        self.offered.add(scenario)
        return scenario in self.only if self.only else usually

    def require_offered(self, known: Collection[str]) -> None:
        """Fail if the user named one of ``known`` that nothing of what was run has."""
        left = [s for s in self.only if s in known and s not in self.offered]
        if left:
            raise LabError(f"not available on the selected kernels: {', '.join(left)}")

    def store(self, experiment: str) -> results.Store:
        """Where an experiment's results go."""
        return results.Store(self.root, experiment, self.progress.step, self.of)

    def without_off(self) -> "Context":
        """The same, but for the shield of a guest that is only switched off.

        On the machine itself that is what there is to compare with.
        """
        modes = [m for m in self.modes if m != "off"]
        return self if self.host or not modes else replace(self, modes=modes)

    def systems(self, arch: str = "", cpus: int = 1, off: bool = True) -> list[System]:
        """What to boot: every mode of every platform, or of those of one architecture.

        ``off``: also with the shield switched off.
        """
        return [System(p, m, cpus) for p in self.platforms for m in p.modes(self.modes)
                if arch in ("", p.arch) and (off or m != "off")]

    def samples(self, usual: int) -> int:
        """How many to take of something of which there usually are so many."""
        return max(usual // 10, 1) if self.quick else usual


class Choice(Protocol):
    """A scenario before it is known with which words it is run."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


class Experiment(ABC):
    """Each folder of experiments defines one of these."""

    name: str
    title: str
    guests_only: str = ""
    """Why it cannot be run on the machine itself; empty: it can."""
    of: tuple[str, ...] = SHIELD
    """The files and folders of what it measures."""
    claims: tuple[Claim, ...] = ()
    """What its results must show."""
    shown: tuple[Shown, ...] = ()
    """What the report shows of them besides."""
    choices: Sequence[Choice] = ()
    """All scenarios that the user can choose from."""

    def scenarios(self) -> dict[str, str]:
        """Their names and titles."""
        return {choice.name: choice.title for choice in self.choices}

    @abstractmethod
    def run(self, context: Context) -> None:
        """Measure, and leave results in the store."""

    def judged(self, store: results.Store) -> list[Judged]:
        """The claims, by the results that are there."""
        return [judged for claim in self.claims for judged in claim.judged(store)]


def check_scenarios(experiments: Sequence[Experiment], only: Sequence[str]) -> None:
    """Fail if ``only`` has a name that none of ``experiments`` knows, or one of them knows none."""
    known = {e.name: e.scenarios() for e in experiments}
    everything = {s: None for names in known.values() for s in names}
    for scenario in only:
        if scenario not in everything:
            raise LabError(f"there is no scenario '{scenario}': there are {', '.join(everything)}")
    for name, names in known.items():
        if only and not any(s in names for s in only):
            raise LabError(f"{name} has no scenario '{', '.join(only)}': there are "
                           f"{', '.join(names)}")


def check_target(experiments: Sequence[Experiment], host: bool) -> None:
    """Fail if one is to run on this machine and cannot."""
    for experiment in experiments:
        if host and experiment.guests_only:
            raise LabError(f"{experiment.name} runs in guests only: {experiment.guests_only}")


def run_all(calls: Sequence[Callable[[], None]]) -> None:
    """Call one after the other; failures are reported after the others had their chance."""
    errors = []
    for call in calls:
        try:
            call()
        except LabError as error:
            errors.append(str(error))
    if errors:
        raise LabError("\n".join(dict.fromkeys(errors)))

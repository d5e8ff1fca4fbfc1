# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw samples on disk; docs/evaluation.md describes the layout.

``ROOT/EXPERIMENT/SYSTEM/SCENARIO/*.csv`` and ``ROOT/EXPERIMENT/SYSTEM/meta.json``. A system's
directory appears as a whole or not at all. Scenarios that were measured before, and not again, stay
in it if they were measured on the same.
"""

import contextlib
import functools
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from experiments import guard
from experiments.measure.systems import System, host_description
from lab.errors import LabError
from lab.paths import REPO

Value = TypeVar("Value")
Table = dict[str, np.ndarray[Any, np.dtype[Any]]]

SAME = {"target": "target", "kernel": "kernel", "image": "kernel", "time": "clock", "qemu": "QEMU",
        "program": "guest program or module", "measured": "sources"}
"""Keys of meta.json in which scenarios that are kept together must agree, and what they say."""


TEXT = {"api", "feature", "kind", "levels", "name", "object", "operation", "queue", "rival", "span",
        "timing", "what"}
"""Columns that are not numbers."""
FILLED = {"costs", "iterations", "jobs", "objects", "packets", "queue", "quantiles", "rivals",
          "rounds", "samples"}
"""Files that have rows whatever was measured."""


class DamagedError(LabError):
    """A file of results does not hold what a run leaves."""


class _Complete(dict[str, Value]):
    """What a file holds, by name; it is damaged if a name that is looked for is not there."""

    def __init__(self, found: Mapping[str, Value] | Iterable[tuple[str, Value]],
                 damaged: Callable[[str], DamagedError]) -> None:
        super().__init__(found)
        self._damaged = damaged

    def __missing__(self, name: str) -> Value:
        raise self._damaged(name)


class Measured:
    """Results of one experiment on one system; every file is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self._tables: dict[tuple[str, str], Table] = {}

    @functools.cached_property
    def meta(self) -> dict[str, Any]:
        """What was measured, and on what."""
        path = self.path / "meta.json"
        try:
            meta: dict[str, Any] = json.loads(path.read_text())
            _check_meta(meta)
        except (OSError, ValueError) as error:
            raise self._damaged(path, error) from None
        return meta

    @property
    def scenarios(self) -> list[str]:
        """The scenarios, in the order in which they ran."""
        names: list[str] = self.meta["scenarios"]
        return names

    @property
    def titles(self) -> dict[str, str]:
        """Their titles."""
        titles: dict[str, str] = self.meta["titles"]
        return titles

    @property
    def system(self) -> System:
        """What was measured."""
        return System.from_description(self.meta["system"])

    def has(self, scenario: str) -> bool:
        """Whether there are samples."""
        return (self.path / scenario / "summary.csv").is_file()

    def table(self, scenario: str, name: str) -> Table:
        """Columns of ``name``.csv."""
        key = (scenario, name)
        if key not in self._tables:
            path = self.path / scenario / f"{name}.csv"
            try:
                columns = _read(path)
            except (OSError, ValueError) as error:
                raise self._damaged(path, error) from None
            self._tables[key] = _Complete(
                columns, lambda column: self._damaged(path, f"it has no '{column}'"))
        return self._tables[key]

    def summary(self, scenario: str) -> dict[str, float]:
        """The name,value pairs of summary.csv."""
        table = self.table(scenario, "summary")
        path = self.path / scenario / "summary.csv"
        return _Complete(zip(map(str, table["name"]), map(float, table["value"]), strict=True),
                         lambda name: self._damaged(path, f"it has no '{name}'"))

    def _damaged(self, path: Path, why: Exception | str) -> DamagedError:
        """What to raise of a file, and how to come by a whole one."""
        what = why.strerror if isinstance(why, OSError) else str(why)
        words = ["lab/lab run", self.path.parent.name]
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            meta = json.loads((self.path / "meta.json").read_text())
            words.append(System.from_description(meta["system"]).option)
        return DamagedError(f"{path}: damaged: {what}; measure it again with '{' '.join(words)}'")


class Store:
    """Results of one experiment."""

    def __init__(self, root: Path, experiment: str, say: Callable[[str], None] = print,
                 of: tuple[str, ...] = ()) -> None:
        self.path = root / experiment
        self._of = of
        self._say = say
        self._measured: dict[str, Measured] = {}

    def systems(self) -> list[str]:
        """Systems that have results, by name."""
        if not self.path.is_dir():
            return []
        return sorted(p.parent.name for p in self.path.glob("[!.]*/meta.json"))

    def __getitem__(self, system: str) -> Measured:
        return self._measured.setdefault(system, Measured(self.path / system))

    def __iter__(self) -> Iterator[Measured]:
        return (self[system] for system in self.systems())

    @contextlib.contextmanager
    def replacing(self, system: str) -> Iterator[Path]:
        """A directory that becomes ``system``'s results if the block ends without exception."""
        target = self.path / system
        temporary = self.path / f".{system}.new"
        old = self.path / f".{system}.old"
        _tidy(target, temporary, old)
        temporary.mkdir(parents=True)
        try:
            yield temporary
            if not (temporary / "meta.json").is_file():
                raise LabError(f"{system}: no results")
            self._sign(temporary)
            self._carry_over(system, temporary)
            if target.exists():
                target.rename(old)
            temporary.rename(target)
            self._measured.pop(system, None)
        finally:
            _tidy(target, temporary, old)

    def _sign(self, new: Path) -> None:
        """Add to meta.json the hash of what was measured."""
        meta = json.loads((new / "meta.json").read_text())
        place = System.from_description(meta["system"]).place
        write_meta(new, {**meta, "measured": guard.digest(self._of, place)})

    def _carry_over(self, system: str, new: Path) -> None:
        """Add to ``new`` what was measured before on the same, and not again."""
        if not (self.path / system / "meta.json").is_file():
            return
        try:
            before = Measured(self.path / system).meta
        except DamagedError as error:
            self._say(f"{self.path.name}: {system}: dropped what was measured before: {error}")
            return
        now = json.loads((new / "meta.json").read_text())
        left = [s for s in before["scenarios"]
                if s not in now["scenarios"] and (self.path / system / s).is_dir()]
        if not left:
            return
        differ = {what: None for key, what in SAME.items() if before.get(key) != now.get(key)}
        if differ:
            self._say(f"{self.path.name}: {system}: dropped what was measured before with another "
                      f"{' and '.join(differ)}: {', '.join(left)}")
            return
        for scenario in left:
            shutil.copytree(self.path / system / scenario, new / scenario)
        write_meta(new, _joined(before, now))


def _tidy(target: Path, temporary: Path, old: Path) -> None:
    """Remove what a run left; what it moved away goes back if nothing has taken its place."""
    if old.exists() and not target.exists():
        old.rename(target)
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _joined(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The meta.json of all scenarios of both; what was measured again is described by ``now``."""
    order = list(dict.fromkeys([*before["scenarios"], *now["scenarios"]]))
    tables = {key: {**before.get(key, {}), **now.get(key, {})} for key in ("titles", "commands")}
    return {**now, "scenarios": order, **tables}


def _check_meta(meta: Any) -> None:
    """Raise ValueError if meta.json lacks something that is always in it."""
    if not isinstance(meta, dict):
        raise ValueError("it is not a JSON object")
    for key in ("kernel", "target", "time"):
        if not isinstance(meta.get(key), str):
            raise ValueError(f"it does not say '{key}'")
    System.from_description(meta.get("system"))
    scenarios, titles = meta.get("scenarios"), meta.get("titles")
    if not isinstance(scenarios, list) or not isinstance(titles, dict):
        raise ValueError("it does not say 'scenarios' and their 'titles'")
    for scenario in scenarios:
        if not isinstance(scenario, str) or not isinstance(titles.get(scenario), str):
            raise ValueError(f"it has no title of scenario {scenario!r}")


def _read(path: Path) -> Table:
    """The columns of a CSV file; ValueError if it is none, or not whole."""
    text = path.read_text()
    if not text.endswith("\n"):
        raise ValueError("its last line is not whole" if text else "it is empty")
    header, *rows = (line.split(",") for line in text.removesuffix("\n").split("\n"))
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} of {len(header)} columns")
    if not rows and path.stem in FILLED:
        raise ValueError("it has no rows")
    return {name: _column(name, [row[i] for row in rows]) for i, name in enumerate(header)}


def _column(name: str, cells: list[str]) -> npt.NDArray[Any]:
    for kind in (np.int64, np.float64):
        with contextlib.suppress(ValueError, OverflowError):
            return np.array(cells, dtype=kind)
    if name not in TEXT:
        raise ValueError(f"column '{name}' has something else than numbers")
    return np.array(cells)


def write_host_meta(directory: Path, system: System, titles: Mapping[str, str],
                    commands: Mapping[str, str]) -> None:
    """Write the meta.json of what was measured on this machine; ``titles`` of all scenarios."""
    write_meta(directory, {
        "system": system.described(), "target": "host", "kernel": host_description(),
        "time": "real", "scenarios": list(titles), "titles": titles, "commands": commands,
    })


@functools.cache
def commit() -> str:
    """Of this tree, by its hash; empty if it is not one of git's."""
    done = subprocess.run(["git", "-C", str(REPO), "describe", "--always", "--dirty",
                           "--exclude=*"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip()


def write_meta(directory: Path, meta: dict[str, Any]) -> None:
    """Write meta.json, the last file of a system's results."""
    whole = {"commit": commit(), **meta}
    (directory / "meta.json").write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")

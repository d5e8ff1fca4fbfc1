# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw samples on disk; docs/results-format.md describes the layout.

``ROOT/EXPERIMENT/SYSTEM/SCENARIO/*.csv`` and ``ROOT/EXPERIMENT/SYSTEM/meta.json``. A system's
directory appears as a whole or not at all. Scenarios that were measured before, and not again, stay
in it if they were measured on the same.
"""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.errors import LabError

Table = dict[str, npt.NDArray[Any]]

SAME = {"target": "target", "kernel": "kernel", "image": "kernel", "time": "clock", "qemu": "QEMU"}
"""Keys of meta.json in which scenarios that are kept together must agree, and what they say."""


class Store:
    """Results of one experiment."""

    def __init__(self, root: Path, experiment: str, say: Callable[[str], None] = print) -> None:
        self.path = root / experiment
        self._say = say
        self._cache: dict[tuple[str, str, str], Table] = {}

    def systems(self) -> list[str]:
        """Systems that have results, by name."""
        if not self.path.is_dir():
            return []
        return sorted(p.parent.name for p in self.path.glob("[!.]*/meta.json"))

    def scenarios(self, system: str) -> list[str]:
        """Scenarios that were run on ``system``, in the order in which they ran."""
        names: list[str] = self.meta(system)["scenarios"]
        return names

    def meta(self, system: str) -> dict[str, Any]:
        """What was measured, and on what."""
        meta: dict[str, Any] = json.loads((self.path / system / "meta.json").read_text())
        return meta

    def has(self, system: str, scenario: str) -> bool:
        """Whether there are samples."""
        return (self.path / system / scenario / "summary.csv").is_file()

    def table(self, system: str, scenario: str, name: str) -> Table:
        """Columns of ``name``.csv."""
        key = (system, scenario, name)
        if key not in self._cache:
            self._cache[key] = _read(self.path / system / scenario / f"{name}.csv")
        return self._cache[key]

    def summary(self, system: str, scenario: str) -> dict[str, float]:
        """The name,value pairs of summary.csv."""
        table = self.table(system, scenario, "summary")
        return {str(k): float(v) for k, v in zip(table["name"], table["value"], strict=True)}

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
            self._carry_over(system, temporary)
            if target.exists():
                target.rename(old)
            temporary.rename(target)
        finally:
            _tidy(target, temporary, old)

    def _carry_over(self, system: str, new: Path) -> None:
        """Add to ``new`` what was measured before on the same, and not again."""
        if not (self.path / system / "meta.json").is_file():
            return
        before, now = self.meta(system), json.loads((new / "meta.json").read_text())
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


def _read(path: Path) -> Table:
    try:
        with path.open() as file:
            header = file.readline().strip().split(",")
            rows = [line.rstrip("\n").split(",") for line in file]
    except FileNotFoundError:
        raise LabError(f"no results at {path}") from None
    table: Table = {}
    for i, name in enumerate(header):
        column = [row[i] for row in rows]
        try:
            table[name] = np.array(column, dtype=np.int64)
        except ValueError:
            try:
                table[name] = np.array(column, dtype=np.float64)
            except ValueError:
                table[name] = np.array(column)
    return table


def write_meta(directory: Path, meta: dict[str, Any]) -> None:
    """Write meta.json, the last file of a system's results."""
    (directory / "meta.json").write_text(json.dumps(meta, indent=1, sort_keys=True) + "\n")

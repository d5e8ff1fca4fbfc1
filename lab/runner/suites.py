# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of guest tests, tests/suites.toml; docs/lab.md describes its keys."""

import tomllib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lab.boot import qemu, stale_code
from lab.errors import LabError
from lab.kernels.kernels import Kernel
from lab.paths import TESTS

TABLE = TESTS / "suites.toml"
_KEYS: dict[str, type] = {
    "name": str, "program": str, "args": list, "kernels": list, "on-stock": str, "cpus": int,
    "append": str, "shield": bool, "icount": bool, "timeout": int, "alone": bool,
    "selftest": str, "kunit": str, "soak": str, "tools": list,
}
ON_STOCK = ("fail", "pass", "skip")


@dataclass(frozen=True)
class Suite:
    """One entry."""

    name: str
    program: str = ""
    args: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ("*-shielded",)
    on_stock: str = "fail"
    cpus: int = 1
    append: str = ""
    shield: bool = True
    icount: bool = True
    timeout: int = 60
    alone: bool = False
    selftest: str = ""
    kunit: str = ""
    soak: str = ""
    tools: tuple[str, ...] = ()

    def soaking(self, seconds: int) -> "Suite":
        """The same suite, running for so many seconds of guest time."""
        return replace(self, args=(*self.args, f"{self.soak}{seconds}"),
                       timeout=2 * seconds + 120, kernels=("*",), alone=True)

    @property
    def target(self) -> str:
        """What to build, below the guest programs' output directory."""
        if self.selftest:
            return f"selftests/{self.selftest}"
        return "" if self.kunit else f"tests/{self.program}"

    @property
    def targets(self) -> tuple[str, ...]:
        """All of what to build for it."""
        return (*((self.target,) if self.target else ()), *self.tools)

    def runs_on(self, kernel: Kernel) -> bool:
        """Whether it is meant for ``kernel``."""
        if kernel.variant == "stock" and self.on_stock == "skip":
            return False
        # QEMU 7.2 does not get it beyond the start of its second CPU; 10.0 does.
        if (kernel.linux == "6.1" and self.cpus > 1 and self.icount
                and stale_code.possible(qemu.version(kernel.arch))):
            return False
        names = (kernel.words, f"{kernel.linux}/{kernel.words}", kernel.name)
        return any(fnmatchcase(n, pattern) for n in names for pattern in self.kernels)

    def matches(self, pattern: str) -> bool:
        """Whether a shell pattern names it."""
        return fnmatchcase(self.name, pattern)

    def boot_key(self) -> tuple[Any, ...]:
        """Suites with the same key share a boot."""
        return (self.cpus, self.append, self.icount, self.name if self.alone else "")


def _suite(entry: dict[str, Any], path: Path) -> Suite:
    name = entry.get("name", "?")
    for key, value in entry.items():
        if key not in _KEYS:
            raise LabError(f"{path}: suite '{name}': there is no key '{key}'")
        wanted = _KEYS[key]
        if type(value) is not wanted:
            raise LabError(f"{path}: suite '{name}': {key} must be {wanted.__name__}")
    values: dict[str, Any] = {
        k.replace("-", "_"): tuple(v) if isinstance(v, list) else v for k, v in entry.items()
    }
    if "name" not in values:
        raise LabError(f"{path}: a suite has no name")
    if sum(k in values for k in ("program", "selftest", "kunit")) > 1:
        raise LabError(f"{path}: suite '{name}': program, selftest and kunit exclude each other")
    if not any(k in values for k in ("selftest", "kunit")):
        values.setdefault("program", name)
    suite = Suite(**values)
    if suite.on_stock not in ON_STOCK:
        raise LabError(f"{path}: suite '{name}': on-stock must be one of {', '.join(ON_STOCK)}")
    return suite


@dataclass
class Suites:
    """The whole table."""

    suites: list[Suite] = field(default_factory=list)

    def for_kernel(self, kernel: Kernel, patterns: list[str]) -> list[Suite]:
        """What runs on ``kernel``, of those whose names match one of ``patterns``, if any."""
        return [s for s in self.suites if s.runs_on(kernel)
                and (not patterns or any(s.matches(p) for p in patterns))]


def entries(path: Path, name: str) -> list[dict[str, Any]]:
    """All ``[[name]]`` of a TOML file."""
    try:
        found: list[dict[str, Any]] = tomllib.loads(path.read_text()).get(name, [])
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path}: {error}") from None
    return found


def load(path: Path = TABLE) -> Suites:
    """Read and check the table; an absent one is empty."""
    if not path.exists():
        return Suites()
    suites = [_suite(entry, path) for entry in entries(path, "suite")]
    names = [s.name for s in suites]
    for name in names:
        if names.count(name) > 1:
            raise LabError(f"{path}: there are two suites named '{name}'")
    return Suites(suites)

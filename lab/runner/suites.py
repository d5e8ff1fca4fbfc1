# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of guest tests, tests/suites.toml; docs/tests.md describes its keys."""

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
    "program": str, "args": list, "kernels": list, "on-stock": str, "cpus": int,
    "threads": int, "append": str, "icount": bool, "timeout": int, "alone": bool, "soak": str,
    "tools": list, "levels": list, "mode": int,
}
LEVELS = 2
"""The mode that masks by level."""
ON_STOCK = ("fail", "pass")


@dataclass(frozen=True)
class Suite:
    """One entry."""

    name: str
    program: str = ""
    args: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ("*-shielded",)
    on_stock: str = "fail"
    cpus: int = 1
    threads: int = 1
    append: str = ""
    icount: bool = True
    timeout: int = 60
    alone: bool = False
    selftest: str = ""
    soak: str = ""
    tools: tuple[str, ...] = ()
    mode: int = 1
    """What kernel.timershield is."""

    def must_fail(self, kernel: Kernel) -> bool:
        """Whether it has to notice that ``kernel`` has no shield."""
        return kernel.variant == "stock" and self.on_stock == "fail"

    def soaking(self, seconds: int) -> "Suite":
        """The same suite, running for so many seconds of guest time."""
        return replace(self, args=(*self.args, f"{self.soak}{seconds}"),
                       timeout=2 * seconds + 120, kernels=("*",), alone=True)

    def targets(self, linux: str) -> tuple[str, ...]:
        """What to build for it, below the guest programs' output directory."""
        return (f"selftests/{linux}/{self.selftest}" if self.selftest else f"tests/{self.program}",
                *self.tools)

    def hangs_on(self, kernel: Kernel) -> bool:
        """Whether this machine's QEMU does not get ``kernel`` beyond its second CPU's start."""
        return (kernel.linux == "6.1" and self.cpus > 1 and self.icount
                and stale_code.possible(qemu.version(kernel.arch)))

    def meant_for(self, kernel: Kernel) -> bool:
        """Whether the table says that it runs on ``kernel``."""
        names = (kernel.words, f"{kernel.linux}/{kernel.words}", kernel.name)
        return any(fnmatchcase(n, pattern) for n in names for pattern in self.kernels)

    def matches(self, pattern: str) -> bool:
        """Whether a shell pattern names it."""
        return fnmatchcase(self.name, pattern)

    def boot_key(self) -> tuple[Any, ...]:
        """Suites with the same key share a boot."""
        return (self.cpus, self.threads, self.append, self.icount,
                self.name if self.alone else "")


def check_keys(entry: dict[str, Any], types: dict[str, type], what: str) -> None:
    """Fail if an entry of a table has a key that ``types`` does not know, or of another type."""
    for key, value in entry.items():
        if key not in types:
            raise LabError(f"{what}: there is no key '{key}'")
        if type(value) is not types[key]:
            raise LabError(f"{what}: {key} must be {types[key].__name__}")


def _suites(name: str, entry: dict[str, Any], path: Path) -> list[Suite]:
    """What an entry describes: a suite, and the same with levels."""
    check_keys(entry, _KEYS, f"{path}: suite '{name}'")
    values: dict[str, Any] = {
        k.replace("-", "_"): tuple(v) if isinstance(v, list) else v for k, v in entry.items()
    }
    levels = values.pop("levels", None)
    suite = Suite(name, **{"program": name.replace("-", "_"), **values})
    if suite.on_stock not in ON_STOCK:
        raise LabError(f"{path}: suite '{name}': on-stock must be one of {', '.join(ON_STOCK)}")
    if levels is None:
        return [suite]
    return [suite, replace(suite, name=f"{name}-levels", kernels=levels, mode=LEVELS)]


@dataclass
class Suites:
    """The whole table."""

    suites: list[Suite] = field(default_factory=list)

    def for_kernel(self, kernel: Kernel, patterns: list[str]) -> list[Suite]:
        """What is meant for ``kernel``, of those whose names match one of ``patterns``, if any."""
        return [s for s in self.suites if s.meant_for(kernel)
                and (not patterns or any(s.matches(p) for p in patterns))]


def read(path: Path) -> dict[str, Any]:
    """What a TOML file holds."""
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path}: {error}") from None


def load(path: Path = TABLE) -> Suites:
    """Read and check the table."""
    table = read(path)
    suites = [s for name, entry in table.get("suite", {}).items()
              for s in _suites(name, entry, path)]
    suites += [Suite(f"selftest-{name}", selftest=f"timers/{name}", timeout=timeout,
                     args=tuple(args))
               for name, (timeout, *args) in table.get("selftests", {}).items()]
    names = [s.name for s in suites]
    for name in names:
        if names.count(name) > 1:
            raise LabError(f"{path}: there are two suites named '{name}'")
    return Suites(suites)

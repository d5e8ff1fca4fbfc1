# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel configurations from fragments: merging them, and checking that every line took."""

import re
from pathlib import Path

from lab.errors import LabError

_SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
_UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")
_DEFINITION = re.compile(r"^\s*(?:menu)?config\s+(\w+)", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """The symbols of a fragment or a .config; what is not set has the value ``n``."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        if m := _SET.match(line):
            values[m.group(1)] = m.group(2)
        elif m := _UNSET.match(line):
            values[m.group(1)] = "n"
    return values


def merge(fragments: list[Path]) -> dict[str, str]:
    """All fragments' symbols; a later fragment overrides an earlier one."""
    values: dict[str, str] = {}
    for fragment in fragments:
        values.update(parse(fragment.read_text()))
    return values


def text(values: dict[str, str]) -> str:
    """A fragment that sets exactly ``values``."""
    lines = (
        f"# {name} is not set" if value == "n" else f"{name}={value}"
        for name, value in values.items()
    )
    return "\n".join(lines) + "\n"


def known_symbols(tree: Path) -> set[str]:
    """Every symbol that some Kconfig file of the tree defines, without ``CONFIG_``."""
    symbols: set[str] = set()
    for file in tree.rglob("Kconfig*"):
        if file.is_file():
            symbols.update(_DEFINITION.findall(file.read_text(errors="replace")))
    return symbols


def check(tree: Path, wanted: dict[str, str], config: Path) -> list[str]:
    """Fail if a symbol did not get its value; return those that the tree does not know."""
    actual = parse(config.read_text())
    wrong = {k: v for k, v in wanted.items() if actual.get(k, "n") != v}
    if not wrong:
        return []
    known = known_symbols(tree)
    unknown = [k for k in wrong if k.removeprefix("CONFIG_") not in known]
    lost = [k for k in wrong if k not in unknown]
    if lost:
        listing = "\n".join(f"  {k}: wanted {wrong[k]}, got {actual.get(k, 'n')}" for k in lost)
        raise LabError(f"configuration fragments ask for what the kernel cannot have:\n{listing}")
    return unknown

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Install into a directory, then build and run examples with what is there and nothing else.

usage: installed.py BUILD-DIRECTORY EXAMPLE.c-or-TEXT.md...

Of a text each block of C is an example: a program, or what stands in a function.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[1]


def output(command: list[str], **environment: str) -> str:
    """Run, and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env=os.environ | environment).stdout


def one(root: Path, pattern: str) -> Path:
    """The one file below @root that matches."""
    found = list(root.rglob(pattern))
    if len(found) != 1:
        raise SystemExit(f"installed {len(found)} files {pattern}, not one")
    return found[0]


def programs(example: Path, directory: Path) -> list[Path]:
    """Of a text those that it shows."""
    if example.suffix != ".md":
        return [example]
    found = []
    for number, block in enumerate(re.findall(r"```c\n(.*?)```", example.read_text(), re.S)):
        found.append(directory / f"block{number}.c")
        found[-1].write_text(block if "int main(" in block else
                             f"#include <clockfix.h>\nint main(void)\n{{\n{block}return 0;\n}}\n")
    if not found:
        raise SystemExit(f"no C in {example}")
    return found


def check(build: str, examples: list[str], root: Path) -> None:
    """Install below @root and use it from there."""
    output(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", str(root)])
    config = one(root, "clockfix.pc")
    environment = {"PKG_CONFIG_LIBDIR": str(config.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    flags = output(["pkg-config", "--cflags", "--libs", "clockfix"], **environment)
    version = output(["pkg-config", "--modversion", "clockfix"], **environment).strip()
    program = root / "example"
    library = one(root, f"libclockfix.so.{version.partition('.')[0]}").parent
    for example in [p for e in examples for p in programs(Path(e), root)]:
        output(["cc", "-Wall", "-Wno-unused-but-set-variable", "-Werror", "-o", str(program),
                str(example), *shlex.split(flags)])
        print(output([str(program)], LD_LIBRARY_PATH=str(library)))
    for name, table in (("python/pyproject.toml", "project"), ("rust/Cargo.toml", "package")):
        binding = tomllib.loads((TOP / name).read_text())[table]["version"]
        if binding != version:
            raise SystemExit(f"{name} says {binding}, pkg-config {version}")
    header = one(root, "clockfix.h").read_text()
    if ".".join(re.findall(r"#define CLOCKFIX_VERSION_M\w+ (\d+)", header)) != version[:-2]:
        raise SystemExit(f"clockfix.h says another version than pkg-config, {version}")

def main() -> int:
    """Say what failed, if something did."""
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as root:
        try:
            check(sys.argv[1], sys.argv[2:], Path(root))
        except subprocess.CalledProcessError as error:
            print(f"{shlex.join(error.cmd)}\n{error.stdout}{error.stderr}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

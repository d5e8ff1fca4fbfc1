#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Put one defect after another into shieldqueue and see that the tests notice.

Each line of the list names a defect, the file it goes into and the sed command
that puts it there. The defect is made in a copy; a command that changes
nothing, a copy that does not compile and a defect that no test notices are
failures.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 60
"""A test program that has not ended by then hangs, which counts as noticed."""


@dataclass(frozen=True)
class Defect:
    """One line of the list."""

    name: str
    file: str
    command: str


@dataclass(frozen=True)
class Build:
    """How the test programs are compiled: a copy of shieldqueue goes first on the include path."""

    source: Path
    work: Path
    compiler: list[str]
    programs: dict[str, list[str]]


class MutationError(Exception):
    """The list or the build is broken: no verdict on the tests."""


def read_list(path: Path) -> list[Defect]:
    """Lines of three fields divided by tabs; # begins a comment."""
    defects = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field for field in line.split("\t") if field]
        if len(fields) != 3:
            raise MutationError(f"{path}:{number}: expected name, file and command")
        defects.append(Defect(*fields))
    return defects


def make_copy(build: Build, defect: Defect, where: Path) -> None:
    """Copy header and source to ``where``, one of them with the defect."""
    shutil.rmtree(where, ignore_errors=True)
    for name in ("include/linux/shieldqueue.h", "lib/shieldqueue.c"):
        target = where / name
        target.parent.mkdir(parents=True)
        shutil.copy(build.source / name, target)
    target = where / defect.file
    before = target.read_text()
    subprocess.run(["sed", "-E", "-i", defect.command, str(target)], check=True)
    if target.read_text() == before:
        raise MutationError(f"{defect.name}: the command changes nothing in {defect.file}")


def notices(program: Path) -> bool:
    """Does the test program fail?"""
    try:
        done = subprocess.run(
            [str(program)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def who_notices(build: Build, defect: Defect) -> str | None:
    """The name of the first test program that fails, None if all pass."""
    where = build.work / defect.name.replace(" ", "-").replace("/", "-")
    make_copy(build, defect, where)
    for name, sources in build.programs.items():
        program = where / name
        command = [
            *build.compiler[:1],
            f"-I{where / 'include'}",
            *build.compiler[1:],
            str(where / "lib/shieldqueue.c"),
            *sources,
            "-o",
            str(program),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MutationError(f"{defect.name}: does not compile:\n{done.stderr}")
        if notices(program):
            return name
    return None


def parse_arguments() -> tuple[Build, Path]:
    """From the command line, which the Makefile writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", type=Path, required=True, help="the defects")
    parser.add_argument("--source", type=Path, required=True, help="kernel/src")
    parser.add_argument("--work", type=Path, required=True, help="directory for the copies")
    parser.add_argument("--compiler", required=True, help="compiler and flags")
    parser.add_argument(
        "--program",
        action="append",
        required=True,
        metavar="NAME=SOURCES",
        help="a test program and what it is linked from; those named first are tried first",
    )
    given = parser.parse_args()
    programs = {}
    for program in given.program:
        name, _, sources = program.partition("=")
        programs[name] = sources.split()
    return Build(given.source, given.work, given.compiler.split(), programs), given.list


def main() -> int:
    """Try all defects, one for each CPU at a time."""
    build, path = parse_arguments()
    try:
        defects = read_list(path)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            verdicts = list(pool.map(lambda defect: who_notices(build, defect), defects))
    except MutationError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 2
    for defect, verdict in zip(defects, verdicts, strict=True):
        if verdict:
            print(f"ok     mutation: {defect.name} (noticed by {verdict})")
        else:
            print(f"FAILED mutation: {defect.name}: no test noticed")
    missed = verdicts.count(None)
    print(f"mutation: {len(defects) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions between two places of a guest's kernel, counted by a plugin of QEMU.

A guest that is watched this way executes what it would execute otherwise, instruction for
instruction: nothing is put into the kernel, and under instruction-counted time its clock does not
notice either. experiments/measure/spans.c does the counting.
"""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from experiments.measure.results import Table
from lab.boot import qemu
from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import Kernel
from lab.kernels.toolchain import require
from lab.paths import BUILD, REPO

SOURCE = REPO / "experiments" / "measure" / "spans.c"
WINDOW = r"__(x64|arm64)_sys_getitimer"
"""The system call by which a guest program begins and ends what is recorded: nothing else in a
guest of the lab uses it."""
INTERRUPTS = r"asm_sysvec_\w+|asm_common_interrupt|el1h_64_irq"
COLUMNS = ("window", "span", "cpu", "begin", "instructions")


@dataclass(frozen=True)
class Span:
    """From the first instruction of a function until it has returned, or another is entered.

    Names are regular expressions for symbols: gcc appends things like ``.isra.0`` to some. With
    several matches the span is that of any of them. Only direct calls count, unless there are
    none: then the span ends before the function's own return instructions.
    """

    name: str
    entered: str
    until: str = ""
    """Empty: until ``entered`` returns."""
    optional: bool = False
    """Whether a kernel may do without it; otherwise that is an error."""
    through: str = ""
    """Interrupts that are part of it; it is given up when others come."""


@dataclass
class _Code:
    """What is needed of a kernel's code."""

    symbols: dict[str, int]
    returns: dict[str, list[int]] = field(default_factory=dict)
    """Function -> addresses of instructions behind its calls."""
    jumps: dict[str, set[str]] = field(default_factory=dict)
    """Function -> those that end by jumping to it."""
    leaves: dict[str, list[int]] = field(default_factory=dict)
    """Function -> addresses of the instructions by which it returns, or jumps to another."""

    def exits(self, name: str, seen: frozenset[str] = frozenset()) -> set[int]:
        """Where execution goes on when ``name`` has returned."""
        found = set(self.returns.get(name, []))
        for caller in self.jumps.get(name, set()) - seen:
            found |= self.exits(caller, seen | {name})
        return found

    def matching(self, pattern: str) -> list[str]:
        regex = re.compile(rf"(?:{pattern})(?:\.[\w.]+)?")
        return [n for n in self.symbols if regex.fullmatch(n) and not n.endswith(".cold")]


def _tool(arch: str, tool: str) -> str:
    name = f"{ARCHES[arch].cross}{tool}"
    require(f"{ARCHES[arch].cross}gcc")
    return name


def _read_code(kernel: Kernel) -> _Code:
    image = kernel.build / "vmlinux"
    symbols = {}
    for line in (kernel.build / "System.map").read_text().splitlines():
        address, kind, name = line.split()[:3]
        if kind in "tTwW":
            symbols[name] = int(address, 16)
    code = _Code(symbols)
    call = re.compile(r"^[0-9a-f]+:\s+(?:call|callq|bl)\s+(?:0x)?[0-9a-f]+ <([^+>]+)>")
    jump = re.compile(r"^[0-9a-f]+:\s+(?:jmp|jmpq|b)\s+(?:0x)?[0-9a-f]+ <([^+>]+)>")
    leave = re.compile(r"^[0-9a-f]+:\s+(?:bnd )?retq?\b")
    function = re.compile(r"^[0-9a-f]+ <([^>]+)>:")
    instruction = re.compile(r"^([0-9a-f]+):")
    pending = current = ""
    with subprocess.Popen(
        [_tool(kernel.arch, "objdump"), "-d", "--no-show-raw-insn", str(image)],
        stdout=subprocess.PIPE, text=True,
    ) as objdump:
        assert objdump.stdout is not None
        for line in objdump.stdout:
            if pending and (found := instruction.match(line)):
                code.returns.setdefault(pending, []).append(int(found[1], 16))
                pending = ""
            if found := function.match(line):
                current = found[1]
            elif found := call.match(line):
                pending = found[1]
            elif (found := jump.match(line)) and found[1] != current:
                code.jumps.setdefault(found[1], set()).add(current)
                if found[1] != f"{current}.cold":
                    code.leaves.setdefault(current, []).append(int(line.split(":")[0], 16))
            elif leave.match(line):
                code.leaves.setdefault(current, []).append(int(line.split(":")[0], 16))
    if objdump.returncode:
        raise LabError(f"{image}: objdump failed with status {objdump.returncode}")
    return code


def marks(code: _Code, spans: Sequence[Span]) -> list[str]:
    """Lines of the plugin's marks file."""
    lines = [f"w {code.symbols[n]:x} 0" for n in code.matching(WINDOW)]
    if not lines:
        raise LabError("this kernel has no getitimer(): nothing would begin the recording")
    interrupts = code.matching(INTERRUPTS)
    for number, span in enumerate(spans):
        entered = code.matching(span.entered)
        if span.until:
            ended = [code.symbols[n] for n in code.matching(span.until)]
        else:
            ended = [a for n in entered
                     for a in sorted(code.exits(n)) or code.leaves.get(n, [])]
        if not (entered and ended):
            if span.optional:
                continue
            raise LabError(f"this kernel has no function {span.entered} that is called: the "
                           "compiler may have inlined it")
        lines += [f"e {code.symbols[n]:x} {number:x}" for n in entered]
        lines += [f"x {a:x} {number:x}" for a in ended]
        within_it = code.matching(span.through) if span.through else []
        lines += [f"i {code.symbols[n]:x} {number:x}" for n in interrupts if n not in within_it]
    return lines


def _build_plugin(arch: str) -> Path:
    found = re.search(r"version (\d+)", qemu.version(arch))
    interface = 1 if found and int(found[1]) < 9 else 2
    target = BUILD / "plugin" / f"spans-{interface}.so"
    newest = SOURCE.stat().st_mtime
    if target.exists() and target.stat().st_mtime >= newest:
        return target
    require("gcc")
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-shared", "-fPIC",
         f"-DPLUGIN_API={interface}", "-o", str(target), str(SOURCE)],
        capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise LabError(f"{SOURCE}:\n{done.stderr}")
    return target


@dataclass(frozen=True)
class Watch:
    """A kernel that is to be watched, and the files that this takes."""

    spans: Sequence[Span]
    directory: Path

    def options(self, kernel: Kernel) -> tuple[str, ...]:
        """What QEMU is called with."""
        plugin = _build_plugin(kernel.arch)
        path = self.directory / "marks"
        path.write_text("\n".join(marks(_read_code(kernel), self.spans)) + "\n")
        return ("-plugin", f"{plugin},marks={path},out={self.directory / 'spans'}")

    def samples(self) -> Table:
        """Every span that was recorded, by :data:`COLUMNS`; ``span`` is its number."""
        path = self.directory / "spans"
        if path.stat().st_size:
            rows = np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)
        else:
            rows = np.empty((0, len(COLUMNS)), dtype=np.int64)
        return {name: rows[:, i] for i, name in enumerate(COLUMNS)}


def within(inner: Table, outer: Table) -> npt.NDArray[np.bool_]:
    """Which of the ``outer`` spans contain one of ``inner``; both in one window, on one CPU."""
    begins = np.sort(inner["begin"])
    first = np.searchsorted(begins, outer["begin"])
    inside = np.append(begins, np.iinfo(np.int64).max)[first]
    return np.asarray(inside < outer["begin"] + outer["instructions"])


def csv(table: Table, spans: Sequence[Span]) -> str:
    """The samples of one window, with the spans' names."""
    columns = COLUMNS[1:]
    lines = [",".join(columns)]
    lines += [
        ",".join([spans[number].name, *map(str, values)])
        for number, *values in zip(*(table[name] for name in columns), strict=True)
    ]
    return "\n".join(lines) + "\n"


def select(table: Table, mask: Iterable[bool]) -> Table:
    """The rows for which ``mask`` is true."""
    chosen = np.asarray(mask, dtype=bool)
    return {name: column[chosen] for name, column in table.items()}

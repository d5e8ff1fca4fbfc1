# SPDX-License-Identifier: GPL-2.0-or-later
"""How much code and memory a kernel's objects take, and which of them the patches change."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from kernel.tools import patchset
from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.kernels import Kernel

KINDS = ("text", "rodata", "data", "bss", "percpu")
"""Executable; read-only; initialized; zeroed; one copy for each CPU."""
INCLUDED = {
    # kernel/sched/ compiles several files as one
    "kernel/sched/syscalls.c": "kernel/sched/build_policy.o",
}
_SECTION = re.compile(
    r"^\s*\[\s*\d+\] (\S*)\s+(\S+)\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+\s+([A-Zolp]*)\s")
_FILE = re.compile(r"^File: (.*)$")


def kind_of(name: str, section_type: str, flags: str) -> str | None:
    """Which of KINDS a section of an ELF object is; ``None`` if it takes no memory."""
    if "A" not in flags or name.startswith(".discard"):
        return None
    if name.startswith(".data..percpu"):
        return "percpu"
    if "X" in flags:
        return "text"
    if section_type == "NOBITS":
        return "bss"
    return "data" if "W" in flags else "rodata"


def parse(lines: Iterable[str]) -> dict[str, dict[str, int]]:
    """What ``readelf -SW`` prints of several files: file -> kind -> bytes."""
    sizes: dict[str, dict[str, int]] = {}
    current: dict[str, int] = {}
    for line in lines:
        if found := _FILE.match(line):
            current = sizes.setdefault(found[1], dict.fromkeys(KINDS, 0))
        elif found := _SECTION.match(line):
            kind = kind_of(found[1], found[2], found[4])
            if kind:
                current[kind] += int(found[3], 16)
    return sizes


def objects(kernel: Kernel) -> dict[str, dict[str, int]]:
    """Every object that is linked into the kernel: its path -> kind -> bytes."""
    archive = kernel.build / "vmlinux.a"
    done = subprocess.run(
        [f"{ARCHES[kernel.arch].cross}ar", "t", str(archive.resolve())],
        capture_output=True, text=True, check=False, cwd=kernel.build)
    if done.returncode:
        raise LabError(f"{archive}: {done.stderr.strip()}")
    root = kernel.build.resolve()
    names = [str((root / n).resolve().relative_to(root)) for n in done.stdout.split()]
    with subprocess.Popen(
        [f"{ARCHES[kernel.arch].cross}readelf", "-SW", *names], cwd=root, stdout=subprocess.PIPE,
        text=True,
    ) as readelf:
        assert readelf.stdout is not None
        sizes = parse(readelf.stdout)
    if readelf.returncode or not sizes:
        raise LabError(f"{kernel.name}: readelf failed")
    return sizes


def image(kernel: Kernel) -> dict[str, int]:
    """The linked kernel as ``size`` sees it, and its per-CPU section."""
    vmlinux = str(kernel.build / "vmlinux")
    cross = ARCHES[kernel.arch].cross
    done = subprocess.run([f"{cross}size", vmlinux], capture_output=True, text=True, check=False)
    sections = subprocess.run([f"{cross}readelf", "-SW", vmlinux],
                              capture_output=True, text=True, check=False)
    if done.returncode or sections.returncode:
        raise LabError(f"{vmlinux}: {done.stderr}{sections.stderr}")
    text, data, bss = (int(n) for n in done.stdout.splitlines()[1].split()[:3])
    percpu = parse(["File: vmlinux", *sections.stdout.splitlines()])["vmlinux"]["percpu"]
    return {"image_text": text, "image_data": data, "image_bss": bss, "image_percpu": percpu}


def _object_of(path: str) -> str:
    return INCLUDED.get(path, str(Path(path).with_suffix(".o")))


def changed(linux: str) -> set[str]:
    """Objects that new files or patches are in."""
    touched = patchset.paths(patchset.texts(linux))
    return {_object_of(path) for path in touched if path.endswith(".c")}

# SPDX-License-Identifier: GPL-2.0-or-later
"""Building the guest programs, and initramfs images that hold them."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.kernels.arch import ARCHES
from lab.kernels.initramfs import Initramfs
from lab.kernels.toolchain import require
from lab.paths import GUEST_BUILDS, REPO

MODULES = "lab/modules"


@dataclass(frozen=True)
class Command:
    """One line of the guest's command list."""

    words: tuple[str, ...]
    timeout: int = 60
    """Seconds of guest time."""

    def line(self) -> str:
        for word in self.words:
            if not word or any(c.isspace() for c in word):
                raise LabError(f"guest command {self.words}: words must not contain blanks")
        return f"{self.timeout} {' '.join(self.words)}"


def loading(modules: Sequence[Path]) -> list[Command]:
    """What loads them, in a guest whose image has them."""
    return [Command(("@load", f"/{MODULES}/{m.name}")) for m in modules]


def unloading(module: Path) -> Command:
    """What unloads it again."""
    return Command(("@unload", module.stem))


def output(arch: str) -> Path:
    """Where the programs for ``arch`` are."""
    return GUEST_BUILDS / arch


def build(arch: str, targets: Iterable[str], linux: tuple[str, Path] | None = None) -> Path:
    """Build ``targets`` (names below the output directory); return that directory.

    ``linux``: the version and the source tree of the kernel's own tests among them.
    """
    require("make", f"{ARCHES[arch].cross}gcc")
    out = output(arch)
    wanted = sorted(set(targets))
    variables = [f"ARCH={arch}", f"OUT={out}"]
    if linux is not None:
        variables += [f"LINUX={linux[0]}", f"KERNEL={linux[1]}"]
    done = subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", str(REPO / "lab"), *variables,
         *(str(out / target) for target in wanted)],
        capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise LabError(f"guest programs for {arch}:\n{done.stdout}{done.stderr}")
    return out


def libraries(program: Path) -> list[str]:
    """What a program of this machine is linked with; nothing if that is static."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(", done.stdout)


def image(out: Path, programs: Sequence[str], commands: Sequence[Command],
          modules: Sequence[Path] = ()) -> bytes:
    """An initramfs with our init, ``programs`` in /bin, modules and a list of commands."""
    archive = Initramfs()
    archive.add("init", (out / "init").read_bytes())
    for program in programs:
        archive.add(f"bin/{Path(program).name}", (out / program).read_bytes())
        if program.startswith("/") or program == "timershield":
            for library in libraries(out / program):
                archive.add(library, Path(library).read_bytes())
    for module in modules:
        archive.add(f"{MODULES}/{module.name}", module.read_bytes())
    archive.add("lab/commands", "".join(c.line() + "\n" for c in commands).encode())
    archive.add("etc/passwd", b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    archive.add("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    return archive.archive()

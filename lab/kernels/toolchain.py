# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that the lab calls, and the Debian packages that bring them."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

from lab.errors import LabError

PACKAGES = {
    "make": "make",
    "gcc": "gcc",
    "x86_64-linux-gnu-gcc": "gcc-x86-64-linux-gnu",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
    "perl": "perl",
    "cpio": "cpio",
    "gzip": "gzip",
    "git": "git",
    "meson": "meson",
    "ninja": "ninja-build",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-system-aarch64": "qemu-system-arm",
    "dpkg-buildpackage": "dpkg-dev",
    "ip": "iproute2",
    "tc": "iproute2",
    "stress-ng": "stress-ng",
}

MODULES = {
    "rich": "python3-rich",
    "numpy": "python3-numpy",
    "matplotlib": "python3-matplotlib",
}


def without_module(name: str | None) -> str | None:
    """What to say if a module of somebody else's cannot be imported; None for all others."""
    top = (name or "").partition(".")[0]
    if top not in MODULES:
        return None
    absent = dict.fromkeys([top, *(m for m in MODULES if find_spec(m) is None)])
    return (f"missing: Python's {' and '.join(absent)}; on Debian: apt-get install -y "
            f"{' '.join(MODULES[m] for m in absent)}; elsewhere: pip install {' '.join(absent)}")


def missing(*programs: str) -> list[str]:
    """Those of ``programs`` that are not there."""
    return [p for p in programs if shutil.which(p) is None]


def meson_ready(build: Path, source: Path) -> bool:
    """Whether Meson has set up ``build`` for ``source``; if not, there is nothing at ``build``.

    A directory that was moved or copied since knows the old places only.
    """
    try:
        info = json.loads((build / "meson-info" / "meson-info.json").read_text())
        places = (Path(info["directories"]["build"]), Path(info["directories"]["source"]))
    except (OSError, ValueError, KeyError):
        places = (Path(), Path())
    if places == (build, source) and (build / "build.ninja").exists():
        return True
    shutil.rmtree(build, ignore_errors=True)
    return False


def require(*programs: str) -> None:
    """Fail if a program is missing, naming the package that has it."""
    absent = missing(*programs)
    if not absent:
        return
    packages = " ".join(sorted({PACKAGES.get(p, p) for p in absent}))
    raise LabError(
        f"missing: {', '.join(absent)}; on Debian: apt-get install -y {packages}"
    )

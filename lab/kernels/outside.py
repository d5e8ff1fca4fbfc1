# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules that are built outside a kernel's source."""

import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError
from lab.kernels.toolchain import require


def modules(sources: Path, work: Path, make: list[str], strip: str) -> list[Path]:
    """Build the modules in ``sources`` below ``work``; return them in loading order.

    ``make``: the beginning of a call of the kernel's make. ``strip``: that of its architecture.
    """
    if not (sources / "Kbuild").exists():
        raise LabError(f"{sources} has no module to load")
    require("make", "gcc", strip)
    work.mkdir(exist_ok=True)
    for source in sources.iterdir():
        target = work / source.name
        if source.is_file() and (not target.exists()
                                 or target.read_bytes() != source.read_bytes()):
            shutil.copyfile(source, target)
    done = subprocess.run([*make, "-s", f"M={work}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{sources} at {work}:\n{done.stdout}{done.stderr}")
    built = [work / n for n in (work / "modules.order").read_text().split()]
    found = []
    for name in (p.with_suffix(".ko").name for p in built):
        stripped = work / "stripped" / name
        stripped.parent.mkdir(exist_ok=True)
        subprocess.run([strip, "-g", "-o", str(stripped), str(work / name)], check=True)
        found.append(stripped)
    return found

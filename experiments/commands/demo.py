# SPDX-License-Identifier: GPL-2.0-or-later
"""``lab demo``: ``timershield prove`` in a guest, the shield off and on."""

import argparse
import platform as machine
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from experiments.common.before import before
from experiments.measure.systems import System
from lab.boot import qemu
from lab.commands.options import linux
from lab.errors import LabError
from lab.kernels import debian, guests, kernels
from lab.kernels.platforms import Mode, Platform
from lab.paths import BUILD
from lab.progress import Progress

RELEASES = {"6.1": "12", "7.3": "13"}
"""The only release of Debian that has a kernel of this version."""
PROVE = ("/bin/timershield", "prove", "--seconds=9", "--progress", "--report=report.html")
TIMEOUT = 300
PROGRESS = re.compile(r"^\d+ of \d+, next to .*\n", re.MULTILINE)
TURNS = 16
"""Lines of progress: calibration, and three turns of each of five loads."""
ROW = re.compile(r"^(\S+) +" + 3 * r"([\d.]+) -> ([\d.]+) +", re.MULTILINE)
NOT_SHOWN = (
    "Measured in an emulator that counts instructions: one takes one nanosecond. It models neither "
    "caches nor what an interrupt costs hardware, so it understates what a machine loses without "
    "the shield.")


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--module", action="store_true",
                        help="run Debian's own kernel with the module; build none")
    linux(parser)


def _own_release() -> str:
    """That of this machine, or the newest."""
    try:
        number = machine.freedesktop_os_release().get("VERSION_ID", "")
    except OSError:
        number = ""
    return number if number in debian.RELEASES else max(debian.RELEASES)


@dataclass(frozen=True)
class Shown:
    """What prove printed, and its page."""

    kernel: str
    text: str
    page: Path

    @property
    def rows(self) -> dict[str, list[list[float]]]:
        """Load -> p50 and maximum in µs, and interruptions a job, each off and on."""
        return {load: [[float(v) for v in cells[i:i + 2]] for i in range(0, 6, 2)]
                for load, *cells in ROW.findall(self.text)}


def measure(module: bool, linux: str) -> Shown:
    """Build or fetch the kernel, and run prove."""
    release = RELEASES.get(linux) or _own_release()
    platform = Platform("x86_64", "preempt", linux, release if module else "")
    system = System(platform, Mode.MODULE if module else Mode.SHIELDED)
    with Progress() as progress:
        kernels.build(system.kernel, progress)
        with progress.bar("building the module and the guest's programs" if module else
                          "building the guest's programs", None):
            modules = kernels.modules(system.kernel, progress)
            out = guests.build(platform.arch, ["init", "timershield"])
        # Linux 6.12's patches have no levels
        levels = ("--levels",) if module or linux == "7.3" else ()
        prove = guests.Command((*PROVE, *levels), TIMEOUT)
        commands = [*before(system, modules, cpus=1), prove]
        initrd = guests.image(out, ["timershield"], commands, modules)
        with progress.bar("timershield prove, in a guest", TURNS) as bar:
            guest = qemu.run_commands(
                system.kernel, initrd, qemu.Machine(), TIMEOUT,
                on_output=lambda text: bar.advance(len(PROGRESS.findall(text.decode()))))
    if guest.failure:
        raise LabError(guest.explain())
    for outcome in guest.outcomes:
        if outcome.status:
            raise LabError(f"{system.name}: {outcome.line}: {outcome.output}")
    page = BUILD / "demo" / ("module" if module else "") / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    outcome = guest.outcomes[-1]
    page.write_text(outcome.files["report.html"].decode().replace(
        "</h1>", f"</h1>\n<p>{NOT_SHOWN}</p>", 1))
    return Shown(" ".join(guest.transcript.uname.split()[:2]),
                 PROGRESS.sub("", outcome.output), page)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, write report.html below build/demo."""
    shown = measure(arguments.module, arguments.linux)
    print(f"{shown.kernel}, timershield prove:", shown.text, textwrap.fill(NOT_SHOWN, 80),
          f"The pictures, and all figures: {shown.page}",
          "Next, what keeps this machine from exact timing:",
          "make install PARTS=command, then timershield status", sep="\n")
    interrupted = any(on for *_, (_, on) in shown.rows.values())
    return 0 if shown.text.startswith("The shield helps") and not interrupted else 1

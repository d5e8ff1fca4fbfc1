# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of Debian releases, fetched without installing them.

apt gets lists, a cache and sources of its own below build/apt/, so that the machine's own
sources, and what is installed, stay as they are. The mirrors are those the machine uses itself.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from lab.errors import LabError
from lab.paths import BUILD
from lab.progress import Progress

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = {"Debian": ("{}", "{}-backports"), "Debian-Security": ("{}-security",)}
"""What a release takes from a mirror, by the label of the archive."""
TESTING = "forky"
"""The next release. It has no backports."""
RELEASES = {"12": "bookworm", "13": "trixie", "14": TESTING}
LOCK_SECONDS = 600
"""How long apt waits for another one to end."""


def mirrors() -> dict[str, str]:
    """The addresses from which this machine gets Debian's packages, by label."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)"],
                          capture_output=True, text=True, check=False)
    targets = (line.split() for line in done.stdout.splitlines())
    found = {t[0]: t[1] for t in targets if len(t) == 2 and t[0] in SUITES
             and not t[1].startswith("cdrom:")}
    if "Debian" not in found:
        raise LabError("apt knows no mirror of Debian: enter one in /etc/apt/sources.list "
                       "and run apt-get update")
    return found


class Release:
    """One release of Debian, backports and security updates included."""

    _fetched: ClassVar[set[Path]] = set()
    """Whose lists are fresh: this process has fetched them."""

    def __init__(self, number: str, arch: str = "amd64") -> None:
        self._suite = RELEASES[number]
        self._directory = BUILD / "apt" / f"{self._suite}-{arch}"
        lists, cache = self._directory / "lists", self._directory / "cache"
        self._options = [
            "-o", f"Dir::Etc::SourceList={self._directory / 'sources.list'}",
            "-o", "Dir::Etc::SourceParts=/dev/null",
            "-o", f"Dir::State::Lists={lists}",
            "-o", f"Dir::Cache={cache}",
            "-o", f"APT::Architecture={arch}",
            "-o", f"APT::Architectures={arch}",
            "-o", f"DPkg::Lock::Timeout={LOCK_SECONDS}",
            # what drops its rights could not read below a home directory
            "-o", "APT::Sandbox::User=root",
        ]

    def update(self, progress: Progress) -> None:
        """Fetch the lists of packages, once."""
        if self._directory in self._fetched:
            return
        if shutil.which("apt-get") is None:
            raise LabError("there is no apt-get here to fetch Debian packages with")
        if not KEYRING.exists():
            raise LabError(f"no {KEYRING}: apt-get install debian-archive-keyring")
        for part in ("lists/partial", "cache/archives/partial"):
            (self._directory / part).mkdir(parents=True, exist_ok=True)
        (self._directory / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {mirror} {suite.format(self._suite)} main\n"
            for label, mirror in mirrors().items() for suite in SUITES[label]
            if self._suite != TESTING or suite != "{}-backports"))
        progress.step(f"fetching the lists of packages of {self._suite}")
        self._call("apt-get", "update")
        self._fetched.add(self._directory)

    def _call(self, program: str, *words: str, where: Path | None = None) -> str:
        done = subprocess.run([program, *self._options, *words], cwd=where or self._directory,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            why = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            raise LabError(f"{program} {' '.join(words)}, packages of {self._suite}: "
                           f"{why[0] if why else done.stderr.strip()}")
        return done.stdout

    def newest(self, pattern: str) -> str:
        """The package of the highest version of those whose whole name matches."""
        names = self._call("apt-cache", "pkgnames", pattern.partition("\\")[0]).split()
        found = [n for n in names if re.fullmatch(pattern, n)]
        if not found:
            raise LabError(f"{self._suite} has no package that is called {pattern}")
        return max(found, key=_version)

    def depends(self, package: str, pattern: str) -> list[str]:
        """Those packages that ``package`` depends on whose whole names match."""
        text = self._call("apt-cache", "depends", package)
        return re.findall(rf"^ *Depends: ({pattern})$", text, re.MULTILINE)

    def fetch(self, package: str, target: Path, progress: Progress) -> None:
        """Unpack ``package`` at ``target``, which appears as a whole or not at all."""
        temporary = target.with_name(target.name + ".new")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        shown = self._call("apt-cache", "show", "--no-all-versions", package)
        size = re.search(r"^Size: (\d+)$", shown, re.MULTILINE)
        of = f", {int(size[1]) / 1e6:.1f} MB" if size else ""
        progress.step(f"fetching {package}{of}")
        try:
            self._call("apt-get", "download", package, where=temporary)
            file = next(temporary.glob("*.deb"))
            done = subprocess.run(["dpkg-deb", "-x", str(file), str(temporary)],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"cannot unpack {file.name}: {done.stderr.strip()}")
            file.unlink()
            shutil.rmtree(target, ignore_errors=True)
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _version(name: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", name)]

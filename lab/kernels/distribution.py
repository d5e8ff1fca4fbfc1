# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's own kernels, unmodified, and the module of kernel/module for them.

Packages are fetched and unpacked below the kernel's directory; nothing is installed.
"""

import lzma
import re
import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError
from lab.kernels import debian
from lab.kernels.arch import ARCHES, own
from lab.kernels.toolchain import missing
from lab.progress import Progress

_VERSION = r"(?:[\d.+~-]|deb|bpo)+"
"""What stands behind 6.12 in a package's name."""
FILTER = """#!/bin/sh
# Debian's compiler is newer than this one: leave out what it does not know.
for word; do
	shift
	case $word in
	-fmin-function-alignment=*) word=-falign-functions=${word#*=} ;;
	esac
	set -- "$@" "$word"
done
exec %s "$@"
"""


def _release(directory: Path) -> str:
    """What ``uname -r`` will say."""
    return (directory / "release").read_text().strip()


def fetch(directory: Path, number: str, arch: str, linux: str, rt: bool,
          progress: Progress) -> Path:
    """Have the newest kernel of a version at ``directory``; return its image.

    What was fetched once stays, so that results go on being those of one kernel.
    """
    image = directory / "vmlinuz"
    if image.exists():
        return image
    release = debian.Release(number, ARCHES[arch].debian)
    release.update(progress)
    words = f"{'rt-' if rt else ''}{ARCHES[arch].debian}"
    # 6.1 is not 6.12
    package = release.newest(rf"linux-image-{re.escape(linux)}(?!\d){_VERSION}-{words}")
    # from 7.3 on the image's package only depends on that of the kernel itself
    [package] = release.depends(package, r"linux-binary-\S+") or [package]
    root = directory / "root"
    release.fetch(package, root, progress)
    (directory / "release").write_text(re.sub(r"^linux-(image|binary)-", "", package) + "\n")
    found = sorted(root.rglob("vmlinuz*"))
    if not found:
        raise LabError(f"there is no kernel in {package}")
    image.symlink_to(found[0].relative_to(directory))
    return image


def driver(directory: Path, name: str) -> list[Path]:
    """One of the modules that came with the kernel at ``directory``, if it has it, unpacked."""
    for packed in (directory / "root").rglob(f"{name}.ko*"):
        data = packed.read_bytes()
        unpacked = directory / f"{name}.ko"
        unpacked.write_bytes(lzma.decompress(data) if packed.suffix == ".xz" else data)
        return [unpacked]
    return []


def _headers(directory: Path, number: str, arch: str, progress: Progress) -> Path:
    """The kernel's headers, ready to build modules with."""
    root = directory / "headers"
    package = f"linux-headers-{_release(directory)}"
    headers = root / "usr" / "src" / package
    if (root / "ready").exists():
        return headers
    release = debian.Release(number, ARCHES[arch].debian)
    release.update(progress)
    # programs that run here
    tools = debian.Release(number, own().debian)
    tools.update(progress)
    needs = release.depends(package, r"linux-(?:headers|kbuild)-\S+")
    for name in (package, *needs):
        (tools if "-kbuild-" in name else release).fetch(name, root / name, progress)
        shutil.copytree(root / name / "usr", root / "usr", symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(root / name)
    for file in (headers / "Makefile", *(root / "usr/src").glob("*-common*/Makefile")):
        file.write_text(re.sub(r"(?<![\w/])/usr/(src|lib)/linux-", rf"{root}/usr/\1/linux-",
                               file.read_text()))
    _make_runnable(tools, root, progress)
    (root / "ready").touch()
    return headers


def _make_runnable(release: debian.Release, root: Path, progress: Progress) -> None:
    """Have the release's C library, and build tools that need a newer one than this machine's."""
    tools = ("scripts/mod/modpost.real-lsb-64", "tools/objtool/objtool.real-x86")
    programs = [p for pattern in tools
                for p in root.glob(f"usr/lib/linux-kbuild-*/{pattern}") if not _runs(p)]
    if not programs:
        return
    release.fetch("libc6", root / "libc", progress)
    library = root / "libc/usr/lib/x86_64-linux-gnu"
    for program in programs:
        moved = program.rename(program.with_name(f"{program.name}.elf"))
        program.write_text(f"#!/bin/sh\nexec {library}/ld-linux-x86-64.so.2 "
                           f'--library-path {library} {moved} "$@"\n')
        program.chmod(0o755)


def _runs(program: Path) -> bool:
    """Whether this machine's C library is new enough for it."""
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    return "GLIBC_" not in done.stderr


def _compiler(directory: Path, headers: Path, cross: str) -> list[str]:
    """The words that make make use this machine's compiler, if Debian's is not here."""
    text = (headers / ".kernelvariables").read_text()
    wanted = re.search(r"gcc-\d+", text)
    if wanted is None or not missing(cross + wanted[0]):
        return []
    script = directory / "gcc"
    script.write_text(FILTER % f"{cross}gcc")
    script.chmod(0o755)
    return [f"CC={script}"]


def make_command(directory: Path, number: str, arch: str, progress: Progress) -> list[str]:
    """The beginning of a call of make that builds modules for the kernel at ``directory``."""
    headers = _headers(directory, number, arch, progress)
    return ["make", "-C", str(headers), *_compiler(directory, headers, ARCHES[arch].cross)]

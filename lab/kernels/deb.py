# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages of a shielded kernel with a machine's own configuration."""

import gzip
import lzma
import os
import platform
import shutil
import zlib
from pathlib import Path

from lab.errors import LabError
from lab.kernels import kconfig, kernels
from lab.kernels.arch import own
from lab.kernels.toolchain import require
from lab.paths import BUILD
from lab.progress import Progress

CHANGES = {
    "CONFIG_LOCALVERSION": '"-timershield"',
    "CONFIG_LOCALVERSION_AUTO": "n",
    # Debian's own certificates and build salt are not ours to use
    "CONFIG_SYSTEM_TRUSTED_KEYS": '""',
    "CONFIG_SYSTEM_REVOCATION_KEYS": '""',
    "CONFIG_BUILD_SALT": '""',
    # would make the packages ten times as large and the build twice as long
    "CONFIG_DEBUG_INFO_NONE": "y",
    "CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT": "n",
    "CONFIG_DEBUG_INFO_DWARF4": "n",
    "CONFIG_DEBUG_INFO_DWARF5": "n",
    "CONFIG_DEBUG_INFO_BTF": "n",
}


def own_configuration(linux: str) -> Path:
    """Where the running kernel's configuration is."""
    release = platform.release()
    debian = own().debian
    candidates = [
        Path(f"/boot/config-{release}"),
        Path(f"/lib/modules/{release}/config"),
        Path("/proc/config.gz"),
        Path(f"/usr/src/linux-config-{linux}/config.{debian}_none_{debian}.xz"),
    ]
    for path in candidates:
        if path.is_file():
            return path
    raise LabError(
        f"no configuration of the running kernel ({', '.join(map(str, candidates))}): "
        "name one with make deb CONFIG="
    )


def read(path: Path) -> str:
    """A configuration, compressed or not."""
    data = path.read_bytes()
    try:
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix == ".xz":
            data = lzma.decompress(data)
        text = data.decode()
    except (OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError) as error:
        raise LabError(f"{path} is damaged, or no configuration: {error}") from error
    if not kconfig.parse(text):
        raise LabError(f"{path} is not a kernel configuration: no line in it sets a CONFIG_ symbol")
    return text


def build(
    progress: Progress, given: Path | None, local_modules: bool, linux: str = kernels.DEFAULT_LINUX
) -> list[Path]:
    """Build the packages; return their paths below build/deb."""
    arch = own().name
    kernels.require_build_tools(arch)
    require("dpkg-buildpackage", "rsync")
    tree = kernels.patched_tree(progress, linux)
    source = given or own_configuration(linux)
    progress.step(f"configuration: {source}")
    with kernels.locked(f"{linux}-deb"):
        output = tree / "deb" / "linux"
        output.mkdir(parents=True, exist_ok=True)
        values = {**kconfig.parse(read(source)), **CHANGES}
        (output / ".config").write_text(kconfig.text(values))
        for target in ["olddefconfig", *(["localmodconfig"] if local_modules else [])]:
            _make(tree, output, arch, target, progress)
        for stale in output.parent.glob("*.deb"):
            stale.unlink()
        _make(tree, output, arch, "bindeb-pkg", progress)
        return _collect(output.parent)


def _make(tree: Path, output: Path, arch: str, target: str, progress: Progress) -> None:
    command = ["make", "-C", str(tree), f"O={output}", f"ARCH={arch}",
               f"-j{os.cpu_count() or 1}", "DPKG_FLAGS=-d"]
    if shutil.which("ccache"):
        command += ["CC=ccache gcc", "HOSTCC=ccache gcc"]
    with progress.bar(f"deb: {target}", None) as bar:
        kernels.run_make([*command, target], "deb", bar)


def _collect(directory: Path) -> list[Path]:
    target = BUILD / "deb"
    target.mkdir(parents=True, exist_ok=True)
    built = sorted(directory.glob("*.deb"))
    if not built:
        raise LabError("no packages were built")
    # the README has all of them installed
    for stale in target.glob("*.deb"):
        stale.unlink()
    for package in built:
        shutil.copyfile(package, target / package.name)
    return [target / package.name for package in built]

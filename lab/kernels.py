# SPDX-License-Identifier: GPL-2.0-or-later
"""Building the lab's kernels: one source tree stock, one patched, many build directories."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import kconfig, patchset
from lab.errors import LabError
from lab.paths import CONFIGS, KERNEL_BUILDS, LOGS, MUTANTS
from lab.progress import Progress
from lab.tools import CROSS, require

DEBIAN_SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
GOOD_SOURCE = "KERNEL_SOURCE= must name a Linux 6.12 tree or tarball"
ARCHES = ("x86_64", "arm64")
FLAVOURS = ("rt", "preempt")
VARIANTS = ("stock", "shielded", "debug")
FEATURES = ("network", "kvm")
"""What a kernel may have on top, as the last word of its name: fragments of the same names."""
DEFECTS = "mutants"
"""Stands there for no fragment, but for the source: with the defects that tests have to notice."""
TARGET = {"x86_64": "bzImage", "arm64": "Image"}
IMAGE = {"x86_64": "arch/x86/boot/bzImage", "arm64": "arch/arm64/boot/Image"}
OBJECTS = {"x86_64": 1290, "arm64": 1240}
"""Roughly how many objects a first build compiles; only the progress bar depends on it."""


@dataclass(frozen=True, order=True)
class Kernel:
    """One kernel of the lab."""

    arch: str
    flavour: str
    variant: str
    feature: str = ""

    @classmethod
    def parse(cls, name: str) -> "Kernel":
        """``x86_64-preempt-shielded``, ``x86_64-preempt-stock-network`` and the like."""
        arch, flavour, variant, feature = (*name.split("-", 3), "", "", "")[:4]
        for what, value, allowed in (
            ("architecture", arch, ARCHES),
            ("flavour", flavour, FLAVOURS),
            ("variant", variant, VARIANTS),
            ("feature", feature, ("", *FEATURES, DEFECTS)),
        ):
            if value not in allowed:
                raise LabError(
                    f"kernel '{name}': {what} '{value}' is not one of {', '.join(allowed)}"
                )
        return cls(arch, flavour, variant, feature)

    @property
    def name(self) -> str:
        words = (self.arch, self.flavour, self.variant, self.feature)
        return "-".join(w for w in words if w)

    @property
    def build(self) -> Path:
        """The kernel's build tree."""
        return KERNEL_BUILDS / self.name

    @property
    def image(self) -> Path:
        """What QEMU boots."""
        return self.build / IMAGE[self.arch]

    @property
    def patched(self) -> bool:
        return self.variant != "stock"

    @property
    def fragments(self) -> list[Path]:
        """Configuration fragments in the order in which they override each other."""
        names = ["base", self.arch, self.flavour]
        if self.patched:
            names.append("shielded")
        if self.variant == "debug":
            names.append("debug")
        if self.feature in FEATURES:
            names.append(self.feature)
        return [CONFIGS / n for n in names]


def all_kernels() -> list[Kernel]:
    """Every kernel that the lab can build."""
    return [Kernel(a, f, v) for a in ARCHES for f in FLAVOURS for v in VARIANTS]


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep a second lab from building the same thing at the same time."""
    KERNEL_BUILDS.mkdir(parents=True, exist_ok=True)
    with open(KERNEL_BUILDS / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def source_origin() -> Path:
    """The tree or tarball that the user, or Debian, provides."""
    given = os.environ.get("KERNEL_SOURCE")
    origin = Path(given).expanduser() if given else DEBIAN_SOURCE
    if not origin.exists():
        hint = (
            "KERNEL_SOURCE names no file or directory"
            if given
            else "install Debian's linux-source-6.12 (in Debian 13, or bookworm-backports), or "
            "unpack linux-6.12.y from https://www.kernel.org/ and set KERNEL_SOURCE= to it"
        )
        raise LabError(f"no kernel source at {origin}: {hint}")
    if not origin.is_dir() and not origin.is_file():
        raise LabError(f"{origin}: neither a directory nor a file; {GOOD_SOURCE}")
    return origin.resolve()


def _must(command: list[str], what: str, directory: Path | None = None) -> None:
    """Run ``command``; if it fails, say that ``what`` does, and its last words."""
    done = subprocess.run(command, cwd=directory, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode:
        raise LabError(f"{what}: {done.stderr.strip().rpartition(chr(10))[2]}")


def _unpack(origin: Path, target: Path) -> None:
    """Put a pristine copy of the tree or tarball ``origin`` at ``target``."""
    target.mkdir(parents=True)
    if origin.is_dir():
        producer = ["tar", "-C", str(origin), "--exclude=./.git", "-cf", "-", "."]
        strip = 0
    else:
        producer = ["cat", str(origin)]
        strip = 1
    consumer = ["tar", "-C", str(target), f"--strip-components={strip}", "-xf", "-"]
    if origin.is_file():
        consumer.append({".xz": "-J", ".gz": "-z", ".bz2": "-j"}.get(origin.suffix, "--no-auto"))
        if consumer[-1] == "--no-auto":
            consumer.pop()
    with subprocess.Popen(producer, stdout=subprocess.PIPE) as tar:
        done = subprocess.run(consumer, stdin=tar.stdout, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)
    if done.returncode or tar.returncode:
        first = done.stderr.partition("\n")[0]
        raise LabError(f"cannot unpack {origin}: {first or 'not all of it can be read'}")
    if (target / ".config").exists() or (target / "include/generated").exists():
        _must(["make", "-s", "mrproper"], f"make mrproper in a copy of {origin}", target)


def _unpack_linux(origin: Path, target: Path) -> None:
    """Put a pristine copy of ``origin`` at ``target``, or nothing if it is not Linux 6.12."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        if origin.is_dir():
            patchset.check_linux_tree(origin)
        _unpack(origin, target)
        patchset.check_linux_tree(target, called=origin)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, LabError):
            raise LabError(f"{error}; {GOOD_SOURCE}") from error
        raise


def stock_tree(progress: Progress) -> Path:
    """The unmodified source tree, unpacked on first use and when its origin changed."""
    origin = source_origin()
    state = origin.stat()
    stamp = f"{origin} {state.st_size} {int(state.st_mtime)}\n"
    tree = KERNEL_BUILDS / "src-stock"
    with locked("source"):
        mark = tree / ".origin"
        if mark.exists() and mark.read_text() == stamp:
            return tree
        progress.step(f"unpacking {origin}")
        temporary = KERNEL_BUILDS / "src-stock.new"
        _unpack_linux(origin, temporary)
        (temporary / ".origin").write_text(stamp)
        for stale in ("src-stock", "src-timershield", "src-mutants", "src-each"):
            shutil.rmtree(KERNEL_BUILDS / stale, ignore_errors=True)
        temporary.rename(tree)
    return tree


def link_copy(stock: Path, tree: Path, progress: Progress) -> None:
    """Make ``tree`` a copy of the stock tree, unless it is there already.

    The copy consists of hard links: whoever changes a file in it must replace the file.
    """
    if tree.exists():
        return
    progress.step(f"copying the source tree to {tree}")
    temporary = tree.with_name(tree.name + ".new")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    names = {k.name for k in all_kernels()} | {"deb"}
    entries = [str(p) for p in stock.iterdir() if p.name not in names]
    try:
        _must(["cp", "-al", *entries, str(temporary)], f"cannot copy {stock} to {tree}")
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    temporary.rename(tree)


def _synced_tree(name: str, wanted: patchset.Patchset, progress: Progress) -> Path:
    stock = stock_tree(progress)
    tree = KERNEL_BUILDS / name
    with locked("source"):
        link_copy(stock, tree, progress)
        changed = patchset.sync(stock, tree, wanted)
        if changed:
            progress.step(f"kernel source brought up to date: {len(changed)} files")
    return tree


def patched_tree(progress: Progress) -> Path:
    """The source tree with src/ and patches/ on it, brought up to date file by file."""
    return _synced_tree("src-timershield", patchset.Patchset(), progress)


def source_tree(kernel: Kernel, progress: Progress) -> Path:
    """The tree that ``kernel`` is built from."""
    if kernel.feature == DEFECTS:
        return _synced_tree("src-mutants", patchset.Patchset(on_top=(MUTANTS,)), progress)
    return patched_tree(progress) if kernel.patched else stock_tree(progress)


def make_command(kernel: Kernel, tree: Path, output: Path) -> list[str]:
    """The beginning of a call of the kernel's make."""
    command = ["make", "-C", str(tree), f"O={output}", f"ARCH={kernel.arch}"]
    prefix = CROSS[kernel.arch]
    compiler = f"{prefix}gcc"
    if shutil.which("ccache"):
        compiler = f"ccache {compiler}"
    command += [f"CC={compiler}", f"CROSS_COMPILE={prefix}"]
    if shutil.which("ccache"):
        command.append("HOSTCC=ccache gcc")
    return command


def environment() -> dict[str, str]:
    """Reproducible builds, and a cache shared by all build directories."""
    drop = {"ARCH", "CROSS_COMPILE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "O"}
    return {
        **{k: v for k, v in os.environ.items() if k not in drop},
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
        "KBUILD_BUILD_USER": "lab",
        "KBUILD_BUILD_HOST": "timershield",
        "KBUILD_BUILD_VERSION": "1",
        "CCACHE_BASEDIR": str(KERNEL_BUILDS),
        "CCACHE_SLOPPINESS": "time_macros,include_file_mtime,include_file_ctime",
        "CCACHE_NOHASHDIR": "1",
    }


def output_directory(kernel: Kernel, tree: Path) -> Path:
    """The build directory, below its source tree: Kbuild then passes the compiler relative
    paths only, so that stock and patched kernels share the compiler cache.
    """
    output = tree / kernel.name
    output.mkdir(exist_ok=True)
    return output


def _link(kernel: Kernel, tree: Path) -> None:
    """Put a link to the build directory where it is looked for."""
    link = kernel.build
    target = Path(tree.name) / kernel.name
    if not link.is_symlink() or link.readlink() != target:
        if link.exists() or link.is_symlink():
            raise LabError(f"{link} exists and is not the lab's: remove it")
        link.symlink_to(target)


def configure(kernel: Kernel, tree: Path, output: Path) -> list[str]:
    """Write .config if it has to change; return symbols the tree does not know."""
    wanted = kconfig.merge([tree / "kernel/configs/tiny-base.config",
                            tree / "kernel/configs/tiny.config"])
    ours = kconfig.merge(kernel.fragments)
    ours["CONFIG_LOCALVERSION"] = f'"{kernel.name.removeprefix(kernel.arch)}"'
    ours["CONFIG_LOCALVERSION_AUTO"] = "n"
    wanted.update(ours)
    fragment = output / ".lab-fragment"
    fragment.write_text(kconfig.text(wanted))
    new = output / ".config.new"
    done = subprocess.run(
        [*make_command(kernel, tree, output), "allnoconfig", f"KCONFIG_CONFIG={new}"],
        env={**environment(), "KCONFIG_ALLCONFIG": str(fragment)},
        capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise LabError(f"{kernel.name}: configuration failed\n{done.stdout}{done.stderr}")
    unknown = kconfig.check(tree, ours, new)
    config = output / ".config"
    if not config.exists() or config.read_bytes() != new.read_bytes():
        new.replace(config)
    else:
        new.unlink()
    for leftover in output.glob(".config.new*"):
        leftover.unlink()
    return unknown


def build(kernel: Kernel, progress: Progress, jobs: int | None = None) -> Path:
    """Build ``kernel`` as far as it is out of date; return its image."""
    require_build_tools(kernel.arch)
    tree = source_tree(kernel, progress)
    with locked(kernel.name):
        output = output_directory(kernel, tree)
        _link(kernel, tree)
        for symbol in configure(kernel, tree, output):
            progress.step(f"{kernel.name}: this tree does not know {symbol}")
        log = LOGS / f"kernel-{kernel.name}.log"
        LOGS.mkdir(parents=True, exist_ok=True)
        command = [*make_command(kernel, tree, output), f"-j{jobs or os.cpu_count() or 1}",
                   TARGET[kernel.arch]]
        first = not (output / "vmlinux").exists()
        with log.open("w") as out, progress.bar(
            f"building {kernel.name}", OBJECTS[kernel.arch] if first else None
        ) as bar, subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=False,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                out.write(line)
                if re.match(r"  (CC|AS|LD|AR) ", line):
                    bar.advance()
        if process.returncode:
            tail = "".join(log.read_text().splitlines(keepends=True)[-25:])
            raise LabError(f"{kernel.name}: the build failed; {log} ends with\n{tail}")
    return kernel.image


def require_build_tools(arch: str) -> None:
    """Fail, naming Debian packages, if something to build kernels with is missing."""
    require("make", f"{CROSS[arch]}gcc", "flex", "bison", "bc", "patch", "tar", "xz", "perl")
    require("cpio", "gzip")


def installed(kernel: Kernel) -> bool:
    """Whether an image is there, up to date or not."""
    return kernel.image.exists()

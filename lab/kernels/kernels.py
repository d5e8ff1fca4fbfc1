# SPDX-License-Identifier: GPL-2.0-or-later
"""Building the lab's kernels: one source tree stock, one patched, many build directories."""

import contextlib
import dataclasses
import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel.tools import patchset
from lab.errors import LabError
from lab.kernels import debian, distribution, kconfig, outside
from lab.kernels.arch import ARCHES
from lab.kernels.toolchain import require
from lab.paths import BUILD, CONFIGS, DEFECTS, KERNEL_BUILDS, LOGS, MODULE, REPO, TESTS
from lab.progress import Bar, Progress

LINUXES = ("6.12", "7.3")
DEFAULT_LINUX = patchset.DEFAULT
SOURCES = Path("/usr/src")
"""Where Debian's packages of sources put their tarballs."""
FLAVOURS = ("rt", "preempt", "lazy")
"""Linux 6.12 cannot be built as the last one."""
MODULE_VARIANT = "module"
"""A kernel with kernel/module loaded: Debian's, or ours with all that ``debug`` checks."""
VARIANTS = ("stock", "shielded", "debug", MODULE_VARIANT)
FEATURES = {**{p.stem: p for p in sorted((REPO / "experiments").glob("*/*.config"))},
            "kcsan": CONFIGS / "kcsan",
            **dict.fromkeys(("nohz", "defects"), TESTS / "nohz.config")}
"""What a kernel may have on top, as the last word of its name, and the fragment; an experiment
brings its own."""
WITH_MODULES = ("nohz",)
"""Features of kernels that can load the tests' own modules."""
WITH_DEFECTS = "defects"
"""That one has another source, too: with the defects that tests have to notice."""
MANIFEST = ".timershield"
"""In a tree kept up to date by :func:`sync`: the files that differ from the pristine tree."""


def flavours(linux: str) -> tuple[str, ...]:
    """Those that a version can be built as."""
    return tuple(f for f in FLAVOURS if f != "lazy" or linux != "6.12")


def directory(linux: str) -> Path:
    """Where the sources and builds of a version are."""
    return KERNEL_BUILDS / linux


@dataclass(frozen=True, order=True)
class Kernel:
    """One kernel of the lab."""

    arch: str
    flavour: str
    variant: str
    feature: str = ""
    linux: str = DEFAULT_LINUX
    debian: str = ""
    """The number of the Debian release whose kernel it is, unmodified; empty: ours."""

    @classmethod
    def parse(cls, name: str, linux: str = DEFAULT_LINUX) -> "Kernel":
        """``x86_64-preempt-shielded``, ``7.3/x86_64-preempt-stock-nohz`` and the like.

        ``linux``: the version, if the name does not say it.
        """
        version, _, words = name.rpartition("/")
        if version.startswith("debian"):
            return cls._parse_debian(version.removeprefix("debian"), words)
        linux = version or linux
        arch, flavour, variant, feature = (*words.split("-", 3), "", "", "")[:4]
        for what, value, allowed in (
            ("version", linux, LINUXES),
            ("architecture", arch, tuple(ARCHES)),
            ("flavour", flavour, flavours(linux)),
            ("variant", variant, VARIANTS),
            ("feature", feature, ("", *FEATURES)),
        ):
            if value not in allowed:
                raise LabError(
                    f"kernel '{name}': {what} '{value}' is not one of {', '.join(allowed)}"
                )
        return cls(arch, flavour, variant, feature, linux)

    @classmethod
    def _parse_debian(cls, number: str, words: str) -> "Kernel":
        """``debian13/7.3``, ``debian13/7.3-rt``, ``debian13/7.3-arm64``, ``…-module``."""
        match = re.fullmatch(r"(\d+\.\d+)(-rt)?(-arm64)?(-module)?", words)
        if number not in debian.RELEASES or match is None:
            raise LabError(
                f"kernel 'debian{number}/{words}': Debian's kernels are called RELEASE/VERSION "
                f"or RELEASE/VERSION-rt, such as debian13/7.3-rt, with -arm64 behind it for that "
                f"architecture, and -module to load the module; there are "
                f"{', '.join('debian' + n for n in debian.RELEASES)}")
        flavour = "rt" if match[2] else "preempt"
        arch = "arm64" if match[3] else "x86_64"
        variant = MODULE_VARIANT if match[4] else "stock"
        return cls(arch, flavour, variant, linux=match[1], debian=number)

    @property
    def name(self) -> str:
        """What :meth:`parse` takes; the version stands in it if it is not the usual one."""
        if self.debian:
            words = [self.linux, *(["rt"] if self.flavour == "rt" else []),
                     *([self.arch] if self.arch != "x86_64" else []),
                     *([self.variant] if self.variant != "stock" else [])]
            return f"debian{self.debian}/{'-'.join(words)}"
        return self.words if self.linux == DEFAULT_LINUX else f"{self.linux}/{self.words}"

    @property
    def words(self) -> str:
        """The name without the version."""
        words = (self.arch, self.flavour, self.variant, self.feature)
        return "-".join(w for w in words if w)

    @property
    def build(self) -> Path:
        """The kernel's build tree, or where Debian's is unpacked."""
        if self.debian:
            return KERNEL_BUILDS / dataclasses.replace(self, variant="stock").name
        return directory(self.linux) / self.words

    @property
    def image(self) -> Path:
        """What QEMU boots."""
        if self.debian:
            return self.build / "vmlinuz"
        return self.build / ARCHES[self.arch].image

    @property
    def patched(self) -> bool:
        return self.variant not in ("stock", MODULE_VARIANT)

    @property
    def debug(self) -> bool:
        """Whether it checks all that it does; that takes time and memory."""
        return self.variant == "debug" or (self.variant == MODULE_VARIANT and not self.debian)

    @property
    def fragments(self) -> list[Path]:
        """Configuration fragments in the order in which they override each other."""
        names = ["base", self.arch, self.flavour]
        names += [n for n in (self.linux, f"{self.linux}-{self.arch}") if (CONFIGS / n).exists()]
        if self.debug:
            names.append("debug")
        if self.variant == MODULE_VARIANT:
            names.append("module")
        if self.feature in FEATURES and not (self.debug and self.feature == WITH_DEFECTS):
            return [*(CONFIGS / n for n in names), FEATURES[self.feature]]
        return [CONFIGS / n for n in names]


def all_kernels() -> list[Kernel]:
    """Every kernel that the lab can build."""
    return [Kernel(a, f, v, linux=linux) for linux in LINUXES for a in ARCHES
            for f in flavours(linux) for v in VARIANTS
            if v != MODULE_VARIANT or a == "x86_64"]


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep a second lab from building the same thing at the same time."""
    KERNEL_BUILDS.mkdir(parents=True, exist_ok=True)
    with open(KERNEL_BUILDS / f".{name.replace('/', '-')}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def source_origin(linux: str, progress: Progress) -> Path:
    """The tree or tarball of a version that the user, or Debian, provides."""
    given = os.environ.get("KERNEL_SOURCE")
    if not given:
        packaged = SOURCES / f"linux-source-{linux}.tar.xz"
        return packaged if packaged.exists() else _fetched_source(linux, progress)
    origin = Path(given).expanduser()
    if not origin.exists():
        raise LabError(f"KERNEL_SOURCE={origin}: no such file or directory")
    if not origin.is_dir() and not origin.is_file():
        raise LabError(f"{origin}: neither a directory nor a file; {_good_source(linux)}")
    return origin.resolve()


def _good_source(linux: str) -> str:
    return f"KERNEL_SOURCE= must name a Linux {linux} tree or tarball"


def _fetched_source(linux: str, progress: Progress) -> Path:
    """Debian's tarball, from a package that is only unpacked."""
    package = f"linux-source-{linux}"
    target = BUILD / "apt" / package
    tarball = target / "usr" / "src" / f"{package}.tar.xz"
    with locked(package):
        if not tarball.exists():
            release = debian.Release("13")
            try:
                release.update(progress)
                release.fetch(package, target, progress)
            except LabError as error:
                raise LabError(f"{error}\nUnpack linux-{linux}.y from https://www.kernel.org/ and "
                               "set KERNEL_SOURCE= to it") from error
    return tarball


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
        entries = [str(p) for p in origin.iterdir() if p.name != ".git"]
        command = ["cp", "-a", *entries, str(target)]
    else:
        command = ["tar", "-C", str(target), "--strip-components=1", "-xf", str(origin)]
    _must(command, f"cannot unpack {origin}")
    if (target / ".config").exists() or (target / "include/generated").exists():
        _must(["make", "-s", "mrproper"], f"make mrproper in a copy of {origin}", target)


def _unpack_linux(origin: Path, target: Path, linux: str) -> None:
    """Put a pristine copy of ``origin`` at ``target``, or nothing if it is not that Linux."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        if origin.is_dir():
            _require_linux(origin, origin, linux)
        _unpack(origin, target)
        _require_linux(target, origin, linux)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, LabError):
            raise LabError(f"{error}; {_good_source(linux)}") from error
        raise


def _require_linux(tree: Path, called: Path, linux: str) -> None:
    version = patchset.linux_version(tree, called)
    if (series := patchset.series_of(version)) != linux:
        raise LabError(f"{called}: this is Linux {version}; set LINUX={series}")


def stock_tree(progress: Progress, linux: str = DEFAULT_LINUX) -> Path:
    """The unmodified source tree, unpacked on first use and when its origin changed."""
    origin = source_origin(linux, progress)
    state = origin.stat()
    changed = max((f.lstat().st_mtime for f in origin.rglob("*")), default=state.st_mtime)
    stamp = f"{origin} {state.st_size} {int(changed)}\n"
    place = directory(linux)
    place.mkdir(parents=True, exist_ok=True)
    tree = place / "src-stock"
    with locked(f"{linux}-source"):
        mark = tree / ".origin"
        if mark.exists() and mark.read_text() == stamp:
            return tree
        progress.step(f"unpacking {origin}")
        temporary = place / "src-stock.new"
        _unpack_linux(origin, temporary, linux)
        (temporary / ".origin").write_text(stamp)
        for stale in ("src-stock", "src-timershield", "src-defects", "src-each"):
            shutil.rmtree(place / stale, ignore_errors=True)
        temporary.rename(tree)
    return tree


def link_copy(stock: Path, tree: Path, progress: Progress) -> None:
    """Make ``tree`` a copy of the stock tree, unless it is there already.

    The copy consists of hard links: to change a file in it, replace the file.
    """
    if tree.exists():
        return
    progress.step(f"copying the source tree to {tree}")
    temporary = tree.with_name(tree.name + ".new")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    names = {k.words for k in all_kernels()} | {"deb"}
    entries = [str(p) for p in stock.iterdir() if p.name not in names]
    try:
        _must(["cp", "-al", *entries, str(temporary)], f"cannot copy {stock} to {tree}")
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    temporary.rename(tree)


def sync(pristine: Path, tree: Path, patches: Mapping[str, str]) -> list[str]:
    """Make ``tree``, a copy of ``pristine``, carry exactly these patches; return what changed.

    A file whose contents stay is not written, so that a build compiles no more than it has to.
    """
    manifest = tree / MANIFEST
    before = manifest.read_text().split() if manifest.exists() else []
    wanted = patchset.compute(pristine, patches)
    manifest.write_text("\n".join(sorted({*before, *wanted})) + "\n")
    changed = patchset.write_all(
        tree, {path: patchset.contents_of(pristine / path) for path in before} | wanted)
    manifest.write_text("\n".join(wanted) + "\n")
    return changed


def _synced_tree(
    name: str, linux: str, progress: Progress, on_top: tuple[Path, ...] = (),
) -> Path:
    patches = patchset.texts(linux, *on_top)
    if linux not in patchset.versions():
        raise LabError(f"there are no patches for Linux {linux} in kernel/patches")
    stock = stock_tree(progress, linux)
    tree = directory(linux) / name
    with locked(f"{linux}-source"):
        link_copy(stock, tree, progress)
        changed = sync(stock, tree, patches)
        if changed:
            progress.step(f"kernel source brought up to date: {len(changed)} files")
    return tree


def patched_tree(progress: Progress, linux: str = DEFAULT_LINUX) -> Path:
    """The source tree with src/ and patches/ on it, brought up to date file by file."""
    return _synced_tree("src-timershield", linux, progress)


def source_tree(kernel: Kernel, progress: Progress) -> Path:
    """The tree that ``kernel`` is built from; for Debian's, one with the same self-tests."""
    if kernel.debian:
        return stock_tree(progress, kernel.linux if kernel.linux in LINUXES else DEFAULT_LINUX)
    if kernel.feature == WITH_DEFECTS:
        return _synced_tree("src-defects", kernel.linux, progress, (DEFECTS,))
    tree = patched_tree if kernel.patched else stock_tree
    return tree(progress, kernel.linux)


def make_command(kernel: Kernel, tree: Path, output: Path) -> list[str]:
    """The beginning of a call of the kernel's make."""
    command = ["make", "-C", str(tree), f"O={output}", f"ARCH={kernel.arch}"]
    prefix = ARCHES[kernel.arch].cross
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
    output = tree / kernel.words
    output.mkdir(exist_ok=True)
    return output


def link(kernel: Kernel, tree: Path) -> Path:
    """Make the build directory, and put a link to it where it is looked for."""
    output = output_directory(kernel, tree)
    place = kernel.build
    target = Path(tree.name) / kernel.words
    if not place.is_symlink() or place.readlink() != target:
        if place.exists() or place.is_symlink():
            raise LabError(f"{place} exists and is not the lab's: remove it")
        place.symlink_to(target)
    return output


def configure(kernel: Kernel, tree: Path, output: Path) -> list[str]:
    """Write .config if it has to change; return symbols the tree does not know."""
    wanted = kconfig.merge([tree / "kernel/configs/tiny-base.config",
                            tree / "kernel/configs/tiny.config"])
    ours = kconfig.merge(kernel.fragments)
    ours["CONFIG_LOCALVERSION"] = f'"{kernel.words.removeprefix(kernel.arch)}"'
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
    """Build ``kernel`` as far as it is out of date, or fetch it; return its image."""
    if kernel.debian:
        with locked(str(kernel.build.relative_to(KERNEL_BUILDS))):
            return distribution.fetch(kernel.build, kernel.debian, kernel.arch, kernel.linux,
                                      kernel.flavour == "rt", progress)
    require_build_tools(kernel.arch)
    tree = source_tree(kernel, progress)
    with locked(kernel.name):
        output = link(kernel, tree)
        for symbol in configure(kernel, tree, output):
            progress.step(f"{kernel.name}: this tree does not know {symbol}")
        command = [*make_command(kernel, tree, output), f"-j{jobs or os.cpu_count() or 1}",
                   ARCHES[kernel.arch].target]
        first = not (output / "vmlinux").exists()
        with progress.bar(f"building {kernel.name}",
                          ARCHES[kernel.arch].objects if first else None) as bar:
            run_make(command, f"kernel-{kernel.linux}-{kernel.words}", bar)
    return kernel.image


def run_make(command: list[str], log: str, bar: Bar) -> None:
    """Run the kernel's make; what it says goes to a file below build/logs, too."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{log}.log"
    with path.open("w") as out, subprocess.Popen(
        command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            if re.match(r"  (CC|AS|LD|AR) ", line):
                bar.advance()
    if process.returncode:
        tail = "\n".join(path.read_text().splitlines()[-25:])
        raise LabError(f"make {command[-1]} failed; {path} ends with\n{tail}")


def modules(kernel: Kernel, progress: Progress, sources: Path = MODULE) -> list[Path]:
    """What is to be loaded into ``kernel`` first, in that order; or other modules for it."""
    loads = kernel.feature in WITH_MODULES and sources != MODULE
    if kernel.variant != MODULE_VARIANT and not loads:
        return []
    build(kernel, progress)
    with locked(str(kernel.build.relative_to(KERNEL_BUILDS))):
        if kernel.debian:
            command = distribution.make_command(kernel.build, kernel.debian, kernel.arch, progress)
        else:
            tree = source_tree(kernel, progress)
            command = make_command(kernel, tree, output_directory(kernel, tree))
            _must([*command, "modules"], f"{kernel.name}: make modules")
        return outside.modules(sources, kernel.build / sources.name, command,
                               f"{ARCHES[kernel.arch].cross}strip")


def drivers(kernel: Kernel) -> list[Path]:
    """Modules of the kernel itself that a test may load: TUN, whose devices are polled."""
    return distribution.driver(kernel.build, "tun") if kernel.debian else []


def require_build_tools(arch: str) -> None:
    """Fail, naming Debian packages, if something to build kernels with is missing."""
    require("make", f"{ARCHES[arch].cross}gcc", "flex", "bison", "bc", "patch", "tar", "xz", "perl")
    require("cpio", "gzip")


def installed(kernel: Kernel) -> bool:
    """Whether an image is there, up to date or not."""
    return kernel.image.exists()

# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel maintainer checks before reading: style, warnings, and every patch by itself."""

import itertools
import re
import subprocess
import tempfile
from pathlib import Path

from kernel.tools import patchset
from lab.kernels import kernels
from lab.kernels.kernels import Kernel
from lab.kernels.platforms import Mode, Platform
from lab.kernels.toolchain import require
from lab.progress import Progress

IGNORED = "FILE_PATH_CHANGES,MISSING_SIGN_OFF,NO_AUTHOR_SIGN_OFF,UNDOCUMENTED_SETUP,CONST_STRUCT"
"""The cover letter names the maintainers of new files, the sender of the series signs it, a later
patch documents the boot parameter, and register_sysctl() takes no const table on 6.12."""
TRACE_EVENTS = "include/trace/events/"
"""All such headers are laid out in a way that checkpatch does not like elsewhere."""
DIRECTORIES = ("kernel/time/", "kernel/sched/", "lib/", "fs/", "init/")
_WHERE = re.compile(r":\d+(:\d+)?:")


def _complaints(output: str, text: str) -> list[str]:
    """The lines of checkpatch's terse ``output`` about the mail ``text``, less trace events'."""
    files, current = [""], ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            current = line.removeprefix("+++ b/").split()[0]
        files.append(current)
    found = []
    for line in output.splitlines():
        match = re.match(r"\S+:(\d+): (?:ERROR|WARNING|CHECK):", line)
        if match and not files[int(match[1])].startswith(TRACE_EVENTS):
            found.append(line)
    return found


Found = dict[str, str]
"""What was checked -> what is wrong with it, or nothing."""


def style(stock: Path, linux: str) -> Found:
    """checkpatch.pl --strict on every mail of the series."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="timershield-") as name:
        for file, text in [(f"{series}-{file}", text) for series in patchset.SERIES
                           for file, text in patchset.mails(linux, series).items()]:
            if not file.endswith(".patch"):
                continue
            mail = Path(name) / file
            mail.write_text(text)
            done = subprocess.run(
                ["perl", "scripts/checkpatch.pl", "--strict", "--quiet", "--terse",
                 "--show-types", f"--ignore={IGNORED}", str(mail)],
                cwd=stock, capture_output=True, text=True, check=False,
            )
            complaints = _complaints(done.stdout.replace(f"{name}/", ""), text)
            if done.returncode and not done.stdout:
                complaints = [f"checkpatch ended with status {done.returncode}: {done.stderr}"]
            found[f"checkpatch {file}"] = "\n".join(complaints)
    return found


def _compile(kernel: Kernel, tree: Path, targets: list[str], *options: str) -> tuple[int, str]:
    output = kernels.output_directory(kernel, tree)
    kernels.configure(kernel, tree, output)
    done = subprocess.run(
        [*kernels.make_command(kernel, tree, output), "-j2", "-k", *options, *targets],
        env=kernels.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _existing(tree: Path, targets: list[str]) -> list[str]:
    return [t for t in targets if (tree / t).is_dir() or (tree / t).with_suffix(".c").exists()]


def each_builds(stock: Path, progress: Progress, platform: Platform) -> Found:
    """Each patch compiles on top of those before it; the whole series links."""
    found = {}
    kernel = platform.kernel(Mode.SHIELDED)
    patches = patchset.texts(platform.linux)
    tree = kernels.directory(platform.linux) / "src-each"
    with kernels.locked("source-each"):
        kernels.link_copy(stock, tree, progress)
        for count, patch in list(enumerate(patches, 1))[1:]:
            kernels.sync(stock, tree, dict(itertools.islice(patches.items(), count)))
            with progress.bar(f"building after {patch}", None):
                status, text = _compile(kernel, tree, [
                    *_existing(tree, list(DIRECTORIES)),
                    *(["vmlinux"] if count == len(patches) else []),
                ])
            errors = re.findall(r"^.*(?:error|Error).*$", text, re.M)
            found[f"{platform.name} builds after {patch}"] = (
                "\n".join(errors) or f"make ended with {status}" if status else "")
    return found


def _warnings(kernel: Kernel, tree: Path, objects: list[str]) -> dict[str, str]:
    """What gcc -W1 and sparse say, without line numbers -> with them."""
    _, text = _compile(kernel, tree, _existing(tree, objects), "W=1", "C=2", "-B")
    found = re.findall(r"^\S+:\d+:.*(?:warning|error):.*$", text, re.MULTILINE)
    return {_WHERE.sub(":", line.removeprefix("../")): line for line in found}


def new_warnings(progress: Progress, platform: Platform) -> Found:
    """Warnings of W=1 and sparse that the stock kernel's files do not have."""
    require("sparse")
    linux, patches = platform.linux, patchset.texts(platform.linux)
    stock = kernels.stock_tree(progress, linux)
    tree = kernels.patched_tree(progress, linux)
    objects = [p[:-2] + ".o" for p in patchset.paths(patches)
               if p.endswith(".c") and "kunit" not in p]
    with progress.bar(f"warnings, {platform.name}", None):
        before = _warnings(platform.kernel(Mode.STOCK), stock, objects)
        after = _warnings(platform.kernel(Mode.SHIELDED), tree, objects)
    return {f"{platform.name} no new warnings": "\n".join(
        after[key] for key in sorted(set(after) - set(before)))}

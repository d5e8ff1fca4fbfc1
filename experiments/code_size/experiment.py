# SPDX-License-Identifier: GPL-2.0-or-later
"""How much larger the shielded kernel is: the paper's Table I."""

import functools
from collections.abc import Callable, Iterator

from experiments.common import compare
from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment, run_all
from experiments.measure.results import Measured, Store, write_meta
from experiments.measure.systems import System
from experiments.report.page import Part, Table, Text
from lab.kernels import kernels, object_sizes
from lab.kernels.object_sizes import KINDS
from lab.kernels.platforms import Mode

SCENARIO = "sizes"
TITLE = "sizes of all objects"
KIB = 1024
OURS = "TimerShield"
OTHER = "neither"


def growth(stock: Measured, shielded: Measured) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Each object, the feature that it belongs to, and kind -> bytes by which it has grown."""
    a, b = (s.table(SCENARIO, "objects") for s in (stock, shielded))
    before = {str(name): i for i, name in enumerate(a["object"])}
    for i, name in enumerate(b["object"]):
        j = before.get(str(name))
        yield str(name), str(b["feature"][i]), {
            k: int(b[k][i]) - (int(a[k][j]) if j is not None else 0) for k in KINDS}


def groups(stock: Measured, shielded: Measured) -> dict[str, dict[str, int]]:
    """Feature -> kind -> bytes by which the objects that belong to it have grown."""
    grown: dict[str, dict[str, int]] = {}
    for _, feature, more in growth(stock, shielded):
        row = grown.setdefault(feature, dict.fromkeys(KINDS, 0))
        for kind in KINDS:
            row[kind] += more[kind]
    return grown


def _grown(kind: str) -> Callable[[Measured, Measured], Found]:
    def metric(stock: Measured, shielded: Measured) -> Found:
        size = groups(stock, shielded).get(OURS, {}).get(kind, 0)
        return Found(f"{size:,} bytes ({size / KIB:.2f} KiB)", size / KIB)
    return metric


class CodeSize(Experiment):
    """See the module."""

    name = "code-size"
    title = "How much larger the kernel is"
    guests_only = "it compares images of the lab's kernels"
    claims = (
        Claim("The kernel has at most {} KiB more code", _grown("text"), most=8, rows="T21 T32",
              paper="Table I (Intel): text +2 KiB"),
        Claim("The kernel has at most {} KiB more memory of each CPU", _grown("percpu"), most=20,
              rows="T32", paper="Table I: data +35 KiB a core"),
    )

    def scenarios(self) -> dict[str, str]:
        return {SCENARIO: TITLE}

    def run(self, context: Context) -> None:
        if not context.wants(SCENARIO):
            return
        store = context.store(self.name)
        run_all([
            functools.partial(_measure, context, store, System(platform, mode))
            for platform in context.platforms for mode in (Mode.STOCK, Mode.SHIELDED)
        ])

    def parts(self, store: Store) -> list[Part]:
        return [Text(
            "Counted by objects, stock against shielded kernel of the same configuration: code "
            "(executable sections), read-only data, data, zeroed data, and what each CPU has a "
            "copy of. Objects that a patch touches count in full."), Text(
            "Why ours differ from the paper's: its queue is an array of 140 trees and a segment "
            "tree for each clock of each core, 35 KiB; ours is four more clock bases for classes "
            "and, for levels, an array with fewer of them and one segment tree. In return there is "
            "code that the paper's prototype had not: switching at run time, tracepoints, timers "
            "that follow their tasks."),
            *compare.by_platform(store, lambda _, modes: [_images(modes), *_tables(modes)])]


def _measure(context: Context, store: Store, system: System) -> None:
    changed = object_sizes.changed(system.kernel.linux)
    kernels.build(system.kernel, context.progress)
    context.progress.step(f"{system.kernel.name}: counting")
    sizes = object_sizes.objects(system.kernel)
    with store.replacing(system.name) as directory:
        (directory / SCENARIO).mkdir()
        lines = [",".join(("object", "feature", *KINDS))]
        for name, size in sorted(sizes.items()):
            feature = OURS if name in changed else OTHER
            lines.append(",".join([name, feature, *(str(size[k]) for k in KINDS)]))
        (directory / SCENARIO / "objects.csv").write_text("\n".join(lines) + "\n")
        rows = object_sizes.image(system.kernel)
        (directory / SCENARIO / "summary.csv").write_text(
            "name,value\n" + "".join(f"{k},{v}\n" for k, v in rows.items()))
        write_meta(directory, {
            "system": system.described(), "target": "none",
            "kernel": system.kernel.name, "time": "none",
            "scenarios": [SCENARIO], "titles": {SCENARIO: TITLE},
            "commands": {SCENARIO: "readelf -SW"},
        })


def _images(modes: compare.Modes) -> Table:
    rows = []
    for mode in (Mode.STOCK, Mode.SHIELDED):
        if mode in modes:
            s = modes[mode].summary(SCENARIO)
            rows.append([mode, *(f"{s[f'image_{k}'] / KIB:,.1f}"
                                 for k in ("text", "data", "bss", "percpu"))])
    return Table(["kernel", "text", "data", "bss", "per CPU"], rows,
                 "The linked kernel in KiB as size(1) counts, read-only data being text there "
                 "(the paper: 10,758, 7,402, 14,867 stock; 10,760, 7,437, 14,867 TimerShield). "
                 "Sections are padded in it to whole pages or more, on x86-64 to 2 MiB, so that "
                 "differences are to be read below.")


def _tables(modes: compare.Modes) -> list[Table]:
    if not {"stock", "shielded"} <= modes.keys():
        return []
    stock, shielded = modes["stock"], modes["shielded"]
    grown = groups(stock, shielded)
    head = ["bytes more", *("text", "read-only", "data", "bss", "per CPU")]
    sums = [[f, *(f"{grown[f][k]:+,}" for k in KINDS)]
            for f in (OURS, OTHER) if f in grown]
    differ = [found for found in growth(stock, shielded) if any(found[2].values())]
    differ.sort(key=lambda found: -abs(found[2]["text"]))
    rows = [[name, feature, *(f"{m:+,}" for m in more.values())] for name, feature, more in differ]
    return [
        Table(head, sums, "“Neither”: objects that no patch touches and that are larger or "
              "smaller because a structure in a header is."),
        Table(["object", "belongs to", *head[1:]], rows, "Bytes more; objects that differ.",
              text_columns=2),
    ]


EXPERIMENT = CodeSize()

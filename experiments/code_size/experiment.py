# SPDX-License-Identifier: GPL-2.0-or-later
"""How much larger the shielded kernel is: the paper's Table I."""

import functools
from collections.abc import Callable

from experiments.common.claims import Claim, Found
from experiments.common.experiment import Context, Experiment, run_all
from experiments.common.shown import Shown, column
from experiments.measure.results import Measured, Store, write_meta
from experiments.measure.systems import System
from lab.kernels import kernels, object_sizes
from lab.kernels.object_sizes import KINDS
from lab.kernels.platforms import Mode

SCENARIO = "sizes"
TITLE = "sizes of all objects"
KIB = 1024
OURS = "TimerShield"
OTHER = "neither"


def grown(stock: Measured, shielded: Measured, kind: str) -> int:
    """Bytes by which the objects that a patch touches have grown."""
    a, b = (s.table(SCENARIO, "objects") for s in (stock, shielded))
    before = dict(zip(a["object"], a[kind], strict=True))
    return int(sum(size - before.get(name, 0) for name, feature, size in zip(
        b["object"], b["feature"], b[kind], strict=True) if feature == OURS))


def _grown(kind: str) -> Callable[[Measured, Measured], Found]:
    def metric(stock: Measured, shielded: Measured) -> Found:
        size = grown(stock, shielded, kind)
        return Found(f"{size:,} bytes", size / KIB)
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
              rows="T48", paper="Table I, III-B: data +35 KiB a core"),
    )

    shown = tuple(Shown(f"{what}, bytes", column("objects", kind, "feature"), "sum")
                  for what, kind in (("code", "text"), ("memory of each CPU", "percpu")))

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


EXPERIMENT = CodeSize()

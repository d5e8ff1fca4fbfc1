# SPDX-License-Identifier: GPL-2.0-or-later
"""What compares stock with shielded; what a guest does first."""

from pathlib import Path

from experiments.common import compare, running
from experiments.common.fabricated import write_scenarios
from experiments.report.claims import rows
from lab.measure.systems import Mode, Platform, System


def test_a_module_that_is_off_was_loaded_and_is_unloaded() -> None:
    def first(mode: Mode) -> list[tuple[str, ...]]:
        system = System(Platform("x86_64", "preempt", debian="12"), mode)
        modules = [Path("timershield-bases.ko"), Path("timershield.ko")]
        return [c.words for c in running.before(system, modules, cpus=1)]

    assert first(Mode.OFF) == [*first(Mode.MODULE), ("@unload", "timershield")]


def test_a_claim_has_a_line_for_each_platform_and_names_those_that_miss(tmp_path: Path) -> None:
    for platform in ("x86_64-rt", "x86_64-preempt"):
        for mode in ("stock", "shielded"):
            store = write_scenarios(tmp_path, "x", f"{platform}-{mode}", {})
    (row,) = rows(compare.claims(store, "c", lambda a, b: (a.name, "-rt-" in a.name), "p"))
    assert row.found.splitlines() == ["x86_64-preempt: x86_64-preempt-stock",
                                      "x86_64-rt: x86_64-rt-stock"]
    assert (row.verdict, row.where) == ("missed", "x86_64-preempt")
    (row,) = rows(compare.claims(store, "c", lambda a: (a.name, None), of=("shielded",)))
    assert (row.verdict, row.where) == ("noted", "")
    assert compare.claims(store, "c", lambda a, b: None) == []

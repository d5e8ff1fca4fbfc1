# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting instructions: where spans begin and end, and what is made of the samples."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from experiments.measure import spans
from experiments.measure.results import Table
from experiments.measure.spans import Span
from lab.errors import LabError

# caller() calls add(), which ends by jumping to tail(); isra() has a suffix of gcc's
SYMBOLS = {"caller": 0x100, "add": 0x200, "tail": 0x300, "isra.isra.0": 0x400,
           "__x64_sys_getitimer": 0x500, "asm_sysvec_apic_timer_interrupt": 0x600,
           "lonely": 0x700, "add.cold": 0x800}


def code() -> spans._Code:
    return spans._Code(SYMBOLS, returns={"add": [0x105, 0x10a], "isra.isra.0": [0x110]},
                       jumps={"tail": {"add"}, "add": {"tail"}})


def test_a_span_ends_behind_every_call_of_the_function() -> None:
    lines = spans.marks(code(), [Span("a", "add")])
    assert lines == ["w 500 0", "e 200 0", "x 105 0", "x 10a 0", "i 600 0"]


def test_a_function_that_is_jumped_to_returns_where_the_jumping_one_would() -> None:
    assert code().exits("tail") == {0x105, 0x10a}


def test_suffixes_of_gcc_match_and_cold_parts_do_not() -> None:
    assert code().matching("isra|add") == ["add", "isra.isra.0"]


def test_a_span_may_end_where_another_function_is_entered() -> None:
    assert "x 300 0" in spans.marks(code(), [Span("s", "caller", until="tail")])


def test_a_missing_function_is_an_error_unless_it_may_be_missing() -> None:
    with pytest.raises(LabError, match="no function nowhere"):
        spans.marks(code(), [Span("n", "nowhere")])
    with pytest.raises(LabError, match="inlined"):
        spans.marks(code(), [Span("l", "lonely")])
    assert spans.marks(code(), [Span("n", "nowhere", optional=True)]) == ["w 500 0"]


def test_a_function_that_only_pointers_call_ends_at_its_own_returns() -> None:
    by_pointer = code()
    by_pointer.leaves["lonely"] = [0x710, 0x720]
    by_pointer.leaves["add"] = [0x210]
    assert spans.marks(by_pointer, [Span("l", "lonely")])[1:4] == ["e 700 0", "x 710 0", "x 720 0"]
    assert "x 210 0" not in spans.marks(by_pointer, [Span("a", "add")])


def test_interrupts_may_be_part_of_a_span() -> None:
    lines = spans.marks(code(), [Span("a", "add"), Span("b", "add", through="asm_sysvec_.*")])
    assert [line for line in lines if line[0] == "i"] == ["i 600 0"]


def table(*rows: tuple[int, int]) -> Table:
    data = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return {"begin": data[:, 0], "instructions": data[:, 1]}


def test_spans_that_contain_others() -> None:
    outer = table((100, 50), (200, 50), (300, 50))
    assert list(spans.within(table((120, 5), (349, 1)), outer)) == [True, False, True]
    assert list(spans.within(table(), outer)) == [False, False, False]
    assert list(spans.within(table((350, 1)), outer)) == [False, False, False]


QEMU = r"""
#include <stddef.h>
#include <stdint.h>
typedef void (*vcpu_cb)(unsigned int, void *);
typedef void (*tb_cb)(uint64_t, void *);
typedef void (*exit_cb)(uint64_t, void *);
static tb_cb translate; static exit_cb leave; static vcpu_cb cb; static void *data;
static uint64_t at; static unsigned int vcpu;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_cb f) { translate = f; }
void qemu_plugin_register_atexit_cb(uint64_t id, exit_cb f, void *d) { leave = f; }
void qemu_plugin_register_vcpu_insn_exec_cb(void *i, vcpu_cb f, int flags, void *d)
{ cb = f; data = d; }
size_t qemu_plugin_tb_n_insns(const void *tb) { return 1; }
void *qemu_plugin_tb_get_insn(const void *tb, size_t i) { return &at; }
uint64_t qemu_plugin_insn_vaddr(const void *insn) { return at; }
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
static void run(uint64_t address)
{ at = address; cb = 0; translate(1, 0); if (cb) cb(vcpu, data); }
static const uint64_t k = 0xffffffff80000000;
static void execute(void);
int main(int argc, char **argv)
{
	if (qemu_plugin_install(1, 0, argc - 1, argv + 1)) return 1;
	execute();
	leave(1, 0);
	return 0;
}
"""


def execute(tmp_path: Path, what: str) -> spans.Watch:
    """The plugin itself, told by a stand-in for QEMU which instructions are executed."""
    driver = tmp_path / "driver.c"
    driver.write_text(f"{QEMU}static void execute(void)\n{{\n{what}}}\n")
    program = tmp_path / "driver"
    subprocess.run(["gcc", "-DPLUGIN_API=1", "-w", str(spans.SOURCE), str(driver), "-o",
                    str(program)], check=True)
    (tmp_path / "marks").write_text(
        "x ffffffff80000020 2\ne ffffffff80000010 2\n"
        "i ffffffff80000030 2\nw ffffffff80000001 0\n")
    subprocess.run([str(program), f"marks={tmp_path}/marks", f"out={tmp_path}/spans"],
                   check=True)
    return spans.Watch([Span("a", "a"), Span("b", "b"), Span("c", "c")],
                       tmp_path)


def test_the_plugin_counts_what_lies_between(tmp_path: Path) -> None:
    watch = execute(tmp_path, r"""
	run(k + 0x10); run(k + 0x20);			/* not recording yet */
	run(k + 0x1);					/* window 0 begins */
	run(k + 0x10); run(k + 0x11); run(0x11); run(k + 0x12); run(k + 0x20);
	run(k + 0x10); run(k + 0x30); run(k + 0x20);	/* an interrupt in it */
	run(k + 0x1); run(k + 0x10); run(k + 0x20);	/* between windows */
	run(k + 0x1);					/* window 1 begins */
	run(k + 0x10); run(k + 0x10); run(k + 0x13); run(k + 0x20); run(k + 0x20);
	run(k + 0x10); vcpu = 1; run(k + 0x12); run(k + 0x20);	/* another CPU in between */
	run(k + 0x30); run(k + 0x10); run(k + 0x20);
	vcpu = 0; run(k + 0x20);
""")
    samples = watch.samples()
    assert list(samples["window"]) == [0, 1, 1, 1]
    # user space (0x11) does not count; a span that begins anew counts from there
    assert list(samples["instructions"]) == [3, 2, 1, 1]
    assert list(samples["cpu"]) == [0, 0, 1, 0]
    assert "c,0,3,3" in spans.csv(spans.select(samples, samples["window"] == 0), watch.spans)


def test_no_samples_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "spans").write_text("")
    assert len(spans.Watch([], tmp_path).samples()["begin"]) == 0

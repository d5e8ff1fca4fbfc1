# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of objects and sections."""

from pathlib import Path

from experiments.code_size import experiment as code_size
from experiments.common.fabricated import SHIELDED, STOCK, Files, csv, summary, write_scenarios
from lab.kernels import object_sizes
from lab.kernels.object_sizes import KINDS


def fabricated(_: str) -> Files:
    """Two objects' sections and a whole kernel's."""
    return {"objects.csv": csv(",".join(("object", "feature", *KINDS)), (
                (f"{feature[0]}.o", feature, *range(100, 100 + len(KINDS)))
                for feature in ("TimerShield", "neither"))),
            "summary.csv": summary(image_text=1e6, image_data=1e5, image_bss=1e4, image_percpu=1e3)}


def test_sections_are_told_apart() -> None:
    sizes = object_sizes.parse("""
File: a.o
There are 9 section headers, starting at offset 0x5a0:

  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al
  [ 0]                   NULL            0000000000000000 000000 000000 00      0   0  0
  [ 1] .text             PROGBITS        0000000000000000 000040 0000a3 00  AX  0   0 16
  [ 2] .init.text        PROGBITS        0000000000000000 000040 000010 00  AX  0   0 16
  [ 3] .rela.text        RELA            0000000000000000 000380 000048 18   I 16   1  8
  [ 4] .data             PROGBITS        0000000000000000 000340 000008 00  WA  0   0  8
  [ 5] .bss              NOBITS          0000000000000000 000340 000021 00  WA  0   0  8
  [ 6] .data..percpu     PROGBITS        0000000000000000 000340 000040 00  WA  0   0  8
  [ 7] .rodata.str1.1    PROGBITS        0000000000000000 000340 000003 01 AMS  0   0  1
  [ 8] .discard.addressable PROGBITS     0000000000000000 000340 000008 00  WA  0   0  8
  [10] .comment          PROGBITS        0000000000000000 000340 000008 00  MS  0   0  8
""".splitlines())
    assert sizes == {"a.o": {"text": 0xb3, "rodata": 3, "data": 8, "bss": 0x21, "percpu": 0x40}}


def test_every_patch_and_new_file_is_in_an_object() -> None:
    changed = object_sizes.changed("6.12")
    assert {"kernel/time/hrtimer.o", "kernel/time/timershield.o"} <= changed


def test_what_patches_change_counts_in_full(tmp_path: Path) -> None:
    head = "object,feature,text,rodata,data,bss,percpu\n"
    write_scenarios(tmp_path, "code-size", STOCK, {"sizes": {
        "objects.csv": head + "a.o,TimerShield,10,0,0,0,0\n"}})
    store = write_scenarios(tmp_path, "code-size", SHIELDED, {"sizes": {"objects.csv": head + (
        "a.o,TimerShield,110,0,0,0,0\nb.o,TimerShield,9000,0,0,0,5\nc.o,neither,9000,0,0,0,0\n")}})
    claims = code_size.EXPERIMENT.claims(store)
    assert [c.met for c in claims] == [False, True]
    assert claims[0].found.startswith("9,100 bytes")

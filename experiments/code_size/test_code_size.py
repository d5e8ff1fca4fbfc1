# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of objects and sections."""

from lab.kernels import object_sizes


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
    assert {"kernel/time/hrtimer.o", "fs/timerfd.o"} <= changed

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# archive.sh - make a static library of one object, of which only clockfix_* can be seen
#
# usage: archive.sh ARCHIVE RESULT OBJCOPY AR COMPILER [OPTION...]
set -e
from=$1 to=$2 objcopy=$3 ar=$4
shift 4
rm -f "$to"
"$@" -nostdlib -r -o "$to.o" -Wl,--whole-archive "$from" -Wl,--no-whole-archive
"$objcopy" --wildcard --keep-global-symbol='clockfix_*' "$to.o"
"$ar" crs "$to" "$to.o"

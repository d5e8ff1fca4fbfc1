#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# archive.sh - make a static library of one object, of which only clockfix_* can be seen
#
# usage: archive.sh RESULT OBJCOPY AR COMPILER [OPTION or SOURCE...]
set -e
to=$1 objcopy=$2 ar=$3
shift 3
rm -f "$to"
"$@" -nostdlib -r -o "$to.o"
"$objcopy" --wildcard --keep-global-symbol='clockfix_*' "$to.o"
"$ar" crs "$to" "$to.o"

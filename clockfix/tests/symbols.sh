#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# symbols.sh - check that the libraries export what their header declares, and nothing else
#
# usage: symbols.sh SHARED-LIBRARY ARCHIVE HEADER
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# with nm's options; of a shared library @@ says that a symbol has a version of ours
exported()
{
	nm --defined-only "$@" | awk 'NF == 3 && $2 != "A" { print $3 }' |
		sed -E 's/@@CLOCKFIX_3\.[0-9]+$/@@/' | sort
}

grep -E '^[a-z]' "$3" | grep -v '^typedef' | grep -oE 'clockfix_\w+\(' | tr -d '(' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 10 ]
exported -g "$2" | diff -u "$work/declared" -
sed -i 's/$/@@/' "$work/declared"
exported -D "$1" | diff -u "$work/declared" -
# after dlclose() a thread may be in it
readelf -d "$1" | grep -q 'Flags:.*NODELETE'

#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tests in shell share, which end by sourcing this: it runs the functions test_NAME of the
# names given, or all but $others, each after before(), and prints TAP.

fault() { echo "# failed: $*" >>/tmp/report; }
note() { echo "# $*" >>/tmp/report; }
skip() { echo "$*" >/tmp/skipped; exit; }
require() { "$@" || { fault "$*"; exit 1; }; }

# equal IS EXPECTED WHAT
equal() { [ "$1" = "$2" ] || fault "$3: '$1', not '$2'"; }

# says STATUS TEXT WORDS...: so "timershield WORDS" ends, and what it prints contains TEXT
says() {
	status=$1 text=$2; shift 2
	out=$(timershield "$@" 2>&1) && is=0 || is=$?
	[ $is = "$status" ] || fault "timershield $*: exit status $is, not $status: $out"
	case $out in *"$text"*) ;; *) fault "timershield $*: no '$text' in: $out" ;; esac
}
as_nobody() { su nobody -s /bin/sh -c "$*"; }

tests=
for name in $(sed -n 's/^test_\([a-z_]*\)().*/\1/p' "$0"); do
	case " $others " in *" $name "*) ;; *) tests="$tests $name" ;; esac
done
[ "$1" != --list ] || { printf '%s\n' $tests; exit; }
[ $# -gt 0 ] || set -- $tests
[ -e /bin/sh ] || for tool in $(busybox --list); do ln -s busybox /bin/$tool 2>/dev/null; done
number=0 failed=0
printf 'TAP version 13\n1..%d\n' $#
for name; do
	number=$((number + 1))
	rm -f /tmp/report /tmp/skipped; : >/tmp/report
	before
	( trap 'kill -9 $(jobs -p); wait' EXIT; test_$name ) 2>/dev/null
	if [ -e /tmp/skipped ]; then
		echo "ok $number - $name # SKIP $(cat /tmp/skipped)"
	elif grep -q failed /tmp/report; then
		failed=1; echo "not ok $number - $name"
	else
		echo "ok $number - $name"
	fi
	cat /tmp/report
done
exit $failed

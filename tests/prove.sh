#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# "timershield prove": its verdicts on kernels of which the effect of these loads is known, its
# loop's count of interruptions, and that nothing is left, however it ends.

switch=/proc/sys/kernel/timershield
journal=/run/timershield/journal
group=/sys/fs/cgroup/timershield-prove
module=/lab/modules/timershield.ko

rt() { uname -v | grep -q PREEMPT_RT; }
levels() { grep -q timershield=2 /proc/cmdline; }
mode() { cat $switch 2>/dev/null || echo none; }
loads() { for f in $(grep -ls '^prove-load' /proc/[0-9]*/comm); do grep -qs '^State:.[^Z]' ${f%comm}status && echo $f; done; }

# await WHAT WORDS...: within a minute the words, a command, succeed
await() { what=$1; shift; for i in $(seq 1200); do "$@" && return; usleep 50000; done; fault "$what"; exit 1; }
running() { [ "$(loads)" ]; }
ended() { ! running; }

# nothing_left MODE: of prove
nothing_left() {
	equal "$(loads)" "" "loads that are left"
	[ ! -e $group ] || fault "$group is left"
	[ ! -e $journal ] || fault "$journal is left"
	equal "$(mode)" "$1" "the shield's mode"
}

# Lines "LOAD: VERDICT", and "whole: VERDICT", of JSON.
verdicts() {
	awk -F'"' '/^  "verdict"/ { print "whole: " $4; next }
		$2 == "load" { load = $4 } $2 == "verdict" { print load ": " $4 }' /tmp/json
}

# On PREEMPT_RT timers of ordinary tasks expire in a thread: there is nothing to gain. The
# synchronized tasks are real-time ones: only levels mask their timers.
test_verdicts_are_right() {
	timershield prove -s 3 --json >/tmp/json || fault "exit status $?"
	if grep -q '"could not tell"' /tmp/json; then	# for longer, as it advises; a wrong verdict is no such case
		note "it could not tell: once more, for longer"
		timershield prove -s 9 --json >/tmp/json || fault "exit status $?"
	fi
	if [ -e $switch ]; then
		yes=helps no="does not help" nothing=$no
		levels && fifo=$yes || fifo=$no
	else
		yes="could help" no="would not help" fifo=$yes nothing=
		grep -q timers_of_others /tmp/json && nothing=$no
	fi
	rt && timers=$no || timers=$yes
	whole=$yes; [ "$timers$fifo" != "$no$no" ] || whole=$no
	equal "$(verdicts)" "nothing: $nothing
timerfds: $timers
threads: $timers
synchronized: $fifo
hogs: $no
whole: $whole" verdicts
	note $(sed -n 's/,$//; s/.*"\(p50_ns\|interruptions\|load\)": //p' /tmp/json)
}

test_counts_what_interrupts() {
	[ ! -e $switch ] || echo 0 >$switch
	prove_count >/tmp/count || fault "prove_count: exit status $?"
	grep '^#' /tmp/count >>/tmp/report
	reason=$(sed -n 's/.*# SKIP //p' /tmp/count)
	[ -z "$reason" ] || skip "$reason"
}

test_puts_the_switch_back() {
	for mode in 0 1; do
		echo $mode >$switch
		says 0 "" prove -s 1 --report /tmp/page.html
		nothing_left $mode
		equal "$(grep -c '<figure>' /tmp/page.html) $(tail -n 1 /tmp/page.html)" "5 </body></html>" "the page"
		grep -q 'http\|nan\|inf"' /tmp/page.html && fault "the page refers to something else, or a figure has no number"
	done
}

# end_by SIGNAL LATER: us after the first load runs
end_by() {
	before=$(mode)
	timershield prove -s 3 >/dev/null 2>&1 & pid=$!
	await "no load starts" running
	usleep $2
	kill -$1 $pid
	wait $pid
	equal $? 1 "exit status after SIG$1"
	nothing_left $before
}

test_interrupted_leaves_nothing() {
	end_by INT 0
	end_by TERM 500000
	end_by HUP 1500000
}

# From its start on, when it writes down what it changes, to turns with the shield on. Its loads end
# with it; the next start puts back the rest, first of all: it need not go on.
test_killed_at_any_time() {
	before=$(mode)
	for later in 500 1000 2000 4000 8000 16000 32000 64000 128000 256000 512000 1024000 2048000; do
		timershield prove -s 3 >/dev/null 2>&1 & pid=$!
		usleep $later
		kill -9 $pid
		wait $pid
		await "a load goes on" ended
		[ $later -lt 1000000 ] || [ -e $journal ] || fault "it left no $journal"
		timershield prove -s 1 >/dev/null 2>&1 & pid=$!
		usleep 300000
		kill -INT $pid
		wait $pid
		nothing_left $before
	done
}

test_configured_mode_stays() {
	echo 1 >$switch
	mkdir -p /etc
	echo "timers = levels" >/etc/timershield.conf
	timershield isolate --config >/dev/null 2>&1 || skip "this shield has no levels"
	timershield prove -s 3 >/dev/null 2>&1 & pid=$!
	await "no load starts" running
	kill -9 $pid
	wait $pid
	says 0 "" prove -s 1
	equal "$(mode)" 2 "the configuration's mode"
	says 0 "" unisolate
	nothing_left 1
}

test_loads_and_unloads_the_module() {
	[ -e $module ] || skip "it is not a module here"
	modules=/lib/modules/$(uname -r)
	mkdir -p $modules/extra
	cp $module $modules/extra
	echo extra/timershield.ko: >$modules/modules.dep
	[ ! -e $switch ] || rmmod timershield
	says 0 "--load" prove -s 1
	[ ! -e $switch ] || fault "it loaded the module"
	says 0 "" prove -s 1 --load
	nothing_left none
	insmod $module
}

# In the other mode it does not help next to these.
test_levels_for_fifo_tasks() {
	before=$(mode)
	echo 2 >$switch || skip "this shield has no levels"
	echo $before >$switch
	timershield prove -s 3 --json --levels --progress --next-to=sleepers:n=100,sync >/tmp/json 2>/tmp/err ||
		fault "exit status $?"
	equal "$(verdicts | tail -n 1)" "whole: helps" "the verdict"
	grep -q '^2 of 2, next to sleepers:n=100,sync: shield on$' /tmp/err || fault "no progress"
	nothing_left $before
}

test_needs_root() {
	before=$(mode)
	as_nobody timershield prove 2>/dev/null
	equal $? 3 "as nobody"
	nothing_left $before
}

before() { :; }
. "${0%/*}/harness"

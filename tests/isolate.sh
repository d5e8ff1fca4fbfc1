#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# "timershield isolate", "run" and "status" against what the kernel does: who may run where, what
# others do to the partition, and that "unisolate" undoes all. The guest has three CPUs, 0 to 2.

me=/bin/isolate_helper		# what a shell cannot: spins, and sends packets
cgroup=/sys/fs/cgroup
partition=$cgroup/timershield
rival=$cgroup/rival
loopback=/sys/class/net/lo/queues/rx-0/rps_cpus

isolate() { says 0 "" isolate "$@"; }
unisolate() { says 0 "" unisolate "$@"; }

# finding SEVERITY ID TEXT: so says status of this
finding() {
	timershield status --json | grep -A4 "\"severity\": \"$1\"" | grep -A3 "\"id\": \"$2\"" |
		grep -q "$3" || fault "status does not say $1 $2 $3"
}

# Tasks: what they may use, and their policy (0: other, 1: FIFO) and priority.
cpus() { taskset -p "$1" | sed 's/.*: //'; }
policy() { sed 's/.*) //' "/proc/$1/stat" | { set -- $(cat); shift 37; echo "$2 $1"; }; }
thread() { for t in /proc/[0-9]*; do case $(cat $t/comm 2>/dev/null) in $1) echo ${t#/proc/}; return ;; esac; done; }
waiter() { sleep 1000 & newest=$!; [ -z "$1" ] || taskset -p "$1" $newest >/dev/null; }
spinner() { $me spin & newest=$!; }
# Where the spinner is within a tenth of a second: each CPU once.
seen() { for i in 1 2 3 4 5 6 7 8 9 10; do sed 's/.*) //' /proc/$1/stat | cut -d' ' -f37; usleep 10000; done | sort -u | tr -d '\n'; }

# All that says which CPUs tasks and interrupts may use. Workers of the kernel come and go.
snapshot() {
	{
		grep -H '' /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity_list $loopback \
			/sys/devices/virtual/workqueue/cpumask* /run/timershield/[!l]*
		find $cgroup -type d
		find $cgroup -name 'cpuset.*' -o -name cgroup.subtree_control | xargs grep -H ''
		grep -H '^Name\|^Cpus_allowed:' /proc/[0-9]*/task/[0-9]*/status | awk '
			/:Name/ { n = $2; next } n !~ /^(kworker|irq)/ { sub(/:.*/, "", $1); print "task", $1, n, $2 }'
		grep -H '' /proc/[0-9]*/task/[0-9]*/stat | awk '
			{ f = $1; sub(/:.*/, "", f); sub(/.*\) /, ""); print "task", f, $38, $39 }'
	} 2>/dev/null >"$1"
}

# same WHEN: nothing has changed since the snapshot; tasks may have come and gone
same() {
	snapshot /tmp/after
	awk -v when="$1" '
		{ key = $0; if ($1 == "task") key = $1 $2; else sub(/:[^:]*$/, "", key) }
		FNR == NR { was[key] = $0; next }
		{ is[key] = $0 }
		END {
			for (k in was) if (k in is ? was[k] != is[k] : k !~ /^task/)
				print "# failed: " when ": " was[k] " is now " is[k]
			for (k in is) if (!(k in was) && k !~ /^task/)
				print "# failed: " when ": there is now " is[k]
		}' "${2:-/tmp/before}" /tmp/after >>/tmp/report
}

# Three tasks, and a snapshot.
prepare() { waiter 6; waiter 3; waiter 7; snapshot /tmp/before; }

test_running_task_leaves() {
	spinner; taskset -p 6 $newest >/dev/null
	isolate 1
	usleep 1000
	equal "$(seen $newest)" 2 "the spinner's CPUs"
	unisolate
}

test_stripped_remembered_and_restored() {
	waiter; all=$newest; waiter 6; some=$newest; waiter 2; only=$newest
	isolate 1
	waiter
	equal "$(cpus $all) $(cpus $some) $(cpus $newest)" "5 4 5" "while CPU 1 is isolated"
	isolate 2
	equal "$(cpus $only)" 2 "of one that asked for CPU 1 alone"
	unisolate
	equal "$(cpus $all) $(cpus $some) $(cpus $only) $(cpus $newest)" "7 6 2 7" afterwards
}

# Linux 6.2 and later keep what was asked for, also of CPUs that cannot be had now.
test_affinity_asked_for_while_isolated() {
	waiter
	isolate 1
	taskset -p 3 $newest >/dev/null
	equal "$(cpus $newest)" 1 "asked for 0-1"
	unisolate
	case $(uname -r) in 6.1.*) want=1 ;; *) want=3 ;; esac
	equal "$(cpus $newest)" $want afterwards
}

# An old interrupt controller moves an interrupt only when it occurs next; a cascade occurs never.
test_interrupts_leave() {
	isolate --irqs 1
	says 0 "  CPU 1 is isolated from interrupts." status
	left=$(timershield isolate --irqs 1 | grep '^  ' | grep -v '  moves \|  cascade ')
	equal "$left" "" "still there"
	unisolate
}

test_packets_are_not_steered_there() {
	[ -e $loopback ] || skip "this kernel does not steer packets"
	echo 7 >$loopback
	require [ "$($me packets)" -gt 100 ]
	isolate 1
	equal "$($me packets)" 0 "packets on the isolated CPU"
	echo 2 >$loopback
	says 0 "rps_cpus names only isolated CPUs" isolate 1
	says 0 " 1 receive queue still" status
	echo 7 >$loopback
	isolate 1
	unisolate
	equal "$(cat $loopback)" 7 "afterwards packets go to"
	echo 0 >$loopback
}

# With PREEMPT_RT interrupts have threads: they go where these go.
test_threads_of_interrupts_leave() {
	[ "$(thread 'irq/*')" ] || skip "no interrupt has a thread"
	isolate 1
	for t in /proc/[0-9]*; do
		case $(cat $t/comm 2>/dev/null) in irq/*)
			case $(cpus ${t#/proc/}) in [2367]) fault "$(cat $t/comm) may run on CPU 1" ;; esac ;;
		esac
	done
	unisolate
}

test_what_remains_is_named() {
	says 0 "  CPU 1  migration/1 " isolate 1
	says 0 "  per-CPU kernel thread: " isolate 1
	case $out in *"kernel kept it"*) fault "$out" ;; esac
	unisolate
}

# run WHAT EXPECTED WORDS...: "CPUs policy priority slack" of what is started so
run_is() {
	expected=$1; shift
	equal "$(timershield run "$@" -- $me tell 2>/dev/null)" "$expected" "run $*"
}

test_run_is_there_with_its_priority() {
	isolate 1-2
	run_is "2 1 50 0" -c 1 -p 50
	run_is "4 2 7 0" -c 2 -s rr -p 7
	run_is "6 0 0 1"
	unisolate
}

test_run_needs_no_isolated_cpu() {
	says 0 "CPU 1 is not isolated" run -c 1 -p 50 -- $me tell
	run_is "2 1 50 0" -c 1 -p 50
	equal "$(as_nobody "timershield run -c 1 -- $me tell 2>/dev/null")" "2 0 0 1" "as nobody"
	isolate 2
	equal "$(timershield run -- timershield run -c 1 -- $me tell 2>/dev/null)" "2 0 0 1" "out of it"
	unisolate
}

test_run_hands_the_status_through() {
	isolate 1
	says 0 "" run -- true
	says 77 "" run -- sh -c 'exit 77'
	says 143 "" run -p 99 -- sh -c 'kill $$'
	says 127 "" run -- /bin/no-such-command
	says 126 "" run -- /etc/passwd
	says 125 "" run -c 1-2 -- true
	as_nobody timershield run -- true 2>/dev/null
	equal $? 125 "as nobody"
	unisolate
	says 125 "" run -- true
}

test_run_moves_a_process_there_and_back() {
	spinner; one=$newest
	isolate 1
	says 0 "" run -P $one
	equal "$(cpus $one)$(seen $one)" 21 "after run -P"
	says 0 "" run -p 3 -P $one
	equal "$(policy $one)" "1 3" "its policy"
	unisolate
	equal "$(cpus $one)" 2 "after unisolate, as it was asked to"
	says 125 "" run -P 999999
}

# kthreadd is one that may be moved, ksoftirqd/1 is not.
test_run_sets_kernel_threads() {
	softirq=$(thread ksoftirqd/1)
	says 125 "" run -c 0 -P $softirq
	for pid in 2 $softirq; do
		says 0 "" run -p 7 -P $pid; equal "$(policy $pid)" "1 7" "$pid"
		says 0 "" run -s other -P $pid; equal "$(policy $pid)" "0 0" "$pid"
	done
}

# The kernel waits for a thread on CPU 1 that PREEMPT_RT's RCU has there.
test_run_next_to_one_that_never_sleeps() {
	spinner; one=$newest; waiter
	isolate 1-2
	says 0 "" run -c 1 -p 3 -P $one
	case $(uname -r) in 6.1.*) ;; *) says 0 "" run -c 2 -- true ;; esac
	says 0 "" run -c 2 -P $newest
	says 0 "" run -c 0 -P $newest
	unisolate 2
	unisolate
	rcu=$(thread rcuc/1)
	[ -z "$rcu" ] || case $(policy $rcu) in "1 99") fault "rcuc/1 keeps its priority" ;; esac
}

test_benchmark_is_steady_on_an_isolated_cpu() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do spinner; done
	before=$(timershield run -c 0-2 -- $me work)
	isolate 1
	isolated=$(timershield run -- $me work)
	unisolate
	echo "# longest over shortest: $before %, isolated $isolated %" >>/tmp/report
	require [ $((isolated - 100)) -lt $(((before - 100) / 2)) ]
}

test_refused_without_privilege() {
	isolate 1
	as_nobody "taskset 2 true" 2>/dev/null && fault "a task without privilege took the isolated CPU"
	unisolate
}

test_affinity_alone_selects_the_cpu() {
	prepare
	spinner; waiter 6; some=$newest; waiter 2; only=$newest; waiter; late=$newest
	isolate 1 --by-affinity
	waiter; child=$newest
	equal "$(cpus $some) $(cpus $only) $(cpus $child)" "4 2 5" "while CPU 1 is isolated"
	taskset -p 2 $child >/dev/null; taskset -p 3 $late >/dev/null
	says 0 "  task " status
	isolate 1 --by-affinity
	equal "$(cpus $child) $(cpus $late)" "2 1" "isolated again"
	run_is "2 0 0 1"
	says 1 "" isolate 2
	as_nobody timershield unisolate 2>/dev/null; equal $? 3 "unisolate as nobody"
	unisolate
	equal "$(cpus $some) $(cpus $only) $(cpus $child) $(cpus $late)" "6 2 2 3" afterwards
	as_nobody timershield isolate 1 --by-affinity 2>/dev/null; equal $? 3 "isolate as nobody"
	same "after unisolate"
}

test_undone_twice_and_in_parts() {
	prepare
	isolate 1
	snapshot /tmp/one
	isolate 1
	same "the same isolation again" /tmp/one
	isolate 2
	unisolate 2
	same "CPU 2 was isolated for a time" /tmp/one
	isolate --only --irqs 2
	isolate --only 1-2
	unisolate --irqs 1
	unisolate --procs
	unisolate 2
	same "after the isolation ended in parts"
	unisolate
	same "after a further unisolate"
}

test_many_at_once() {
	prepare
	pids=
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
		if [ $((i % 3)) = 0 ]; then timershield unisolate; else timershield isolate $((1 + i % 2)); fi \
			>/dev/null 2>&1 || fault "process $i: exit status $?" &
		pids="$pids $!"
	done
	wait $pids
	unisolate
	same "after many at once"
}

# From Linux 7 on, the partition stays. Whatever the kernel does, status says it.
test_another_cgroup_takes_the_cpu() {
	isolate 2
	finding good isolation "CPU 2 is isolated from tasks and interrupts"
	mkdir $rival
	echo 2 >$rival/cpuset.cpus
	if [ "$(cat $partition/cpuset.cpus.partition)" = isolated ]; then
		says 9 "" run -- sh -c 'exit 9'
	else
		finding bad isolation "$rival/cpuset.cpus, then timershield isolate 2"
		says 125 "" run -- true
		says 1 "" isolate 2
	fi
	echo 0 >$rival/cpuset.cpus
	isolate 2
	finding good isolation "from tasks and interrupts"
	rmdir $rival
	unisolate
}

# Refused before anything is touched, also in a dry run. Linux 6.12 ends the partition of others for
# good if ours names its CPU but once.
test_partition_of_others_stays() {
	echo +cpuset >$cgroup/cgroup.subtree_control
	snapshot /tmp/without
	for type in root isolated; do
		mkdir $rival
		echo 2 >$rival/cpuset.cpus; echo $type >$rival/cpuset.cpus.partition
		snapshot /tmp/before
		for words in 2 1-2 "2 -n"; do says 1 $rival/cpuset.cpus isolate $words; done
		same "after refusals"
		isolate 1
		says 1 $rival/cpuset.cpus isolate 2
		unisolate
		same "after isolating another CPU"
		says 1 "" isolate 0-1
		same "after a partition that leaves no CPU"
		rmdir $rival
		same "after the other partition's end" /tmp/without
	done
	echo -cpuset >$cgroup/cgroup.subtree_control
}

test_partition_is_removed() {
	snapshot /tmp/before
	isolate 2
	rmdir $partition
	finding bad isolation "has been removed"
	says 1 "" status --check
	isolate 2
	equal "$(cat $partition/cpuset.cpus.partition)" isolated "isolated again"
	rmdir $partition
	unisolate
	same "after unisolate"
}

test_isolated_cpu_goes_offline() {
	isolate 2
	echo 0 >/sys/devices/system/cpu/cpu2/online
	finding bad offline "CPU 2 is isolated, but offline"
	says 125 "CPU 2 is offline" run -c 2 -- true
	echo 1 >/sys/devices/system/cpu/cpu2/online
	isolate 2
	finding good isolation "from tasks and interrupts"
	unisolate
}

# The kernel would put the task elsewhere, for good.
test_offline_cpu_that_a_task_asked_for() {
	waiter 4
	isolate 2
	echo 0 >/sys/devices/system/cpu/cpu2/online
	says 1 "asked for CPU 2 alone" unisolate
	echo 1 >/sys/devices/system/cpu/cpu2/online
	unisolate
	equal "$(cpus $newest)" 4 "its own affinity"
	isolate 2
	kill $newest
	wait $newest
	echo 0 >/sys/devices/system/cpu/cpu2/online
	unisolate
	echo 1 >/sys/devices/system/cpu/cpu2/online
}

test_full_run() {
	mount -t tmpfs -o size=512k none /run
	snapshot /tmp/before
	isolate 1-2
	dd if=/dev/zero of=/run/full bs=4k 2>/dev/null
	unisolate
	same "after unisolate"
	dd if=/dev/zero of=/run/fuller bs=4k 2>/dev/null
	says 1 "No space left" isolate 1
	same "after an isolate that found no room"
	umount /run
}

# The guest's init reaps nobody.
test_zombies_are_no_tasks() {
	(sh -c 'taskset -p 2 $$ >/dev/null; exec sleep 0.1' &)
	usleep 500000
	require [ "$(thread sleep)" ]
	isolate 1
	case $out in *sleep*) fault "$out" ;; esac
	unisolate
}

# Put there by somebody else: into the partition itself, or into a group below.
test_foreign_processes_in_the_partition() {
	waiter
	snapshot /tmp/before
	for group in $partition $partition/deep; do
		isolate 2
		mkdir $partition/deep
		echo $newest >$group/cgroup.procs
		equal "$(cpus $newest)" 4 "in the partition"
		unisolate
		equal "$(cpus $newest)" 7 afterwards
		same "after unisolate"
	done
}

test_isolated_at_boot() {
	grep -q isolcpus=2 /proc/cmdline || skip "not booted with isolcpus=2"
	snapshot /tmp/before
	finding good isolation "CPU 2 is isolated from tasks"
	isolate 2
	finding good isolation "from tasks and interrupts"
	[ -e $partition ] && fault "there is a partition"
	run_is "4 0 0 1"
	isolate 1
	run_is "2 0 0 1" -c 1
	says 125 "" run -c 1-2 -- true
	unisolate
	same "after unisolate"
}

# Of two hyperthreads of the machine's only core one is isolated; the other may disturb it.
test_hyperthread_is_isolated() {
	[ "$(cat /sys/devices/system/cpu/cpu1/topology/thread_siblings_list)" = 0-1 ] ||
		skip "CPU 1 is no hyperthread of CPU 0"
	spinner
	says 0 "CPU 0, not isolated, shares a core with them" isolate 1
	finding bad siblings "CPU 0 shares a core"
	equal "$(seen $newest)" 0 "the spinner's CPUs"
	says 3 "" run -c 1 -p 50 -- sh -c 'exit 3'
	unisolate
}

# Sequences of up to four commands, most of them killed at a random time, leave nothing behind.
test_random_sequences() {
	prepare
	RANDOM=1
	killed=0
	for i in $(seq 60); do
		for n in $(seq $((1 + RANDOM % 4))); do
			case $((RANDOM % 9)) in
			0) set -- unisolate ;;	1) set -- unisolate 1 ;;	2) set -- unisolate 2 ;;
			3) set -- isolate 1 ;;	4) set -- isolate 1-2 ;;	5) set -- isolate --irqs 1 ;;
			6) set -- isolate --procs 2 ;; 7) set -- isolate --only 1 ;;
			8) set -- isolate --only --irqs 2 ;;
			esac
			timershield "$@" >/dev/null 2>&1 & pid=$!
			usleep $((RANDOM % 30000)); [ $((RANDOM % 4)) = 0 ] || kill -9 $pid 2>/dev/null
			wait $pid; status=$?
			case $status in 0) ;; 137) killed=$((killed + 1)) ;; *) fault "$*: exit status $status" ;; esac
		done
		unisolate
		same "after random sequence $i"
		[ ! -s /tmp/report ] || break
	done
	echo "# $killed commands killed" >>/tmp/report
	[ $killed -ge 30 ] || fault "only $killed were killed"
}

before()
{
	rmdir $rival 2>/dev/null
	case $name in hyper*) ;; *) [ "$(nproc --all)" -ge 3 ] || fault "needs three CPUs" ;; esac
	timershield unisolate >/dev/null
}

# The suites of their own: of another machine, and with host time.
others="random_sequences"
. "${0%/*}/harness"

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On Linux 7.x a task may ask to go on for 5 us when it is to be preempted: a slice extension of
 * rseq. An interrupt that wakes a real-time task masks the timers of ordinary ones until the switch
 * (R1). If it then grants a slice, there is no switch yet, and maybe never one to that task. The
 * real-time task must not be later than with the shield off, and no timer may stay masked (R2).
 *
 * These tests pass on stock. A mask that outlived a slice would fail them.
 */
#define _GNU_SOURCE
#include "lib/shield.h"
#include "lib/task.h"

#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_RSEQ_SLICE_EXTENSION
#define PR_RSEQ_SLICE_EXTENSION 79
#define PR_RSEQ_SLICE_EXTENSION_GET 1
#define PR_RSEQ_SLICE_EXTENSION_SET 2
#define PR_RSEQ_SLICE_EXT_ENABLE 1
#endif
#ifndef SYS_rseq_slice_yield
#define SYS_rseq_slice_yield 471
#endif

#define SLICE (5 * USEC)
#define ROUNDS 20
#define PERIOD (10 * MSEC)	/* two ticks and a half */
#define WORK (500 * USEC)
#define HELD 8

/* struct rseq of Linux 7.x */
static volatile struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t critical_section;
	uint32_t flags, node_id, mm_cid;
	uint8_t request, granted;
	uint8_t rest[34];
} area __attribute__((aligned(64)));

static void needs_slices(void)
{
	if (prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_GET, 0, 0, 0))
		skip("this kernel grants no slices");
	if (kernel_is_rt())
		skip("PREEMPT_RT grants none against a real-time task");
}

/* The area of the C library is of an older struct, or it does not tell how long it is. */
static void may_ask(void)
{
	char *old = (char *)__builtin_thread_pointer() + __rseq_offset;

	for (unsigned int size = 32; size <= 256; size += 32)
		if (!syscall(SYS_rseq, old, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG))
			break;
	require(!syscall(SYS_rseq, &area, sizeof(area), 0, RSEQ_SIG), "rseq: %m");
	require(!prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_SET,
		       PR_RSEQ_SLICE_EXT_ENABLE, 0, 0), "PR_RSEQ_SLICE_EXTENSION: %m");
}

/* Computes until it is to be preempted. True: it may go on. */
static bool ask(void)
{
	area.request = 1;
	while (area.request)
		;
	return area.granted;
}

/* How the task that has been granted a slice ends it */
enum end { NONE, EXPIRES, YIELDS, CALLS };

static void end_slice(enum end end)
{
	if (end == YIELDS)
		require(syscall(SYS_rseq_slice_yield) == 1, "rseq_slice_yield: not in a slice");
	else if (end == CALLS)
		getppid();
	else
		while (area.granted)
			;
}

struct play {
	u64 start;		/* shortly behind a tick */
	unsigned int slices;
	u64 late;		/* of FIFO 80, at worst */
	u64 ended[ROUNDS];	/* its work */
	u64 released;		/* how much later the last held timer was served, at worst */
};

/*
 * In each round FIFO 80 wakes while a SCHED_IDLE task computes. That one asks for a slice, and ends
 * it so, unless NONE.
 */
static struct play *play(enum end end, bool held)
{
	struct play *play = shared_memory(sizeof(*play));
	pid_t asking;

	pin(test_cpu);
	become(FIFO(98));
	play->start = now() + 100 * MSEC;
	play->start += TICK - play->start % TICK + MSEC;
	STARTED(IDLE) {
		may_ask();
		for (int i = 0; i < ROUNDS; i++) {
			u64 due = play->start + i * PERIOD;

			/* Later it sleeps: the scheduler would not preempt it at once. */
			sleep_until(due - 200 * USEC);
			spin_until(due - (end ? 20 * USEC : 0));
			if (end && ask()) {
				play->slices++;
				end_slice(end);
			}
		}
	}
	asking = newest;
	ASLEEP(FIFO(80)) {
		for (int i = 0; i < ROUNDS; i++) {
			u64 due = play->start + i * PERIOD, late;

			sleep_until(due);
			late = now() - due;
			if (late > play->late)
				play->late = late;
			spin_until(due + WORK);
			play->ended[i] = now();
		}
		pause();	/* an exit takes longer than all others */
	}
	/* Of four the timer is due with that of FIFO 80, of two in the slice, of two behind it. */
	for (unsigned int j = 0; held && j < HELD; j++)
		ASLEEP(LOW(10)) {
			for (int i = 0; i < ROUNDS; i++) {
				u64 due = play->start + i * PERIOD, late;

				sleep_until(due + (j < 4 ? 0 : j < 6 ? 2 * USEC : WORK / 2));
				late = play->ended[i] ? now() - play->ended[i] : SEC;
				if (late > play->released)
					play->released = late;
			}
			pause();
		}
	sleep_until(play->start + ROUNDS * PERIOD);
	end_process(asking);
	require(play->ended[ROUNDS - 1], "FIFO 80 was not woken");
	require(play->slices == (end ? ROUNDS : 0), "%u slices were granted", play->slices);
	return play;
}

static u64 late_without_slices(void)
{
	return play(NONE, false)->late;
}

static u64 late_after_slices(void)
{
	return play(EXPIRES, false)->late;
}

TEST(a_slice_delays_no_more_than_with_the_shield_off)
{
	struct off_on alone, late;

	needs_slices();
	alone = off_and_on(late_without_slices);
	late = off_and_on(late_after_slices);
	note("without slices %llu ns late, with the shield off %llu", alone.on, alone.off);
	require(late.off >= alone.off + SLICE - USEC, "a slice delays nobody");
	measured(late.on <= late.off + USEC / 2, "%llu ns late, with the shield off %llu", late.on,
		 late.off);
}

/* What was masked in a slice, and while FIFO 80 ran then, expires when that ends. */
static void held_timers_are_released(void)
{
	u64 alone, slices;

	needs_slices();
	alone = play(NONE, true)->released;
	slices = play(test_argument(), true)->released;
	measured(slices <= alone + 20 * USEC, "%llu ns after FIFO 80, without slices %llu", slices,
		 alone);
}

TEST_OF(released_after_a_slice_that_expires, held_timers_are_released, EXPIRES)
TEST_OF(released_after_a_slice_that_is_yielded, held_timers_are_released, YIELDS)
TEST_OF(released_after_a_slice_that_a_call_ends, held_timers_are_released, CALLS)

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules R4 to R6 in one picture: on test_cpu a hog (FIFO 50) spins over the
 * expiry of a timer that ranks above it, or should. How late is the task that
 * matters, with the shield off and on? The block says who waits for what:
 *
 *	TEST(a_reader_is_on_time)
 *	{
 *		COMPARE(s, TOLERANCE) {
 *			int fd = timerfd_new(CLOCK_MONOTONIC, 0);
 *
 *			ASLEEP(ABOVE) {
 *				timerfd_await(fd);
 *				woken(s);
 *			}
 *			ENDED(OTHER) timerfd_arm(fd, s->expiry, 0);
 *		}
 *	}
 *
 * It is played more than once. The hog spins at the end of the block, unless that sets s->late.
 */
#ifndef TESTS_SITUATION_H
#define TESTS_SITUATION_H

#include "shield.h"
#include "task.h"

#define HOG_POLICY FIFO(50)
#define ABOVE FIFO(80)			/* who must not be held back */
#define BELOW FIFO(10)

/* Times are slowness() times as long. */
/* On a debug kernel stock timers are some ticks late, too; the hog goes on for 200 ms there. */
#define TOLERANCE (slowness() > 1 ? 30 * MSEC : 10 * USEC)
/* An interrupt to another CPU and its turn, see let_other_cpus_run(), or a task's exit, more. */
#define TOLERANCE_SMP (200 * USEC * slowness() * slowness())
/* A level that was not followed costs two ticks at most (rule R11). */
#define TOLERANCE_HELD (HOLD + TOLERANCE)
#define LEAD (20 * MSEC * slowness())	/* from now to the expiry */
#define HOG (20 * MSEC * slowness())	/* how long the hog goes on after it */

/* Shared by all processes of a situation. */
struct situation {
	u64 expiry;		/* CLOCK_MONOTONIC */
	u64 woke;		/* when the task that matters ran; 0: not yet */
	u64 hog_ends;
	u64 late;		/* of the task that matters, ns; 0: from expiry to woke */
};

/* The caller becomes FIFO 99 on test_cpu; expiry is LEAD from now. */
struct situation *situation_new(void);

/* The expiry is this LEAD from now: what comes before it may take a slow kernel too long. */
void situation_start(struct situation *s, u64 lead);

/* Waits for the expiry with clock_nanosleep() and notes when it woke. */
void sleep_to_expiry(struct situation *s);

/* Spins until hog_ends, which may change meanwhile. */
void spin_to_the_end(const struct situation *s);

/* The task that matters runs. */
static inline void woken(struct situation *s)
{
	s->woke = now();
}

/* Lets the hog spin over the expiry; how late the task that matters was, ns. */
u64 situation_lateness(struct situation *s);

/*
 * Plays the block with the shield off and on, and compares.
 * On PREEMPT_RT the thread that expires soft timers does not wait for the hog meanwhile: it would,
 * on stock kernels too.
 */
#define COMPARE(s, tolerance) COMPARISON(s, tolerance, FIFO(98))
/* The same without that: CPU 0 is to be busy for all but what outranks its task. */
#define COMPARE_SMP(s, tolerance) COMPARISON(s, tolerance, OTHER)
#define COMPARISON(s, tolerance, softirq_threads)			\
	for (struct situation *s = comparison_begin(tolerance, softirq_threads); s;	\
	     s = comparison_next(s))

struct situation *comparison_begin(u64 tolerance, struct policy softirq_threads);
struct situation *comparison_next(struct situation *s);

#endif

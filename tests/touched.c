// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timer is held on CPU 1 while its process, on CPU 0, looks at it, sets it anew, disarms or
 * deletes it: the signal arrives if it does on stock, whether it is blocked or has a handler, and
 * the kernel warns of nothing. (Linux 7.3 drops blocked signals of a setting that is gone.)
 *
 * On stock nothing is held, and so it passes there.
 */
#define _GNU_SOURCE
#include "file.h"
#include "lib/shield.h"
#include "lib/situation.h"
#include "lib/timers.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TAINT_WARN 0x200

static bool kernel_has_warned(void)
{
	char text[32];

	require(file_read("/proc/sys/kernel/tainted", text, sizeof(text)) > 0, "no taint");
	return atoi(text) & TAINT_WARN;
}

/* What is done to the timer; from GET_ITIMER on it is the interval timer. */
enum touch {
	SET_AND_ASK, SET, DISARM_AND_ASK, DISARM, DELETE, GET_ITIMER, SET_ITIMER, DISARM_ITIMER,
	TOUCHES
};

static const char * const names[TOUCHES] = {
	"timer_settime(old)", "timer_settime()", "timer_settime(0, old)", "timer_settime(0)",
	"timer_delete()", "getitimer()", "setitimer()", "alarm(0)",
};

static void set_anew(timer_t timer, u64 again, bool ask)
{
	struct itimerspec new = to_itimerspec(again, again), old;

	require(!timer_settime(timer, 0, &new, ask ? &old : NULL), "timer_settime: %m");
}

static void touch_timer(enum touch touch, timer_t timer)
{
	struct itimerval setting;

	switch (touch) {
	case SET_AND_ASK:
	case SET:
		set_anew(timer, 3600 * SEC, touch == SET_AND_ASK);
		break;
	case DISARM_AND_ASK:
	case DISARM:
		set_anew(timer, 0, touch == DISARM_AND_ASK);
		break;
	case DELETE:
		timer_delete(timer);
		break;
	case GET_ITIMER:
		getitimer(ITIMER_REAL, &setting);
		break;
	case SET_ITIMER:
		itimer_arm(now() + 3600 * SEC);
		break;
	default:
		alarm(0);
	}
}

static bool *handler_ran;

static void note_signal(int signal)
{
	*handler_ran = true;
}

/* Whether a signal came: HANDLED by a handler; else it is blocked, and asked for. */
static bool play_touch(enum touch touch, bool handled)
{
	int number = touch >= GET_ITIMER ? SIGALRM : SIGRTMIN;
	bool *signalled = shared_memory(sizeof(*signalled));
	struct situation *s;

	test_cpu = 1;
	s = situation_new();
	pin(0);
	ASLEEP(OTHER) {
		timer_t timer = NULL;
		sigset_t set;

		handler_ran = signalled;
		/* Fault now: before 8.0 QEMU loses the flags of a SETG that does. */
		*signalled = false;
		if (handled)
			signal(number, note_signal);
		else
			set = block_signal(number);
		if (number == SIGALRM)
			itimer_arm(s->expiry);
		else
			timer = posix_timer_arm(SIGEV_SIGNAL, 0, s->expiry, 0);
		pin(0);
		sleep_until(s->expiry + MSEC * slowness());
		touch_timer(touch, timer);
		woken(s);
		/* One that is only looked at is held on. */
		sleep_until(s->hog_ends + LEAD / 2);
		if (!handled)
			*signalled = sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0;
	}
	situation_lateness(s);
	return *signalled;
}

static void touch_what_is_held(void)
{
	bool handled = test_argument();

	needs_two_cpus();
	require(!kernel_has_warned(), "the kernel has warned of something before");
	set_softirq_threads(1, FIFO(98));
	for (enum touch touch = 0; touch < TOUCHES; touch++) {
		bool off, on;

		shield_set(false);
		off = play_touch(touch, handled);
		shield_set(true);
		on = play_touch(touch, handled);
		measured(on == off, "%s: signal %d, with the shield off %d", names[touch], on, off);
	}
	set_softirq_threads(1, OTHER);
	check(!kernel_has_warned(), "the kernel warned");
}

TEST_OF(touching_what_is_held, touch_what_is_held, false)
TEST_OF(handlers_run_as_on_stock, touch_what_is_held, true)

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

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

static void set_anew(timer_t timer, u64 again, struct itimerspec *old)
{
	struct itimerspec new = to_itimerspec(again, again);

	require(!timer_settime(timer, 0, &new, old), "timer_settime: %s", strerror(errno));
}

static void set_and_ask(timer_t timer)
{
	struct itimerspec old;

	set_anew(timer, 3600 * SEC, &old);
}

static void set_only(timer_t timer)
{
	set_anew(timer, 3600 * SEC, NULL);
}

static void disarm_and_ask(timer_t timer)
{
	struct itimerspec old;

	set_anew(timer, 0, &old);
}

static void disarm_only(timer_t timer)
{
	set_anew(timer, 0, NULL);
}

static void delete(timer_t timer)
{
	timer_delete(timer);
}

static void get_itimer(timer_t timer)
{
	struct itimerval setting;

	getitimer(ITIMER_REAL, &setting);
}

static void set_itimer(timer_t timer)
{
	itimer_arm(now() + 3600 * SEC);
}

static void disarm_itimer(timer_t timer)
{
	alarm(0);
}

static const struct touch {
	const char *name;
	void (*call)(timer_t timer);
	bool itimer;
} touches[] = {
	{ "timer_settime(old)", set_and_ask, false },
	{ "timer_settime()", set_only, false },
	{ "timer_settime(0, old)", disarm_and_ask, false },
	{ "timer_settime(0)", disarm_only, false },
	{ "timer_delete()", delete, false },
	{ "getitimer()", get_itimer, true },
	{ "setitimer()", set_itimer, true },
	{ "alarm(0)", disarm_itimer, true },
};

struct touching {
	struct situation *s;
	const struct touch *touch;
	bool handled;		/* by a handler; else the signal is blocked, and asked for */
	bool signalled;
};

static bool *handler_ran;

static void note_signal(int signal)
{
	*handler_ran = true;
}

static void touch(struct touching *touching)
{
	u64 expiry = touching->s->expiry;
	bool itimer = touching->touch->itimer;
	int number = itimer ? SIGALRM : SIGRTMIN;
	timer_t timer = NULL;
	sigset_t set;

	if (touching->handled) {
		handler_ran = &touching->signalled;
		signal(number, note_signal);
	} else {
		set = block_signal(number);
	}

	if (itimer)
		itimer_arm(expiry);
	else
		timer = posix_timer_arm(SIGEV_SIGNAL, 0, expiry, 0);
	pin(0);
	sleep_until(expiry + MSEC * slowness());
	touching->touch->call(timer);
	touching->s->woke = now();
	if (touching->handled)
		sleep_until(touching->s->hog_ends + LEAD / 2);
	else
		touching->signalled = sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0;
}

static bool play_touch(const struct touch *what, bool handled)
{
	struct touching *touching = shared_memory(sizeof(*touching));

	test_cpu = 1;
	touching->s = situation_new();
	touching->touch = what;
	touching->handled = handled;
	pin(0);
	ASLEEP(OTHER) touch(touching);
	situation_lateness(touching->s);
	return touching->signalled;
}

static void touch_what_is_held(void)
{
	bool handled = test_argument();

	if (online_cpus() < 2)
		skip("needs two CPUs");
	require(!kernel_has_warned(), "the kernel has warned of something before");
	set_softirq_threads(1, FIFO(98));
	for (unsigned int i = 0; i < ARRAY_SIZE(touches); i++) {
		bool off, on;

		shield_set(false);
		off = play_touch(&touches[i], handled);
		shield_set(true);
		on = play_touch(&touches[i], handled);
		check(on == off, "%s: %s signal; with the shield off: %s", touches[i].name,
		      on ? "a" : "no", off ? "a" : "none");
		note("%s: signal %d, with the shield off %d", touches[i].name, on, off);
	}
	set_softirq_threads(1, OTHER);
	check(!kernel_has_warned(), "the kernel warned");
}

TEST_OF(touching_what_is_held, touch_what_is_held, false)
TEST_OF(handlers_run_as_on_stock, touch_what_is_held, true)

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module comes and goes, while timers are pending, masked and due: none is lost, or early.
 * Once takes about a second, for the kernel waits for all tasks. The suite churn does more
 * meanwhile, and so loads it less often.
 *
 * Where the timers of ordinary tasks stay in the module's queues when it goes, those that take
 * long are lost: fails.
 *
 *	loads [--seconds S]
 */
#define _GNU_SOURCE
#include "options.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"

#include <unistd.h>

#define NAPPERS 24
#define LONG (1 * SEC)	/* as unloading takes: still pending when the queues go */
#define LONGEST (3 * SEC)
#define STAYS 8		/* of so many loads one is until the long timers are in the queues */
#define PROGRESS 10	/* seconds */
#define OVERDUE (20 * MSEC)

static int seconds = 20;

struct napper {
	bool timerfd;		/* it reads one instead of sleeping */
	u64 length;
	u64 due;
	u64 naps, early;
};

static void nap_for_ever(void *argument)
{
	struct napper *napper = argument;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	u64 due, expirations;

	for (;;) {
		due = now() + napper->length;
		__atomic_store_n(&napper->due, due, __ATOMIC_RELEASE);
		if (napper->timerfd) {
			timerfd_arm(fd, due, 0);
			require(read(fd, &expirations, sizeof(expirations)) > 0, "read: %m");
		} else {
			sleep_until(due);
		}
		napper->early += now() < due;
		napper->naps++;
	}
}

/* Masks them now and then. */
static void mask_them(void *unused)
{
	for (;;) {
		spin_until(now() + 1 * MSEC);
		sleep_for(14 * MSEC);
	}
}

static void load_and_unload(u64 start)
{
	unsigned int loads = 0;
	int told = 0, passed;

	do {
		shield_load(false);
		sleep_for(loads % 7 * 300 * USEC);
		shield_load(true);
		sleep_for(loads % STAYS ? loads % 5 * 700 * USEC : LONGEST);
		loads++;
		passed = (int)((now() - start) / SEC);
		if (passed >= told + PROGRESS && passed < seconds) {
			told = passed;
			/* lab/runner/soak.py reads this. */
			dprintf(STDOUT_FILENO, "# %d of %d s: %u loads\n", told, seconds, loads);
		}
	} while (passed < seconds);
	note("%u loads", loads);
	check(loads > (unsigned int)seconds / 4 / slowness(), "only %u loads", loads);
}

static void nothing_is_lost(void)
{
	struct napper *nappers = shared_memory(NAPPERS * sizeof(*nappers));
	u64 naps = 0;
	pid_t masker;

	become(FIFO(60));
	for (unsigned int i = 0; i < NAPPERS; i++) {
		nappers[i].timerfd = (i / 4 + i) % 2;
		nappers[i].length = i % 4 ? 20 * MSEC + i * 1300 * USEC :
			LONG + i * (LONGEST - LONG) / NAPPERS;
		spawn(i % 3 ? OTHER : FIFO(1 + i), 0, nap_for_ever, &nappers[i]);
	}
	masker = spawn(FIFO(50), 0, mask_them, NULL);
	load_and_unload(now());
	sleep_for(LONGEST);
	shield_load(false);
	end_process(masker);
	sleep_for(LONGEST + 2 * OVERDUE);
	for (unsigned int i = 0; i < NAPPERS; i++) {
		u64 due = __atomic_load_n(&nappers[i].due, __ATOMIC_ACQUIRE);

		check(due + OVERDUE > now(), "napper %u is overdue by %llu ns", i, now() - due);
		check(!nappers[i].early, "napper %u woke early %llu times", i, nappers[i].early);
		naps += nappers[i].naps;
	}
	shield_load(true);
	note("%llu naps", naps);
	check(naps > 100ULL * seconds, "only %llu naps: this tests nothing", naps);
}

static void usage(FILE *out)
{
	fprintf(out, "usage: loads [--seconds S]\n"
		"  --seconds S   load and unload the module for S seconds (20)\n");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(nothing_is_lost),
	};
	const struct opt opts[] = {
		{ 's', "seconds", OPT_NUMBER(&seconds, 1, 1000000) },
		{ }
	};

	parse_options(argc, argv, opts, usage);
	set_test_timeout(seconds + 60);
	return run_tests(1, argv, tests, ARRAY_SIZE(tests), 0);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timer churn of all kinds, with changing priorities, switch, clock and CPUs,
 * for a given time; every timer is accounted for. "churn --help" lists its options.
 *
 * A debug kernel gets fewer workers, which arm timers less often; PREEMPT_RT gets fewer, too:
 * 30 leave ordinary tasks no time in every third rest. What is checked is the same.
 *
 * Every two seconds everything that disturbs rests, and any timer that still has
 * not fired then is lost. With CPUs beyond the first, these go and come back,
 * and workers move between them. A shield that is a module is unloaded and loaded, too.
 *
 * Passes on stock, where nothing loses timers. It was seen to fail with the
 * release of masked timers left out (lost), with expiring that does not check
 * the time (early), and with a switch that leaves timers where they were.
 */
#define _GNU_SOURCE
#include "options.h"
#include "lib/churn.h"
#include "lib/shield.h"
#include "lib/task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#define EPOCH (2 * SEC)
#define REST (300 * MSEC * slowness())	/* after which nothing may be overdue by ... */
#define OVERDUE (150 * MSEC * slowness())	/* ... more than this */
#define SLEEPS_AGAIN (20 * MSEC * slowness())
#define ENOUGH_IDLE (REST / 20)	/* of every CPU, for a rest to be one with PREEMPT_RT */
#define FINISH (20 * SEC * slowness())

static struct {
	unsigned int seconds;
	unsigned int workers;
	unsigned int progress;
	bool steady;
	u64 seed;
} options = { .seconds = 5, .workers = 30, .progress = 10, .seed = 1 };

static struct churn *churn;
static unsigned int rests, sleepless, starved;

static const struct {
	const char *kind;
	void (*run)(struct worker *worker);
} kinds[] = {
	{ "sleep", churn_sleep },
	{ "interrupted wait", churn_interrupted_wait },
	{ "timerfd", churn_timerfd },
	{ "POSIX timer", churn_posix_timer },
	{ "PI lock", churn_pi_lock },
	{ "setitimer", churn_itimer },
	{ "exit", churn_exit },
	{ "sleep", churn_sleep },
};

static void start_workers(void)
{
	for (unsigned int i = 0; i < options.workers; i++) {
		struct worker *worker = &churn->workers[i];

		*worker = (struct worker){
			.kind = kinds[i % ARRAY_SIZE(kinds)].kind,
			.run = kinds[i % ARRAY_SIZE(kinds)].run,
			.churn = churn,
			.random = options.seed * 1000 + i,
		};
		STARTED(FIFO(1 + (int)i)) {
			worker->run(worker);
			worker->finished = true;
		}
		worker->pid = newest;
		set_affinity(worker->pid, CPU(churn->cpus) - 1);
	}
	churn->count = options.workers;
}

static unsigned int start_disturbers(pid_t *pids)
{
	static void (* const all[])(struct disturber *disturber) = {
		disturb_by_load, disturb_by_load, disturb_policies, disturb_switch,
		disturb_clock, disturb_cpus,
	};
	unsigned int count = ARRAY_SIZE(all) - (churn->cpus < 2);

	for (unsigned int i = 0; i < count; i++) {
		struct disturber *disturber = shared_memory(sizeof(*disturber));

		*disturber = (struct disturber){
			.churn = churn,
			.random = options.seed * 1000 + 500 + i,
		};
		STARTED(FIFO(98)) all[i](disturber);
		pids[i] = newest;
		if (all[i] == disturb_by_load)
			set_affinity(pids[i], CPU(churn->cpus) - 1);
	}
	return count;
}

static u64 total(size_t offset)
{
	u64 sum = 0;

	for (unsigned int i = 0; i < churn->count; i++)
		sum += *(u64 *)((char *)&churn->workers[i] + offset);
	return sum;
}

/*
 * A worker that never sleeps got its timer, and waits for a CPU: the others may keep them busy.
 * One whose timer was lost may do other things meanwhile, but sleeps again soon.
 */
static void judge_overdue(struct worker *worker, u64 due)
{
	u64 late = now() - due;

	for (u64 end = now() + SLEEPS_AGAIN; now() < end; sleep_for(SLEEPS_AGAIN / 50)) {
		bool asleep = process_state(worker->pid) == 'S';

		if (__atomic_load_n(&worker->due, __ATOMIC_ACQUIRE) != due)
			break;
		if (asleep) {
			blame(worker, LOST, "overdue by %llu ns with nothing to hold it back",
			      late);
			return;
		}
	}
	starved++;
}

/* Nothing has disturbed for a while: what should have fired has fired. */
static void look_for_overdue(void)
{
	for (unsigned int i = 0; i < churn->count; i++) {
		struct worker *worker = &churn->workers[i];
		u64 due = __atomic_load_n(&worker->due, __ATOMIC_ACQUIRE);

		if (due && !worker->finished && due + OVERDUE < now())
			judge_overdue(worker, due);
	}
}

static unsigned int faults(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < churn->count; i++)
		for (enum fault fault = 0; fault < FAULTS; fault++)
			sum += churn->workers[i].faults[fault];
	return sum;
}

/* lab/runner/soak.py reads these lines. */
static void tell_progress(u64 time)
{
	u64 seconds = time / SEC;

	if (seconds > options.seconds)
		seconds = options.seconds;
	dprintf(STDOUT_FILENO, "# %llu of %u s: %llu timers armed, %u faults\n", seconds,
		options.seconds, total(offsetof(struct worker, armed)), faults());
}

/*
 * On PREEMPT_RT a thread of ordinary priority expires some of the timers. It waits
 * for its turn where the workers alone keep a CPU busy: false, that was no rest.
 */
static bool take_a_rest(void)
{
	struct idle_times before, after;

	read_idle_times(&before);
	sleep_for(REST);
	read_idle_times(&after);
	rests++;
	if (!kernel_is_rt() || least_idle(&before, &after) >= ENOUGH_IDLE)
		return true;
	sleepless++;
	return false;
}

static void pause_churn(void)
{
	__atomic_store_n(&churn->pause, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&churn->busy, __ATOMIC_SEQ_CST))
		sleep_for(1 * MSEC);
}

static void churn_for(u64 duration)
{
	u64 start = now(), end = start + duration;
	u64 next_progress = start + options.progress * SEC;

	while (now() < end) {
		sleep_for(EPOCH);
		pause_churn();
		if (take_a_rest())
			look_for_overdue();
		__atomic_store_n(&churn->pause, 0, __ATOMIC_RELEASE);
		if (options.progress && now() >= next_progress) {
			next_progress += options.progress * SEC;
			tell_progress(now() - start);
		}
	}
}

static void finish_workers(void)
{
	u64 limit;

	__atomic_store_n(&churn->stop, 1, __ATOMIC_RELEASE);
	limit = now() + FINISH;
	for (unsigned int i = 0; i < churn->count; i++) {
		struct worker *worker = &churn->workers[i];

		while (!worker->finished && now() < limit)
			sleep_for(5 * MSEC);
		if (!worker->finished) {
			u64 due = worker->due;

			blame(worker, LOST, "does not end, its timer is due for %lld ns",
			      due ? (s64)(now() - due) : 0);
			kill(worker->pid, SIGKILL);
		}
	}
}

TEST(churn_timers)
{
	pid_t disturbers[8];
	unsigned int count;

	become(FIFO(99));
	churn->cpus = online_cpus();
	churn->steady = options.steady;
	start_workers();
	count = start_disturbers(disturbers);
	churn_for(options.seconds * SEC);
	pause_churn();
	sleep_for(REST);
	for (unsigned int i = 0; i < count; i++)
		kill(disturbers[i], SIGKILL);
	if (shield_is_module())
		shield_load(true);
	shield_set(true);
	finish_workers();
	note("seed %llu, %u s, %u workers, %d CPUs: %llu timers armed, %llu fired, %llu cancelled",
	     options.seed, options.seconds, churn->count, churn->cpus,
	     total(offsetof(struct worker, armed)), total(offsetof(struct worker, fired)),
	     total(offsetof(struct worker, cancelled)));
	if (churn->loads)
		note("the module was unloaded and loaded %u times", churn->loads);
	note("%u rests, %u of them left ordinary tasks no time; %u times a worker waited for a CPU",
	     rests, sleepless, starved);
	require(starved <= rests, "workers hardly ever got a CPU: %u times in %u rests they did not",
		starved, rests);
	require(2 * sleepless <= rests, "there was hardly ever a rest: %u of %u", sleepless, rests);
	require(total(offsetof(struct worker, fired)) > 100 * options.seconds / slowness(),
		"only %llu timers fired: too few for churn", total(offsetof(struct worker, fired)));
}

static void no_worker_is_to_blame_for(void)
{
	enum fault which = test_argument();

	require(churn->count, "nothing was churned");
	for (unsigned int i = 0; i < churn->count; i++) {
		const struct worker *worker = &churn->workers[i];

		check(!worker->faults[which], "worker %u (%s), %u times: %s", i, worker->kind,
		      worker->faults[which], worker->first[which]);
	}
}

TEST_OF(no_timer_was_lost, no_worker_is_to_blame_for, LOST)
TEST_OF(no_timer_was_early, no_worker_is_to_blame_for, EARLY)
TEST_OF(no_timer_was_miscounted, no_worker_is_to_blame_for, MISCOUNTED)
TEST_OF(no_call_failed, no_worker_is_to_blame_for, BROKEN)

TEST(every_timer_is_accounted_for)
{
	require(churn->count, "nothing was churned");
	for (unsigned int i = 0; i < churn->count; i++) {
		const struct worker *worker = &churn->workers[i];

		check(worker->armed == worker->fired + worker->cancelled,
		      "worker %u (%s): %llu armed, %llu fired, %llu cancelled", i, worker->kind,
		      worker->armed, worker->fired, worker->cancelled);
	}
}

int main(int argc, char **argv)
{
	const struct opt opts[] = {
		{ "seconds", "S", "churn for S seconds (5)",
		  OPT_NUMBER((int *)&options.seconds, 1, 1000000) },
		{ "seed", "N", "seed of all random choices (1)",
		  OPT_WIDE((int64_t *)&options.seed, 0, INT64_MAX / 1000 - 1) },
		{ "workers", "N", "30; 16 on a debug kernel or PREEMPT_RT; 8 on PREEMPT_RT's debug kernel, or module",
		  OPT_NUMBER((int *)&options.workers, 1, MAX_WORKERS) },
		{ "progress", "S", "print the progress every S seconds (10; 0: never)",
		  OPT_NUMBER((int *)&options.progress, 0, 1000000) },
		{ "steady", NULL, "leave the switch and the module alone", OPT_FLAG(&options.steady) },
		{ }
	};

	if (slowness() > 1 || kernel_is_rt())
		options.workers = kernel_is_rt() && (slowness() > 1 || shield_is_module()) ? 8 : 16;
	parse_options(argc, argv, opts, "Churn timers of all kinds; account for every one of them.", NULL);
	churn = mmap(NULL, sizeof(*churn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (churn == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	set_test_timeout(options.seconds + (REST + FINISH) / SEC + 60);
	return run_tests(1, argv, 0);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-process.c - what happens to programs: stopped, forked, interrupted, cancelled, without
 * privileges, with event loops, crowded
 *
 * Nothing here depends on how fast the machine is, only on what must never happen and on what
 * must have happened afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <clockfix.h>

#include "check.h"

/* the thread sanitizer does not support them */
#ifdef __SANITIZE_THREAD__
#define THREADS_AFTER_FORK 0
#else
#define THREADS_AFTER_FORK 1
#endif

#define MS 1000000LL
#define SEC (1000 * MS)

static _Atomic int runs, early;
static _Atomic int64_t most_missed;

static int64_t now(void)
{
	return clockfix_now(CLOCK_MONOTONIC);
}

static void nap(int64_t ns)
{
	struct timespec ts = { ns / SEC, ns % SEC };

	while (nanosleep(&ts, &ts))
		;
}

static void job(void *arg, const struct clockfix_run *run)
{
	if (clockfix_now(CLOCK_MONOTONIC) < run->instant || run->started < run->instant)
		atomic_fetch_add(&early, 1);
	if ((int64_t)run->missed > atomic_load(&most_missed))
		atomic_store(&most_missed, run->missed);
	atomic_fetch_add(&runs, 1);
}

static struct clockfix *create(const struct clockfix_options *options)
{
	struct clockfix *timer = NULL;

	atomic_store(&runs, 0);
	atomic_store(&early, 0);
	atomic_store(&most_missed, 0);
	CHECK_EQ(clockfix_create(&timer, options), 0);
	return timer;
}

static void submit(struct clockfix *timer, int64_t instant, clockfix_fn fn, void *arg)
{
	CHECK_EQ(clockfix_submit(timer, instant, fn, arg, NULL), 0);
}

static void destroy(struct clockfix *timer)
{
	CHECK_EQ(clockfix_destroy(timer, 0), 0);
}

static struct clockfix_stats *stats(struct clockfix *timer)
{
	static struct clockfix_stats s;

	s.size = sizeof(s);
	CHECK_EQ(clockfix_stats_read(timer, &s), 0);
	return &s;
}

/* With all its threads, for 1.5 s. */
static void the_process_is_stopped(void)
{
	pid_t pid;

	CHILD(pid) {
		struct clockfix *timer = create(NULL);
		struct clockfix_spec spec;

		clockfix_spec_init(&spec);
		spec.start = now() + 10 * MS;
		spec.period = MS;
		spec.runs = 2500;
		spec.fn = job;
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		for (int i = 0; i < 100; i++)
			submit(timer, now() + i * 20 * MS, job, NULL);
		while (atomic_load(&runs) < 10)
			nap(MS);
		raise(SIGSTOP);
		CHECK_EQ(clockfix_drain(timer), 0);
		CHECK_EQ(atomic_load(&early), 0);
		CHECK(atomic_load(&most_missed) > 1000);
		CHECK(stats(timer)->missed > 1000);
		CHECK_EQ(atomic_load(&runs), 2600 - (int)stats(timer)->missed);
		CHECK(stats(timer)->lateness.max > SEC);
		destroy(timer);
	}
	waitpid(pid, NULL, WUNTRACED);
	nap(1500 * MS);
	kill(pid, SIGCONT);
	CHECK_EQ(check_end_of(pid), 0);
}

static void a_child_has_no_worker(void)
{
	struct clockfix *timer = create(NULL);
	struct clockfix_sleeper *sleeper;
	pid_t pid;

	CHECK_EQ(clockfix_sleeper_create(&sleeper, NULL), 0);
	submit(timer, now() + 100 * MS, job, NULL);
	CHILD(pid) {
		struct clockfix_stats s = { .size = sizeof(s) };
		struct clockfix *own;

		CHECK_EQ(clockfix_submit(timer, now(), job, NULL, NULL), -ECHILD);
		CHECK_EQ(clockfix_cancel(timer, 1), -ECHILD);
		CHECK_EQ(clockfix_drain(timer), -ECHILD);
		CHECK_EQ(clockfix_stats_read(timer, &s), -ECHILD);
		destroy(timer);
		/* one of its own works, and so does a sleeper */
		if (THREADS_AFTER_FORK) {
			own = create(NULL);
			submit(own, now(), job, NULL);
			destroy(own);
			CHECK_EQ(atomic_load(&runs), 1);
		}
		CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, now() + MS), 0);
		clockfix_sleeper_destroy(sleeper);
	}
	CHECK_EQ(check_end_of(pid), 0);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(atomic_load(&runs), 1);
	clockfix_sleeper_destroy(sleeper);
	destroy(timer);
}

static _Atomic int signals;

static void on_signal(int sig)
{
	atomic_fetch_add(&signals, 1);
}

static void signals_do_not_reach_the_worker(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	struct clockfix *timer = create(NULL);
	sigset_t set;

	sigaction(SIGUSR1, &action, &old);
	/* the kernel prefers this thread as long as it does not block the signal */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	submit(timer, now() + 100 * MS, job, NULL);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		nap(MS);
	}
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(signals, 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	CHECK_EQ(signals, 1);
	CHECK_EQ(atomic_load(&runs), 1);
	destroy(timer);
	sigaction(SIGUSR1, &old, NULL);
}

/* ---- jobs that do not end by themselves --------------------------------------------------- */

static _Atomic int refused;

static void arms_itself(void *arg, const struct clockfix_run *run)
{
	int ret = clockfix_submit(run->timer, run->instant + 100000, arms_itself, arg, NULL);

	atomic_fetch_add(&runs, 1);
	atomic_store(&refused, ret);
}

static void a_timer_ends_though_its_job_arms_itself(void)
{
	for (unsigned int flags = 0; flags <= CLOCKFIX_DROP_PENDING; flags++) {
		struct clockfix *timer = create(NULL);

		submit(timer, now(), arms_itself, NULL);
		while (atomic_load(&runs) < 5)
			nap(MS);
		CHECK_EQ(atomic_load(&refused), 0);
		CHECK_EQ(clockfix_destroy(timer, flags), 0);
		if (!flags)
			CHECK_EQ(refused, -ECANCELED);
	}
}

static void ends_its_timer(void *arg, const struct clockfix_run *run)
{
	CHECK_EQ(clockfix_destroy(run->timer, 0), -EDEADLK);
	CHECK_EQ(clockfix_destroy(run->timer, CLOCKFIX_DROP_PENDING), 0);
	atomic_store((_Atomic bool *)arg, true);
}

/* How many threads the process has, and a few. */
static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void a_job_ends_its_timer(void)
{
	struct clockfix *timer = create(NULL);
	static _Atomic bool ended;
	int before = threads();

	submit(timer, now() + 100 * MS, job, NULL);
	submit(timer, now(), ends_its_timer, (void *)&ended);
	while (!atomic_load(&ended))
		nap(MS);
	for (int i = 0; i < 1000 && threads() == before; i++)
		nap(MS);
	CHECK_EQ(threads(), before - 1);
	CHECK_EQ(atomic_load(&runs), 0);
}

static struct asking {
	struct clockfix *timer;
	_Atomic int released, armed;
} asking;

static int arm(clockfix_release release)
{
	struct clockfix_spec spec;

	clockfix_spec_init(&spec);
	spec.start = now() + 3600 * SEC;
	spec.fn = job;
	spec.release = release;
	return clockfix_schedule(asking.timer, &spec, NULL);
}

static void asks_for_more(void *arg)
{
	/* or, where it may, it would for ever */
	if (atomic_fetch_add(&asking.released, 1) > 10)
		return;
	asking.armed += !arm(asks_for_more);
}

/* Ended by another thread, or by a job: each job is released once, whatever its release asks for. */
static void a_release_does_not_keep_its_timer_alive(void)
{
	static _Atomic bool ended;

	for (int by_job = 0; by_job < 2; by_job++) {
		memset(&asking, 0, sizeof(asking));
		asking.timer = create(NULL);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(arm(asks_for_more), 0);
		if (by_job)
			submit(asking.timer, now(), ends_its_timer, (void *)&ended);
		else
			CHECK_EQ(clockfix_destroy(asking.timer, CLOCKFIX_DROP_PENDING), 0);
		while (atomic_load(&asking.released) < 2)
			nap(MS);
		nap(50 * MS);
		CHECK_EQ(asking.released, 2);
		CHECK_EQ(asking.armed, 0);
	}
}

static void slow(void *arg, const struct clockfix_run *run)
{
	atomic_store((_Atomic int *)arg, 1);
	nap(100 * MS);
	atomic_store((_Atomic int *)arg, 2);
}

struct waiting {
	struct clockfix *timer;
	clockfix_job job;
	_Atomic int result;
};

static void *cancel_and_wait(void *arg)
{
	struct waiting *waiting = arg;

	atomic_store(&waiting->result, clockfix_cancel_wait(waiting->timer, waiting->job));
	pthread_testcancel();
	return NULL;
}

static void cancel_wait_waits_and_is_no_cancellation_point(void)
{
	struct waiting waiting = { .timer = create(NULL), .result = -1 };
	static _Atomic int phase;
	pthread_t thread;
	void *status;

	CHECK_EQ(clockfix_submit(waiting.timer, now(), slow, (void *)&phase, &waiting.job), 0);
	while (!atomic_load(&phase))
		nap(MS);
	CHECK_EQ(clockfix_cancel(waiting.timer, waiting.job), -EINPROGRESS);
	pthread_create(&thread, NULL, cancel_and_wait, &waiting);
	pthread_cancel(thread);
	pthread_join(thread, &status);
	CHECK(status == PTHREAD_CANCELED);
	CHECK_EQ(atomic_load(&phase), 2);
	CHECK_EQ(waiting.result, 1);
	CHECK_EQ(clockfix_cancel_wait(waiting.timer, waiting.job), -ENOENT);
	destroy(waiting.timer);
}

/* An ordinary user is told that it may not, and gets a timer that works without. */
static void without_privileges(void)
{
	const struct rlimit none = { 0, 0 };
	struct clockfix_options options;
	struct clockfix *timer;
	pid_t pid;

	if (geteuid())
		SKIP("not root: can't become somebody else");
	CHILD(pid) {
		setrlimit(RLIMIT_RTPRIO, &none);
		CHECK(!setgid(65534) && !setuid(65534));
		clockfix_options_init(&options);
		options.policy = SCHED_FIFO;
		options.priority = 50;
		CHECK_EQ(clockfix_create(&timer, &options), -EPERM);
		options.policy = 0;
		options.priority = 0;
		timer = create(&options);
		submit(timer, now(), job, NULL);
		destroy(timer);
		CHECK_EQ(atomic_load(&runs), 1);
	}
	CHECK_EQ(check_end_of(pid), 0);
}

static void finds_its_thread(void *arg, const struct clockfix_run *run)
{
	struct sched_param param;
	cpu_set_t set;
	int policy;

	pthread_getschedparam(pthread_self(), &policy, &param);
	sched_getaffinity(0, sizeof(set), &set);
	CHECK(policy == SCHED_FIFO && param.sched_priority == 50);
	CHECK(CPU_COUNT(&set) == 1 && CPU_ISSET(0, &set));
	CHECK(prctl(PR_GET_TIMERSLACK) <= 1);	/* real-time threads may have none */
	atomic_fetch_add(&runs, 1);
}

static void options_take_effect(void)
{
	struct clockfix_options options;
	struct clockfix *timer;

	clockfix_options_init(&options);
	options.cpu = 0;
	options.policy = SCHED_FIFO;
	options.priority = 50;
	if (clockfix_create(&timer, &options))
		SKIP("no privilege for SCHED_FIFO");
	destroy(timer);
	timer = create(&options);
	submit(timer, now(), finds_its_thread, NULL);
	destroy(timer);
	CHECK_EQ(atomic_load(&runs), 1);
	options.cpu = 1023;
	CHECK_EQ(clockfix_create(&timer, &options), -EINVAL);
}

/*
 * A job each 20 us leaves no time to sleep, and the kernel ends whoever has real-time priority and
 * does not sleep for as long as RLIMIT_RTTIME says; the limit is set by then (rtkit asks for it).
 */
static void a_limit_on_real_time_is_kept(void)
{
	const struct rlimit limit = { 200000, 200000 };
	struct clockfix_options options;
	struct clockfix_spec spec;
	struct clockfix *timer;
	pid_t pid;

	clockfix_options_init(&options);
	options.policy = SCHED_FIFO;
	options.priority = 10;
	if (clockfix_create(&timer, &options))
		SKIP("no privilege for SCHED_FIFO");
	destroy(timer);
	CHILD(pid) {
		timer = create(&options);
		setrlimit(RLIMIT_RTTIME, &limit);
		clockfix_spec_init(&spec);
		spec.start = now();
		spec.period = 20000;
		spec.fn = job;
		CHECK_EQ(clockfix_schedule(timer, &spec, NULL), 0);
		nap(1000 * MS);
		CHECK(atomic_load(&runs) > 100);
		destroy(timer);
	}
	CHECK_EQ(check_end_of(pid), 0);
}

static void forks_and_frees(void *arg, const struct clockfix_run *run)
{
	pid_t pid;

	/* at once, when the job has returned, and not: then it runs no other job, and ends */
	for (int how = 0; how < 3; how++) {
		pid = fork();
		if (!pid) {
			bool freed = how == 2 || !clockfix_destroy(run->timer, 0);

			if (how && freed)
				return;
			_exit(!freed);
		}
		CHECK_EQ(check_end_of(pid), 0);
	}
	atomic_fetch_add(&runs, 1);
}

static void the_child_of_a_job_frees_its_copy(void)
{
	struct clockfix *timer = create(NULL);

	submit(timer, now(), forks_and_frees, NULL);
	submit(timer, now() + 1, job, NULL);
	CHECK_EQ(clockfix_drain(timer), 0);
	CHECK_EQ(runs, 2);
	destroy(timer);
}

/* An event loop is woken before the instant and returns at it. */
static void a_descriptor_is_readable_before_the_instant(void)
{
	struct clockfix_sleeper *sleeper;
	struct clockfix_stats s = { .size = sizeof(s) };
	struct pollfd fd = { .events = POLLIN };
	int before = 0;

	CHECK_EQ(clockfix_sleeper_create(&sleeper, NULL), 0);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), -EINVAL);
	fd.fd = clockfix_sleeper_fd(sleeper);
	CHECK(fd.fd >= 0);
	CHECK_EQ(clockfix_sleeper_arm(sleeper, now() + 3600 * 1000 * MS), 0);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), -EAGAIN);
	for (int i = 0; i < 200; i++) {
		int64_t instant = now() + 2 * MS;

		CHECK_EQ(clockfix_sleeper_arm(sleeper, instant), 0);
		CHECK_EQ(poll(&fd, 1, 1000), 1);
		before += now() < instant;
		CHECK_EQ(clockfix_sleeper_finish(sleeper), 0);
		CHECK(now() >= instant);
	}
	CHECK_EQ(clockfix_sleeper_arm(sleeper, 1), 0);
	CHECK_EQ(poll(&fd, 1, 1000), 1);
	CHECK_EQ(clockfix_sleeper_finish(sleeper), 0);
	CHECK_EQ(clockfix_sleeper_stats_read(sleeper, &s), 0);
	printf("# readable before its instant %d times of 200, late p50 %lld ns\n", before,
	       (long long)clockfix_histogram_quantile(&s.lateness, 0.5));
	CHECK_EQ(s.jobs, 201);
	/* not if the CPU was somebody else's; armed for the instant itself it would never be */
	CHECK(before > 10);
	clockfix_sleeper_destroy(sleeper);
}

static void *sleeps_by_one_call(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int64_t instant = now() + 200000;

		CHECK_EQ(clockfix_sleep_until(NULL, CLOCK_MONOTONIC, instant), 0);
		CHECK(now() >= instant);
	}
	if (arg)
		clockfix_sleep_until(NULL, CLOCK_MONOTONIC, now() + 3600 * SEC);
	return NULL;
}

/* Threads that end, one that is cancelled in its sleep, a child: each has its own. */
static void threads_have_sleepers_of_their_own(void)
{
	pthread_t thread[4];
	void *status;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, sleeps_by_one_call, i ? NULL : (void *)1);
	sleeps_by_one_call(NULL);
	CHILD(pid)
		sleeps_by_one_call(NULL);
	CHECK_EQ(check_end_of(pid), 0);
	pthread_cancel(thread[0]);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &status);
		CHECK((status == PTHREAD_CANCELED) == !i);
	}
}

/* ---- many threads, for the sanitizers --------------------------------------------------- */

#define THREADS 4
#define OPEN	64	/* jobs a thread keeps handles of */

struct submitter {
	pthread_t thread;
	struct clockfix *timer;
	uint64_t rng;
	struct {
		_Atomic int runs;
		clockfix_job job;
		bool periodic;
	} item[OPEN];
};

static atomic_bool stop;

static void count_run(void *arg, const struct clockfix_run *run)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

/* Each job runs once or was cancelled before, never both. */
static void *submit_and_cancel(void *arg)
{
	struct submitter *sub = arg;

	for (uint64_t n = 0; !atomic_load(&stop) || n % OPEN; n++) {
		uint64_t r = check_random(&sub->rng), i = n % OPEN;
		int ret = clockfix_cancel_wait(sub->timer, sub->item[i].job);
		struct clockfix_spec spec;

		if (sub->item[i].job && !sub->item[i].periodic)
			CHECK_EQ(atomic_load(&sub->item[i].runs), ret != 0);
		sub->item[i].periodic = !(r % 16);
		atomic_store(&sub->item[i].runs, 0);
		clockfix_spec_init(&spec);
		spec.start = now() + (int64_t)(r / 128 % 300000) - 20000;
		spec.period = sub->item[i].periodic ? 20000 + r / 1024 % 100000 : 0;
		spec.fn = count_run;
		spec.arg = (void *)&sub->item[i].runs;
		ret = clockfix_schedule(sub->timer, &spec, &sub->item[i].job);
		CHECK(ret == 0 || ret == -ENOMEM);
		if (ret)
			sub->item[i].job = 0;
	}
	for (int i = 0; i < OPEN; i++)
		clockfix_cancel_wait(sub->timer, sub->item[i].job);
	return NULL;
}

static void crowd(uint32_t max_jobs)
{
	static struct submitter subs[THREADS];
	struct clockfix_options options;
	struct clockfix_stats *seen;
	struct clockfix *timer;
	int64_t end = now() + 1500 * MS;

	clockfix_options_init(&options);
	options.max_jobs = max_jobs;
	memset(subs, 0, sizeof(subs));
	atomic_store(&stop, false);
	timer = create(&options);
	for (int i = 0; i < THREADS; i++) {
		subs[i].timer = timer;
		subs[i].rng = 1000 + i;
		pthread_create(&subs[i].thread, NULL, submit_and_cancel, &subs[i]);
	}
	while (now() < end) {
		stats(timer);
		nap(MS);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(subs[i].thread, NULL);
	CHECK_EQ(clockfix_drain(timer), 0);
	seen = stats(timer);
	CHECK_EQ(seen->pending, 0);
	printf("# %llu runs, %llu cancelled\n", (unsigned long long)seen->jobs,
	       (unsigned long long)seen->cancelled);
	CHECK(seen->jobs > 100 && seen->cancelled > 100);
	destroy(timer);
}

static void threads_submit_and_cancel(void)
{
	crowd(0);
	crowd(16);
}

CHECK_MAIN(TEST(the_process_is_stopped), TEST(a_child_has_no_worker),
	   TEST(signals_do_not_reach_the_worker), TEST(a_timer_ends_though_its_job_arms_itself),
	   TEST(a_job_ends_its_timer), TEST(a_release_does_not_keep_its_timer_alive),
	   TEST(cancel_wait_waits_and_is_no_cancellation_point), TEST(without_privileges),
	   TEST(options_take_effect), TEST(a_limit_on_real_time_is_kept),
	   TEST(the_child_of_a_job_frees_its_copy),
	   TEST(a_descriptor_is_readable_before_the_instant),
	   TEST(threads_have_sleepers_of_their_own), TEST(threads_submit_and_cancel))

// SPDX-License-Identifier: LGPL-2.1-or-later
/* timer.c - make, end and describe a timer */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <platform.h>

#include "options.h"
#include "state.h"

/* the dummy, the last of the queue, jobs that run */
#define SLOTS_EXTRA 16

static _Atomic bool *alive_create(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	_Atomic bool *alive;

	alive = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (alive == MAP_FAILED)
		return NULL;
	if (madvise((void *)alive, page, MADV_WIPEONFORK)) {
		munmap((void *)alive, page);
		return NULL;
	}
	atomic_store(alive, true);
	return alive;
}

static void alive_destroy(_Atomic bool *alive)
{
	if (alive)
		munmap((void *)alive, sysconf(_SC_PAGESIZE));
}

static int mutex_create(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int ret;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	ret = -pthread_mutex_init(mutex, &attr);
	/* a kernel or emulator without PI futexes */
	if (ret == -ENOTSUP)
		ret = -pthread_mutex_init(mutex, NULL);
	pthread_mutexattr_destroy(&attr);
	return ret;
}

static void end(struct clockfix *timer)
{
	timer_release(timer);
	pthread_mutex_destroy(&timer->mutex);
	timer_free(timer);
}

/* In the worker's thread. Where the timer slack is refused it is the system's. */
static int prepare(const struct clockfix_options *options)
{
	struct sched_param param = { .sched_priority = options->priority };
	cpu_set_t set;

	prctl(PR_SET_NAME, "clockfix");
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (options->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(options->cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			return -errno;
	}
	if (options->policy == SCHED_OTHER)
		return 0;
	return -pthread_setschedparam(pthread_self(), options->policy, &param);
}

static void *worker(void *arg)
{
	struct clockfix *timer = arg;

	worker_set_self(timer);
	timer->setup = prepare(&timer->options);
	atomic_store(&timer->ready, 1);
	pf_futex_wake(&timer->ready);
	if (!timer->setup) {
		while (worker_turn(timer))
			;
	}
	if (timer->detached) {
		/* what it releases is not called by a job */
		worker_set_self(NULL);
		end(timer);
	}
	return NULL;
}

static int worker_start(struct clockfix *timer)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&timer->thread, NULL, worker, timer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return ret;
	while (!atomic_load(&timer->ready))
		pf_futex_wait(&timer->ready, 0, INT64_MAX);
	if (timer->setup)
		pthread_join(timer->thread, NULL);
	return timer->setup;
}

void timer_release(struct clockfix *timer)
{
	for (uint32_t i = 0; i < timer->slots.used; i++)
		slot_release(slot_at(&timer->slots, i));
}

void timer_free(struct clockfix *timer)
{
	alive_destroy(timer->alive);
	slots_destroy(&timer->slots);
	pf_free(timer, sizeof(*timer));
}

int timer_new(struct clockfix **result, const struct clockfix_options *given)
{
	struct clockfix_options options;
	struct clockfix *timer;
	int ret;

	ret = options_get(&options, given);
	if (ret)
		return ret;
	timer = pf_alloc(sizeof(*timer));
	if (!timer)
		return -ENOMEM;
	timer->options = options;
	/* as many again: cancelled jobs of the worker's own wait there for its next turn */
	ret = slots_init(&timer->slots, 2 * options.max_jobs + reserve_of(&options) + SLOTS_EXTRA);
	if (ret)
		goto free_timer;
	ret = -ENOMEM;
	timer->alive = alive_create();
	if (!timer->alive)
		goto free_timer;
	timer_jobs_init(timer);
	waiter_init(&timer->waiter, &options, &timer->stats);
	ret = mutex_create(&timer->mutex);
	if (ret)
		goto free_timer;
	*result = timer;
	return 0;

free_timer:
	timer_free(timer);
	return ret;
}

int clockfix_create(struct clockfix **result, const struct clockfix_options *options)
{
	struct clockfix *timer;
	int ret;

	if (!result)
		return -EINVAL;
	ret = timer_new(&timer, options);
	if (ret)
		return ret;
	ret = worker_start(timer);
	if (ret) {
		end(timer);
		return ret;
	}
	*result = timer;
	return 0;
}

int clockfix_destroy(struct clockfix *timer, unsigned int flags)
{
	int cancel_state;

	if (flags & ~CLOCKFIX_DROP_PENDING)
		return -EINVAL;
	if (!timer)
		return 0;
	if (timer_check(timer)) {
		if (!worker_is_self(timer)) {
			timer_release(timer);
			timer_free(timer);
			return 0;
		}
		/* the child of a job: it may come back from it */
		flags = CLOCKFIX_DROP_PENDING;
	}
	if (worker_is_self(timer) && !(flags & CLOCKFIX_DROP_PENDING))
		return -EDEADLK;
	if (flags & CLOCKFIX_DROP_PENDING)
		atomic_store(&timer->drop, true);
	atomic_store(&timer->dead, true);
	if (worker_is_self(timer)) {
		timer->detached = true;
		return -pthread_detach(pthread_self());
	}
	/* half-ended timers are of no use to anyone: no cancellation here */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	wake_notify(&timer->wake, INT64_MIN);
	pthread_join(timer->thread, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	end(timer);
	return 0;
}

int clockfix_drain(struct clockfix *timer)
{
	int ret = timer_check(timer);

	if (ret)
		return ret;
	if (worker_is_self(timer))
		return -EDEADLK;
	atomic_fetch_add(&timer->draining, 1);
	for (;;) {
		uint32_t drained = atomic_load(&timer->drained);

		if (!timer_pending(timer))
			break;
		pf_futex_wait(&timer->drained, drained, INT64_MAX);
	}
	atomic_fetch_sub(&timer->draining, 1);
	timer_clean(timer);
	return 0;
}

int64_t clockfix_now(clockid_t clock)
{
	return pf_clock(clock);
}

int clockfix_stats_read(struct clockfix *timer, struct clockfix_stats *stats)
{
	struct clockfix_stats own;
	int ret = timer_check(timer);

	if (ret)
		return ret;
	stats_copy(&timer->stats, &own);
	own.pending = timer_pending(timer);
	return sized_return(stats, &own, sizeof(own));
}

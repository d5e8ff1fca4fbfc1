// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers that wait with a timeout. */
#define _GNU_SOURCE
#include "api.h"
#include "churn.h"
#include "task.h"
#include "timers.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * One wait with API. By a clock that is set meanwhile it may end whenever it
 * likes by CLOCK_MONOTONIC, but it must end.
 */
static void sleep_with(struct worker *worker, const struct api *api)
{
	unsigned int *sets = &worker->churn->clock_sets;
	unsigned int before = __atomic_load_n(sets, __ATOMIC_ACQUIRE);
	u64 expiry = now() + pick_delay(&worker->random);
	u64 due = expiry;
	int ret;

	worker->armed++;
	worker->due = expiry;
	ret = api->wait(api, expiry, &due);
	worker->due = 0;
	if (ret)
		blame(worker, BROKEN, "%s: %s", api->name, strerror(-ret));
	if ((api->clock == CLOCK_REALTIME || api->clock == CLOCK_TAI) &&
	    (before % 2 || before != __atomic_load_n(sets, __ATOMIC_ACQUIRE)))
		worker->fired++;
	else
		account(worker, due, api->name);
}

void churn_sleep(struct worker *worker)
{
	while (!churn_stopped(worker->churn))
		sleep_with(worker, &apis[pick(&worker->random, api_count)]);
}

/* While it is SCHED_DEADLINE, which it may just have become, it cannot start a thread. */
static int start_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
	int ret;

	while ((ret = pthread_create(thread, NULL, function, argument)) == EAGAIN)
		sleep_for(1 * MSEC);
	return ret;
}

/* What the other side of an interrupted wait needs. */
struct pair {
	unsigned int word;
	int event;
	unsigned int stop;
	u64 random;
};

static void *interrupt(void *argument)
{
	struct pair *pair = argument;
	u64 one = 1;

	while (!__atomic_load_n(&pair->stop, __ATOMIC_ACQUIRE)) {
		sleep_for(pick_delay(&pair->random));
		__atomic_fetch_add(&pair->word, 1, __ATOMIC_RELEASE);
		wake_all(&pair->word);
		if (write(pair->event, &one, sizeof(one)) < 0)
			break;
	}
	return NULL;
}

/* Each returns 1 if the timer ended the wait, 0 if the other side did, or -errno. */
static int wait_on_futex(struct pair *pair, u64 delay)
{
	unsigned int value = __atomic_load_n(&pair->word, __ATOMIC_ACQUIRE);
	struct timespec time = to_timespec(delay);

	if (!syscall(SYS_futex, &pair->word, FUTEX_WAIT, value, &time, NULL, 0))
		return 0;
	return errno == ETIMEDOUT ? 1 : errno == EAGAIN ? 0 : -errno;
}

static int ended_by(int result)
{
	return result == 0 ? 1 : result > 0 ? 0 : -errno;
}

static int wait_on_poll(struct pair *pair, u64 delay)
{
	struct pollfd event = { .fd = pair->event, .events = POLLIN };
	struct timespec time = to_timespec(delay);

	return ended_by(ppoll(&event, 1, &time, NULL));
}

static int wait_on_select(struct pair *pair, u64 delay)
{
	struct timespec time = to_timespec(delay);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair->event, &set);
	return ended_by(pselect(pair->event + 1, &set, NULL, NULL, &time, NULL));
}

static int wait_on_epoll(struct pair *pair, u64 delay)
{
	static int epoll = -1;
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec time = to_timespec(delay);

	if (epoll < 0) {
		epoll = epoll_create1(EPOLL_CLOEXEC);
		if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, pair->event, &event))
			return -errno;
	}
	return ended_by(syscall(SYS_epoll_pwait2, epoll, &event, 1, &time, NULL, 0));
}

static int (* const waits[])(struct pair *pair, u64 delay) = {
	wait_on_futex, wait_on_poll, wait_on_select, wait_on_epoll,
};

void churn_interrupted_wait(struct worker *worker)
{
	struct pair pair = {
		.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
		.random = worker->random ^ 1,
	};
	pthread_t partner;
	u64 count;

	if (pair.event < 0 || start_thread(&partner, interrupt, &pair)) {
		blame(worker, BROKEN, "eventfd or thread: %m");
		return;
	}
	while (!churn_stopped(worker->churn)) {
		unsigned int which = pick(&worker->random, ARRAY_SIZE(waits));
		u64 delay = pick_delay(&worker->random);
		u64 due = now() + delay;
		int ret;

		worker->armed++;
		worker->due = due;
		ret = waits[which](&pair, delay);
		worker->due = 0;
		if (ret == 1)
			account(worker, due, "interruptible wait");
		else
			worker->cancelled++;
		if (ret < 0)
			blame(worker, BROKEN, "wait %u: %s", which, strerror(-ret));
		if (read(pair.event, &count, sizeof(count)) < 0 && errno != EAGAIN)
			blame(worker, BROKEN, "eventfd: %m");
	}
	__atomic_store_n(&pair.stop, 1, __ATOMIC_RELEASE);
	pthread_join(partner, NULL);
}

/* Sleep while holding a lock that others wait for with a timeout. */
struct holder {
	pthread_mutex_t mutex;
	unsigned int stop;
	u64 random;
};

static void *hold(void *argument)
{
	struct holder *holder = argument;

	while (!__atomic_load_n(&holder->stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&holder->mutex);
		sleep_for(pick_delay(&holder->random));
		pthread_mutex_unlock(&holder->mutex);
		sleep_for(pick_between(&holder->random, 1, 2 * MSEC) * slowness());
	}
	return NULL;
}

static void lock_with_timeout(struct worker *worker, struct holder *holder)
{
	u64 due = now() + pick_delay(&worker->random);
	struct timespec time = to_timespec(due);
	int ret;

	worker->armed++;
	worker->due = due;
	/* FUTEX_LOCK_PI2: the timeout is on CLOCK_MONOTONIC. */
	ret = pthread_mutex_clocklock(&holder->mutex, CLOCK_MONOTONIC, &time);
	worker->due = 0;
	if (ret == ETIMEDOUT) {
		account(worker, due, "PI lock");
		return;
	}
	worker->cancelled++;
	if (ret)
		blame(worker, BROKEN, "PI lock: %s", strerror(ret));
	else
		pthread_mutex_unlock(&holder->mutex);
}

void churn_pi_lock(struct worker *worker)
{
	struct holder holder = { .random = worker->random ^ 2 };
	pthread_t thread;

	pi_mutex_init(&holder.mutex);
	if (start_thread(&thread, hold, &holder)) {
		blame(worker, BROKEN, "no thread");
		return;
	}
	while (!churn_stopped(worker->churn)) {
		lock_with_timeout(worker, &holder);
		sleep_for(pick_between(&worker->random, 1, 500 * USEC) * slowness());
	}
	__atomic_store_n(&holder.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

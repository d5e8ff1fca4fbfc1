// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workers that own timers: timerfds, POSIX timers, the interval timer. Each
 * owner has several, arms, changes and cancels them at random, and collects what
 * fired from time to time.
 *
 * A one-shot timer fires exactly once, not before it is due, or is cancelled. A
 * periodic one has, whenever one looks, fired no more often than its periods
 * allow, and as often as these demand once it has been waited for.
 */
#define _GNU_SOURCE
#include "churn.h"
#include "task.h"
#include "timers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TIMERS 6
/* After which a pending timer is lost, once all is at rest. */
#define PATIENCE (2 * SEC * slowness())

struct timer {
	bool armed;
	u64 first, period;	/* CLOCK_MONOTONIC, ns; period 0: one-shot */
	u64 fired;		/* since it was armed */
	int fd;
	timer_t id;
};

/* How a kind of timer is handled; all return 0 or -errno. */
struct kind {
	const char *name;
	unsigned int timers;
	int (*create)(struct timer *timer, unsigned int number);
	/* FIRST 0: disarms. */
	int (*set)(struct timer *timer, u64 first, u64 period);
	/* Adds to .fired of all timers what has fired; waits for at most LIMIT ns. */
	int (*collect)(struct timer *timers, unsigned int count, u64 limit);
};

/* Expirations up to TIME. */
static u64 periods(const struct timer *timer, u64 time)
{
	if (time < timer->first)
		return 0;
	return timer->period ? (time - timer->first) / timer->period + 1 : 1;
}

static void check_not_too_often(struct worker *worker, const struct kind *kind,
				const struct timer *timer)
{
	u64 most = periods(timer, now());

	if (timer->fired <= most)
		return;
	blame(worker, most || timer->period ? MISCOUNTED : EARLY,
	      "%s: fired %llu times, at most %llu were due (period %llu ns)", kind->name,
	      timer->fired, most, timer->period);
}

static void collect(struct worker *worker, const struct kind *kind, struct timer *timers,
		    u64 limit)
{
	u64 before[TIMERS];
	int ret;

	for (unsigned int i = 0; i < kind->timers; i++)
		before[i] = timers[i].fired;
	ret = kind->collect(timers, kind->timers, limit);
	if (ret)
		blame(worker, BROKEN, "%s: %s", kind->name, strerror(-ret));
	for (unsigned int i = 0; i < kind->timers; i++) {
		struct timer *timer = &timers[i];

		if (timer->fired == before[i])
			continue;
		if (!timer->armed) {
			blame(worker, MISCOUNTED, "%s: fired, but was not armed", kind->name);
			continue;
		}
		check_not_too_often(worker, kind, timer);
		if (!timer->period) {
			account(worker, timer->first, kind->name);
			timer->armed = false;
		}
	}
}

/* Ends what is armed: a one-shot timer that has not fired is cancelled. */
static void forget(struct worker *worker, struct timer *timer)
{
	if (!timer->armed)
		return;
	if (timer->period)
		worker->fired++;
	else
		worker->cancelled++;
	timer->armed = false;
}

static void set(struct worker *worker, const struct kind *kind, struct timer *timers,
		struct timer *timer, u64 first, u64 period)
{
	int ret;

	/* What fired before it is changed counts for what it was. */
	collect(worker, kind, timers, 0);
	ret = kind->set(timer, 0, 0);
	collect(worker, kind, timers, 0);
	forget(worker, timer);
	timer->fired = 0;
	if (!ret && first) {
		timer->first = first;
		timer->period = period;
		timer->armed = true;
		worker->armed++;
		ret = kind->set(timer, first, period);
	}
	if (ret)
		blame(worker, BROKEN, "%s: %s", kind->name, strerror(-ret));
}

static void change_one(struct worker *worker, const struct kind *kind, struct timer *timers)
{
	struct timer *timer = &timers[pick(&worker->random, kind->timers)];
	u64 first = now() + pick_delay(&worker->random);

	switch (pick(&worker->random, 6)) {
	case 0:
		set(worker, kind, timers, timer, 0, 0);
		break;
	case 1:
		set(worker, kind, timers, timer, first,
		    pick_between(&worker->random, 300 * USEC, 8 * MSEC) * slowness());
		break;
	default:
		set(worker, kind, timers, timer, first, 0);
		break;
	}
}

static void note_earliest(struct worker *worker, const struct kind *kind,
			  const struct timer *timers)
{
	u64 earliest = 0;

	for (unsigned int i = 0; i < kind->timers; i++)
		if (timers[i].armed && !timers[i].period &&
		    (!earliest || timers[i].first < earliest))
			earliest = timers[i].first;
	worker->due = earliest;
}

/* Waits until each one-shot has fired and each periodic one has fired once more. */
static void wait_for_all(struct worker *worker, const struct kind *kind, struct timer *timers)
{
	u64 limit = now() + PATIENCE;
	u64 start = now();

	for (;;) {
		bool waiting = false;

		collect(worker, kind, timers, 5 * MSEC);
		for (unsigned int i = 0; i < kind->timers; i++) {
			const struct timer *timer = &timers[i];

			if (timer->armed && (!timer->period ||
					     timer->fired < periods(timer, start)))
				waiting = true;
		}
		if (!waiting)
			return;
		if (now() > limit)
			break;
	}
	for (unsigned int i = 0; i < kind->timers; i++)
		if (timers[i].armed)
			blame(worker, LOST, "%s: fired %llu times, %llu were due %llu ns ago",
			      kind->name, timers[i].fired, periods(&timers[i], start),
			      now() - timers[i].first);
}

static void own_timers(struct worker *worker, const struct kind *kind)
{
	struct timer timers[TIMERS] = { 0 };

	for (unsigned int i = 0; i < kind->timers; i++) {
		int ret = kind->create(&timers[i], i);

		if (ret) {
			blame(worker, BROKEN, "%s: %s", kind->name, strerror(-ret));
			return;
		}
	}
	while (!churn_stopped(worker->churn)) {
		change_one(worker, kind, timers);
		note_earliest(worker, kind, timers);
		collect(worker, kind, timers,
			pick_between(&worker->random, 0, 2 * MSEC) * slowness());
		note_earliest(worker, kind, timers);
	}
	wait_for_all(worker, kind, timers);
	for (unsigned int i = 0; i < kind->timers; i++)
		set(worker, kind, timers, &timers[i], 0, 0);
	worker->due = 0;
}

/* Until the first suspend CLOCK_BOOTTIME is CLOCK_MONOTONIC. */
static bool never_suspended(void)
{
	return clock_now(CLOCK_BOOTTIME) - now() < 10 * USEC;
}

static int create_timerfd(struct timer *timer, unsigned int number)
{
	clockid_t clock = number % 2 && never_suspended() ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;

	timer->fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
	return timer->fd < 0 ? -errno : 0;
}

static int set_timerfd(struct timer *timer, u64 first, u64 period)
{
	struct itimerspec setting = to_itimerspec(first, first ? period : 0);

	return timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &setting, NULL) ? -errno : 0;
}

static int collect_timerfds(struct timer *timers, unsigned int count, u64 limit)
{
	struct timespec time = to_timespec(limit);
	struct pollfd fds[TIMERS];

	for (unsigned int i = 0; i < count; i++)
		fds[i] = (struct pollfd){ .fd = timers[i].fd, .events = POLLIN };
	if (ppoll(fds, count, &time, NULL) < 0)
		return -errno;
	for (unsigned int i = 0; i < count; i++) {
		u64 ticks;

		if (read(timers[i].fd, &ticks, sizeof(ticks)) == sizeof(ticks))
			timers[i].fired += ticks;
		else if (errno != EAGAIN)
			return -errno;
	}
	return 0;
}

void churn_timerfd(struct worker *worker)
{
	static const struct kind kind = {
		"timerfd", TIMERS, create_timerfd, set_timerfd, collect_timerfds,
	};

	own_timers(worker, &kind);
}

static int create_posix_timer(struct timer *timer, unsigned int number)
{
	struct sigevent event = {
		.sigev_notify = number % 2 ? SIGEV_SIGNAL : SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN,
		.sigev_value = { .sival_int = number },
	};

	event.sigev_notify_thread_id = syscall(SYS_gettid);
	block_signal(SIGRTMIN);
	return timer_create(CLOCK_MONOTONIC, &event, &timer->id) ? -errno : 0;
}

static int set_posix_timer(struct timer *timer, u64 first, u64 period)
{
	struct itimerspec setting = to_itimerspec(first, first ? period : 0);

	return timer_settime(timer->id, TIMER_ABSTIME, &setting, NULL) ? -errno : 0;
}

/* All signals that are there, and one that comes within LIMIT if none is. */
static int collect_signals(int signal, u64 limit, void (*function)(const siginfo_t *, void *),
			   void *argument)
{
	struct timespec time = to_timespec(limit);
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	while (sigtimedwait(&set, &info, &time) >= 0) {
		function(&info, argument);
		time = to_timespec(0);
	}
	return errno == EAGAIN ? 0 : -errno;
}

static void count_posix_signal(const siginfo_t *info, void *argument)
{
	struct timer *timers = argument;

	timers[info->si_value.sival_int].fired += 1 + info->si_overrun;
}

static int collect_posix_timers(struct timer *timers, unsigned int count, u64 limit)
{
	return collect_signals(SIGRTMIN, limit, count_posix_signal, timers);
}

void churn_posix_timer(struct worker *worker)
{
	static const struct kind kind = {
		"POSIX timer", TIMERS, create_posix_timer, set_posix_timer,
		collect_posix_timers,
	};

	own_timers(worker, &kind);
}

static int create_itimer(struct timer *timer, unsigned int number)
{
	block_signal(SIGALRM);
	return 0;
}

/* It counts whole microseconds from now on, and shows no missed periods: one-shot only. */
static int set_itimer(struct timer *timer, u64 first, u64 period)
{
	struct itimerval setting = { 0 };
	u64 time = now();
	u64 delay = first > time ? (first - time + USEC - 1) / USEC : 1;

	if (first) {
		setting.it_value.tv_sec = delay / 1000000;
		setting.it_value.tv_usec = delay % 1000000;
		timer->period = 0;
	}
	return setitimer(ITIMER_REAL, &setting, NULL) ? -errno : 0;
}

static void count_alarm(const siginfo_t *info, void *argument)
{
	struct timer *timer = argument;

	timer->fired++;
}

static int collect_itimer(struct timer *timers, unsigned int count, u64 limit)
{
	return collect_signals(SIGALRM, limit, count_alarm, timers);
}

void churn_itimer(struct worker *worker)
{
	static const struct kind kind = {
		"setitimer", 1, create_itimer, set_itimer, collect_itimer,
	};

	own_timers(worker, &kind);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules R4 to R6: whose timer it is, priorities that change, several CPUs.
 * Turning the shield on never makes a higher-ranking task later than it was.
 *
 * Every test plays its situation with the shield off and on, and compares how
 * late the task is that matters. They pass on stock. They fail with a timer
 * ranking with the task that armed it, for good: 5 to 50 ms late.
 */
#define _GNU_SOURCE
#include "lib/scene.h"
#include "lib/shield.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TOLERANCE (10 * USEC)
/*
 * The CPUs of a guest with instruction-counted time take turns of 10 ms: that is
 * enough to tell a wake-up from waiting 50 ms for the end of the spinning.
 */
#define TOLERANCE_SMP (20 * MSEC)
#define LEAD (20 * MSEC)		/* from now to the expiry */
#define HOG (5 * MSEC)			/* how long the hog goes on after it */

/* Shared by all processes of a situation. */
struct situation {
	int fd;
	u64 expiry;
	u64 begin;		/* when the waiter begins to wait; 0: before it is armed */
	u64 woke;
	u64 hog_ends;
	pid_t waiter;
	pthread_mutex_t mutex;
};

static struct situation *new_situation(void)
{
	struct situation *s = shared_memory(sizeof(*s));

	pin(test_cpu);
	become(FIFO(99));
	s->expiry = now() + LEAD;
	s->hog_ends = s->expiry + HOG;
	return s;
}

static void spin_to_the_end(void *argument)
{
	struct situation *s = argument;

	spin_until(s->hog_ends);
}

/* Lets FIFO 50 spin over the expiry; how late the waiter was, ns. */
static u64 lateness(struct situation *s)
{
	u64 late;

	require(now() < s->expiry, "prepared too late");
	spawn(FIFO(50), test_cpu, spin_to_the_end, s);
	sleep_until(s->hog_ends + 20 * MSEC);
	require(s->woke, "the task that waits was never woken");
	require(s->woke >= s->expiry, "it was woken early");
	late = s->woke - s->expiry;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return late;
}

/* Plays SITUATION with the shield off and on, and compares. */
static void compare(u64 (*situation)(void *argument), void *argument, u64 tolerance)
{
	u64 off, on;

	shield_set(false);
	situation(argument);
	off = situation(argument);
	shield_set(true);
	on = situation(argument);
	note("%llu ns late, %llu with the shield off", (unsigned long long)on,
	     (unsigned long long)off);
	check(on <= off + tolerance, "%llu ns late, %llu with the shield off",
	      (unsigned long long)on, (unsigned long long)off);
}

/*
 * R4, timerfd: armed by an ordinary task, waited for by FIFO 80.
 */
static void by_read(int fd)
{
}

static void by_poll(int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };

	poll(&event, 1, -1);
}

static void by_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static int epoll_of(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	require(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll: %s",
		strerror(errno));
	return epoll;
}

static void by_epoll(int fd)
{
	struct epoll_event event;

	epoll_wait(epoll_of(fd), &event, 1, -1);
}

static void by_nested_epoll(int fd)
{
	struct epoll_event event;

	epoll_wait(epoll_of(epoll_of(fd)), &event, 1, -1);
}

static void (* const ways[])(int fd) = {
	by_read, by_poll, by_select, by_epoll, by_nested_epoll,
};

struct timerfd_wait {
	struct situation *s;
	void (*way)(int fd);
};

static void wait_for_timerfd(void *argument)
{
	struct timerfd_wait *wait = argument;
	u64 count;

	if (wait->s->begin)
		sleep_until(wait->s->begin);
	wait->way(wait->s->fd);
	if (read(wait->s->fd, &count, sizeof(count)) == sizeof(count))
		wait->s->woke = now();
}

static void arm_timerfd(void *argument)
{
	struct situation *s = argument;
	struct itimerspec setting = { .it_value = to_timespec(s->expiry) };

	require(!timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &setting, NULL),
		"timerfd_settime: %s", strerror(errno));
}

/* ARGUMENT's number: the way; and whether the waiter comes first, or 1 ms before. */
static u64 timerfd_situation(void *argument)
{
	unsigned int number = *(unsigned int *)argument;
	struct timerfd_wait *wait = shared_memory(sizeof(*wait));
	struct situation *s = new_situation();

	wait->s = s;
	wait->way = ways[number % ARRAY_SIZE(ways)];
	s->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (number >= ARRAY_SIZE(ways))
		s->begin = s->expiry - 1 * MSEC;
	s->waiter = spawn(FIFO(80), test_cpu, wait_for_timerfd, wait);
	await_sleep(s->waiter);
	spawn(OTHER, test_cpu, arm_timerfd, s);
	sleep_for(1 * MSEC);
	return lateness(s);
}

static void timerfd_ranks_with_its_waiter(void)
{
	unsigned int number = test_argument();

	compare(timerfd_situation, &number, TOLERANCE);
}

/*
 * R4, POSIX timers: armed by an ordinary thread, the signal is for a FIFO-80
 * thread, named or found by the kernel. Then an interval timer.
 */
struct signal_wait {
	struct situation *s;
	int notify;		/* SIGEV_* */
	pid_t thread;
};

static void *wait_for_signal(void *argument)
{
	struct signal_wait *wait = argument;
	siginfo_t info;
	sigset_t set;

	wait->thread = syscall(SYS_gettid);
	become(FIFO(80));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (sigwaitinfo(&set, &info) >= 0)
		wait->s->woke = now();
	return NULL;
}

static void arm_for_other_thread(void *argument)
{
	struct signal_wait *wait = argument;
	struct sigevent event = { .sigev_notify = wait->notify, .sigev_signo = SIGRTMIN };
	struct itimerspec setting = { .it_value = to_timespec(wait->s->expiry) };
	pthread_t thread;
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	require(!pthread_create(&thread, NULL, wait_for_signal, wait), "no thread");
	while (!wait->thread)
		sleep_for(200 * USEC);
	event.sigev_notify_thread_id = wait->thread;
	require(!timer_create(CLOCK_MONOTONIC, &event, &timer) &&
		!timer_settime(timer, TIMER_ABSTIME, &setting, NULL), "timer: %s",
		strerror(errno));
	pthread_join(thread, NULL);
}

static u64 posix_timer_situation(void *argument)
{
	struct signal_wait *wait = shared_memory(sizeof(*wait));
	struct situation *s = new_situation();

	wait->s = s;
	wait->notify = *(int *)argument;
	spawn(OTHER, test_cpu, arm_for_other_thread, wait);
	sleep_for(5 * MSEC);
	require(wait->thread, "the thread was not started");
	return lateness(s);
}

static void posix_timer_ranks_with_the_thread_it_signals(void)
{
	int notify = SIGEV_THREAD_ID;

	compare(posix_timer_situation, &notify, TOLERANCE);
}

static void posix_timer_ranks_with_its_process(void)
{
	int notify = SIGEV_SIGNAL;

	compare(posix_timer_situation, &notify, TOLERANCE);
}

static u64 * volatile alarm_time;

static void note_alarm(int signal)
{
	*alarm_time = now();
}

/* Arms as an ordinary task, becomes FIFO 80, and spins over the expiry itself. */
static void arm_itimer_and_rise(void *argument)
{
	struct situation *s = argument;
	struct itimerval setting = { 0 };

	alarm_time = &s->woke;
	signal(SIGALRM, note_alarm);
	setting.it_value.tv_usec = (s->expiry - now()) / USEC + 1;
	setitimer(ITIMER_REAL, &setting, NULL);
	become(FIFO(80));
	spin_until(s->expiry + 4 * MSEC);
}

static u64 itimer_situation(void *argument)
{
	struct situation *s = new_situation();

	s->waiter = spawn(OTHER, test_cpu, arm_itimer_and_rise, s);
	sleep_for(1 * MSEC);
	return lateness(s);
}

static void itimer_rises_with_its_process(void)
{
	compare(itimer_situation, NULL, TOLERANCE);
}

/*
 * R5: a sleeper's priority is changed while it sleeps.
 */
static void sleep_to_expiry(void *argument)
{
	struct situation *s = argument;

	sleep_until(s->expiry);
	s->woke = now();
}

static u64 raised_sleeper_situation(void *argument)
{
	struct situation *s = new_situation();

	s->waiter = spawn(FIFO(10), test_cpu, sleep_to_expiry, s);
	await_sleep(s->waiter);
	require(!set_policy(s->waiter, FIFO(80)), "set_policy");
	return lateness(s);
}

static void sleeper_that_is_raised_is_on_time(void)
{
	compare(raised_sleeper_situation, NULL, TOLERANCE);
}

/* And lowered: it does not interrupt any more. Fails on stock by the interruption. */
static void sleeper_that_is_lowered_is_masked(void)
{
	struct situation *s = new_situation();
	struct window window;

	window_prepare();
	s->expiry = now() + LEAD;
	s->waiter = spawn(FIFO(80), test_cpu, sleep_to_expiry, s);
	await_sleep(s->waiter);
	require(!set_policy(s->waiter, FIFO(10)), "set_policy");
	become(FIFO(50));
	sleep_for(1 * MSEC);
	window_spin(&window, s->expiry + 2 * MSEC);
	sleep_for(5 * MSEC);
	window_read(&window);
	check_undisturbed(&window, "lowered sleeper");
	check(s->woke >= s->expiry, "lost or early");
}

/*
 * R5, priority inheritance: FIFO 10 sleeps 1 ms holding a lock that FIFO 90
 * waits for, FIFO 50 spins.
 */
static void hold_and_sleep(void *argument)
{
	struct situation *s = argument;

	pthread_mutex_lock(&s->mutex);
	sleep_until(s->expiry);
	pthread_mutex_unlock(&s->mutex);
	pause();
}

static void wait_for_lock(void *argument)
{
	struct situation *s = argument;

	pthread_mutex_lock(&s->mutex);
	s->woke = now();
	pthread_mutex_unlock(&s->mutex);
}

static u64 inheritance_situation(void *argument)
{
	struct situation *s = new_situation();
	pthread_mutexattr_t attributes;
	pid_t holder;
	u64 late;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->mutex, &attributes);
	holder = spawn(FIFO(10), test_cpu, hold_and_sleep, s);
	await_sleep(holder);
	s->waiter = spawn(FIFO(90), test_cpu, wait_for_lock, s);
	await_sleep(s->waiter);
	late = lateness(s);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return late;
}

static void boosted_sleepers_timer_is_boosted(void)
{
	compare(inheritance_situation, NULL, TOLERANCE);
}

/*
 * R5 from another CPU: FIFO 90 on CPU 1, with an expired FIFO-50 timer masked, is
 * lowered to FIFO 10 by a task on CPU 0.
 */
static void lowered_by_another_cpu(void)
{
	struct situation *s;
	pid_t spinner;
	u64 lowered;

	if (online_cpus() < 2)
		skip("needs two CPUs");
	test_cpu = 1;
	s = new_situation();
	pin(0);
	s->waiter = spawn(FIFO(50), 1, sleep_to_expiry, s);
	s->hog_ends = s->expiry + 40 * MSEC;
	spinner = spawn(FIFO(90), 1, spin_to_the_end, s);
	sleep_until(s->expiry + 5 * MSEC);
	require(!s->woke, "FIFO 90 did not keep FIFO 50 from running");
	lowered = now();
	require(!set_policy(spinner, FIFO(10)), "set_policy");
	sleep_until(s->hog_ends + 20 * MSEC);
	check(s->woke && s->woke <= lowered + 2 * MSEC,
	      "FIFO 50 ran %lld ns after FIFO 90 was lowered", (long long)(s->woke - lowered));
}

/*
 * R6: CPU 0 is busy at FIFO 90, CPU 1 idle. A FIFO-50 task allowed on both, whose
 * timer is on CPU 0, wakes up on CPU 1, and FIFO 90 is not interrupted.
 */
static struct window *smp_window;

static void spin_in_window(void *argument)
{
	struct situation *s = argument;

	window_spin(smp_window, s->hog_ends);
}

static void sleep_anywhere(void *argument)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sleep_to_expiry(argument);
}

static u64 two_cpu_situation(void *argument)
{
	struct situation *s = new_situation();

	s->hog_ends = s->expiry + 50 * MSEC;
	s->waiter = spawn(FIFO(50), 0, sleep_anywhere, s);
	await_sleep(s->waiter);
	spawn(FIFO(90), 0, spin_in_window, s);
	become(FIFO(60));
	sleep_until(s->hog_ends + 20 * MSEC);
	require(s->woke >= s->expiry, "lost, or early");
	return s->woke - s->expiry;
}

static void wakes_on_a_cpu_that_is_free(void)
{
	if (online_cpus() < 2)
		skip("needs two CPUs");
	window_prepare();
	smp_window = shared_memory(sizeof(*smp_window));
	compare(two_cpu_situation, NULL, TOLERANCE_SMP);
	window_read(smp_window);
	check_undisturbed(smp_window, "FIFO 90 on CPU 0");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "timerfd_read", timerfd_ranks_with_its_waiter, 0 },
		{ "timerfd_poll", timerfd_ranks_with_its_waiter, 1 },
		{ "timerfd_select", timerfd_ranks_with_its_waiter, 2 },
		{ "timerfd_epoll", timerfd_ranks_with_its_waiter, 3 },
		{ "timerfd_nested_epoll", timerfd_ranks_with_its_waiter, 4 },
		{ "timerfd_read_late", timerfd_ranks_with_its_waiter, 5 },
		{ "timerfd_poll_late", timerfd_ranks_with_its_waiter, 6 },
		{ "timerfd_select_late", timerfd_ranks_with_its_waiter, 7 },
		{ "timerfd_epoll_late", timerfd_ranks_with_its_waiter, 8 },
		{ "timerfd_nested_epoll_late", timerfd_ranks_with_its_waiter, 9 },
		TEST(posix_timer_ranks_with_the_thread_it_signals),
		TEST(posix_timer_ranks_with_its_process),
		TEST(itimer_rises_with_its_process),
		TEST(sleeper_that_is_raised_is_on_time),
		TEST(sleeper_that_is_lowered_is_masked),
		TEST(boosted_sleepers_timer_is_boosted),
		TEST(lowered_by_another_cpu),
		TEST(wakes_on_a_cpu_that_is_free),
	};

	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}

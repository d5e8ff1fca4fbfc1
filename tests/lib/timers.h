/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many tests arm, and hold. Times are on CLOCK_MONOTONIC, in ns. */
#ifndef TESTS_TIMERS_H
#define TESTS_TIMERS_H

#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct itimerspec to_itimerspec(u64 first, u64 period);

int timerfd_new(clockid_t clock, int flags);

/* Arms a timerfd for FIRST (0: disarms it) and then every PERIOD; the test fails if that does. */
void timerfd_arm(int fd, u64 first, u64 period);

/* Reads it, which waits for an expiry unless it is TFD_NONBLOCK: how often it has expired. */
u64 timerfd_await(int fd);

/*
 * Creates a POSIX timer on CLOCK that sends SIGRTMIN, to THREAD with SIGEV_THREAD_ID, and arms
 * it; the test fails if that does.
 */
timer_t posix_timer_new(clockid_t clock, int notify, pid_t thread, u64 first, u64 period);

/* The same on CLOCK_MONOTONIC. */
timer_t posix_timer_arm(int notify, pid_t thread, u64 first, u64 period);

/* Arms the interval timer for the next microsecond after EXPIRY. */
void itimer_arm(u64 expiry);

/* Blocks SIGNAL; returns the set to wait for. */
sigset_t block_signal(int signal);

/* A mutex that processes share and whose holder inherits priorities. */
void pi_mutex_init(pthread_mutex_t *mutex);
/* The same in shared memory. */
pthread_mutex_t *pi_mutex_new(void);

/* An epoll set, with FD in it (-1: empty); the test fails if anything does. */
int epoll_with(int fd);
void epoll_add(int set, int fd);
/* What epoll_wait() returns, which waits for one event for ever. */
int epoll_await(int set);

/* Waits for a file in one way or another; 1 if there is something to read, else 0 or -1. */
int by_poll(int fd);
int by_select(int fd);
int by_epoll(int fd);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes with a scheduling policy, a CPU, and memory that they share.
 *
 * A process is a block in its test, and sees the variables of the test as they are when it starts:
 *
 *	u64 *woke = shared_memory(sizeof(*woke));
 *	int fd = timerfd_new(CLOCK_MONOTONIC, 0);
 *
 *	ASLEEP(FIFO(80)) {
 *		timerfd_await(fd);
 *		*woke = now();
 *	}
 *	ENDED(OTHER) timerfd_arm(fd, now() + 5 * MSEC, 0);
 *
 * What it writes to them is its own copy: what others are to see is in shared_memory(). It exits
 * at the end of its block or by "continue" (no "break", no "return"), and dies with the test.
 */
#ifndef TESTS_TASK_H
#define TESTS_TASK_H

#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include <time.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

struct policy {
	int policy;		/* SCHED_* */
	int priority;		/* SCHED_FIFO and SCHED_RR: 1..99 */
	int nice;		/* SCHED_OTHER and SCHED_BATCH */
	u64 runtime, period;	/* SCHED_DEADLINE, ns */
};

#define FIFO(p) ((struct policy){ .policy = SCHED_FIFO, .priority = (p) })
#define RR(p) ((struct policy){ .policy = SCHED_RR, .priority = (p) })
#define OTHER ((struct policy){ .policy = SCHED_OTHER })
#define NICE(n) ((struct policy){ .policy = SCHED_OTHER, .nice = (n) })
#define BATCH(n) ((struct policy){ .policy = SCHED_BATCH, .nice = (n) })
#define IDLE ((struct policy){ .policy = SCHED_IDLE })
#define DEADLINE(r, p) \
	((struct policy){ .policy = SCHED_DEADLINE, .runtime = (r), .period = (p) })

/* Sets the policy of a task (0: the caller); 0 or -errno. */
int set_policy(pid_t pid, struct policy policy);

/* The same for the caller; the test fails if it cannot. */
void become(struct policy policy);

/* Gives up every privilege, that to become real-time included. */
void become_nobody(void);

/* The first thread of the kernel whose name begins so; 0: there is none. */
pid_t thread_called(const char *name);

/*
 * Sets the policy of those threads of the kernel that run a CPU's soft
 * interrupts on PREEMPT_RT: as the ordinary tasks that they are, they take turns
 * with a SCHED_IDLE one and may wait for it until the next tick. OTHER: as they were.
 * Without PREEMPT_RT, where there is no such thread, nothing.
 */
void set_softirq_threads(int cpu, struct policy policy);

/* Lets the caller, and what it starts, run on this CPU alone. */
void pin(int cpu);

/* Lets it run on these CPUs, of which N is bit N; 0 or -errno. */
#define CPU(n) (1ull << (n))
int set_affinity(pid_t pid, u64 cpus);

/* The CPU that scenes, windows and traces are about: 0 unless a test sets it. */
extern int test_cpu;

int online_cpus(void);
/* Skips the test where there is but one. */
void needs_two_cpus(void);
/* Skips it on a debug kernel, which takes longer than the test has. */
void needs_a_fast_kernel(void);

/*
 * How many times longer than on other kernels everything takes: 1, or 10 with
 * lockdep and its like. Tests of behaviour multiply their set-up times, loads
 * and bounds by it, so that they check the same thing on every kernel.
 */
unsigned int slowness(void);

/* Whether the kernel is a PREEMPT_RT one: some timers expire in ksoftirqd. */
bool kernel_is_rt(void);

/* Memory shared with all processes started afterwards; zeroed, resident. */
void *shared_memory(size_t size);

/* A barrier for two, processes or threads. */
pthread_barrier_t *barrier_new(void);

/* Waits until another process or thread has set it. */
void await_true(const bool *flag);
void set_true(bool *flag);

/* A thread; the test fails if there is none. */
pthread_t thread_new(void *(*function)(void *argument), void *argument);

/* Lets the caller have so many files, and some more. */
void allow_files(unsigned int count);

/*
 * A process of this policy, on test_cpu or the CPU given after it; the block follows. The test goes
 * on when the process is about to run the block (STARTED), sleeps (ASLEEP) or has exited (ENDED).
 */
#define STARTED(...) PROCESS(NULL, __VA_ARGS__, test_cpu)
#define ASLEEP(...) PROCESS(await_sleep, __VA_ARGS__, test_cpu)
#define ENDED(...) PROCESS(await_exit, __VA_ARGS__, test_cpu)
#define PROCESS(await, policy, cpu, ...)				\
	for (; new_process(policy, cpu, await); end_of_block())

/* The process that was started last. */
extern pid_t newest;

/* What the blocks are made of. True in the new process, false in its parent, which has awaited it. */
bool new_process(struct policy policy, int cpu, void (*await)(pid_t pid));
void end_of_block(void) __attribute__((noreturn));

/* Kills it, and waits until it has ended. */
void end_process(pid_t pid);

/* A letter, see proc_pid_stat(5); 0: there is no such process. */
char process_state(pid_t pid);

/* Waits until the process sleeps in the kernel, or has ended. */
void await_sleep(pid_t pid);
void await_exit(pid_t pid);

/* CLOCK_MONOTONIC, ns. */
u64 now(void);
u64 clock_now(clockid_t clock);
/* Sets CLOCK_REALTIME forward or back. */
void move_clock(s64 by);

/* Sleeps until that time on CLOCK_MONOTONIC. */
void sleep_until(u64 expiry);
void sleep_for(u64 duration);

/*
 * A task that polls the clock calls this with each time that it reads. Under instruction-
 * counted time the guest's CPUs take turns; one that spins keeps the others waiting
 * for up to 200 ms if it does not let them run now and then. True if it has: what
 * the others did meanwhile has taken time.
 */
bool let_other_cpus_run(u64 time);

/* Polls the clock until then. */
void spin_until(u64 expiry);

struct timespec to_timespec(u64 ns);

/* Waits until *WORD is no longer VALUE, or LIMIT (CLOCK_MONOTONIC; 0: for ever) has passed. */
bool wait_while(unsigned int *word, unsigned int value, u64 limit);
void wake_all(unsigned int *word);

#endif

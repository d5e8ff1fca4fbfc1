/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clockfix.h - call a function at an exact time
 *
 * A timer of the operating system fires late: the interrupt, the scheduler, an idle CPU that
 * has to wake up, a hypervisor, all take their time. Most of that delay is alike from one sleep
 * to the next. A clockfix timer measures it, goes to sleep for that much less, and bridges what
 * is then left by polling the clock. So a job starts within tens of nanoseconds of its instant,
 * and never before it, for a fraction of the CPU time that polling throughout would take.
 *
 *	clockfix_sleep_until(NULL, CLOCK_MONOTONIC, clockfix_now(CLOCK_MONOTONIC) + 1000000);
 *
 * returns at that instant. Or functions are called, on a thread of the library:
 *
 *	struct clockfix *timer;
 *
 *	clockfix_create(&timer, NULL);
 *	clockfix_submit(timer, clockfix_now(CLOCK_MONOTONIC) + 1000000, job, arg, NULL);
 *	clockfix_destroy(timer, 0);		(waits for the job)
 *
 * Punctuality and CPU time are two ends of one scale. A program may say which share of its jobs
 * may be late, or how much of a CPU waiting may take; the statistics report both.
 *
 * How it works, in the words of S. Reif and W. Schröder-Preikschat, "Precisely Timed Task
 * Execution" (the sections are quoted below as [III.c] and so on):
 *
 * - One worker thread runs all jobs of a timer, one after the other [III.a]. It never takes a
 *   lock, allocates, frees, or waits for a thread that submits. A job that takes long delays the
 *   jobs behind it.
 * - Jobs lie in a list sorted by instant; submitters keep it sorted and free finished jobs
 *   [III.c-e]. Any number of threads may submit, cancel and read statistics at a time; among
 *   themselves they take turns with a priority-inheriting mutex. Submission takes logarithmic
 *   time in the number of pending jobs.
 * - A job for an instant that has passed runs as soon as possible [III.c]. Jobs with the same
 *   instant run in the order in which they were submitted.
 * - At each wake-up the worker measures the *oversleep* and learns from it [IV].
 *
 * To get the best out of it pin the worker to a CPU that runs nothing else, give it SCHED_FIFO
 * (struct clockfix_options) and lock the program's memory, mlockall(2).
 *
 * Compile with the compiler's own dialect, or define _POSIX_C_SOURCE as 199309L or more: with
 * -std=c11 alone the C library hides CLOCK_MONOTONIC.
 *
 * Conventions: times are int64_t nanoseconds. Functions return 0 or a negative errno value, and a
 * function that fails changes nothing. Any thread may call any function; the comments say which
 * functions a job may call. None is async-signal-safe.
 *
 * Structures that programs and the library exchange begin with their size, which the program
 * sets; later versions of the library append fields. A library that is older than the program
 * refuses fields it does not know unless they are 0; a library that is newer treats fields that
 * the program does not have as 0.
 *
 * fork(): a child has no worker. There every function that takes a timer returns -ECHILD, except
 * clockfix_destroy(), which frees the child's copy. Sleepers keep working, but a sleeper's
 * descriptor is one that parent and child share: make another sleeper. If a job forks, its child
 * must call execve() or _exit() before the job returns; a child that returns from the job
 * ends with exit status 0 and runs no further job.
 *
 * A process that is stopped (SIGSTOP) runs its overdue jobs when it continues. CLOCK_MONOTONIC
 * stands still while the system is suspended, so jobs on it run later by that time. A step of the
 * time of day does not move it.
 */
#ifndef CLOCKFIX_H
#define CLOCKFIX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLOCKFIX_VERSION_MAJOR 3
#define CLOCKFIX_VERSION_MINOR 0
#define CLOCKFIX_VERSION (CLOCKFIX_VERSION_MAJOR << 16 | CLOCKFIX_VERSION_MINOR)

/* A timer: a worker thread and its pending jobs. */
struct clockfix;

/*
 * A job's handle. Once the job is over, or the timer has used its memory for another job,
 * functions return -ENOENT for the handle; after 2^32 uses of that memory it may be another job's.
 * 0 is never a job.
 */
typedef uint64_t clockfix_job;

/* What a job is told when it runs. */
struct clockfix_run {
	int64_t instant;	/* when it was meant to run */
	int64_t started;	/* by CLOCK_MONOTONIC, when waiting ended, immediately before it ran; */
	uint64_t index;		/* periodic jobs: this run is for start + index * period */
	uint64_t missed;	/* periodic jobs: instants passed over since the last run */
	clockfix_job job;	/* the job's own handle */
	struct clockfix *timer;
};

/*
 * A job. Runs on the worker thread, so it should be short and must not block; signals are
 * blocked there. It may submit and cancel jobs (see clockfix_submit() about the limit); it must
 * not end its thread nor wait for its own timer (clockfix_drain(), clockfix_cancel_wait() and
 * clockfix_destroy() without CLOCKFIX_DROP_PENDING return -EDEADLK). @run is valid during the call
 * only.
 */
typedef void (*clockfix_fn)(void *arg, const struct clockfix_run *run);

/* ---- Options ---------------------------------------------------------------------------- */

/* How the next oversleep is predicted. */
enum clockfix_estimator {
	CLOCKFIX_ESTIMATOR_DEFAULT = 0,	/* by late_ppm and cpu_ppm */
	/* those of the paper, for experiments; late_ppm and cpu_ppm have no effect */
	CLOCKFIX_ESTIMATOR_NONE,	/* sleep until the instant, */
	CLOCKFIX_ESTIMATOR_AVERAGE,	/* less the average of the last 64 oversleeps, */
	CLOCKFIX_ESTIMATOR_MAXIMUM,	/* less the greatest of them [IV.a] */
};

/*
 * Options of a timer. Call clockfix_options_init(), then change what you like. A field that is 0
 * stands for its default, but for cpu.
 */
struct clockfix_options {
	size_t size;		/* sizeof(struct clockfix_options), by clockfix_options_init() */
	int32_t cpu;		/* pin the worker to this CPU; -1: do not pin */
	int32_t policy;		/* SCHED_FIFO or SCHED_RR, which need a privilege; 0 (SCHED_OTHER): */
				/* inherit the policy of the thread that creates the timer */
	int32_t priority;	/* 1 to 99 */
	int32_t estimator;	/* enum clockfix_estimator */
	uint32_t late_ppm;	/* How many jobs in a million may start more than 1 us late. Default: */
				/* 15000, for sleeps of 2 ms and more 5000, of 8 ms and more 1700. */
				/* The default gives up where one more punctual job would cost more */
				/* polling than the sleep's length (at least 1 ms, at most 5 ms) */
	uint32_t cpu_ppm;	/* waiting may take that many millionths of a CPU: 50000 is 5 %; */
				/* default: no limit. Without late_ppm it is used up, to have as */
				/* few late jobs as possible; with it it is a limit */
	uint32_t max_jobs;	/* pending jobs at most; 16 to 16,000,000, default 10,000 */
};

/* clockfix_options_init - fill in the defaults */
void clockfix_options_init(struct clockfix_options *options);

/* ---- Timers ----------------------------------------------------------------------------- */

/*
 * clockfix_create - make a timer and start its worker [III.a]
 * @timer: where to put it
 * @options: NULL for the defaults
 *
 * A worker without real-time priority that starts more than 1 of 10 jobs more than 1 ms late does not
 * get the CPU that it polls for, and polling costs it its share: it stops for 1,000 jobs, then tries
 * again. So do sleepers. With the paper's estimators they never stop.
 *
 * -EINVAL: an option is out of its range; -E2BIG: @options has fields this library does not know
 * that are not 0; -ENOMEM, -EAGAIN: no memory or no thread; -EPERM: @policy was refused.
 */
int clockfix_create(struct clockfix **timer, const struct clockfix_options *options);

#define CLOCKFIX_DROP_PENDING	(1u << 0)	/* clockfix_destroy: don't run what is pending */

/*
 * clockfix_destroy - end a timer
 * @timer: NULL is allowed
 * @flags: 0 or CLOCKFIX_DROP_PENDING
 *
 * Waits until all that is pending has run or, with CLOCKFIX_DROP_PENDING, for the running job only;
 * then gives everything back. Periodic jobs are not run again; jobs, and what they release, can submit
 * no more (-ECANCELED). Nobody may use the timer from this call on. Called from one of its jobs with
 * CLOCKFIX_DROP_PENDING, it returns at once, and the timer ends when that job has returned.
 * -EDEADLK: called from one of its jobs without; -EINVAL: other flags.
 */
int clockfix_destroy(struct clockfix *timer, unsigned int flags);

/*
 * clockfix_drain - wait until no job is pending or running
 *
 * A periodic job is pending until it is cancelled or has reached its number of runs. -EDEADLK:
 * called from one of the timer's jobs.
 */
int clockfix_drain(struct clockfix *timer);

/* clockfix_now - read a clock; -EINVAL if there is no such clock */
int64_t clockfix_now(clockid_t clock);

/* ---- Jobs ------------------------------------------------------------------------------- */

/*
 * clockfix_submit - run a job once [III.e]
 * @timer: a timer
 * @instant: when, by CLOCK_MONOTONIC; what has passed runs as soon as possible
 * @fn: the job
 * @arg: handed to it
 * @job: where to put the handle, or NULL
 *
 * Wakes the worker if it sleeps for a later instant, which takes a system call.
 *
 * -EINVAL: @fn is NULL, or @instant is negative or INT64_MAX; -ENOMEM: max_jobs are pending, or
 * no memory; -ECANCELED: clockfix_destroy() was called. Called from one of the timer's jobs, -ENOMEM:
 * 256 jobs submitted that way are pending, or max_jobs if that is less (the worker does not wait for
 * the memory that other threads share).
 */
int clockfix_submit(struct clockfix *timer, int64_t instant, clockfix_fn fn, void *arg,
		    clockfix_job *job);

typedef void (*clockfix_release)(void *arg);

/* A job in full. Prepare with clockfix_spec_init(). */
struct clockfix_spec {
	size_t size;
	int64_t start;		/* first instant */
	int64_t period;		/* 0: once; else 1 ns at least: the k-th at start + k * period */
	uint64_t runs;		/* instants altogether, run or missed; 0: no limit */
	clockfix_fn fn;
	void *arg;
	clockfix_release release;	/* or NULL: called once when the job is over for good */
};

/* clockfix_spec_init - a job that runs once */
void clockfix_spec_init(struct clockfix_spec *spec);

/*
 * clockfix_schedule - run a job once or periodically
 *
 * A periodic job does not drift: its instants depend on @start and @period alone. An instant is
 * missed when the next one has come as well before its run could start: no run for it, but the next
 * run, at the next instant, is told.
 *
 * @release may free what the job uses. It is called once, after the last run: by whoever cancels a
 * job that is pending, else by a thread that submits, drains, waits for the end of a run or
 * destroys the timer; never by the worker on its own. A job that submits or cancels counts as such a
 * thread, and only such a job or the end of the timer releases what a job has submitted. It may call
 * what a job may. Errors are
 * those of clockfix_submit(); -EINVAL also for a negative period, and for @runs without a @period;
 * -E2BIG: @spec has fields this library does not know that are not 0.
 */
int clockfix_schedule(struct clockfix *timer, const struct clockfix_spec *spec,
		      clockfix_job *job);

/*
 * clockfix_cancel - make sure that a job does not run (again)
 *
 * A job may call it, also for itself.
 *
 * 0: it will not run. -EINPROGRESS: it is running, or will be within 5 us; a periodic job ends with
 * this run. -ENOENT: it is over, or was cancelled before.
 */
int clockfix_cancel(struct clockfix *timer, clockfix_job job);

/*
 * clockfix_cancel_wait - cancel a job, and wait for the end of a run in progress
 *
 * Not a cancellation point.
 *
 * 0: the job was cancelled before it ran (again); 1: it was running, or about to, and that run has
 * ended; -ENOENT: it is over, or was cancelled before. In each case the program may free what the
 * job uses, unless another thread cancelled it without waiting. -EDEADLK: called from one of the
 * timer's jobs.
 */
int clockfix_cancel_wait(struct clockfix *timer, clockfix_job job);

/* ---- A thread of one's own -------------------------------------------------------------- */

/* Waits in the caller's thread as a worker does, with its own estimator. */
struct clockfix_sleeper;

/*
 * clockfix_sleeper_create - make a sleeper
 *
 * Of @options those about estimation and polling are used; the thread's CPU and policy are the
 * caller's own affair: -EINVAL if @options ask for them. -E2BIG and -ENOMEM: as for clockfix_create().
 */
int clockfix_sleeper_create(struct clockfix_sleeper **sleeper,
			    const struct clockfix_options *options);

/* clockfix_sleeper_destroy - free a sleeper; NULL is allowed */
void clockfix_sleeper_destroy(struct clockfix_sleeper *sleeper);

/*
 * clockfix_sleep_until - return at an instant
 * @sleeper: used by one thread at a time; NULL: one of the calling thread's own, which its first call
 *	makes (that takes a third of a millisecond) and its end frees
 * @clock: CLOCK_MONOTONIC, CLOCK_TAI, CLOCK_REALTIME, CLOCK_BOOTTIME, or the dynamic clock of a
 *	PTP device, clock_getres(2), which costs a read of that to return: a microsecond or more
 * @instant: returns at once if it has passed
 *
 * Sets the calling thread's timer slack to 1 ns. Bookkeeping waits until the next call. If
 * CLOCK_REALTIME, CLOCK_TAI or CLOCK_BOOTTIME jumps during the sleep, the call returns at the instant by
 * the new time, as clock_nanosleep() does; a jump forward in the last stretch, which is polled, is
 * not seen. By a device's clock that is set it is never early, but may be late. A cancellation
 * point, as clock_nanosleep() is.
 *
 * -EINVAL: no such clock, or @instant is negative; -ENOMEM: no memory for the thread's own sleeper;
 * -EINTR: a signal handler ran during the sleep, also if the instant passed meanwhile.
 */
int clockfix_sleep_until(struct clockfix_sleeper *sleeper, clockid_t clock, int64_t instant);

/*
 * clockfix_sleeper_fd - a file descriptor for event loops (epoll, libuv, asyncio)
 *
 * Becomes readable shortly before the instant that the sleeper is armed for. It stays the
 * sleeper's, which closes it. A negative errno value on failure.
 */
int clockfix_sleeper_fd(struct clockfix_sleeper *sleeper);

/*
 * clockfix_sleeper_arm - have the descriptor become readable before an instant of CLOCK_MONOTONIC
 *
 * By as much as event loop and wake-up have been late before. Replaces what was armed. -EINVAL:
 * @instant is negative.
 */
int clockfix_sleeper_arm(struct clockfix_sleeper *sleeper, int64_t instant);

/*
 * clockfix_sleeper_finish - wait out the rest, and return at the instant
 *
 * To be called when the descriptor is readable. -EAGAIN: it is not; -EINTR: as
 * clockfix_sleep_until(); -EINVAL: there is no descriptor.
 */
int clockfix_sleeper_finish(struct clockfix_sleeper *sleeper);

/* ---- Statistics ------------------------------------------------------------------------- */

/*
 * A histogram with a relative error of at most 1/16: buckets 0 to 15 hold that many ns each;
 * from there on each power of two is divided into 16. Read it with the functions below.
 */
#define CLOCKFIX_HISTOGRAM_BUCKETS 640

struct clockfix_histogram {
	uint64_t count;
	int64_t sum;
	int64_t max;
	uint64_t bucket[CLOCKFIX_HISTOGRAM_BUCKETS];
};

/*
 * clockfix_histogram_add - count a value
 *
 * For a histogram of one's own, which begins with zeros: a job that wants statistics apart from its
 * timer's adds run->started - run->instant. One thread adds; others may read meanwhile.
 */
void clockfix_histogram_add(struct clockfix_histogram *histogram, int64_t value);

/* clockfix_histogram_quantile - a share of @q (0 to 1) of the values is not above this one */
int64_t clockfix_histogram_quantile(const struct clockfix_histogram *histogram, double q);

struct clockfix_stats {
	size_t size;			/* sizeof(struct clockfix_stats), set by the program */
	uint64_t jobs;			/* runs of jobs */
	uint64_t cancelled;		/* jobs cancelled before they ran */
	uint64_t pending;		/* jobs pending now */
	uint64_t sleeps;		/* times the worker slept */
	uint64_t missed;		/* instants of periodic jobs that were missed */
	uint64_t late;			/* jobs that started more than 1 us late */
	uint64_t stopped;		/* times that polling was given up; clockfix_create() */
	int64_t polled;			/* time spent polling */
	int64_t late_ppm;		/* share of late jobs in the last 256 or so, in millionths */
	int64_t cpu_ppm;		/* CPU time that waiting took meanwhile, in millionths of a CPU */
	struct clockfix_histogram lateness;	/* start of job after its instant */
};

/*
 * clockfix_stats_read, clockfix_sleeper_stats_read - what happened so far
 *
 * May be called while jobs run, from jobs too; costs the worker nothing. A sleeper's are read by
 * the thread that uses it; their lateness is what the caller of clockfix_sleep_until() sees if it
 * reads the clock next. Each figure is exact,
 * but they need not be of the very same moment. Fields that the library does not know become 0.
 * -EINVAL: @stats->size is less than that of the first version, or absurd.
 */
int clockfix_stats_read(struct clockfix *timer, struct clockfix_stats *stats);
int clockfix_sleeper_stats_read(struct clockfix_sleeper *sleeper, struct clockfix_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* CLOCKFIX_H */

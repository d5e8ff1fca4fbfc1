/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clockfix.h - run a job at exactly its instant
 *
 * A timer of the operating system rings late: the interrupt, the scheduler, an idle CPU that
 * has to wake up, a hypervisor, all take their time. Most of that delay is alike from one sleep
 * to the next. A clockfix timer measures it, goes to sleep for that much less, and bridges what
 * is then left by polling the clock. So a job starts within tens of nanoseconds of its instant,
 * and never before it, for a fraction of the CPU time that polling throughout would take.
 *
 *	struct clockfix *timer;
 *
 *	clockfix_create(&timer, NULL);
 *	clockfix_submit(timer, clockfix_now(CLOCK_MONOTONIC) + 1000000, job, arg, NULL);
 *	clockfix_destroy(timer, 0);		(waits for the job)
 *
 * How it works, in the words of S. Reif and W. Schröder-Preikschat, "Precisely Timed Task
 * Execution" (the sections are quoted below as [III.c] and so on):
 *
 * - One worker thread runs all jobs of a timer, one after the other [III.a]. It never takes a
 *   lock, allocates, frees, or waits for a thread that submits. A job that takes long delays the
 *   jobs behind it; the statistics say by how much.
 * - Jobs lie in a list sorted by instant; those who submit keep it sorted and clean it up
 *   [III.c-e]. Any number of threads may submit, cancel and read statistics at a time; among
 *   themselves they take turns with a priority-inheriting mutex. Submission takes logarithmic
 *   time in the number of pending jobs.
 * - A job for an instant that has passed runs as soon as possible [III.c]. Jobs with the same
 *   instant run in the order in which they were submitted.
 * - At each wake-up the worker measures the *oversleep* and learns from it [IV].
 *
 * Conventions: times are int64_t nanoseconds. Functions return 0 or a negative errno value, and
 * where one fails nothing has changed. All functions may be called from any thread; the text
 * says where a job itself may call them. None is async-signal-safe. In a child made by fork()
 * there is no worker: there every function that is given a timer returns -ECHILD, except
 * clockfix_destroy(), which gives the child's copy back. Sleepers go on working.
 *
 * A process that is stopped (SIGSTOP) or suspended finds its overdue jobs run when it goes on,
 * as any submitted for the past. A step of the time of day does not move CLOCK_MONOTONIC.
 * It does move CLOCK_TAI, which is noticed at once (within half a second where only the kernel's
 * offset of TAI is set): jobs then run by the new time.
 */
#ifndef CLOCKFIX_H
#define CLOCKFIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLOCKFIX_VERSION_MAJOR 1
#define CLOCKFIX_VERSION_MINOR 0

/* A timer: a worker thread and its pending jobs. */
struct clockfix;

/*
 * A job's handle. It stays safe to use for ever: once the job is over, or the timer has used its
 * memory for another job, functions that are given the handle say -ENOENT. 0 is never a job.
 */
typedef uint64_t clockfix_job;

/* What a job is told when it runs. */
struct clockfix_run {
	int64_t instant;	/* when it was meant to run, in the clock it was submitted for */
	int64_t started;	/* CLOCK_MONOTONIC when waiting ended, immediately before it ran */
	uint64_t index;		/* periodic jobs: this run is for start + index * period */
	uint64_t missed;	/* periodic jobs: instants passed over since the last run */
	clockfix_job job;	/* the job's own handle */
	struct clockfix *timer;
};

/*
 * A job. Runs on the worker thread, so it should be short and must not block; signals are
 * blocked there. It may submit and cancel jobs (see clockfix_submit() about the limit); it must
 * not end its thread nor call clockfix_destroy(), clockfix_drain() or clockfix_cancel_wait() on
 * its own timer (they return -EDEADLK). @run is valid during the call only.
 */
typedef void (*clockfix_fn)(void *arg, const struct clockfix_run *run);

/* ---- Options ---------------------------------------------------------------------------- */

/* How the next oversleep is predicted from those seen. */
enum clockfix_estimator {
	CLOCKFIX_ESTIMATOR_DEFAULT = 0,	/* the best known here: at present REGIME */
	CLOCKFIX_ESTIMATOR_NONE,	/* no prediction: sleep until the instant itself */
	CLOCKFIX_ESTIMATOR_MAX,		/* the paper's: greatest of a sliding window [IV.a] */
	CLOCKFIX_ESTIMATOR_AVERAGE,	/* the paper's rival: mean of a sliding window [V.a] */
	CLOCKFIX_ESTIMATOR_QUANTILE,	/* one value, moved towards a quantile step by step */
	CLOCKFIX_ESTIMATOR_DECAYING_MAX,/* rises to a greater value at once, sinks slowly */
	CLOCKFIX_ESTIMATOR_RANK,	/* a high rank, not the greatest, of a sliding window */
	CLOCKFIX_ESTIMATOR_REGIME,	/* by what the next sleep has in common with others (below) */
	CLOCKFIX_ESTIMATOR_FIXED,	/* a constant: option fixed_margin; learns nothing */
};

/*
 * REGIME looks at what oversleeps exceed their moving average by, for each length of sleep and
 * for phases of the kernel's tick that are rough apart from those that are calm. Of what it has
 * seen it takes the margin that costs least if each late job had a price, and finds the price
 * at which just the share late_ppm is late.
 */

/* Which clock is read while polling. */
enum clockfix_source {
	CLOCKFIX_SOURCE_AUTO = 0,	/* the CPU's counter if it is sound, else CLOCK_MONOTONIC */
	CLOCKFIX_SOURCE_COUNTER,	/* the CPU's counter, or -ENOTSUP */
	CLOCKFIX_SOURCE_CLOCK,		/* clock_gettime(CLOCK_MONOTONIC) only */
};

#define CLOCKFIX_LOCK_MEMORY	(1u << 0)	/* mlock what the worker touches */
#define CLOCKFIX_STRICT		(1u << 1)	/* fail if an option can't be had */
#define CLOCKFIX_NO_LOW_POWER	(1u << 2)	/* don't use tpause/umwait/WFET */

/*
 * Options of a timer. Prepare with clockfix_options_init(), then change what you like. The
 * structure grows at its end in later versions; @size tells the library which one it is given.
 * In a field that is 0 the default applies.
 *
 * What asks for a privilege (@policy, @cpu_latency_us, CLOCKFIX_LOCK_MEMORY) is tried; where it
 * is refused the timer runs all the same and clockfix_capabilities_read() says what it lacks,
 * unless CLOCKFIX_STRICT is set, when clockfix_create() fails with the reason.
 */
struct clockfix_options {
	size_t size;		/* sizeof(struct clockfix_options), by clockfix_options_init() */
	uint32_t flags;		/* CLOCKFIX_... */
	int32_t cpu;		/* pin the worker to this CPU; -1: do not pin */
	int32_t policy;		/* SCHED_FIFO, SCHED_RR or SCHED_DEADLINE (6); 0 (SCHED_OTHER): */
				/* as the thread has it that creates the timer */
	int32_t priority;	/* FIFO and RR: 1 to 99 */
	uint64_t dl_runtime;	/* DEADLINE: as sched_setattr(2) */
	uint64_t dl_deadline;
	uint64_t dl_period;
	int32_t cpu_latency_us;	/* PM QoS: keep CPUs from idle states slower than this; -1: off */
	int32_t estimator;	/* enum clockfix_estimator */
	uint32_t window;	/* values that an estimator looks at, 1 to 1024; default 64 for */
				/* MAX and AVERAGE, 512 for RANK and REGIME (at least 32) */
	uint32_t late_ppm;	/* QUANTILE, RANK, REGIME: sleeps per million that may oversleep */
				/* more than predicted; 1 to 500000, default 15000, REGIME for */
				/* sleeps of 2 ms and more 5000 */
	int64_t fixed_margin;	/* FIXED: the prediction, 0 to 1 s */
	int32_t source;		/* enum clockfix_source */
	uint32_t poll_share;	/* greatest share of time spent polling, in percent; 1 to 100, */
				/* default 100. What lies above is slept, punctual or not */
	uint32_t max_jobs;	/* pending jobs at most; 16 to 16,000,000, default 1,000,000 */
	uint32_t job_reserve;	/* of jobs submitted by jobs, pending at most; default 256, */
				/* to 65536 */
};

#define CLOCKFIX_OPTIONS_SIZE_V1 88

/* Fill in the defaults. */
static inline void clockfix_options_init(struct clockfix_options *options)
{
	memset(options, 0, sizeof(*options));
	options->size = sizeof(*options);
	options->cpu = -1;
	options->cpu_latency_us = -1;
}

/* ---- Timers ----------------------------------------------------------------------------- */

/*
 * clockfix_create - make a timer and start its worker [III.a]
 * @timer: where to put it
 * @options: NULL for the defaults
 *
 * Takes some milliseconds where the CPU's counter has to be calibrated.
 *
 * -EINVAL: an option is out of its range; -E2BIG: @options has fields this library does not know
 * that are not 0; -ENOMEM, -EAGAIN: no memory or no thread; -ENOTSUP: no sound counter; with
 * CLOCKFIX_STRICT also whatever an option was refused with, -EPERM above all.
 */
int clockfix_create(struct clockfix **timer, const struct clockfix_options *options);

#define CLOCKFIX_DROP_PENDING	(1u << 0)	/* clockfix_destroy: don't run what is pending */

/*
 * clockfix_destroy - end a timer
 * @timer: NULL is allowed
 * @flags: 0 or CLOCKFIX_DROP_PENDING
 *
 * Waits until all that is pending has run (periodic jobs are not run again) or, with
 * CLOCKFIX_DROP_PENDING, for the running job only; then gives everything back. Nobody may use
 * the timer from this call on. -EDEADLK: called from one of its jobs.
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
 * @instant: when, on CLOCK_MONOTONIC; what has passed runs as soon as possible
 * @fn: the job
 * @arg: handed to it
 * @job: where to put the handle, or NULL
 *
 * Wakes the worker if it sleeps for a later instant, which takes a system call.
 *
 * -EINVAL: @fn is NULL, or @instant is negative or INT64_MAX; -ENOMEM: max_jobs are pending, or
 * no memory. Called from one of the timer's jobs, -ENOMEM: job_reserve jobs submitted that way
 * are pending (the worker does not wait for the memory that other threads share).
 */
int clockfix_submit(struct clockfix *timer, int64_t instant, clockfix_fn fn, void *arg,
		    clockfix_job *job);

/*
 * What happens to instants of a periodic job that were missed. An instant is missed when the
 * next one has come as well before its run could start.
 */
enum clockfix_missed {
	CLOCKFIX_MISSED_SKIP = 0,	/* no run for it: the next run is at the next instant */
	CLOCKFIX_MISSED_CATCH_UP,	/* run all that were missed, one after the other */
	CLOCKFIX_MISSED_REPORT,		/* one run at once for all of them; run->missed counts */
};

/* A job in full. Prepare with clockfix_spec_init(). */
struct clockfix_spec {
	size_t size;
	clockid_t clock;	/* CLOCK_MONOTONIC or CLOCK_TAI */
	int32_t missed;		/* enum clockfix_missed */
	int64_t start;		/* first instant */
	int64_t period;		/* 0: once; else 1 ns at least: the k-th at start + k * period */
	uint64_t runs;		/* instants altogether, run or missed; 0: no limit */
	clockfix_fn fn;
	void *arg;
};

#define CLOCKFIX_SPEC_SIZE_V1 56

static inline void clockfix_spec_init(struct clockfix_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	spec->size = sizeof(*spec);
	spec->clock = 1;	/* CLOCK_MONOTONIC, which strict C11 does not declare */
}

/*
 * clockfix_schedule - run a job once or periodically, by either clock
 *
 * A periodic job does not drift: its instants depend on @start and @period alone. Errors are
 * those of clockfix_submit(); -EINVAL also for a clock, a period or a policy that does not exist.
 */
int clockfix_schedule(struct clockfix *timer, const struct clockfix_spec *spec,
		      clockfix_job *job);

/*
 * clockfix_cancel - see to it that a job does not run (again)
 *
 * 0: it will not. -EINPROGRESS: it is running at this moment, or will within 3 us; if it is
 * periodic, for the last time. -ENOENT: it is over, or was cancelled before. A job may call it,
 * for itself too.
 */
int clockfix_cancel(struct clockfix *timer, clockfix_job job);

/*
 * clockfix_cancel_wait - the same, and wait for the end of a run in progress
 *
 * Returns 0 or -ENOENT; afterwards what the job uses may be freed in either case. -EDEADLK:
 * called from one of the timer's jobs.
 */
int clockfix_cancel_wait(struct clockfix *timer, clockfix_job job);

/* ---- A thread of one's own -------------------------------------------------------------- */

/* Waits in the caller's thread as a worker does, with its own estimator. */
struct clockfix_sleeper;

/*
 * clockfix_sleeper_create - make a sleeper
 *
 * Of @options those about estimation, clock source and polling are used; the thread's CPU,
 * policy and memory are the caller's own affair: -EINVAL if @options ask for them.
 */
int clockfix_sleeper_create(struct clockfix_sleeper **sleeper,
			    const struct clockfix_options *options);
void clockfix_sleeper_destroy(struct clockfix_sleeper *sleeper);

/*
 * clockfix_sleep_until - return at an instant
 * @sleeper: used by one thread at a time
 * @clock: CLOCK_MONOTONIC or CLOCK_TAI
 * @instant: returns at once if it has passed
 *
 * Sets the calling thread's timer slack to 1 ns. -EINTR: a signal handler ran during the sleep,
 * the instant has not come. A cancellation point, as clock_nanosleep() is.
 */
int clockfix_sleep_until(struct clockfix_sleeper *sleeper, clockid_t clock, int64_t instant);

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

/* least value that is counted in bucket @i */
int64_t clockfix_histogram_floor(unsigned int i);

/* the value below or at which a share of @q (0 to 1) of the values lies; 0 if there are none */
int64_t clockfix_histogram_quantile(const struct clockfix_histogram *histogram, double q);

struct clockfix_stats {
	size_t size;			/* sizeof(struct clockfix_stats), set by the caller */
	uint64_t jobs;			/* runs of jobs */
	uint64_t cancelled;		/* jobs cancelled before they ran */
	uint64_t pending;		/* jobs pending now */
	uint64_t sleeps;		/* times the worker slept */
	uint64_t disturbed;		/* sleeps ended early because the earliest job changed */
	uint64_t deferred;		/* times learning had to wait until after the job [IV.c] */
	uint64_t decays;		/* times the estimator was made to forget [IV.a] */
	uint64_t regimes;		/* times that forgetting turned out to be right (REGIME) */
	uint64_t missed;		/* instants of periodic jobs that were missed */
	uint64_t throttled;		/* sleeps lengthened because of poll_share */
	uint64_t tai_steps;		/* steps of CLOCK_TAI noticed */
	uint64_t counter_faults;	/* times the CPU's counter disagreed with the clock */
	uint64_t low_power_late;	/* low-power waits that ended too late */
	int64_t prediction;		/* oversleep predicted at present */
	int64_t learning_cost;		/* EMA of what learning takes [IV.b] */
	int64_t polled;			/* time spent polling */
	int64_t longest_job;		/* longest run of a job */
	struct clockfix_histogram lateness;	/* start of job after its instant */
	struct clockfix_histogram oversleep;	/* wake-up after the time asked for */
	struct clockfix_histogram polling;	/* polling before a job */
};

/*
 * clockfix_stats_read, clockfix_sleeper_stats_read - what happened so far
 *
 * May be called while jobs run, from jobs too; costs the worker nothing. Each figure is exact,
 * but they need not be of the very same moment. -EINVAL: @stats->size is none of this library's.
 */
int clockfix_stats_read(struct clockfix *timer, struct clockfix_stats *stats);
int clockfix_sleeper_stats_read(struct clockfix_sleeper *sleeper, struct clockfix_stats *stats);

/* ---- Capabilities ----------------------------------------------------------------------- */

#define CLOCKFIX_NOT_ASKED 1	/* in a status field: the option was not used */

/*
 * What the machine offers, and what became of a timer's options. A status is 0 (in force), a
 * negative errno value (asked for and refused, e.g. -EPERM) or CLOCKFIX_NOT_ASKED.
 */
struct clockfix_capabilities {
	size_t size;			/* set by the caller */
	int32_t counter;		/* 0: sound; -ENOTSUP: not invariant or not trusted by */
					/* the kernel, so that clock_gettime() is used */
	int32_t low_power;		/* 0: can be used; -ENOTSUP: the CPU has none */
	char counter_name[16];		/* "tsc", "cntvct" */
	char low_power_name[16];	/* "umwait", "wfet" or "" */
	uint64_t counter_hz;		/* as calibrated; 0 before */
	int32_t affinity;		/* status of option cpu */
	int32_t scheduling;		/* status of option policy */
	int32_t memory;			/* status of CLOCKFIX_LOCK_MEMORY */
	int32_t cpu_latency;		/* status of option cpu_latency_us */
	int32_t timer_slack;		/* status of a timer slack of 1 ns, always asked for */
	int32_t tai_watch;		/* status of noticing steps of CLOCK_TAI at once */
};

/* clockfix_capabilities_read - @timer may be NULL: then of the machine alone */
int clockfix_capabilities_read(struct clockfix *timer, struct clockfix_capabilities *caps);

#ifdef __cplusplus
}
#endif

#endif /* CLOCKFIX_H */

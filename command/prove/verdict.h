/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the samples of a load say about the shield. Its jobs were measured in turns: shield
 * off, on, off; without a shield off, off.
 *
 * The verdict goes by two figures, the median response time and the interruptions a job. A
 * difference between off and on counts if it is 1 % of the median, or one interruption a
 * job; if it is larger than the drift between the two offs; and if chance alone would order
 * the eighths of the turns like that in less than one of 100 cases (the rank test of Mann and
 * Whitney, so that a disturbance of one eighth decides nothing). A difference that large
 * without the rest, or a drift that large, means that it could not be told.
 *
 * Without a shield, where blame's engine watched: it could help if the timers of tasks that the loop
 * outranks interrupted a job once or took 1 % of its median, in both turns; in one: not told. On a
 * busy machine they do so next to nothing, too.
 */
#ifndef TIMERSHIELD_VERDICT_H
#define TIMERSHIELD_VERDICT_H

#include "load.h"
#include "loop/control_loop.h"
#include "watch.h"

enum turn_name { TURN_OFF, TURN_ON, TURN_OFF_AGAIN, TURNS };

struct turn {
	struct job *jobs;
	unsigned int count;		/* 0: there was no such turn */
	unsigned int missed;		/* releases */
	bool watched;			/* what is in "seen" is known */
	struct watched seen;
};

struct trial {
	const struct load_kind *kind;
	struct turn turns[TURNS];
};

/* Of all jobs with the shield off, or on. Times in ns. */
struct figures {
	uint64_t *responses;		/* the shortest first; free them */
	unsigned int count, missed;
	uint64_t p50, p999, max;	/* nearest rank */
	uint64_t interruptions, taken;	/* of all jobs together */
	struct watched seen;		/* by all jobs together */
};

enum verdict {
	VERDICT_HELPS, VERDICT_NO_HELP, VERDICT_COSTS, VERDICT_UNKNOWN,
	VERDICT_COULD_HELP, VERDICT_COULD_NOT_HELP,	/* without a shield */
	VERDICT_NONE,
};

struct judgement {
	enum verdict verdict;
	double p50_gain, p50_drift;			/* ns; gain: off less on */
	double interruptions_drift;	/* a job */
};

const char *verdict_text(enum verdict verdict);

/* The trial's jobs with the shield ON or off. */
struct figures figures_of(const struct trial *trial, bool on);

/*
 * NOTHING: the trial without a load, which takes the place of "shield on" where there is no
 * shield; what could be gained is at most that.
 */
struct judgement judge(const struct trial *trial, const struct trial *nothing);

/* Of all trials; VERDICT_NONE if there are none. */
enum verdict judge_all(const struct judgement *judgements, size_t count);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

#include "lib/text.h"

#include <math.h>

#define BLOCKS 8			/* of a turn */
#define LEAST_SHARE 0.01		/* of the median */
#define LEAST_INTERRUPTIONS 1.0		/* a job */

enum metric { METRIC_P50, METRIC_INTERRUPTIONS };
enum outcome { OUTCOME_SAME, OUTCOME_BETTER, OUTCOME_WORSE, OUTCOME_UNKNOWN };

/* A metric of some turns: their blocks', and of all jobs. */
struct series {
	double blocks[2 * BLOCKS];
	unsigned int count;
	double whole;
};

const char *verdict_text(enum verdict verdict)
{
	static const char * const texts[] = {
		[VERDICT_HELPS] = "helps",
		[VERDICT_NO_HELP] = "does not help",
		[VERDICT_COSTS] = "costs",
		[VERDICT_UNKNOWN] = "could not tell",
		[VERDICT_COULD_HELP] = "could help",
		[VERDICT_COULD_NOT_HELP] = "would not help",
		[VERDICT_NONE] = "",
	};

	return texts[verdict];
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static uint64_t percentile(const uint64_t *sorted, unsigned int count, unsigned int of_a_thousand)
{
	uint64_t rank = ((uint64_t)count * of_a_thousand + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

static void add_turn(struct figures *figures, const struct turn *turn)
{
	figures->responses = grow(figures->responses, figures->count + turn->count + 1,
				  sizeof(*figures->responses));
	for (unsigned int i = 0; i < turn->count; i++) {
		figures->responses[figures->count++] = turn->jobs[i].response;
		figures->interruptions += turn->jobs[i].interruptions;
		figures->taken += turn->jobs[i].taken;
	}
	figures->missed += turn->missed;
	figures->seen.jobs += turn->seen.jobs;
	figures->seen.timers += turn->seen.timers;
	figures->seen.ticks += turn->seen.ticks;
	figures->seen.others += turn->seen.others;
	figures->seen.taken += turn->seen.taken;
}

struct figures figures_of(const struct trial *trial, bool on)
{
	struct figures figures = { 0 };

	for (int i = 0; i < TURNS; i++)
		if ((i == TURN_ON) == on && trial->turns[i].count)
			add_turn(&figures, &trial->turns[i]);
	if (!figures.count)
		return (struct figures){ 0 };
	qsort(figures.responses, figures.count, sizeof(*figures.responses), by_size);
	figures.p50 = percentile(figures.responses, figures.count, 500);
	figures.p999 = percentile(figures.responses, figures.count, 999);
	figures.max = figures.responses[figures.count - 1];
	return figures;
}

static double measure(const struct turn *turn, unsigned int first, unsigned int count,
		      enum metric metric)
{
	struct turn part = { .jobs = turn->jobs + first, .count = count };
	struct trial trial = { .turns[TURN_OFF] = part };
	struct figures figures = figures_of(&trial, false);

	free(figures.responses);
	if (!count)
		return 0;
	return metric == METRIC_P50 ? (double)figures.p50 :
	       (double)figures.interruptions / count;
}

static void add_blocks(struct series *series, const struct turn *turn, enum metric metric)
{
	unsigned int size = turn->count / BLOCKS;

	for (unsigned int i = 0; size && i < BLOCKS; i++)
		series->blocks[series->count++] = measure(turn, i * size, size, metric);
}

static struct series series_of(const struct trial *trial, bool on, enum metric metric)
{
	struct figures figures = figures_of(trial, on);
	struct series series = { 0 };

	for (int i = 0; i < TURNS; i++)
		if ((i == TURN_ON) == on)
			add_blocks(&series, &trial->turns[i], metric);
	if (figures.count)
		series.whole = metric == METRIC_P50 ? (double)figures.p50 :
			       (double)figures.interruptions / figures.count;
	free(figures.responses);
	return series;
}

/* The test of Mann and Whitney: whether chance puts LOW's blocks that low once in 100 times. */
static bool is_below(const struct series *low, const struct series *high)
{
	const double z = 2.326;
	double pairs = (double)low->count * high->count;
	double variance = pairs * (low->count + high->count + 1) / 12;
	double below = 0, more;

	for (unsigned int i = 0; i < low->count; i++)
		for (unsigned int j = 0; j < high->count; j++)
			below += (low->blocks[i] < high->blocks[j]) +
				 (low->blocks[i] == high->blocks[j]) * 0.5;
	more = below - pairs / 2;
	return more > 0 && more * more > z * z * variance;
}

static double drift_of(const struct trial *trial, enum metric metric)
{
	const struct turn *first = &trial->turns[TURN_OFF], *last = &trial->turns[TURN_OFF_AGAIN];

	return fabs(measure(first, 0, first->count, metric) -
			measure(last, 0, last->count, metric));
}

static enum outcome compare(const struct series *off, const struct series *on, double least,
			    double drift)
{
	double gain = off->whole - on->whole;

	if (fabs(gain) < least)
		return drift < least ? OUTCOME_SAME : OUTCOME_UNKNOWN;
	if (fabs(gain) <= drift)
		return OUTCOME_UNKNOWN;
	if (gain > 0 && is_below(on, off))
		return OUTCOME_BETTER;
	return gain < 0 && is_below(off, on) ? OUTCOME_WORSE : OUTCOME_UNKNOWN;
}

/* The median comes first: it is what the user feels. */
static enum outcome either(enum outcome p50, enum outcome interruptions)
{
	if (p50 == OUTCOME_BETTER || p50 == OUTCOME_WORSE)
		return p50;
	if (interruptions != OUTCOME_SAME)
		return interruptions;
	return p50;
}

static enum verdict verdict_of(enum outcome outcome, bool shield)
{
	switch (outcome) {
	case OUTCOME_BETTER:
		return shield ? VERDICT_HELPS : VERDICT_COULD_HELP;
	case OUTCOME_WORSE:
		return shield ? VERDICT_COSTS : VERDICT_COULD_NOT_HELP;
	case OUTCOME_SAME:
		return shield ? VERDICT_NO_HELP : VERDICT_COULD_NOT_HELP;
	default:
		return VERDICT_UNKNOWN;
	}
}

/* Whether a shield would have something to spare in this turn. */
static bool has_timers(const struct turn *turn)
{
	const double p50 = measure(turn, 0, turn->count, METRIC_P50);

	return (double)turn->seen.timers >= LEAST_INTERRUPTIONS * turn->seen.jobs ||
	       (double)turn->seen.taken >= LEAST_SHARE * p50 * turn->seen.jobs;
}

static struct judgement judge_watched(const struct trial *trial)
{
	const struct turn *first = &trial->turns[TURN_OFF], *last = &trial->turns[TURN_OFF_AGAIN];
	const bool once = has_timers(first), again = has_timers(last);

	return (struct judgement){
		.verdict = once != again ? VERDICT_UNKNOWN :
			   once ? VERDICT_COULD_HELP : VERDICT_COULD_NOT_HELP,
		.p50_gain = (double)(first->seen.taken + last->seen.taken) /
			    (first->seen.jobs + last->seen.jobs),
		.p50_drift = drift_of(trial, METRIC_P50),
		.interruptions_drift = drift_of(trial, METRIC_INTERRUPTIONS),
	};
}

struct judgement judge(const struct trial *trial, const struct trial *nothing)
{
	bool shield = trial->turns[TURN_ON].count;
	const struct trial *better = shield ? trial : nothing;
	struct series p50_off = series_of(trial, false, METRIC_P50);
	struct series p50_on = series_of(better, shield, METRIC_P50);
	struct series off = series_of(trial, false, METRIC_INTERRUPTIONS);
	struct series on = series_of(better, shield, METRIC_INTERRUPTIONS);
	struct judgement judgement = {
		.verdict = VERDICT_NONE,
		.p50_gain = p50_off.whole - p50_on.whole,
		.p50_drift = drift_of(trial, METRIC_P50),
		.interruptions_drift = drift_of(trial, METRIC_INTERRUPTIONS),
	};
	enum outcome p50, interruptions;

	if (!shield && trial->turns[TURN_OFF].watched && trial->turns[TURN_OFF_AGAIN].watched)
		return judge_watched(trial);
	if (!shield && trial == nothing)
		return judgement;
	if (!shield) {
		judgement.p50_drift = fmax(judgement.p50_drift, drift_of(nothing, METRIC_P50));
		judgement.interruptions_drift = fmax(judgement.interruptions_drift,
						       drift_of(nothing, METRIC_INTERRUPTIONS));
	}
	p50 = compare(&p50_off, &p50_on, LEAST_SHARE * p50_off.whole, judgement.p50_drift);
	interruptions = compare(&off, &on, LEAST_INTERRUPTIONS, judgement.interruptions_drift);
	/* Without timers among what it does, only interruptions could be the shield's to spare. */
	if (!shield && !trial->kind->timers)
		p50 = OUTCOME_SAME;
	judgement.verdict = verdict_of(either(p50, interruptions), shield);
	return judgement;
}

enum verdict judge_all(const struct judgement *judgements, size_t count)
{
	static const enum verdict first[] = {
		VERDICT_HELPS, VERDICT_COULD_HELP, VERDICT_COSTS, VERDICT_UNKNOWN,
		VERDICT_NO_HELP, VERDICT_COULD_NOT_HELP,
	};

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		for (size_t j = 0; j < count; j++)
			if (judgements[j].verdict == first[i])
				return first[i];
	return VERDICT_NONE;
}

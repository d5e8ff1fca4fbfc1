// SPDX-License-Identifier: GPL-2.0-or-later
#include "prove_print.h"

#include "lib/file.h"
#include "lib/machine.h"
#include "lib/output.h"
#include "lib/timers.h"

#include <math.h>

/* One value without a shield, else two. */
static void add_cell(struct text *row, bool both, unsigned int digits, double off, double on)
{
	text_add(row, "\t%.*f", (int)digits, off);
	if (both)
		text_add(row, " -> %.*f", (int)digits, on);
}

static bool is_watched(const struct prove *prove)
{
	for (size_t i = 0; i < prove->count; i++)
		if (!prove->trials[i].turns[TURN_OFF].watched ||
		    !prove->trials[i].turns[TURN_OFF_AGAIN].watched)
			return false;
	return true;
}

const char *prove_head(const struct prove *prove, bool whole)
{
	if (is_watched(prove))
		return whole ? "next to\tp50, us\tp99.9\tmax\ttimers of others\tthey take, us\tticks\tother interrupts\ta shield" :
		       "next to\tp50, us\tmax\ttimers of others\tthey take, us\ta shield";
	return whole ? "next to\tp50, us\tp99.9\tmax\tinterruptions\tthe shield" :
	       "next to\tp50, us\tmax\tinterruptions\tthe shield";
}

char *prove_row(const struct prove *prove, size_t trial, bool whole)
{
	struct figures off = figures_of(&prove->trials[trial], false);
	struct figures on = figures_of(&prove->trials[trial], true);
	struct text row = { 0 };

	text_add(&row, "%s", whole ? prove->trials[trial].kind->title : prove->trials[trial].kind->name);
	add_cell(&row, on.count, 1, (double)off.p50 / 1000, (double)on.p50 / 1000);
	if (whole)
		add_cell(&row, on.count, 1, (double)off.p999 / 1000, (double)on.p999 / 1000);
	add_cell(&row, on.count, 1, (double)off.max / 1000, (double)on.max / 1000);
	if (is_watched(prove)) {
		add_cell(&row, false, 2, (double)off.seen.timers / off.seen.jobs, 0);
		add_cell(&row, false, 1, (double)off.seen.taken / off.seen.jobs / 1000, 0);
	}
	if (is_watched(prove) && whole) {
		add_cell(&row, false, 2, (double)off.seen.ticks / off.seen.jobs, 0);
		add_cell(&row, false, 2, (double)off.seen.others / off.seen.jobs, 0);
	}
	if (!is_watched(prove))
		add_cell(&row, on.count, 2, (double)off.interruptions / off.count,
			 on.count ? (double)on.interruptions / on.count : 0);
	text_add(&row, "\t%s", verdict_text(prove->judgements[trial].verdict));
	free(off.responses);
	free(on.responses);
	return row.s;
}

/* The titles of the loads with that verdict, or NULL. */
static char *loads_with(const struct prove *prove, enum verdict verdict)
{
	struct text list = { 0 };

	for (size_t i = 0; i < prove->count; i++)
		if (prove->judgements[i].verdict == verdict)
			text_add(&list, "%s%s", list.length ? ", " : "",
				 prove->trials[i].kind->title);
	return list.s;
}

/* The largest gain of those with that verdict. */
static double most_gained(const struct prove *prove, enum verdict verdict)
{
	double most = 0;

	for (size_t i = 0; i < prove->count; i++)
		if (prove->judgements[i].verdict == verdict &&
		    prove->judgements[i].p50_gain > most)
			most = prove->judgements[i].p50_gain;
	return most / 1000;
}

size_t prove_best(const struct prove *prove)
{
	size_t best = prove->count > 1 && !is_watched(prove);

	for (size_t i = best; i < prove->count; i++)
		if (prove->judgements[i].p50_gain > prove->judgements[best].p50_gain)
			best = i;
	return best;
}

char *prove_headline(const struct prove *prove)
{
	const size_t best = prove_best(prove);
	struct figures alone = figures_of(&prove->trials[0], false);
	struct figures off = figures_of(&prove->trials[best], false);
	struct figures on = figures_of(&prove->trials[best], true);
	const struct figures *other = on.count ? &on : &alone;
	char *headline;

	if (prove->judgements[best].verdict == VERDICT_COULD_HELP && is_watched(prove))
		headline = format("Next to %s, timers of other tasks take %.1f us from each job of this loop. A shield would spare them.",
				  prove->trials[best].kind->title,
				  prove->judgements[best].p50_gain / 1000);
	else
		headline = format("Next to %s a job of this loop takes %.0f us%s, %s %.0f us (worst %.0f and %.0f us).",
				  prove->trials[best].kind->title, (double)off.p50 / 1000,
				  on.count ? " without the shield" : "",
				  on.count ? "with it" : "alone", (double)other->p50 / 1000,
				  (double)off.max / 1000, (double)other->max / 1000);
	free(alone.responses);
	free(off.responses);
	free(on.responses);
	return headline;
}

char *prove_summary(const struct prove *prove)
{
	enum verdict whole = judge_all(prove->judgements, prove->count);
	autofree char *helped = loads_with(prove, whole);
	autofree char *costly = whole == VERDICT_HELPS ? loads_with(prove, VERDICT_COSTS) : NULL;

	switch (whole) {
	case VERDICT_HELPS:
		return format("The shield helps on this machine, next to: %s. A job takes up to %.1f us less.%s%s",
			      helped, most_gained(prove, whole),
			      costly ? " It costs time next to: " : "", costly ? costly : "");
	case VERDICT_COULD_HELP:
		return format("A shield could help on this machine, next to: %s. A job would take up to %.1f us less.",
			      helped, most_gained(prove, whole));
	case VERDICT_COSTS:
		return format("The shield costs time on this machine, next to: %s.", helped);
	case VERDICT_UNKNOWN:
		return format("Could not tell whether it helps, next to: %s. The machine itself changed by as much: try again when it is idle, or for longer (-s).",
			      helped);
	case VERDICT_NO_HELP:
		return copy("The shield does not help on this machine: these timers take less than 1 % of a job and less than one interruption, with and without it.");
	case VERDICT_COULD_NOT_HELP:
		return copy("A shield would not help on this machine: these timers take less than 1 % of a job and less than one interruption.");
	default:
		return copy("Nothing was measured to the end.");
	}
}

char *prove_method(const struct prove *prove)
{
	const struct control_loop *loop = &prove->loop;
	const struct trial *trial = &prove->trials[0];
	struct text text = { 0 };

	text_add(&text, "A FIFO %d loop on CPU %u, released every %llu us, did %llu us of work %u times in each turn (shield %s), next to",
		 LOOP_PRIORITY, loop->cpu, LOOP_PERIOD / 1000, LOOP_WORK / 1000,
		 trial->turns[TURN_OFF].count, prove->shield ? "off, on, off" : "none, twice");
	for (size_t i = 0; i < prove->count; i++)
		text_add(&text, "%s%s", i ? "; " : " ", prove->trials[i].kind->title);
	text_add(&text, ". Times are from a release to the job's end; counts are a job's.");
	if (prove->shield && (prove->levels || prove->mode == TIMERS_LEVELS))
		text_add(&text, " %s the shield masked by level (kernel.timershield=2).",
			 prove->mode == TIMERS_LEVELS ? "Next to each" : "Next to FIFO tasks");
	if (is_watched(prove))
		text_add(&text, " BPF counted what interrupted it: timers of tasks that it outranks are what a shield would spare, those of FIFO tasks only with kernel.timershield=2.");
	else
		text_add(&text, " A gap between two readings of its clock counts as an interruption if it is longer than %llu ns: here the shortest takes %llu ns, and 99.9 %% of an idle loop's take %llu ns at most.",
			 (unsigned long long)loop->threshold, (unsigned long long)loop->round,
			 (unsigned long long)loop->quiet);
	return text.s;
}

char *prove_meanwhile(const struct prove *prove)
{
	struct text text = { 0 };
	unsigned int missed = 0;

	for (size_t i = 0; i < prove->count; i++)
		for (int j = 0; j < TURNS; j++)
			missed += prove->trials[i].turns[j].missed;
	text_add(&text, "Meanwhile a hypervisor took %llu ms of this CPU.",
		 (unsigned long long)prove->steal_ms);
	if (missed)
		text_add(&text, " %u releases were missed, because a job took longer than a period.",
			 missed);
	return text.s;
}

char *prove_advice(const struct prove *prove)
{
	if (prove->shield)
		return copy("");
	if (timers_module_there())
		return copy("The module is installed, but not loaded: 'timershield prove --load' measures with it and unloads it again.");
	if (timers_module_possible())
		return copy("There may be a module for this kernel: 'make packages' in TimerShield's source builds timershield-dkms.");
	return copy("There is no module for this kernel, only for Debian's 6.1, 6.12, 7.2 and 7.3, and patches for 6.12 and 7.3.");
}

static void print_drift(const struct prove *prove)
{
	autofree char *drift = NULL;
	double p50 = 0, interruptions = 0;

	for (size_t i = 0; i < prove->count; i++) {
		const struct judgement *judgement = &prove->judgements[i];

		p50 = fmax(p50, judgement->p50_drift);
		interruptions = fmax(interruptions, judgement->interruptions_drift);
	}
	drift = format("Between the first and the last turn of a load p50 drifted by %.1f us at most, interruptions by %.2f a job.",
		       p50 / 1000, interruptions);
	output_wrapped(drift, 0);
}

void prove_print(const struct prove *prove)
{
	autofree char *summary = prove_summary(prove), *method = prove_method(prove);
	autofree char *meanwhile = prove_meanwhile(prove), *advice = prove_advice(prove);
	struct table table = {
		.columns = is_watched(prove) ? 6 : 5,
	};

	output_wrapped(summary, 0);
	if (*advice)
		output_wrapped(advice, 0);
	if (prove->count) {
		putchar('\n');
		table_add(&table, "%s", prove_head(prove, false));
		for (size_t i = 0; i < prove->count; i++) {
			autofree char *row = prove_row(prove, i, false);

			table_add(&table, "%s", row);
		}
		table_print(&table, "");
		putchar('\n');
		output_wrapped(method, 0);
		print_drift(prove);
		output_wrapped(meanwhile, 0);
	}
}

static void json_turn(const struct turn *turn, enum turn_name name)
{
	struct trial alone = { .turns[TURN_OFF] = *turn };
	struct figures figures = figures_of(&alone, false);

	json_open(NULL, '{');
	json_bool("shield_on", name == TURN_ON);
	json_number("jobs", figures.count);
	json_number("missed", figures.missed);
	json_number("p50_ns", figures.p50);
	json_number("p99_9_ns", figures.p999);
	json_number("max_ns", figures.max);
	json_number("interruptions", figures.interruptions);
	json_number("taken_ns", figures.taken);
	if (turn->watched) {
		json_number("watched_jobs", turn->seen.jobs);
		json_number("timers_of_others", turn->seen.timers);
		json_number("timers_taken_ns", turn->seen.taken);
		json_number("ticks", turn->seen.ticks);
		json_number("other_interrupts", turn->seen.others);
	}
	json_close('}');
	free(figures.responses);
}

static void json_trial(const struct prove *prove, size_t number)
{
	const struct trial *trial = &prove->trials[number];
	enum verdict verdict = prove->judgements[number].verdict;

	json_open(NULL, '{');
	json_string("load", trial->kind->name);
	json_string("title", trial->kind->title);
	json_open("turns", '[');
	for (int i = 0; i < TURNS; i++)
		if (trial->turns[i].count)
			json_turn(&trial->turns[i], (enum turn_name)i);
	json_close(']');
	json_string("verdict", verdict == VERDICT_NONE ? NULL : verdict_text(verdict));
	json_close('}');
}

void prove_print_json(const struct prove *prove)
{
	autofree char *summary = prove_summary(prove), *advice = prove_advice(prove);

	json_open(NULL, '{');
	json_string("shield", prove->kind);
	json_number("cpu", prove->loop.cpu);
	json_number("priority", LOOP_PRIORITY);
	json_number("period_ns", LOOP_PERIOD);
	json_number("round_ns", prove->loop.round);
	json_number("quiet_round_ns", prove->loop.quiet);
	json_number("threshold_ns", prove->loop.threshold);
	json_open("loads", '[');
	for (size_t i = 0; i < prove->count; i++)
		json_trial(prove, i);
	json_close(']');
	json_number("steal_ms", prove->steal_ms);
	json_string("verdict", verdict_text(judge_all(prove->judgements, prove->count)));
	json_string("summary", summary);
	json_string("advice", advice);
	json_close('}');
}

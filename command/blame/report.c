// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include "lib/timers.h"
#include "cause.h"
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

void blame_figures_free(struct blame_figures *figures)
{
	free(figures->rows);
	free(figures->victims);
	*figures = (struct blame_figures){ 0 };
}

const char *masked_text(enum masked masked)
{
	return masked == MASKED_YES ? "yes" : masked == MASKED_NO ? "no" : "?";
}

/* Ordinary tasks share one level, every real-time priority has its own. */
static int level_of(const struct who *who)
{
	return who->priority < 100 ? 100 - who->priority : 0;
}

static enum masked would_mask(const struct blame_victim *victim, const struct blame_row *row)
{
	if (row->cause.kind != CAUSE_TIMER)
		return MASKED_NO;
	if (!row->cause.id || victim->id & VICTIM_CPU)
		return MASKED_UNKNOWN;
	return level_of(&victim->victim.who) > level_of(&row->row.who) ? MASKED_YES : MASKED_NO;
}

static char *remedy_for_task(const struct blame_row *row, unsigned int cpu)
{
	const struct task_info *person = task_info_of(&row->row.who);

	if (!row->cause.id)
		return NULL;
	if (!person->kernel_thread || !strncmp(person->comm, "kworker/u", 9))
		return format("timershield isolate %u", cpu);
	if (!strncmp(person->comm, "rcu", 3))
		return format("boot with rcu_nocbs=%u", cpu);
	if (!strncmp(person->comm, "irq/", 4))
		return format("timershield isolate --irqs %u", cpu);
	return NULL;
}

static char *remedy_for(const struct blame_victim *victim, const struct blame_row *row,
			enum masked masked)
{
	unsigned int cpu = victim->id & VICTIM_CPU ? victim->id & ~VICTIM_CPU :
			   victim->victim.cpu;

	switch (row->cause.kind) {
	case CAUSE_TIMER:
		if (masked == MASKED_YES && timers_get() == 0)
			return copy("timershield timers on");
		return row->cause.id ? remedy_for_task(row, cpu) : NULL;
	case CAUSE_TASK:
	case CAUSE_WORK:
		return remedy_for_task(row, cpu);
	case CAUSE_KERNEL_TIMER:
		if (cause_is_tick(row->cause.function))
			return format("boot with nohz_full=%u", cpu);
		return NULL;
	case CAUSE_IRQ:
	case CAUSE_SOFTIRQ:
		return format("timershield isolate --irqs %u", cpu);
	case CAUSE_ELSEWHERE:
		return format("taskset -pc %u %u", cpu, victim->id);
	default:
		return NULL;
	}
}

static void add_culprit(struct loser *loser, const struct blame_row *row)
{
	bool thread = row->cause.kind == CAUSE_TASK || row->cause.kind == CAUSE_TIMER ||
		      row->cause.kind == CAUSE_WORK;
	struct culprit culprit = {
		.kind = cause_kind(row->cause.kind),
		.name = cause_name(&row->cause, &row->row.who),
		.how = cause_how(&row->cause),
		.function = symbol_name(row->cause.function),
		.masked = would_mask(&loser->victim, row),
		.count = row->row.count, .total = row->row.total, .longest = row->row.longest,
	};

	if (!culprit.function)
		culprit.function = "";
	if (thread && row->cause.id) {
		const struct task_info *person = task_info_of(&row->row.who);

		culprit.tid = row->cause.id;
		culprit.process = person->process;
		culprit.unit = copy(person->unit ? person->unit : "");
		culprit.rank = rank_text(&row->row.who);
	} else {
		culprit.rank = copy("");
		culprit.unit = copy("");
	}
	culprit.remedy = remedy_for(&loser->victim, row, culprit.masked);
	loser->culprits = grow(loser->culprits, loser->count + 1, sizeof(culprit));
	loser->culprits[loser->count++] = culprit;
}

/* A row that no event explains. */
static void add_rest(struct loser *loser, u32 kind, u64 total)
{
	struct blame_row row = { .cause.kind = kind, .row.total = total };

	add_culprit(loser, &row);
}

static int by_total(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;

	return one->total < other->total ? 1 : one->total > other->total ? -1 : 0;
}

static int by_taken(const void *a, const void *b)
{
	const struct victim *one = &((const struct loser *)a)->victim.victim;
	const struct victim *other = &((const struct loser *)b)->victim.victim;

	return one->taken < other->taken ? 1 : one->taken > other->taken ? -1 : 0;
}

/* The hypervisor stole from the CPU; what ran there lost its share. */
static u64 stolen_from(const struct blame_victim *victim, const u64 *steal, unsigned int cpus,
		       u64 elapsed)
{
	unsigned int cpu = victim->id & VICTIM_CPU ? victim->id & ~VICTIM_CPU :
			   victim->victim.cpu;
	u64 stolen = cpu < cpus ? steal[cpu] : 0;

	if (!stolen || !elapsed)
		return 0;
	stolen = (u64)((double)stolen * (double)victim->victim.ran / (double)elapsed);
	return stolen < victim->victim.ran ? stolen : victim->victim.ran;
}

static void make_loser(struct loser *loser, const struct blame_figures *figures,
		       const struct blame_victim *victim)
{
	struct victim *sums = &loser->victim.victim;
	u64 explained = 0;

	loser->victim = *victim;
	if (victim->id & VICTIM_CPU) {
		loser->name = format("CPU %u", victim->id & ~VICTIM_CPU);
		loser->rank = copy("");
	} else {
		const struct task_info *person = task_info_of(&sums->who);

		/* it may have been raised, and run ever since */
		if (person->alive && person->priority < sums->who.priority)
			sums->who.priority = person->priority;
		loser->name = who_text(&sums->who);
		loser->rank = rank_text(&sums->who);
	}
	for (size_t i = 0; i < figures->row_count; i++) {
		if (figures->rows[i].cause.victim != victim->id)
			continue;
		add_culprit(loser, &figures->rows[i]);
		explained += figures->rows[i].row.total;
	}
	/* The figures are read while they grow: a row may be ahead of its sum. */
	if (sums->taken < explained)
		sums->taken = explained;
	add_rest(loser, CAUSE_NONE, sums->taken - explained);
	if (loser->steal) {
		sums->ran -= loser->steal;
		sums->taken += loser->steal;
		add_rest(loser, CAUSE_STEAL, loser->steal);
	}
	qsort(loser->culprits, loser->count, sizeof(*loser->culprits), by_total);
}

void report_make(struct report *report, const struct blame_figures *figures,
		 const u64 *steal, unsigned int cpus)
{
	report->lost = figures->lost;
	report->lost_events = figures->lost_events;
	report->losers = grow(NULL, figures->victim_count + 1, sizeof(*report->losers));
	report->count = 0;
	for (size_t i = 0; i < figures->victim_count; i++) {
		const struct blame_victim *victim = &figures->victims[i];
		struct loser *loser = &report->losers[report->count];

		if (!victim->victim.ran && !victim->victim.taken)
			continue;
		*loser = (struct loser){
			.steal = stolen_from(victim, steal, cpus, report->elapsed),
		};
		make_loser(loser, figures, victim);
		report->count++;
	}
	qsort(report->losers, report->count, sizeof(*report->losers), by_taken);
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		struct loser *loser = &report->losers[i];

		for (size_t j = 0; j < loser->count; j++) {
			free(loser->culprits[j].name);
			free(loser->culprits[j].rank);
			free(loser->culprits[j].how);
			free(loser->culprits[j].unit);
			free(loser->culprits[j].remedy);
		}
		free(loser->culprits);
		free(loser->name);
		free(loser->rank);
	}
	free(report->losers);
	report->losers = NULL;
	report->count = 0;
}

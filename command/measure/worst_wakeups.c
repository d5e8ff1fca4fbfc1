// SPDX-License-Identifier: GPL-2.0-or-later
#include "worst_wakeups.h"
#include "blame/blame_print.h"

static u64 latency(const struct wakeup *wakeup)
{
	return wakeup->actual - wakeup->expected;
}

/* The part of a segment in the time of a wake-up. */
static u64 overlap(const struct segment *segment, const struct wakeup *wakeup)
{
	u64 start = segment->start > wakeup->expected ? segment->start : wakeup->expected;
	u64 end = segment->end < wakeup->actual ? segment->end : wakeup->actual;

	return end > start ? end - start : 0;
}

static void keep(struct worst_wakeups *reasons, const struct wakeup *wakeup, const struct cpu *cpu)
{
	unsigned int least = 0;

	for (unsigned int i = 1; i < WORST; i++)
		if (latency(&reasons->worst[i].wakeup) < latency(&reasons->worst[least].wakeup))
			least = i;
	if (latency(wakeup) <= latency(&reasons->worst[least].wakeup))
		return;
	free(reasons->worst[least].segments);
	reasons->worst[least].segments = NULL;
	reasons->worst[least].count = 0;
	reasons->worst[least].wakeup = *wakeup;
	for (unsigned int i = 0; i < RECENT_SEGMENTS; i++)
		if (!cpu->recent[i].cause.victim && overlap(&cpu->recent[i], wakeup))
			*append(reasons->worst[least].segments, reasons->worst[least].count) =
				cpu->recent[i];
}

void worst_wakeups_update(struct worst_wakeups *reasons, struct session *session,
			  const struct loop *loop)
{
	unsigned int filled = atomic_load(&loop->filled);
	struct cpu *cpu;

	if (filled == reasons->taken)
		return;
	if (filled - reasons->taken > CANDIDATES)
		reasons->taken = filled - CANDIDATES;
	cpu = grow(NULL, 1, sizeof(*cpu));
	if (!source_read_cpu(loop->cpu, cpu))
		for (; reasons->taken != filled; reasons->taken++)
			keep(reasons, &loop->candidates[reasons->taken % CANDIDATES], cpu);
	free(cpu);
}

static void add(struct blame_figures *figures, const struct segment *segment, u64 time)
{
	struct blame_row *row = NULL;

	for (size_t i = 0; i < figures->row_count && !row; i++)
		if (!memcmp(&figures->rows[i].cause, &segment->cause, sizeof(segment->cause)))
			row = &figures->rows[i];
	if (!row) {
		row = append(figures->rows, figures->row_count);
		*row = (struct blame_row){ .cause = segment->cause };
	}
	row->row.who = segment->who;
	row->row.count++;
	row->row.total += time;
	if (time > row->row.longest)
		row->row.longest = time;
}

void worst_wakeups_report(const struct worst_wakeups *reasons, const struct loop *loop,
		    struct report *report)
{
	struct blame_victim victim = { .id = (u32)loop->tid, .victim.cpu = loop->cpu };
	struct blame_figures figures = { .victims = &victim, .victim_count = 1 };

	victim.victim.who.tid = (u32)loop->tid;
	victim.victim.who.priority = loop->priority ? 99 - loop->priority : 120;
	victim.victim.longest = loop->longest;
	for (unsigned int i = 0; i < WORST; i++) {
		victim.victim.taken += latency(&reasons->worst[i].wakeup);
		for (unsigned int j = 0; j < reasons->worst[i].count; j++)
			add(&figures, &reasons->worst[i].segments[j],
			    overlap(&reasons->worst[i].segments[j], &reasons->worst[i].wakeup));
	}
	for (size_t i = 0; i < figures.row_count; i++)
		figures.rows[i].cause.victim = victim.id;
	report_make(report, &figures, BY_PROCESS, NULL, 0);
	free(figures.rows);
}

static int newest_first(const void *a, const void *b)
{
	const struct segment *one = a, *other = b;

	return one->start < other->start ? 1 : one->start > other->start ? -1 : 0;
}

void worst_wakeups_timeline(const struct worst_wakeups *reasons, const struct loop *loop)
{
	struct episode *episode = zeroed(1, sizeof(*episode));
	unsigned int worst = 0;

	for (unsigned int i = 1; i < WORST; i++)
		if (latency(&reasons->worst[i].wakeup) > latency(&reasons->worst[worst].wakeup))
			worst = i;
	episode->start = reasons->worst[worst].wakeup.expected;
	episode->end = reasons->worst[worst].wakeup.actual;
	episode->length = latency(&reasons->worst[worst].wakeup);
	episode->victim = (u32)loop->tid;
	if (reasons->worst[worst].count)
		qsort(reasons->worst[worst].segments, reasons->worst[worst].count,
		      sizeof(*episode->segments), newest_first);
	for (unsigned int i = 0; i < reasons->worst[worst].count && i < EPISODE_SEGMENTS; i++)
		episode->segments[episode->count++] = reasons->worst[worst].segments[i];
	putchar('\n');
	timeline_print(episode, loop->cpu);
	free(episode);
}

void worst_wakeups_free(struct worst_wakeups *reasons)
{
	for (unsigned int i = 0; i < WORST; i++)
		free(reasons->worst[i].segments);
}

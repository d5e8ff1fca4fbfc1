// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

#include "blame/cause.h"
#include "blame/session.h"
#include "lib/message.h"

static struct session session;

bool watch_start(void)
{
	session = (struct session){ .config.victims_are = VICTIMS_TARGETS };
	if (session_start(&session, NULL)) {
		notice("without BPF the verdict counts all gaps, whatever caused them");
		return false;
	}
	return true;
}

/* Loads are this thread's children, and would be victims like it: thousands of rows. */
bool watch_turn(void)
{
	if (source_reset(&session.config) || session_add(&session, gettid()))
		return false;
	session_go(&session);
	return true;
}

void watch_stop(void)
{
	session_stop(&session);
}

static void add(struct watched *watched, const struct blame_victim *victim,
		const struct blame_row *row)
{
	enum masked masked;

	switch (row->cause.kind) {
	case CAUSE_TIMER:
		if (row->cause.id == victim->id)
			return;		/* what the job waits for */
		masked = blame_would_mask(victim, row);
		if (masked == MASKED_YES || masked == MASKED_LEVELS) {
			watched->timers += row->row.count;
			watched->taken += row->row.total;
			return;
		}
		break;
	case CAUSE_KERNEL_TIMER:
		if (cause_is_tick(row->cause.function)) {
			watched->ticks += row->row.count;
			return;
		}
		break;
	case CAUSE_TIMER_IRQ:
	case CAUSE_IRQ:
	case CAUSE_IPI:
	case CAUSE_SOFTIRQ:
		break;
	default:			/* no interrupt */
		return;
	}
	watched->others += row->row.count;
}

bool watch_read(struct watched *watched, unsigned int jobs)
{
	struct blame_figures figures = { 0 };
	const struct blame_victim *self = NULL;
	const u32 id = (u32)gettid();
	int ret = source_read(&figures);

	*watched = (struct watched){ .jobs = jobs };
	for (size_t i = 0; i < figures.victim_count && !self; i++)
		if (figures.victims[i].id == id)
			self = &figures.victims[i];
	for (size_t i = 0; i < figures.row_count && self; i++)
		if (figures.rows[i].cause.victim == id)
			add(watched, self, &figures.rows[i]);
	blame_figures_free(&figures);
	return !ret && self;
}

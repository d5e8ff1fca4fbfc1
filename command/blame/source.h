/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blame's figures come from: a BPF program. */
#ifndef TIMERSHIELD_BLAME_SOURCE_H
#define TIMERSHIELD_BLAME_SOURCE_H

#include "blame_types.h"
#include "loop/clock.h"
#include "lib/cpus.h"

static inline double microseconds(u64 ns)
{
	return (double)ns / 1000;
}

/* Would the shield mask that timer? LEVELS: in its mode of levels alone. */
enum masked { MASKED_NO, MASKED_YES, MASKED_LEVELS, MASKED_UNKNOWN };

struct blame_row {
	struct cause cause;		/* of cause.victim */
	struct row row;
	bool several;			/* threads of one name were needed, or woke the victim */
};

struct blame_victim {
	u32 id;
	struct victim victim;
	struct jobs jobs;
};

struct blame_figures {
	struct blame_row *rows;
	struct blame_victim *victims;
	size_t row_count, victim_count;
	struct blame_lost lost;
	u64 lost_events;
};

/* All 0 or -errno. */

/* The reason and what to do in WHY. */
int source_start(const struct blame_config *config, struct text *why);
/* Forgets all that it saw, and all targets. */
int source_reset(const struct blame_config *config);
void source_configure(const struct blame_config *config);
/* A thread, or a process with all its threads, becomes a victim. */
int source_add_target(u32 id);
/* If the program FILE has the functions of timershield_job.h, they tell where jobs begin. */
void source_attach_job(const char *file);
/* Adds to FIGURES, which starts as { 0 }. */
int source_read(struct blame_figures *figures);
/* What was taken from this victim so far, in far less time. */
u64 source_taken(u32 id);
int source_read_cpu(unsigned int number, struct cpu *cpu);
/* What row.stack stands for: STACK_DEPTH addresses, the innermost first */
int source_read_stack(u32 stack, u64 *addresses);
void source_stop(void);

void blame_figures_free(struct blame_figures *figures);

/*
 * No event covers the way into an interrupt and out of it, nor the switch of tasks. What they cost
 * is measured at the start, on ourselves, away from the CPUs AVOID if that is possible.
 */
void calibrate(struct blame_config *config, const struct cpus *avoid);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"
#include "cause.h"
#include "symbols.h"

void blame_figures_free(struct blame_figures *figures)
{
	free(figures->rows);
	free(figures->victims);
	*figures = (struct blame_figures){ 0 };
}

const char *masked_text(enum masked masked)
{
	static const char * const texts[] = { "no", "yes", "levels", "?" };

	return texts[masked];
}

/* Ordinary tasks share one level, every real-time priority has its own. */
static int level_of(const struct who *who)
{
	return who->priority < 100 ? 100 - who->priority : 0;
}

enum masked blame_would_mask(const struct blame_victim *victim, const struct blame_row *row)
{
	if (row->cause.kind != CAUSE_TIMER || row->cause.how >> HOW_SHIFT >= HOW_GUEST ||
	    row->cause.id == victim->id)
		return MASKED_NO;
	if (!row->cause.id || victim->id & VICTIM_CPU)
		return MASKED_UNKNOWN;
	if (level_of(&victim->victim.who) <= level_of(&row->row.who))
		return MASKED_NO;
	return level_of(&row->row.who) ? MASKED_LEVELS : MASKED_YES;
}

/*
 * The kernel's functions that were interrupted, or gave way, innermost first; three are enough.
 * ENABLES: whether the first of them is one that switches interrupts on.
 */
static char *stack_text(u32 stack, bool *enables)
{
	u64 addresses[STACK_DEPTH] = { 0 };
	autotext struct text text = { 0 };
	unsigned int first = 0, shown = 0;

	if (!stack || source_read_stack(stack, addresses))
		return copy("");
	for (unsigned int i = 0; i < STACK_DEPTH; i++) {
		const char *name = symbol_around(addresses[i]);

		if (name && (!strncmp(name, "asm_sysvec", 10) || !strncmp(name, "el1h_64_irq", 11))) {
			first = i + 1;
			break;
		}
		if (name && i < 8 && strstr(name, "sched"))
			first = i + 1;
	}
	for (unsigned int i = first; i < STACK_DEPTH && shown < 3; i++) {
		const char *name = symbol_around(addresses[i]);

		if (name && i == first)
			*enables = strstr(name, "unlock_irq") || strstr(name, "irq_enable") ||
				   strstr(name, "softirq") || strstr(name, "finish_task_switch");
		if (name && !strstr(name, "unlock"))
			text_add(&text, "%s%s", shown++ ? " < " : "", name);
	}
	return copy(text.length ? text.s : "");
}

static bool has_thread(u32 kind)
{
	return kind == CAUSE_TASK || kind == CAUSE_TIMER || kind == CAUSE_WORK ||
	       kind == CAUSE_IRQS_OFF || kind == CAUSE_KEPT || kind == CAUSE_BLOCKED;
}

static void add_culprit(struct victim_report *victim, const struct blame_row *row)
{
	const struct blame_victim of = { .id = victim->id, .victim = victim->sums };
	struct culprit culprit = {
		.row = *row, .most = row->row.total, .masked = blame_would_mask(&of, row),
	};

	culprit.stack = stack_text(row->row.stack, &culprit.enables);
	if (has_thread(row->cause.kind) && row->cause.id) {
		culprit.task = task_info_of(&row->row.who);
		culprit.pid = culprit.task->process;
		culprit.tid = row->cause.id;
		culprit.threads = culprit.processes = 1;
	}
	*append(victim->culprits, victim->count) = culprit;
}

/* A row that no event explains. */
static void add_rest(struct victim_report *victim, u32 kind, u64 total)
{
	struct blame_row row = { .cause.kind = kind, .row.total = total };

	add_culprit(victim, &row);
}

static int compare(u64 one, u64 other)
{
	return one < other ? -1 : one > other;
}

static int by_total(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;

	return compare(other->row.row.total, one->row.row.total);
}

/* First those with late jobs, by priority: a task that only computes always waits for long. */
static int by_lateness(const void *a, const void *b)
{
	const struct victim_report *one = a, *other = b;
	int order = compare(!!other->jobs.late, !!one->jobs.late);

	if (!order && one->jobs.late)
		order = compare(level_of(&other->sums.who), level_of(&one->sums.who));
	return order ? order : compare(other->sums.taken, one->sums.taken);
}

static const char *program_of(const struct task_info *task)
{
	return task->process_comm[0] ? task->process_comm : task->comm;
}

/* By name: those whom a victim needs may each live for a moment. */
static int compare_threads(u32 one, u32 other)
{
	const struct task_info *a = one ? task_info_of(&(struct who){ .tid = one }) : NULL;
	const struct task_info *b = other ? task_info_of(&(struct who){ .tid = other }) : NULL;
	int order = compare(!!one, !!other);

	if (!order && one)
		order = strcmp(program_of(a), program_of(b));
	return order || !one ? order : strcmp(a->comm, b->comm);
}

/* The same for all rows that may become one, of threads that differ in number alone. */
static int compare_causes(const struct culprit *one, const struct culprit *other)
{
	const struct cause *a = &one->row.cause, *b = &other->row.cause;
	int order = compare(a->kind, b->kind);

	if (!order)
		order = compare(!one->task, !other->task);
	if (order || !one->task)
		return order ? order : compare(a->id, b->id);
	order = strcmp(program_of(one->task), program_of(other->task));
	if (!order && a->kind == CAUSE_BLOCKED)
		order = strcmp(one->task->comm, other->task->comm);
	if (!order)
		order = compare_threads(cause_needs(a), cause_needs(b));
	if (!order && a->kind != CAUSE_KEPT)
		order = compare(a->how, b->how);
	if (!order && a->kind != CAUSE_BLOCKED)
		order = compare(a->function, b->function);
	if (!order)
		order = compare(one->masked, other->masked);
	return order ? order : compare(one->enables, other->enables);
}

/* Rows of one process are next to each other then, and those of one program. */
static int by_place(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;
	int order = compare_causes(one, other);

	if (!order)
		order = compare(one->pid, other->pid);
	return order ? order : compare(one->tid, other->tid);
}

static bool is_same_place(const struct culprit *one, const struct culprit *other)
{
	/* a worker is a process, and any of them may do any work */
	return one->task && !compare_causes(one, other) &&
	       (one->row.cause.kind == CAUSE_WORK || one->row.cause.kind == CAUSE_BLOCKED ||
		one->pid == other->pid);
}

static void free_culprit(struct culprit *culprit)
{
	free(culprit->name);
	free(culprit->how);
	free(culprit->level);
	free(culprit->stack);
	free(culprit->remedy);
}

/* SUM stays the row of whoever has most of it. */
static void merge(struct culprit *sum, struct culprit *more)
{
	struct row *row = &sum->row.row;
	const struct row *other = &more->row.row;

	if (sum->tid != more->tid)
		sum->threads++;
	if (sum->pid != more->pid)
		sum->processes++;
	sum->tid = more->tid;
	sum->pid = more->pid;
	sum->row.several |= cause_needs(&sum->row.cause) != cause_needs(&more->row.cause) ||
			    (sum->threads > 1 && sum->row.cause.kind == CAUSE_BLOCKED);
	row->count += other->count;
	row->total += other->total;
	if (other->longest > row->longest)
		row->longest = other->longest;
	if (more->most > sum->most) {
		sum->most = more->most;
		sum->task = more->task;
		sum->row.cause = more->row.cause;
		row->who = other->who;
		row->stack = other->stack;
	}
	if (!*sum->stack) {
		free(sum->stack);
		sum->stack = more->stack;
		more->stack = NULL;
	}
	free_culprit(more);
}

/* The rows of a process become one. */
static void merge_rows(struct victim_report *victim)
{
	struct culprit *rows = victim->culprits;
	size_t count = 0;

	if (!victim->count)
		return;
	qsort(rows, victim->count, sizeof(*rows), by_place);
	for (size_t i = 1; i < victim->count; i++) {
		if (is_same_place(&rows[count], &rows[i]))
			merge(&rows[count], &rows[i]);
		else
			rows[++count] = rows[i];
	}
	victim->count = count + 1;
}

static void name_culprit(const struct victim_report *victim, struct culprit *culprit)
{
	const struct blame_victim of = { .id = victim->id, .victim = victim->sums, .jobs = victim->jobs };
	const struct blame_row *row = &culprit->row;
	const struct task_info *task = culprit->task;
	const u32 kind = row->cause.kind;
	bool unbalanced = kind == CAUSE_TASK && remedy_unbalanced(&of, row);

	/* nearly all of it is that of one thread */
	if (culprit->threads > 1 && culprit->most * 100 >= row->row.total * 99) {
		culprit->threads = culprit->processes = 1;
		culprit->row.several = false;
	}
	culprit->tid = culprit->threads == 1 ? row->cause.id : 0;
	culprit->pid = culprit->processes == 1 ? task->process : 0;
	if (culprit->threads < 2 || kind == CAUSE_BLOCKED)
		culprit->name = cause_name(&row->cause, &row->row.who, row->several);
	else if (culprit->processes > 1)
		culprit->name = format("%s (%u processes)", program_of(task), culprit->processes);
	else
		culprit->name = format("%s[%u] (%u threads)", program_of(task), culprit->pid,
				       culprit->threads);
	culprit->kind = cause_kind(kind);
	culprit->how = kind == CAUSE_IRQS_OFF && !culprit->enables ?
		       copy("a timer interrupt came late") : unbalanced ?
		       format("CPU %u has no load balancing", of.victim.cpu) :
		       cause_how(&row->cause, row->several);
	culprit->function = kind == CAUSE_BLOCKED || kind == CAUSE_KEPT ? NULL :
			    symbol_name(row->cause.function);
	if (!culprit->function)
		culprit->function = "";
	culprit->level = culprit->threads == 1 ? level_text(&row->row.who) : copy("");
	culprit->unit = culprit->pid && task->unit ? task->unit : "";
	culprit->remedy = remedy_for(&of, row, culprit->masked);
}

/* The hypervisor stole from the CPU; what ran there lost its share. */
static u64 stolen_from(const struct victim_report *victim, const u64 *steal, unsigned int cpus,
		       u64 elapsed)
{
	unsigned int cpu = victim->id & VICTIM_CPU ? victim->id & ~VICTIM_CPU : victim->sums.cpu;
	u64 stolen = cpu < cpus ? steal[cpu] : 0;

	if (!stolen || !elapsed)
		return 0;
	stolen = (u64)((double)stolen * (double)victim->sums.ran / (double)elapsed);
	return stolen < victim->sums.ran ? stolen : victim->sums.ran;
}

static void name_victim(const struct report *report, struct victim_report *victim)
{
	struct victim *sums = &victim->sums;
	const struct task_info *task;
	autofree char *level = NULL;

	if (victim->id & VICTIM_CPU) {
		victim->name = format("CPU %u", victim->id & ~VICTIM_CPU);
		victim->level = copy("");
		return;
	}
	task = task_info_of(&sums->who);
	/* it may have been raised, and run ever since */
	if (task->alive && (!report->realtime || task->priority < 100))
		sums->who.priority = task->priority;
	victim->name = who_text(&sums->who);
	level = level_text(&sums->who);
	if (sums->highest < 100 && sums->who.priority >= 100)
		victim->level = format("%s (FIFO %d before)", level, 99 - sums->highest);
	else
		victim->level = copy(level);
}

static void add_sleep(struct victim_report *victim, const struct blame_row *row)
{
	char *name = sleep_text(row->cause.how);
	size_t i;

	victim->slept += row->row.total;
	for (i = 0; i < victim->sleep_count && strcmp(victim->sleeps[i].name, name); i++)
		;
	if (i == victim->sleep_count)
		*append(victim->sleeps, victim->sleep_count) = (struct sleep_report){ name, 0 };
	else
		free(name);
	victim->sleeps[i].total += row->row.total;
}

static int by_sleep(const void *a, const void *b)
{
	const struct sleep_report *one = a, *other = b;

	return compare(other->total, one->total);
}

/* Nothing of the kernel was interrupted by the late interrupt: it was not the kernel that kept it away. */
static bool is_only_late(const struct blame_row *row)
{
	autofree char *stack = NULL;
	bool enables;

	if (row->cause.kind == CAUSE_TIMER_IRQ)
		return row->cause.how;
	if (row->cause.kind != CAUSE_IRQS_OFF)
		return false;
	stack = stack_text(row->row.stack, &enables);
	return !*stack;
}

/* It has been blocked to the end. */
static u64 add_block(const struct report *report, struct victim_report *victim)
{
	struct victim *sums = &victim->sums;
	struct blame_row row = {
		.cause = { .victim = victim->id, .kind = CAUSE_BLOCKED, .how = sums->sleep },
		.row = { .count = 1, .total = report->until - sums->slept },
	};

	row.row.longest = row.row.total;
	sums->taken += row.row.total;
	if (sums->longest < row.row.total)
		sums->longest = row.row.total;
	add_culprit(victim, &row);
	row.cause.kind = CAUSE_SLEPT;
	add_sleep(victim, &row);
	return row.row.total;
}

/* In the middle of its class. */
static u64 median_of(const struct jobs *jobs)
{
	u64 seen = 0, from, to, median;
	u32 class = 0;

	while (class < JOB_CLASSES - 1 && (seen += jobs->classes[class]) * 2 < jobs->count)
		class++;
	from = class < 8 ? class : (u64)(4 + class % 4) << (class / 4 - 2);
	to = class < 8 ? class : (u64)(5 + class % 4) << (class / 4 - 2);
	median = (from + to) / 2;
	return median < jobs->least ? jobs->least : median > jobs->most ? jobs->most : median;
}

static void make_victim_report(const struct report *report, struct victim_report *victim,
			       const struct blame_figures *figures, bool threads)
{
	struct victim *sums = &victim->sums;
	struct blame_row late = { .cause = { .kind = CAUSE_TIMER_IRQ, .how = 1 } };
	u64 explained = 0;

	name_victim(report, victim);
	for (size_t i = 0; i < figures->row_count; i++) {
		const struct blame_row *row = &figures->rows[i];

		if (row->cause.victim != victim->id)
			continue;
		if (row->cause.kind == CAUSE_SLEPT) {
			add_sleep(victim, row);
			continue;
		}
		if (is_only_late(row)) {
			late.row.count += row->row.count;
			late.row.total += row->row.total;
			if (row->row.longest > late.row.longest)
				late.row.longest = row->row.longest;
		} else {
			add_culprit(victim, row);
		}
		explained += row->row.total;
	}
	if (sums->slept && sums->sleep >> HOW_SHIFT && report->until > sums->slept)
		explained += add_block(report, victim);
	if (late.row.count)
		add_culprit(victim, &late);
	/* The figures are read while they grow: a row may be ahead of its sum. */
	if (sums->taken < explained)
		sums->taken = explained;
	add_rest(victim, CAUSE_NONE, sums->taken - explained);
	if (victim->steal) {
		sums->ran -= victim->steal;
		sums->taken += victim->steal;
		add_rest(victim, CAUSE_STEAL, victim->steal);
	}
	if (!threads)
		merge_rows(victim);
	for (size_t i = 0; i < victim->count; i++)
		name_culprit(victim, &victim->culprits[i]);
	qsort(victim->culprits, victim->count, sizeof(*victim->culprits), by_total);
	if (victim->sleep_count)
		qsort(victim->sleeps, victim->sleep_count, sizeof(*victim->sleeps), by_sleep);
}

void report_make(struct report *report, const struct blame_figures *figures, bool threads,
		 const u64 *steal, unsigned int cpus)
{
	task_info_look_again();
	for (size_t i = 0; i < figures->row_count; i++)
		if (figures->rows[i].row.who.tid)
			task_info_name(&figures->rows[i].row.who, figures->rows[i].row.total);
	report->lost = figures->lost;
	report->lost_events = figures->lost_events;
	report->victims = grow(NULL, figures->victim_count + 1, sizeof(*report->victims));
	report->count = 0;
	for (size_t i = 0; i < figures->victim_count; i++) {
		const struct blame_victim *from = &figures->victims[i];
		struct victim_report *victim = &report->victims[report->count];

		if (!from->victim.ran && !from->victim.taken)
			continue;
		*victim = (struct victim_report){
			.id = from->id, .sums = from->victim, .jobs = from->jobs,
			.median = median_of(&from->jobs),
		};
		victim->steal = stolen_from(victim, steal, cpus, report->elapsed);
		make_victim_report(report, victim, figures, threads);
		report->count++;
	}
	qsort(report->victims, report->count, sizeof(*report->victims), by_lateness);
	remedy_free();
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		struct victim_report *victim = &report->victims[i];

		for (size_t j = 0; j < victim->count; j++)
			free_culprit(&victim->culprits[j]);
		free(victim->culprits);
		for (size_t j = 0; j < victim->sleep_count; j++)
			free(victim->sleeps[j].name);
		free(victim->sleeps);
		free(victim->name);
		free(victim->level);
	}
	free(report->victims);
	report->victims = NULL;
	report->count = 0;
}

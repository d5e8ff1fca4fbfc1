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
	if (row->cause.kind != CAUSE_TIMER || row->cause.how >> HOW_SHIFT >= HOW_GUEST)
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

static void add_culprit(struct victim_report *victim, const struct blame_row *row)
{
	u32 kind = row->cause.kind;
	bool thread = kind == CAUSE_TASK || kind == CAUSE_TIMER || kind == CAUSE_WORK ||
		      kind == CAUSE_IRQS_OFF || kind == CAUSE_KEPT || kind == CAUSE_BLOCKED;
	const struct blame_victim of = { .id = victim->id, .victim = victim->sums };
	struct culprit culprit = {
		.kind = cause_kind(row->cause.kind),
		.name = cause_name(&row->cause, &row->row.who),
		.how = cause_how(&row->cause),
		.function = kind == CAUSE_BLOCKED ? NULL : symbol_name(row->cause.function),
		.masked = blame_would_mask(&of, row),
		.count = row->row.count, .total = row->row.total, .longest = row->row.longest,
	};
	const struct task_info *task = NULL;
	bool enables = false;

	if (!culprit.function)
		culprit.function = "";
	if (thread && row->cause.id) {
		task = task_info_of(&row->row.who);
		culprit.tid = culprit.last = row->cause.id;
		culprit.pid = task->process;
		culprit.threads = culprit.processes = 1;
	}
	culprit.program = task ? copy(task->process_comm[0] ? task->process_comm : task->comm) :
				 copy("");
	culprit.unit = copy(task && task->unit ? task->unit : "");
	culprit.level = task ? level_text(&row->row.who) : copy("");
	culprit.stack = stack_text(row->row.stack, &enables);
	if (kind == CAUSE_IRQS_OFF && !enables) {
		free(culprit.how);
		culprit.how = copy("a timer interrupt came late");
	}
	culprit.remedy = remedy_for(&of, row, culprit.masked);
	*append(victim->culprits, victim->count) = culprit;
}

/* A row that no event explains. */
static void add_rest(struct victim_report *victim, u32 kind, u64 total)
{
	struct blame_row row = { .cause.kind = kind, .row.total = total };

	add_culprit(victim, &row);
}

static int by_total(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;

	return one->total < other->total ? 1 : one->total > other->total ? -1 : 0;
}

static int by_taken(const void *a, const void *b)
{
	const struct victim_report *one = a, *other = b;

	return one->sums.taken < other->sums.taken ? 1 : one->sums.taken > other->sums.taken ? -1 : 0;
}

/* Without the numbers of threads: those whom a victim needs may each live for a moment. */
static int compare_words(const char *one, const char *other)
{
	for (; *one && *one == *other; one++, other++) {
		if (*one != '[')
			continue;
		one += strspn(one + 1, "0123456789");
		other += strspn(other + 1, "0123456789");
	}
	return (unsigned char)*one - (unsigned char)*other;
}

/* Rows of one process are next to each other then, and those of one program. */
static int by_place(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;
	int order = strcmp(one->kind, other->kind);

	if (!order)
		order = strcmp(one->program, other->program);
	if (!order)
		order = compare_words(one->how, other->how);
	if (!order && !strcmp(one->kind, "blocked"))
		order = compare_words(one->name, other->name);
	if (!order)
		order = strcmp(one->function, other->function);
	if (!order)
		order = (int)one->masked - (int)other->masked;
	if (!order)
		order = one->pid < other->pid ? -1 : one->pid > other->pid;
	if (!order)
		order = one->tid < other->tid ? -1 : one->tid > other->tid;
	return order;
}

static bool is_same_place(const struct culprit *one, const struct culprit *other, enum row_by by)
{
	/* a worker is a process, and any of them may do any work */
	if (!*one->program || strcmp(one->kind, other->kind) || compare_words(one->how, other->how) ||
	    strcmp(one->function, other->function) || one->masked != other->masked)
		return false;
	if (!strcmp(one->kind, "work"))
		return true;
	if (!strcmp(one->kind, "blocked"))	/* in what is in the name alone */
		return !compare_words(one->name, other->name);
	return by == BY_PROCESS ? one->pid && one->pid == other->pid :
	       !strcmp(one->program, other->program);
}

static void free_culprit(struct culprit *culprit)
{
	free(culprit->name);
	free(culprit->program);
	free(culprit->level);
	free(culprit->how);
	free(culprit->unit);
	free(culprit->stack);
	free(culprit->remedy);
}

/* What both have in common stays. */
static void keep_common(char **kept, const char *other)
{
	if (*kept && (!other || strcmp(*kept, other))) {
		free(*kept);
		*kept = copy("");
	}
}

static void merge(struct culprit *sum, struct culprit *more)
{
	if (sum->last != more->tid)
		sum->threads += more->threads;
	if (sum->pid != more->pid)
		sum->processes++;
	sum->last = more->tid;
	sum->tid = sum->tid == more->tid ? sum->tid : 0;
	sum->pid = sum->pid == more->pid ? sum->pid : 0;
	sum->count += more->count;
	sum->total += more->total;
	if (more->longest > sum->longest)
		sum->longest = more->longest;
	sum->several |= strcmp(sum->how, more->how) ||
			(!strcmp(sum->kind, "blocked") && strcmp(sum->name, more->name));
	keep_common(&sum->level, more->level);
	keep_common(&sum->unit, more->unit);
	if (!*sum->stack) {
		free(sum->stack);
		sum->stack = copy(more->stack);
	}
	if (!sum->remedy) {
		sum->remedy = more->remedy;
		more->remedy = NULL;
	}
	free_culprit(more);
}

static void drop_numbers(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from == '[' && from[1 + strspn(from + 1, "0123456789")] == ']')
			from += 1 + strspn(from + 1, "0123456789");
		else
			*to++ = *from;
	*to = '\0';
}

/* Of the many who were needed the name stays. */
static void name_needed(struct culprit *sum)
{
	const char *waited;

	drop_numbers(sum->how);
	waited = strstr(sum->how, " waited for it");
	if (sum->remedy && waited && !strcmp(sum->kind, "kept")) {
		free(sum->remedy);
		sum->remedy = format("a real-time priority for each %.*s, or PTHREAD_PRIO_INHERIT if that holds its mutex",
				     (int)(waited - sum->how), sum->how);
	} else if (sum->remedy) {
		drop_numbers(sum->remedy);
	}
}

static void name_sum(struct culprit *sum)
{
	if (sum->several)
		name_needed(sum);
	if (sum->threads < 2)
		return;
	if (!strcmp(sum->kind, "blocked")) {
		drop_numbers(sum->name);
		return;
	}
	free(sum->name);
	if (sum->processes > 1)
		sum->name = format("%s (%u processes)", sum->program, sum->processes);
	else
		sum->name = format("%s[%u] (%u threads)", sum->program, sum->pid, sum->threads);
}

/* The rows of a process, or of all processes of one name, become one. */
static void merge_rows(struct victim_report *victim, enum row_by by)
{
	struct culprit *rows = victim->culprits;
	size_t count = 0;

	if (by == BY_THREAD || !victim->count)
		return;
	qsort(rows, victim->count, sizeof(*rows), by_place);
	for (size_t i = 1; i < victim->count; i++) {
		if (is_same_place(&rows[count], &rows[i], by))
			merge(&rows[count], &rows[i]);
		else
			rows[++count] = rows[i];
	}
	victim->count = count + 1;
	for (size_t i = 0; i < victim->count; i++)
		name_sum(&rows[i]);
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

static void name_victim(struct victim_report *victim)
{
	struct victim *sums = &victim->sums;
	const struct task_info *task;

	if (victim->id & VICTIM_CPU) {
		victim->name = format("CPU %u", victim->id & ~VICTIM_CPU);
		victim->level = copy("");
		return;
	}
	task = task_info_of(&sums->who);
	/* it may have been raised, and run ever since */
	if (task->alive && task->priority < sums->who.priority)
		sums->who.priority = task->priority;
	victim->name = who_text(&sums->who);
	victim->level = level_text(&sums->who);
}

static void add_sleep(struct victim_report *victim, const struct blame_row *row)
{
	struct culprit sleep = { .name = sleep_text(row->cause.how), .total = row->row.total };
	size_t i;

	victim->slept += sleep.total;
	for (i = 0; i < victim->sleep_count; i++)
		if (!strcmp(victim->sleeps[i].name, sleep.name))
			break;
	if (i == victim->sleep_count) {
		*append(victim->sleeps, victim->sleep_count) = sleep;
		return;
	}
	victim->sleeps[i].total += sleep.total;
	free(sleep.name);
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
		.cause = { .kind = CAUSE_BLOCKED, .how = sums->sleep },
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

static void make_victim_report(const struct report *report, struct victim_report *victim,
			       const struct blame_figures *figures, enum row_by by)
{
	struct victim *sums = &victim->sums;
	struct blame_row late = { .cause = { .kind = CAUSE_TIMER_IRQ, .how = 1 } };
	u64 explained = 0;

	name_victim(victim);
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
	merge_rows(victim, by);
	qsort(victim->culprits, victim->count, sizeof(*victim->culprits), by_total);
	victim->shown = victim->count;
	if (victim->sleep_count)
		qsort(victim->sleeps, victim->sleep_count, sizeof(*victim->sleeps), by_total);
}

void report_make(struct report *report, const struct blame_figures *figures, enum row_by by,
		 const u64 *steal, unsigned int cpus)
{
	task_info_look_again();
	for (size_t i = 0; i < figures->row_count; i++)
		if (figures->rows[i].row.who.tid)
			task_info_name(&figures->rows[i].row.who);
	report->lost = figures->lost;
	report->lost_events = figures->lost_events;
	report->victims = grow(NULL, figures->victim_count + 1, sizeof(*report->victims));
	report->count = 0;
	for (size_t i = 0; i < figures->victim_count; i++) {
		const struct blame_victim *from = &figures->victims[i];
		struct victim_report *victim = &report->victims[report->count];

		if (!from->victim.ran && !from->victim.taken)
			continue;
		*victim = (struct victim_report){ .id = from->id, .sums = from->victim };
		victim->steal = stolen_from(victim, steal, cpus, report->elapsed);
		make_victim_report(report, victim, figures, by);
		report->count++;
	}
	qsort(report->victims, report->count, sizeof(*report->victims), by_taken);
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
			free_culprit(&victim->sleeps[j]);
		free(victim->sleeps);
		free(victim->name);
		free(victim->level);
	}
	free(report->victims);
	report->victims = NULL;
	report->count = 0;
}

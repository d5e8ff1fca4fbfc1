// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame_print.h"

#include "lib/output.h"

static FILE *out;

static double share_of(const struct victim_report *victim, u64 total)
{
	u64 taken = victim->sums.taken;

	return taken ? 100.0 * (double)total / (double)taken : 0;
}

static void print_culprit(const struct victim_report *victim, const struct culprit *culprit,
			  bool narrow)
{
	if (narrow)
		fprintf(out, "  %9.1f %6.1f%%  ", microseconds(culprit->row.row.total),
			share_of(victim, culprit->row.row.total));
	else
		fprintf(out, "  %9llu %12.1f %10.1f %6.1f%%  %-6s  ",
			(unsigned long long)culprit->row.row.count,
			microseconds(culprit->row.row.total), microseconds(culprit->row.row.longest),
			share_of(victim, culprit->row.row.total), masked_text(culprit->masked));
	fprintf(out, "%s%s%s", culprit->name, *culprit->level ? " " : "", culprit->level);
	if (*culprit->how)
		fprintf(out, ": %s", culprit->how);
	if (*culprit->function && strcmp(culprit->kind, "kernel-timer") &&
	    strcmp(culprit->kind, "wheel-timer"))
		fprintf(out, " (%s)", culprit->function);
	if (*culprit->stack)
		fprintf(out, " in %s", culprit->stack);
	if (*culprit->unit)
		fprintf(out, ", %s", culprit->unit);
	putc('\n', out);
}

/* It would be printed as 0.0 us. */
static bool is_nothing(u64 time)
{
	return time < 50;
}

/* What no event explains is last. */
static void print_culprits(const struct victim_report *victim, unsigned int lines, bool narrow)
{
	struct culprit rest = { .name = (char *)"", .level = (char *)"", .how = (char *)"",
				.function = "", .unit = "", .stack = (char *)"", .kind = "" };
	const struct culprit *unexplained = NULL;
	size_t left = lines && victim->count > lines ? lines - 2 : victim->count, more = 0;

	if (!victim->count || is_nothing(victim->sums.taken))
		return;
	if (narrow)
		fprintf(out, "%s\n", CULPRITS_HEAD_NARROW "  share  culprit");
	else
		fprintf(out, CULPRITS_HEAD "%12s %10s %7s  %-6s  %s\n", "total us", "longest us",
			"share", "mask", "culprit");
	for (size_t i = 0; i < victim->count; i++) {
		const struct culprit *culprit = &victim->culprits[i];

		if (is_nothing(culprit->row.row.total)) {
			continue;
		} else if (culprit->row.cause.kind == CAUSE_NONE) {
			unexplained = culprit;
		} else if (left) {
			print_culprit(victim, culprit, narrow);
			left--;
		} else {
			more++;
			rest.row.row.count += culprit->row.row.count;
			rest.row.row.total += culprit->row.row.total;
			if (culprit->row.row.longest > rest.row.row.longest)
				rest.row.row.longest = culprit->row.row.longest;
		}
	}
	if (more) {
		rest.name = format("%zu more", more);
		rest.masked = MASKED_UNKNOWN;
		print_culprit(victim, &rest, narrow);
		free(rest.name);
	}
	if (unexplained)
		print_culprit(victim, unexplained, narrow);
}

static void print_head(const struct victim_report *victim)
{
	const struct victim *sums = &victim->sums;
	const bool slept = victim->slept >= 500000;	/* rounds to 1 ms */
	u64 wanted = sums->ran + sums->taken;

	fprintf(out, "%s", victim->name);
	if (*victim->level)
		fprintf(out, " %s, CPU %u", victim->level, sums->cpu);
	fprintf(out, ": ran %.1f ms, ", microseconds(sums->ran) / 1000);
	if (slept)
		fprintf(out, "slept %.0f ms (", microseconds(victim->slept) / 1000);
	for (size_t i = 0; slept && i < victim->sleep_count; i++)
		if (!i || victim->sleeps[i].total > victim->slept / 200)
			fprintf(out, "%s%s %.0f", i ? ", " : "", victim->sleeps[i].name,
				microseconds(victim->sleeps[i].total) / 1000);
	if (slept)
		fprintf(out, "), ");
	fprintf(out, "%.1f us (%.2f %%) taken from it; longest %.1f us\n",
		microseconds(sums->taken),
		wanted ? 100.0 * (double)sums->taken / (double)wanted : 0,
		microseconds(sums->longest));
}

/* Is it the program, or the machine? */
static void print_jobs(const struct report *report, const struct victim_report *victim)
{
	const struct jobs *jobs = &victim->jobs;
	autofree char *late = victim->sums.told ? copy("said that they were late") : report->over ?
		format("took longer than %.0f us", microseconds(report->over)) :
		copy("were not done when the next one was due");

	if (!jobs->count)
		return;
	fprintf(out,
		"  %llu jobs: %llu %s. Its own work: %.1f us at least, median %.1f, at most %.1f.\n"
		"  The longest took %.1f us: %.1f of its own, waited for %.1f, taken %.1f.\n",
		(unsigned long long)jobs->count, (unsigned long long)jobs->late, late,
		microseconds(jobs->least), microseconds(victim->median), microseconds(jobs->most),
		microseconds(jobs->longest), microseconds(jobs->longest_own),
		microseconds(jobs->longest_waited),
		microseconds(jobs->longest - jobs->longest_own - jobs->longest_waited));
}

/* Each remedy once, with what it is worth: culprits come the worst first. */
static void print_remedies(const struct victim_report *victim)
{
	unsigned int printed = 0;

	for (size_t i = 0; i < victim->count && printed < 3; i++) {
		const char *remedy = victim->culprits[i].remedy;
		bool before = false;
		u64 total = 0;

		for (size_t j = 0; remedy && j < victim->count; j++) {
			if (!victim->culprits[j].remedy || strcmp(remedy, victim->culprits[j].remedy))
				continue;
			before |= j < i;
			total += victim->culprits[j].row.row.total;
		}
		if (!remedy || before || share_of(victim, total) < 1)
			continue;
		fprintf(out, "%s    %-36s would save %.1f %%\n", printed ? "" : "  what helps:\n",
			remedy, share_of(victim, total));
		printed++;
	}
}

static void print_maskable(const struct victim_report *victim, enum masked masked, const char *what)
{
	u64 total = 0;

	for (size_t i = 0; i < victim->count; i++)
		if (victim->culprits[i].masked == masked)
			total += victim->culprits[i].row.row.total;
	if (total)
		fprintf(out, "  TimerShield masks timers of %s: %.1f us (%.1f %%) of this.\n", what,
			microseconds(total), share_of(victim, total));
}

/* "Unexplained" is what the kernel saw and no event names; this it did not even see. */
static void print_unseen(const struct report *report)
{
	autofree char *smis = report->smis_known ?
		format("%llu SMIs", (unsigned long long)report->smis) :
		copy("SMIs (not counted here)");

	fprintf(out,
		"\nThese figures lack what the kernel cannot see: the time of %llu NMIs, of %s and of\n"
		"a hypervisor's pauses below 10 ms.\n", (unsigned long long)report->nmis, smis);
}

static void print_lost(const struct report *report)
{
	if (report->lost_events)
		fprintf(out,
			"%llu event%s lost, or not told by this kernel: the figures above are not exact.\n",
			(unsigned long long)report->lost_events,
			report->lost_events == 1 ? " was" : "s were");
	if (report->lost.rows)
		fprintf(out, "More than %u rows: %llu entries went to \"unexplained\".\n", MAX_ROWS,
			(unsigned long long)report->lost.rows);
	if (report->lost.victims)
		fprintf(out, "More than %u victims: the others are not shown.\n", MAX_VICTIMS);
	if (report->lost.targets)
		fprintf(out, "More than %u threads to watch: %llu were not watched.\n", MAX_TARGETS,
			(unsigned long long)report->lost.targets);
}

void report_print(FILE *file, const struct report *report, unsigned int lines, bool narrow)
{
	size_t shown = report->count;

	out = file;
	if (lines)
		shown = report->count < 3 ? report->count : 3;
	else if (shown > 8)
		shown = 8;
	for (size_t i = 0; i < shown; i++) {
		const struct victim_report *victim = &report->victims[i];

		if (i && is_nothing(victim->sums.taken))
			continue;
		if (i)
			putc('\n', out);
		print_head(victim);
		print_jobs(report, victim);
		print_culprits(victim, lines ? lines / (unsigned int)shown : 30, narrow);
		print_maskable(victim, MASKED_YES, "ordinary tasks");
		print_maskable(victim, MASKED_LEVELS,
			       "real-time tasks of a lower level, in the mode 'levels'");
		if (!lines)
			print_remedies(victim);
	}
	if (shown < report->count)
		fprintf(out, "\n%zu more victims; --json shows all, -p one of them.\n",
			report->count - shown);
	if (!report->count)
		fprintf(out, "%s\n", report->realtime ?
			"No real-time task has run. Use -p PID to watch a process, -c CPULIST to watch whatever runs on CPUs." :
			"None of the tasks to watch has run.");
	if (report->count && !lines)
		print_unseen(report);
	print_lost(report);
}

static void json_culprit(const struct culprit *culprit)
{
	json_open(NULL, '{');
	json_string("kind", culprit->kind);
	json_string("name", culprit->name);
	json_string("level", culprit->level);
	json_number("pid", culprit->pid);
	json_number("tid", culprit->tid);
	json_number("threads", culprit->threads);
	json_number("processes", culprit->processes);
	json_string("how", culprit->how);
	json_string("function", culprit->function);
	json_string("stack", culprit->stack);
	json_string("unit", culprit->unit);
	json_number("count", culprit->row.row.count);
	json_number("total_ns", culprit->row.row.total);
	json_number("longest_ns", culprit->row.row.longest);
	json_string("masked", masked_text(culprit->masked));
	json_string("remedy", culprit->remedy);
	json_close('}');
}

static void json_jobs(const struct victim_report *victim)
{
	const struct jobs *jobs = &victim->jobs;

	json_open("jobs", '{');
	json_number("count", jobs->count);
	json_number("late", jobs->late);
	json_number("longest_ns", jobs->longest);
	json_number("own_in_longest_ns", jobs->longest_own);
	json_number("waited_in_longest_ns", jobs->longest_waited);
	json_number("own_ns", jobs->own);
	json_number("own_least_ns", jobs->least);
	json_number("own_median_ns", victim->median);
	json_number("own_most_ns", jobs->most);
	json_close('}');
}

static void json_victim(const struct victim_report *victim)
{
	const struct victim *sums = &victim->sums;

	json_open(NULL, '{');
	json_string("name", victim->name);
	json_string("level", victim->level);
	json_number("tid", victim->id & VICTIM_CPU ? 0 : victim->id);
	json_number("cpu", victim->id & VICTIM_CPU ? victim->id & ~VICTIM_CPU :
		    sums->cpu);
	json_number("ran_ns", sums->ran);
	json_number("taken_ns", sums->taken);
	json_number("longest_ns", sums->longest);
	json_number("slept_ns", victim->slept);
	json_open("sleeps", '{');
	for (size_t i = 0; i < victim->sleep_count; i++)
		json_number(victim->sleeps[i].name, victim->sleeps[i].total);
	json_close('}');
	if (victim->jobs.count)
		json_jobs(victim);
	json_number("episodes", sums->episodes);
	json_number("episodes_over", sums->over);
	json_open("culprits", '[');
	for (size_t i = 0; i < victim->count; i++)
		json_culprit(&victim->culprits[i]);
	json_close(']');
	json_close('}');
}

void report_print_json(const struct report *report)
{
	json_number("elapsed_ns", report->elapsed);
	json_number("interrupt_overhead_ns", report->interrupt_overhead);
	json_number("switch_overhead_ns", report->switch_overhead);
	json_number("nmis", report->nmis);
	json_number_if("smis", report->smis_known, report->smis);
	json_number("lost_events", report->lost_events);
	json_number("lost_rows", report->lost.rows);
	json_number("lost_victims", report->lost.victims);
	json_number("lost_targets", report->lost.targets);
	json_open("victims", '[');
	for (size_t i = 0; i < report->count; i++)
		json_victim(&report->victims[i]);
	json_close(']');
}

static void label(const char *name, const char *value)
{
	printf("%s=\"", name);
	for (; *value; value++)
		printf(*value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
	putchar('"');
}

static void metric(const char *name, const struct victim_report *victim,
		   const struct culprit *culprit)
{
	const char * const labels[][2] = {
		{ "{victim", victim->name }, { ",kind", culprit->kind }, { ",culprit", culprit->name },
		{ ",level", culprit->level }, { ",how", culprit->how },
		{ ",function", culprit->function }, { ",cgroup", culprit->unit },
	};

	fputs(name, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		label(labels[i][0], labels[i][1]);
	fputs("} ", stdout);
}

/* Every row of two families, which each stand together. */
void report_print_openmetrics(const struct report *report)
{
	for (int times = 0; times <= 1; times++) {
		puts(times ? "# TYPE timershield_blame_events counter" :
		     "# TYPE timershield_blame_taken_seconds counter\n"
		     "# UNIT timershield_blame_taken_seconds seconds");
		for (size_t i = 0; i < report->count; i++)
			for (size_t j = 0; j < report->victims[i].count; j++) {
				const struct culprit *culprit = &report->victims[i].culprits[j];

				metric(times ? "timershield_blame_events_total" :
				       "timershield_blame_taken_seconds_total",
				       &report->victims[i], culprit);
				if (times)
					printf("%llu\n", (unsigned long long)culprit->row.row.count);
				else
					printf("%.9f\n", (double)culprit->row.row.total / 1e9);
			}
	}
	puts("# EOF");
}

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
		fprintf(out, "  %9llu %12.1f %10.1f %6.1f%%  %-6s  ", (unsigned long long)culprit->row.row.count,
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
		fprintf(out, CULPRITS_HEAD "%12s %10s %7s  %-6s  %s\n", "total us", "longest us", "share",
		       "mask", "culprit");
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
	fprintf(out, "%.1f us (%.2f %%) taken from it; longest %.1f us", microseconds(sums->taken),
	       wanted ? 100.0 * (double)sums->taken / (double)wanted : 0,
	       microseconds(sums->longest));
	if (sums->longest_job > sums->longest)
		fprintf(out, ", %.1f us of one job", microseconds(sums->longest_job));
	putc('\n', out);
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
		fprintf(out, "%s    %-36s would save %.1f %%\n", printed ? "" : "  what helps:\n", remedy,
		       share_of(victim, total));
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

	fprintf(out, "\nThese figures lack what the kernel cannot see: the time of %llu NMIs, of %s and of\n"
	       "a hypervisor's pauses below 10 ms.\n", (unsigned long long)report->nmis, smis);
}

static void print_lost(const struct report *report)
{
	if (report->lost_events)
		fprintf(out, "%llu event%s lost, or not told by this kernel: the figures above are not exact.\n",
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
		print_culprits(victim, lines ? lines / (unsigned int)shown : 30, narrow);
		print_maskable(victim, MASKED_YES, "ordinary tasks");
		print_maskable(victim, MASKED_LEVELS,
			       "real-time tasks of a lower level, in the mode 'levels'");
		if (!lines)
			print_remedies(victim);
	}
	if (shown < report->count)
		fprintf(out, "\n%zu more victims lost less; --json shows all, -p one of them.\n",
		       report->count - shown);
	if (!report->count)
		fprintf(out, "%s\n", report->realtime ? "No real-time task has run. Use -p PID to watch a process, "
		     "-c CPULIST to watch whatever runs on CPUs." : "None of the tasks to watch has run.");
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
	json_number("longest_job_ns", sums->longest_job);
	json_number("slept_ns", victim->slept);
	json_open("sleeps", '{');
	for (size_t i = 0; i < victim->sleep_count; i++)
		json_number(victim->sleeps[i].name, victim->sleeps[i].total);
	json_close('}');
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

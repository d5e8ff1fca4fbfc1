// SPDX-License-Identifier: LGPL-2.1-or-later
/* report.c - tables, CSV and JSON */
#include <errno.h>
#include <string.h>

#include "bench.h"

static double cpu_share(const struct cell *cell)
{
	return cell->elapsed ? 100.0 * cell->cpu / cell->elapsed : 0;
}

static const char *interval_text(int64_t ns, char *buf, size_t size)
{
	if (ns >= 1000000)
		snprintf(buf, size, "%g ms", ns / 1e6);
	else
		snprintf(buf, size, "%g us", ns / 1e3);
	return buf;
}

static void row(FILE *to, const char *name, const struct summary *s, double cpu)
{
	fprintf(to, "%-18s %8llu %7lld %7lld %7lld %8lld %8lld %9lld %8.3f", name,
		(unsigned long long)s->count, (long long)s->p1, (long long)s->p50,
		(long long)s->p95, (long long)s->p99, (long long)s->p999, (long long)s->max,
		100 * s->over_1us);
	if (cpu >= 0)
		fprintf(to, " %6.1f", cpu);
	fputc('\n', to);
}

void report_table(FILE *to, const struct cell *cells, size_t count)
{
	int64_t interval = 0;
	char buf[32];

	fprintf(to, "Lateness of jobs in ns; '>1us' is the share of jobs, in percent, that ran more"
		" than 1 us late;\n'cpu' the CPU time of the waiting thread in percent of the time"
		" passed. No outliers were removed.\n");
	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &cells[i];

		if (cell->interval != interval) {
			interval = cell->interval;
			fprintf(to, "\n%-18s %8s %7s %7s %7s %8s %8s %9s %8s %6s\n",
				interval_text(interval, buf, sizeof(buf)), "jobs", "p1", "p50", "p95",
				"p99", "p99.9", "max", ">1us", "cpu");
		}
		row(to, rivals[cell->rival].name, &cell->all, cpu_share(cell));
		if (cell->unstolen.count != cell->all.count)
			row(to, "  without stolen", &cell->unstolen, -1);
	}
	fprintf(to, "\nCPU time stolen by the hypervisor meanwhile: %.0f ms (/proc/stat)\n",
		steal_total_ms());
}

static const struct cell *get(const struct cell *cells, size_t count, int64_t interval,
			      const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (cells[i].interval == interval && cells[i].all.count &&
		    !strcmp(rivals[cells[i].rival].name, name))
			return &cells[i];
	}
	return NULL;
}

static void goal(FILE *to, const char *what, double val, double limit)
{
	fprintf(to, "  %-62s %7.3f  goal <= %-4.3g %s\n", what, val, limit,
		val <= limit ? "met" : "NOT MET");
}

static void note(FILE *to, const char *what, double val)
{
	fprintf(to, "  %-62s %7.3f\n", what, val);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double spread(const struct cell *cell)
{
	return cell->all.p99 - cell->all.p1;
}

static void goals_of_lateness(FILE *to, const struct cell *fix, const struct cell *punctual,
			      const struct cell *poll, const struct cell *sleep)
{
	struct clockfix_capabilities caps = { .size = sizeof(caps) };

	clockfix_capabilities_read(NULL, &caps);
	if (poll)
		goal(to, caps.counter ? "median: clockfix / polling loop" :
		     "median: clockfix (CPU counter) / polling loop (clock_gettime)",
		     ratio(fix->all.p50, poll->all.p50), caps.counter ? 1.2 : 1);
	if (!sleep)
		return;
	goal(to, "median: clockfix / clock_nanosleep", ratio(fix->all.p50, sleep->all.p50),
	     fix->interval == 100000 ? 0.01 : 0.05);
	goal(to, "p99 - p1: clockfix / clock_nanosleep", ratio(spread(fix), spread(sleep)), 0.1);
	if (punctual)
		goal(to, "p99 - p1: clockfix-punctual / clock_nanosleep",
		     ratio(spread(punctual), spread(sleep)), 0.1);
	if (poll)
		note(to, "p99 - p1: polling loop / clock_nanosleep: the limit",
		     ratio(spread(poll), spread(sleep)));
}

static void goals_of_cpu(FILE *to, const struct cell *fix, const struct cell *sleep,
			 const struct cell *max, const struct cell *margin)
{
	if (sleep && sleep->all.p50 >= fix->interval) {
		fprintf(to, "  cpu: no goal, as a sleep oversleeps more than the interval: who is "
			"punctual polls\n");
		return;
	}
	if (max) {
		goal(to, "p95: clockfix / maximum filter", ratio(fix->all.p95, max->all.p95), 1.05);
		goal(to, "jobs over 1 us late: clockfix / maximum filter",
		     ratio(fix->all.over_1us, max->all.over_1us), 1.05);
		goal(to, "cpu: clockfix / maximum filter", ratio(cpu_share(fix), cpu_share(max)),
		     0.6);
	}
	if (max && sleep) {
		note(to, "cpu: clock_nanosleep, which never polls / maximum filter",
		     ratio(cpu_share(sleep), cpu_share(max)));
		note(to, "cpu above that of clock_nanosleep: clockfix / maximum filter",
		     ratio(cpu_share(fix) - cpu_share(sleep), cpu_share(max) - cpu_share(sleep)));
	}
	if (margin)
		goal(to, "cpu: clockfix / fixed margin",
		     ratio(cpu_share(fix), cpu_share(margin)), 1);
}

/* The share of late jobs that each makes is another one: what it costs those who make few. */
static void note_punctual(FILE *to, const struct cell *punctual, const struct cell *max)
{
	if (!punctual || !max)
		return;
	note(to, "jobs over 1 us late: clockfix-punctual / maximum filter of 256",
	     ratio(punctual->all.over_1us, max->all.over_1us));
	note(to, "cpu: clockfix-punctual / maximum filter of 256",
	     ratio(cpu_share(punctual), cpu_share(max)));
}

static void goals_at(FILE *to, const struct cell *cells, size_t count, int64_t interval)
{
	const struct cell *fix = get(cells, count, interval, "clockfix");
	const struct cell *sleep = get(cells, count, interval, "clock_nanosleep");
	char buf[32];

	if (!fix)
		return;
	fprintf(to, "%s\n", interval_text(interval, buf, sizeof(buf)));
	goals_of_lateness(to, fix, get(cells, count, interval, "clockfix-punctual"),
			  get(cells, count, interval, "poll"), sleep);
	goals_of_cpu(to, fix, sleep, get(cells, count, interval, "clockfix-max"),
		     get(cells, count, interval, "margin-125us"));
	note_punctual(to, get(cells, count, interval, "clockfix-punctual"),
		      get(cells, count, interval, "clockfix-max-256"));
}

void report_goals(FILE *to, const struct cell *cells, size_t count)
{
	int64_t interval = 0;

	fprintf(to, "\nRatios within this run\n");
	for (size_t i = 0; i < count; i++) {
		if (cells[i].interval != interval)
			goals_at(to, cells, count, cells[i].interval);
		interval = cells[i].interval;
	}
}

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		fprintf(stderr, "clockfix-bench: can't write %s: %s\n", path, strerror(errno));
	return f;
}

static int finish(FILE *f, const char *path)
{
	bool failed = ferror(f);

	if (fclose(f) || failed) {
		fprintf(stderr, "clockfix-bench: writing %s failed\n", path);
		return -EIO;
	}
	return 0;
}

int report_csv(const char *path, const struct cell *cells, size_t count)
{
	FILE *f = create(path);

	if (!f)
		return -EIO;
	fprintf(f, "interval_ns,rival,stolen_samples,jobs,p1_ns,p50_ns,p95_ns,p99_ns,p99.9_ns,"
		"max_ns,share_over_1us,cpu_share\n");
	for (size_t i = 0; i < count; i++) {
		for (int without = 0; without < 2; without++) {
			const struct summary *s = without ? &cells[i].unstolen : &cells[i].all;

			fprintf(f, "%lld,%s,%s,%llu,%lld,%lld,%lld,%lld,%lld,%lld,%.6f,%.6f\n",
				(long long)cells[i].interval, rivals[cells[i].rival].name,
				without ? "without" : "with", (unsigned long long)s->count,
				(long long)s->p1, (long long)s->p50, (long long)s->p95,
				(long long)s->p99, (long long)s->p999, (long long)s->max,
				s->over_1us, cpu_share(&cells[i]) / 100);
		}
	}
	return finish(f, path);
}

static void json_summary(FILE *f, const char *name, const struct summary *s)
{
	fprintf(f, "\"%s\":{\"jobs\":%llu,\"p1\":%lld,\"p50\":%lld,\"p95\":%lld,\"p99\":%lld,"
		"\"p99.9\":%lld,\"max\":%lld,\"share_over_1us\":%.6f,\"cdf\":[", name,
		(unsigned long long)s->count, (long long)s->p1, (long long)s->p50,
		(long long)s->p95, (long long)s->p99, (long long)s->p999, (long long)s->max,
		s->over_1us);
	for (int i = 0; i <= CDF_POINTS; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)s->cdf[i]);
	fprintf(f, "]}");
}

int report_json(const char *path, const struct cell *cells, size_t count,
		const struct bench_options *opt)
{
	FILE *f = create(path);

	if (!f)
		return -EIO;
	fprintf(f, "{\"unit\":\"ns\",\"cpu\":%d,\"fifo_priority\":%d,\"stolen_ms\":%.0f,"
		"\"cells\":[\n", opt->cpu, opt->priority, steal_total_ms());
	for (size_t i = 0; i < count; i++) {
		fprintf(f, "%s{\"interval\":%lld,\"rival\":\"%s\",\"text\":\"%s\",\"cpu_share\":%.6f,",
			i ? ",\n" : "", (long long)cells[i].interval, rivals[cells[i].rival].name,
			rivals[cells[i].rival].text, cpu_share(&cells[i]) / 100);
		json_summary(f, "all", &cells[i].all);
		fputc(',', f);
		json_summary(f, "without_stolen", &cells[i].unstolen);
		fputc('}', f);
	}
	fprintf(f, "\n]}\n");
	return finish(f, path);
}

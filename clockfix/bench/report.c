// SPDX-License-Identifier: LGPL-2.1-or-later
/* report.c - tables and JSON */
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

void report_table(FILE *to, const struct cell *cells, size_t count, double stolen)
{
	int64_t interval = 0;
	char buf[32];

	fprintf(to, "Lateness of jobs in ns; '>1us' is the share of jobs, in percent, that ran more"
		" than 1 us late;\n'cpu' the CPU time of the waiting thread in percent of the time"
		" passed, 'most' that\nof a single round. No outliers were removed.\n");
	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &cells[i];
		const struct summary *s = &cell->sum;

		if (cell->interval != interval) {
			interval = cell->interval;
			fprintf(to, "\n%-18s %8s %7s %7s %7s %8s %8s %9s %8s %6s %6s\n",
				interval_text(interval, buf, sizeof(buf)), "jobs", "p1", "p50", "p95",
				"p99", "p99.9", "max", ">1us", "cpu", "most");
		}
		fprintf(to, "%-18s %8llu %7lld %7lld %7lld %8lld %8lld %9lld %8.3f %6.1f %6.1f\n",
			rivals[cell->rival].name, (unsigned long long)s->count, (long long)s->p1,
			(long long)s->p50, (long long)s->p95, (long long)s->p99,
			(long long)s->p999, (long long)s->max, 100 * s->over_1us,
			cpu_share(cell), cell->most);
		if (s->early)
			fprintf(to, "  %llu jobs were early\n", (unsigned long long)s->early);
	}
	fprintf(to, "\nCPU time stolen by the hypervisor meanwhile: %.0f ms (/proc/stat)\n",
		stolen);
}

static const struct cell *get(const struct cell *cells, size_t count, int64_t interval,
			      const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (cells[i].interval == interval && cells[i].sum.count &&
		    !strcmp(rivals[cells[i].rival].name, name))
			return &cells[i];
	}
	return NULL;
}

static void goal(FILE *to, const char *what, double val, double limit)
{
	fprintf(to, "  %-58s %8.3f  goal <= %-5.3g %s\n", what, val, limit,
		val <= limit ? "met" : "NOT MET");
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static const struct cell *best_of_others(const struct cell *cells, size_t count,
					 int64_t interval)
{
	const struct cell *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (cells[i].interval != interval || !cells[i].sum.count ||
		    !strncmp(rivals[cells[i].rival].name, "clockfix", 8))
			continue;
		if (!best || cells[i].sum.p99 < best->sum.p99)
			best = &cells[i];
	}
	return best;
}

static void goals_of(FILE *to, const struct cell *fix, const struct cell *poll,
		     const struct cell *best)
{
	const char *name = rivals[fix->rival].name;
	char what[80];

	if (poll) {
		snprintf(what, sizeof(what), "%s / polling loop, p50", name);
		goal(to, what, ratio(fix->sum.p50, poll->sum.p50), 1);
	}
	if (best) {
		snprintf(what, sizeof(what), "%s / %s, p99", name, rivals[best->rival].name);
		goal(to, what, ratio(fix->sum.p99, best->sum.p99), 1.5);
	}
	snprintf(what, sizeof(what), "%s, CPU time in percent", name);
	goal(to, what, cpu_share(fix),
	     fix->interval < 100000 ? 100 : fix->interval < 1000000 ? 30 :
	     fix->interval < 10000000 ? 5 : 1.5);
}

static void goals_at(FILE *to, const struct cell *cells, size_t count, int64_t interval)
{
	static const char *const ours[] = { "clockfix", "clockfix-sleep" };
	char buf[32];

	fprintf(to, "%s\n", interval_text(interval, buf, sizeof(buf)));
	for (int i = 0; i < 2; i++) {
		const struct cell *fix = get(cells, count, interval, ours[i]);

		if (fix)
			goals_of(to, fix, get(cells, count, interval, "poll"),
				 best_of_others(cells, count, interval));
	}
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

static void json_cell(FILE *f, const struct cell *cell)
{
	const struct summary *s = &cell->sum;

	fprintf(f, "{\"interval\":%lld,\"rival\":\"%s\",\"text\":\"%s\",\"cpu_share\":%.6f,"
		"\"jobs\":%llu,\"p1\":%lld,\"p50\":%lld,\"p95\":%lld,\"p99\":%lld,"
		"\"p99.9\":%lld,\"max\":%lld,\"share_over_1us\":%.6f,\"cdf\":[",
		(long long)cell->interval, rivals[cell->rival].name, rivals[cell->rival].text,
		cpu_share(cell) / 100, (unsigned long long)s->count, (long long)s->p1,
		(long long)s->p50, (long long)s->p95, (long long)s->p99, (long long)s->p999,
		(long long)s->max, s->over_1us);
	for (int i = 0; i <= CDF_POINTS; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)s->cdf[i]);
	fprintf(f, "]}");
}

int report_json(const char *path, const struct cell *cells, size_t count,
		const struct bench_options *opt, double stolen)
{
	FILE *f = fopen(path, "w");
	bool failed;

	if (!f) {
		fprintf(stderr, "clockfix-bench: can't write %s: %s\n", path, strerror(errno));
		return -EIO;
	}
	fprintf(f, "{\"unit\":\"ns\",\"cpu\":%d,\"fifo_priority\":%d,\"stolen_ms\":%.0f,"
		"\"cells\":[\n", opt->cpu, opt->priority, stolen);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fprintf(f, ",\n");
		json_cell(f, &cells[i]);
	}
	fprintf(f, "\n]}\n");
	failed = ferror(f);
	if (fclose(f) || failed) {
		fprintf(stderr, "clockfix-bench: writing %s failed\n", path);
		return -EIO;
	}
	return 0;
}

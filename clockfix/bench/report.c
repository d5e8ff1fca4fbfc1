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

static void row(FILE *to, const char *name, const struct summary *s, double cpu, double most)
{
	fprintf(to, "%-18s %8llu %7lld %7lld %7lld %8lld %8lld %9lld %8.3f", name,
		(unsigned long long)s->count, (long long)s->p1, (long long)s->p50,
		(long long)s->p95, (long long)s->p99, (long long)s->p999, (long long)s->max,
		100 * s->over_1us);
	if (cpu >= 0)
		fprintf(to, " %6.1f %6.1f", cpu, most);
	fputc('\n', to);
}

void report_table(FILE *to, const struct cell *cells, size_t count)
{
	int64_t interval = 0;
	char buf[32];

	fprintf(to, "Lateness of jobs in ns; '>1us' is the share of jobs, in percent, that ran more"
		" than 1 us late;\n'cpu' the CPU time of the waiting thread in percent of the time"
		" passed, 'most' that\nof a single round. No outliers were removed.\n");
	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &cells[i];

		if (cell->interval != interval) {
			interval = cell->interval;
			fprintf(to, "\n%-18s %8s %7s %7s %7s %8s %8s %9s %8s %6s %6s\n",
				interval_text(interval, buf, sizeof(buf)), "jobs", "p1", "p50", "p95",
				"p99", "p99.9", "max", ">1us", "cpu", "most");
		}
		row(to, rivals[cell->rival].name, &cell->all, cpu_share(cell),
		    cell->most);
		if (cell->all.early)
			fprintf(to, "  %llu jobs were early\n",
				(unsigned long long)cell->all.early);
		if (cell->unstolen.count != cell->all.count)
			row(to, "  without stolen", &cell->unstolen, -1, 0);
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
		if (cells[i].interval != interval || !cells[i].all.count ||
		    !strncmp(rivals[cells[i].rival].name, "clockfix", 8))
			continue;
		if (!best || cells[i].all.p99 < best->all.p99)
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
		goal(to, what, ratio(fix->all.p50, poll->all.p50), 1);
	}
	if (best) {
		snprintf(what, sizeof(what), "%s / %s, p99", name, rivals[best->rival].name);
		goal(to, what, ratio(fix->all.p99, best->all.p99), 1.5);
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

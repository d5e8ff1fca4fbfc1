// SPDX-License-Identifier: LGPL-2.1-or-later
/* report.c - tables and JSON */
#include <errno.h>
#include <string.h>

#include "bench.h"

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
			100 * s->cpu, cell->most);
		if (s->early)
			fprintf(to, "  %llu jobs were early\n", (unsigned long long)s->early);
	}
	fprintf(to, "\nCPU time stolen by the hypervisor meanwhile: %.0f ms (/proc/stat)\n",
		stolen);
}

static bool is_ours(const struct cell *cell)
{
	return !strncmp(rivals[cell->rival].name, "clockfix", 8);
}

/* A point of a curve: what a rival achieves at its CPU time, and how sure that is. */
struct point {
	double cpu, late, error;
};

static struct point point_of(const struct cell *cell, bool p99)
{
	const struct summary *s = &cell->sum;

	return (struct point){ s->cpu, p99 ? s->p99 : 100 * s->over_1us,
			       p99 ? s->p99_error : 100 * s->over_1us_error };
}

/*
 * The lateness of our curve at a CPU time: of all straight lines between two of our settings, one
 * of which takes no more and the other no less, the lowest; or of a setting that takes no more.
 */
static bool ours_at(const struct cell *cells, size_t count, double cpu, bool p99,
		    struct point *best)
{
	bool found = false;

	for (size_t a = 0; a < count; a++) {
		struct point low = point_of(&cells[a], p99), at = low;

		if (!is_ours(&cells[a]) || low.cpu > cpu)
			continue;
		for (size_t b = 0; b < count; b++) {
			struct point high = point_of(&cells[b], p99);
			double share;

			if (is_ours(&cells[b]) && high.cpu > cpu) {
				share = (cpu - low.cpu) / (high.cpu - low.cpu);
				at.late = low.late + share * (high.late - low.late);
				at.error = low.error + share * (high.error - low.error);
			} else if (b != a) {
				continue;
			}
			if (!found || at.late < best->late)
				*best = at;
			found = true;
		}
	}
	return found;
}

static void curve_at(FILE *to, const struct cell *cells, size_t count, bool p99)
{
	for (size_t i = 0; i < count; i++) {
		struct point rival = point_of(&cells[i], p99), ours;
		double noise;

		if (is_ours(&cells[i]) || !cells[i].sum.count)
			continue;
		fprintf(to, "  %-18s %6.1f %% CPU: %10.*f +- %.*f", rivals[cells[i].rival].name,
			100 * rival.cpu, p99 ? 0 : 3, rival.late, p99 ? 0 : 3, rival.error);
		if (!ours_at(cells, count, rival.cpu, p99, &ours)) {
			fprintf(to, ", none of ours takes so little\n");
			continue;
		}
		noise = rival.error + ours.error;
		fprintf(to, ", ours %10.*f +- %.*f: %s\n", p99 ? 0 : 3, ours.late, p99 ? 0 : 3,
			ours.error, rival.late >= ours.late ? "not below" :
			rival.late + noise >= ours.late ? "below within the noise" : "BELOW");
	}
}

void report_curves(FILE *to, const struct cell *cells, size_t count)
{
	char buf[32];

	fprintf(to, "\nRivals and our curve at the same CPU time, with standard errors by rounds\n");
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && cells[end].interval == cells[i].interval;)
			end++;
		interval_text(cells[i].interval, buf, sizeof(buf));
		fprintf(to, "%s, p99 in ns\n", buf);
		curve_at(to, cells + i, end - i, true);
		fprintf(to, "%s, later than 1 us in percent\n", buf);
		curve_at(to, cells + i, end - i, false);
	}
}

static void json_cell(FILE *f, const struct cell *cell)
{
	const struct summary *s = &cell->sum;

	fprintf(f, "{\"interval\":%lld,\"rival\":\"%s\",\"text\":\"%s\",\"cpu_share\":%.6f,"
		"\"jobs\":%llu,\"p1\":%lld,\"p50\":%lld,\"p95\":%lld,\"p99\":%lld,"
		"\"p99.9\":%lld,\"max\":%lld,\"share_over_1us\":%.6f,\"cdf\":[",
		(long long)cell->interval, rivals[cell->rival].name, rivals[cell->rival].text,
		s->cpu, (unsigned long long)s->count, (long long)s->p1,
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* compare.c - all rivals at all intervals, in turns */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define CELLS_MAX 256

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Is @name one of the comma-separated @list? Without a list all are. */
static bool chosen(const char *list, const char *name)
{
	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == strlen(name) && !strncmp(list, name, len))
			return true;
	}
	return !list;
}

static size_t parse_intervals(const char *list, int64_t *interval, size_t room)
{
	size_t count = 0;

	while (*list && count < room) {
		char *end;
		double val = strtod(list, &end);
		double unit = !strncmp(end, "ms", 2) ? 1e6 : !strncmp(end, "us", 2) ? 1e3 :
			      !strncmp(end, "ns", 2) ? 1 : 0;

		if (end == list || val <= 0 || !unit || (end[2] && end[2] != ',')) {
			fprintf(stderr,
				"clockfix-bench: '%s' is no interval; write e.g. 1us,100us,1ms\n",
				list);
			return 0;
		}
		interval[count++] = val * unit;
		list = end + 2 + (end[2] == ',');
	}
	return count;
}

/* Is each of the comma-separated @list the name of one? */
static bool known_rivals(const char *list)
{
	size_t names = 1, found = 0;

	for (const char *at = list; at && *at; at++)
		names += *at == ',';
	for (size_t i = 0; list && i < rivals_count; i++)
		found += chosen(list, rivals[i].name);
	if (!list || found == names)
		return true;
	fprintf(stderr, "clockfix-bench: '%s' are not %zu different rivals; there are:", list, names);
	for (size_t i = 0; i < rivals_count; i++)
		fprintf(stderr, " %s", rivals[i].name);
	fputc('\n', stderr);
	return false;
}

static size_t cells_create(const struct bench_options *opt, struct cell *cells)
{
	int64_t interval[32];
	size_t intervals = parse_intervals(opt->intervals, interval, 32), count = 0;

	for (size_t i = 0; i < intervals; i++) {
		for (size_t r = 0; r < rivals_count; r++) {
			struct cell *cell = &cells[count];
			uint64_t fit = opt->seconds * 1e9 / interval[i] + 1;

			if (!chosen(opt->rivals, rivals[r].name) || count == CELLS_MAX)
				continue;
			memset(cell, 0, sizeof(*cell));
			cell->interval = interval[i];
			cell->rival = r;
			cell->random = 88172645463325252ull;
			cell->limit = fit < opt->jobs ? fit : opt->jobs;
			cell->late = malloc(cell->limit * sizeof(*cell->late));
			if (!cell->late) {
				fprintf(stderr, "clockfix-bench: no memory for %llu samples\n",
					(unsigned long long)cell->limit);
				return 0;
			}
			/* fault the pages in now: no sample is to contain that */
			memset(cell->late, 0xff, cell->limit * sizeof(*cell->late));
			count++;
		}
	}
	return count;
}

/*
 * Rounds in which all rivals take turns, forth and back (ABBA): what disturbs the machine for a
 * while meets all, and a trend favours none.
 */
static int run_rounds(const struct bench_options *opt, struct cell *cells, size_t count)
{
	for (unsigned int round = 0; round < opt->rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			struct cell *cell = &cells[round % 2 ? count - 1 - i : i];
			const struct rival *rival = &rivals[cell->rival];
			uint64_t jobs = cell->limit / opt->rounds;
			int64_t until = now_ns() + opt->seconds * 1e9 / opt->rounds;
			int ret;

			if (!opt->quiet)
				fprintf(stderr, "\rround %u of %u: %6.0f us %-20s", round + 1,
					opt->rounds, cell->interval / 1e3, rival->name);
			ret = rival_run(opt, cell, jobs ? jobs : 1, until);
			if (ret) {
				fprintf(stderr, "\nclockfix-bench: %s: %s%s\n", rival->name,
					strerror(-ret), ret == -EPERM ?
					"; without the privilege use --priority 0" : "");
				return ret;
			}
		}
	}
	if (!opt->quiet)
		fprintf(stderr, "\r%60s\r", "");
	return 0;
}

static int64_t at(const struct cell *cell, double share)
{
	return cell->late[(size_t)((cell->count - 1) * share)];
}

static double over(const struct cell *cell)
{
	size_t i = cell->count;

	while (i && cell->late[i - 1] > 1000)
		i--;
	return (double)(cell->count - i) / cell->count;
}

static double cpu_share(const struct cell *cell)
{
	return cell->elapsed ? (double)cell->cpu / cell->elapsed : 0;
}

static void print_table(const struct cell *cells, size_t count)
{
	int64_t interval = 0;

	puts("Lateness in ns; >1us: percent of jobs more than 1 us late; cpu: of the waiting thread, in\n"
	     "percent. No sample was removed.");
	for (const struct cell *c = cells; c < cells + count; c++) {
		if (!c->count)
			continue;
		if (c->interval != interval)
			printf("\n%9g us       %8s %8s %8s %9s %9s %10s %7s %6s\n", c->interval / 1e3, "jobs",
			       "p1", "p50", "p99", "p99.9", "max", ">1us", "cpu");
		interval = c->interval;
		printf("%-18s %8llu %8lld %8lld %9lld %9lld %10lld %7.3f %6.1f\n", rivals[c->rival].name,
		       (unsigned long long)c->count, (long long)at(c, 0.01), (long long)at(c, 0.5),
		       (long long)at(c, 0.99), (long long)at(c, 0.999), (long long)at(c, 1),
		       100 * over(c), 100 * cpu_share(c));
	}
}

/* With 401 quantiles of each distribution. */
static void print_json(const struct bench_options *opt, const struct cell *cells, size_t count)
{
	static const struct {
		const char *name;
		double share;
	} points[] = { { "p1", 0.01 }, { "p50", 0.5 }, { "p95", 0.95 }, { "p99", 0.99 },
		       { "p99.9", 0.999 }, { "max", 1 } };
	const char *comma = "";

	printf("{\"unit\": \"ns\", \"fifo_priority\": %d, \"cells\": [", opt->priority);
	for (const struct cell *c = cells; c < cells + count; c++) {
		if (!c->count)
			continue;
		printf("%s\n{\"interval\": %lld, \"rival\": \"%s\", \"jobs\": %llu", comma,
		       (long long)c->interval, rivals[c->rival].name, (unsigned long long)c->count);
		for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
			printf(", \"%s\": %lld", points[i].name, (long long)at(c, points[i].share));
		printf(", \"share_over_1us\": %.9g, \"cpu_share\": %.9g, \"cdf\": [%lld", over(c),
		       cpu_share(c), (long long)at(c, 0));
		for (int i = 1; i <= 400; i++)
			printf(", %lld", (long long)at(c, i / 400.));
		printf("]}");
		comma = ",";
	}
	puts("]}");
}

int bench_compare(const struct bench_options *opt)
{
	static struct cell cells[CELLS_MAX];
	size_t count;
	int ret;

	if (!known_rivals(opt->rivals))
		return 2;
	count = cells_create(opt, cells);
	if (!count)
		return 2;
	ret = run_rounds(opt, cells, count);
	if (ret)
		return 1;
	for (size_t i = 0; i < count; i++)
		qsort(cells[i].late, cells[i].count, sizeof(*cells[i].late), compare);
	if (opt->json)
		print_json(opt, cells, count);
	else
		print_table(cells, count);
	for (size_t i = 0; i < count; i++) {
		clockfix_destroy(cells[i].timer, 0);
		clockfix_sleeper_destroy(cells[i].sleeper);
		free(cells[i].late);
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "clockfix-bench: writing failed\n");
		return 1;
	}
	return 0;
}

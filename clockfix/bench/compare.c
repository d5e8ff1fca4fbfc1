// SPDX-License-Identifier: LGPL-2.1-or-later
/* compare.c - all rivals at all intervals, in turns */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define CELLS_MAX 256

/* CPU time that the hypervisor has taken from a CPU since it started, as the kernel tells */
static double steal_ms(int cpu)
{
	unsigned long long ticks = 0;
	char line[512], name[16];
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return 0;
	snprintf(name, sizeof(name), "cpu%d ", cpu);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
		break;
	}
	fclose(f);
	return ticks * 1000.0 / sysconf(_SC_CLK_TCK);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void print_counts(const char *what, int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), compare);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && ns[end] == ns[i];)
			end++;
		printf("%s,%lld,%zu\n", what, (long long)ns[i], end - i);
	}
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

			if (!chosen(opt->rivals, rivals[r].name) || count == CELLS_MAX ||
			    (rivals[r].peer && !opt->peers))
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
	for (unsigned int round = 0; round < opt->rounds && !interrupted; round++) {
		for (size_t i = 0; i < count && !interrupted; i++) {
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

static void print_cell(const struct cell *cell)
{
	uint64_t begin = 0;

	for (unsigned int i = 0; i < cell->rounds; begin = cell->round[i++].end) {
		char what[96];
		int len = snprintf(what, sizeof(what), "%lld,%s,%u,", (long long)cell->interval,
				   rivals[cell->rival].name, i);

		printf("%scpu,%lld,1\n%selapsed,%lld,1\n", what, (long long)cell->round[i].cpu,
		       what, (long long)cell->round[i].elapsed);
		snprintf(what + len, sizeof(what) - len, "late");
		print_counts(what, cell->late + begin, cell->round[i].end - begin);
	}
}

int bench_compare(const struct bench_options *opt)
{
	static struct cell cells[CELLS_MAX];
	const char *error;
	double stolen;
	size_t count;
	int ret;

	if (isatty(STDOUT_FILENO)) {
		fprintf(stderr, "clockfix-bench: it prints samples; try 'clockfix-bench | "
			"clockfix-bench-report'\n");
		return 2;
	}
	if (!known_rivals(opt->rivals))
		return 2;
	error = opt->peers ? peers_load(PEERS) : NULL;
	if (error) {
		fprintf(stderr, "clockfix-bench: no peers: %s\n"
			"Build them: ninja -C BUILD-DIRECTORY bench/libclockfix-peers.so\n", error);
		return 2;
	}
	count = cells_create(opt, cells);
	if (!count)
		return 2;
	stolen = steal_ms(opt->cpu);
	ret = run_rounds(opt, cells, count);
	stolen = steal_ms(opt->cpu) - stolen;
	if (ret)
		return 1;
	printf("interval_ns,rival,round,what,value,count\n0,,0,stolen_ms,%.0f,1\n"
	       "0,,0,priority,%d,1\n", stolen, opt->priority);
	for (size_t i = 0; i < count; i++) {
		print_cell(&cells[i]);
		clockfix_destroy(cells[i].timer, 0);
		clockfix_sleeper_destroy(cells[i].wait.sleeper);
		free(cells[i].late);
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "clockfix-bench: writing failed\n");
		return 1;
	}
	return interrupted ? 130 : 0;
}

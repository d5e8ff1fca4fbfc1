// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "blame.h"

#include "file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRUTH "/tmp/blame.truth"
#define OUTPUT "/tmp/blame.json"
#define LEAD (15 * SEC)	/* until the first expiry: all get ready first */
#define GAP 250ull		/* ns; what is longer was taken */

struct blame_truth *truth;

u64 blame_expiry(unsigned int i, unsigned int count)
{
	return truth->first + BLAME_SPIN / 20 + BLAME_SPIN * 9 / 10 * i / count;
}

void blame_ready(void)
{
	atomic_fetch_add(&truth->ready, 1);
}

static void wait_for(atomic_uint *value, unsigned int wanted)
{
	while (atomic_load(value) < wanted)
		usleep(1000);
}

void blame_late(u64 time)
{
	truth->late_total += time;
	truth->late_longest = time > truth->late_longest ? time : truth->late_longest;
	truth->late_jobs += time > BLAME_PERIOD;
	truth->jobs++;
}

void blame_await_end(void)
{
	wait_for(&truth->done, 1);
}

void blame_map(void)
{
	int fd = open(TRUTH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*truth)))
		return;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (truth == MAP_FAILED)
		truth = NULL;
}

static void spin(const struct blame_scenario *scenario)
{
	u64 before = now(), time, read = SEC, counters[BLAME_COUNTERS] = { 0 };

	prctl(PR_SET_NAME, "victim");
	for (unsigned int i = 0; i < 1000; i++, before = time) {
		time = now();
		read = time - before < read ? time - before : read;
	}
	if (scenario->count)
		scenario->count(counters);
	if (scenario->loop)
		scenario->loop();
	for (before = now(); before < truth->first + BLAME_SPIN ||
	     atomic_load(&truth->loads[0].count) < scenario->until; before = time) {
		time = now();
		if (time - before > read + GAP) {
			truth->gap_total += time - before - read;
			truth->gaps++;
		}
	}
	if (scenario->count)
		scenario->count(truth->counters);
	for (unsigned int i = 0; i < BLAME_COUNTERS; i++)
		truth->counters[i] -= counters[i];
}

static void start_load(const struct blame_load *load, unsigned int number)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, truth->loads[number].name);
	truth->loads[number].pid = getpid();	/* it may name another one */
	load->run(number);
	_exit(0);
}

static int run_scenario(const struct blame_scenario *scenario)
{
	unsigned int ready = 0;
	pid_t victim;

	blame_map();
	if (!truth)
		return 1;
	if (!truth->first)
		truth->first = now() + LEAD;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pin(0);
	for (unsigned int i = 0; scenario->loads[i].name; i++) {
		const struct blame_load *load = &scenario->loads[i];

		snprintf(truth->loads[i].name, sizeof(truth->loads[i].name), "load-%s", load->name);
		start_load(load, i);
		ready += load->ready;
	}
	wait_for(&truth->ready, ready);
	if (now() > truth->first)
		return 2;
	sleep_until(truth->first - 10 * MSEC);
	set_policy(0, scenario->victim);	/* the victim does not wait for a load at its birth */
	victim = fork();
	if (!victim) {
		spin(scenario);
		_exit(0);
	}
	set_policy(0, OTHER);
	truth->victim = victim;
	waitpid(victim, NULL, 0);
	usleep(1000 * scenario->linger);
	truth->done = 1;
	while (wait(NULL) > 0)
		;
	return 0;
}

static void make_truth(void)
{
	unlink(TRUTH);
	blame_map();
	require(truth, TRUTH ": %m");
}

void blame_prepare(unsigned int ready, void (*run)(void))
{
	make_truth();
	truth->first = now() + LEAD;	/* blame starts meanwhile, too */
	if (!fork()) {
		run();
		_exit(0);
	}
	wait_for(&truth->ready, ready);
}

double blame_number(const char *text, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	at = text ? strstr(text, quoted) : NULL;
	return at ? strtod(at + strlen(quoted), NULL) : -1;
}

static char *find_victim(char *output)
{
	char key[64], *at, *end;

	/* a victim by its indentation; it is a culprit of others, too */
	snprintf(key, sizeof(key), "\n      \"tid\": %d,", truth->victim);
	at = strstr(output, key);
	require(at, "blame does not know the victim, %d", truth->victim);
	end = strstr(at, "\n    }");
	if (end)
		*end = '\0';
	return at;
}

struct blame_truth blame_without(const char *scenario)
{
	struct blame_truth counted;
	pid_t pid;
	int status;

	make_truth();
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "self", "--scenario", scenario, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	require(!status, "%s ended with status %#x", scenario, status);
	counted = *truth;
	munmap(truth, sizeof(*truth));
	truth = NULL;
	return counted;
}

char *blame_run(const char *scenario)
{
	static char output[1 << 24];
	char self[256] = "", *victim;
	double rows = 0, taken;
	int fd, status;
	pid_t pid;

	require(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0, "readlink: %m");
	if (!truth || truth->done)
		make_truth();
	pid = fork();
	if (!pid) {
		fd = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, STDOUT_FILENO);
		execlp("timershield", "timershield", "blame", "--json", "--threads", "--",
		       self, "--scenario", scenario, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		skip("this kernel has no BTF");
	require(WIFEXITED(status) && !WEXITSTATUS(status), "blame ended with status %#x", status);
	require(file_read(OUTPUT, output, sizeof(output)) > 0, OUTPUT ": nothing in it");
	note("no event covers %.0f ns of an interrupt, %.0f of a switch",
	     blame_number(output, "interrupt_overhead_ns"),
	     blame_number(output, "switch_overhead_ns"));
	check(!blame_number(output, "lost_events"), "%.0f events were lost",
	      blame_number(output, "lost_events"));
	victim = find_victim(output);
	for (const char *at = victim; (at = strstr(at, "\"total_ns\": ")); at++)
		rows += blame_number(at, "total_ns");
	taken = blame_number(victim, "taken_ns");
	check(rows == taken, "the rows sum to %.0f ns, not to %.0f", rows, taken);
	return victim;
}

static bool has(const char *object, const char *key, const char *value)
{
	char line[128];

	snprintf(line, sizeof(line), "\"%s\": \"%s\"", key, value ? value : "");
	return !value || !*value || strstr(object, line);
}

/* Trace events do not tell to which process a thread belonged that has ended: its name does. */
static bool is_of(const char *object, const struct blame_wanted *wanted)
{
	char name[64];

	snprintf(name, sizeof(name), "\"name\": \"%s[", wanted->comm ? wanted->comm : "");
	return (!wanted->thread || (pid_t)blame_number(object, "tid") == wanted->thread) &&
	       (!wanted->comm || strstr(object, name));
}

double blame_sum(const char *victim, struct blame_wanted wanted, const char *key)
{
	static const char start[] = "\"kind\": \"";
	double sum = 0;

	for (const char *at = victim; (at = strstr(at, start)); at++) {
		const char *next = strstr(at + 1, start);
		size_t length = next ? (size_t)(next - at) : strlen(at);
		char object[2048];

		snprintf(object, sizeof(object), "%.*s", (int)length, at);
		if (has(object, "kind", wanted.kind) && has(object, "name", wanted.name) &&
		    has(object, "how", wanted.how) && has(object, "masked", wanted.masked) &&
		    has(object, "function", wanted.function) && has(object, "unit", wanted.unit) &&
		    is_of(object, &wanted))
			sum += blame_number(object, key);
	}
	return sum;
}

unsigned int blame_place(const char *victim, const char *kind, const char *name, const char *how)
{
	static const char start[] = "\"kind\": \"";
	unsigned int place = 0;

	for (const char *at = victim; (at = strstr(at, start)); at++) {
		const char *next = strstr(at + 1, start);
		size_t length = next ? (size_t)(next - at) : strlen(at);
		char object[2048], *named, *done;

		place++;
		snprintf(object, sizeof(object), "%.*s", (int)length, at);
		named = strstr(object, "\"name\": ");
		done = strstr(object, "\"how\": ");
		if (has(object, "kind", kind) && named && strstr(named, name) < strchr(named, '\n') &&
		    strstr(named, name) && done && strstr(done, how))
			return place;
	}
	return 0;
}

void blame_check(const char *what, double counted, double own, double slack)
{
	double allowed = own / 100 > slack ? own / 100 : slack;

	note("%s: blame %.0f, itself %.0f", what, counted, own);
	check(counted >= own - allowed && counted <= own + allowed,
	      "%s: blame counted %.0f, it counted itself %.0f", what, counted, own);
}

int blame_main(int argc, char **argv, const struct blame_scenario *scenarios)
{
	for (; argc == 3 && !strcmp(argv[1], "--scenario") && scenarios->name; scenarios++)
		if (!strcmp(scenarios->name, argv[2]))
			return run_scenario(scenarios);
	/* Real-time tasks may take all of the time; no file, no such server. */
	file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	file_write("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0");
	return run_tests(argc, argv, TESTS_KEEP_SWITCH);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks on one CPU that wake each other, and sleepers whose timers wait meanwhile. */
#define _GNU_SOURCE
#include "clock.h"
#include "csv.h"
#include "options.h"
#include "tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REPEATS 100000
#define PAIRS 5		/* senders, and receivers, of a group */
#define SIZE 100	/* bytes of a message */

struct options {
	int priority[2];	/* of the two players: SCHED_FIFO, 0: SCHED_OTHER */
	int groups;		/* of senders and receivers; 0: play ping-pong */
	int messages;		/* from each sender to each receiver of its group */
	int repeats;		/* samples */
	int warmup;
	int sleepers;		/* with a timer that does not expire, FIFO 10 */
	int cpu;
};

/* Two processes that hand each other a byte by pipes: two switches a round. */
static void answer(const struct options *options, int from, int to)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (task_fifo(0, options->priority[1]))
		_exit(1);
	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

static int play(const struct options *options, int to, int from, int64_t *samples)
{
	char byte = 0;
	int ret = task_fifo(0, options->priority[0]);

	for (int i = -options->warmup; !ret && i < options->repeats; i++) {
		int64_t start;

		if (!i)
			recording();
		start = clock_ns();
		if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
			return -EIO;
		if (i >= 0)
			samples[i] = clock_ns() - start;
	}
	recording();
	return ret ? ret : task_fifo(0, 0);
}

/* Fills @samples with the ns that each round took; 0 or -errno. */
static int pingpong(const struct options *options, int64_t *samples)
{
	int there[2], back[2], status, ret;
	pid_t pid;

	if (pipe(there) || pipe(back))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		close(there[1]);
		answer(options, there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	ret = play(options, there[1], back[0], samples);
	close(there[1]);
	if (waitpid(pid, &status, 0) < 0 || status)
		return ret ? ret : -ECHILD;
	return ret;
}

/*
 * Groups of processes that send each other messages by local sockets, as
 * hackbench does: many ordinary tasks, many wake-ups.
 */
struct group {
	int sockets[PAIRS][2];
};

static int transfer_all(int fd, int to_read)
{
	char message[SIZE] = { 0 };

	for (int done = 0; done < SIZE;) {
		ssize_t n = to_read ? read(fd, message + done, SIZE - done) :
				      write(fd, message + done, SIZE - done);

		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

static void receive(const struct options *options, const struct group *group, int i)
{
	for (int n = 0; n < options->messages * PAIRS; n++)
		if (transfer_all(group->sockets[i][0], 1))
			_exit(1);
	_exit(0);
}

static void send_all(const struct options *options, const struct group *group, int gate)
{
	char byte;

	if (read(gate, &byte, 1) != 0)	/* its end is closed when all begin */
		_exit(1);
	for (int n = 0; n < options->messages; n++)
		for (int i = 0; i < PAIRS; i++)
			if (transfer_all(group->sockets[i][1], 0))
				_exit(1);
	_exit(0);
}

static int start_group(const struct options *options, const int *gate)
{
	struct group group;

	for (int i = 0; i < PAIRS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, group.sockets[i]))
			return -errno;
	for (int i = 0; i < 2 * PAIRS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (task_fifo(0, options->priority[0]))
			_exit(1);
		close(gate[1]);
		if (i < PAIRS)
			receive(options, &group, i);
		send_all(options, &group, gate[0]);
	}
	for (int i = 0; i < PAIRS; i++) {
		close(group.sockets[i][0]);
		close(group.sockets[i][1]);
	}
	return 0;
}

static int one_round(const struct options *options, int64_t *took)
{
	int gate[2], status, ret = 0;
	int64_t start;

	if (pipe(gate))
		return -errno;
	for (int i = 0; i < options->groups && !ret; i++)
		ret = start_group(options, gate);
	usleep(10000);	/* all have got to where they wait */
	start = clock_ns();
	close(gate[1]);
	for (int i = 0; i < options->groups * 2 * PAIRS && !ret; i++)
		if (wait(&status) < 0 || status)
			ret = -ECHILD;
	*took = clock_ns() - start;
	close(gate[0]);
	return ret;
}

static int messages(const struct options *options, int64_t *samples)
{
	int64_t unused;
	int ret = one_round(options, &unused);

	recording();
	for (int i = 0; i < options->repeats && !ret; i++)
		ret = one_round(options, &samples[i]);
	recording();
	return ret;
}

/* Their timers wait meanwhile. */
static void *sleep_long(void *unused)
{
	if (!task_fifo(0, 10))
		sleep_until(clock_ns() + 3600 * NSEC_PER_SEC);
	return NULL;
}

static int start_sleepers(int count)
{
	pthread_t thread;

	for (int i = 0; i < count; i++) {
		errno = pthread_create(&thread, NULL, sleep_long, NULL);
		if (errno)
			return failed("sleepers");
	}
	usleep(100000);
	return 0;
}

static void write_results(const struct options *options, const int64_t *samples)
{
	FILE *summary = csv_create("summary.csv", "name,value");
	FILE *rounds = csv_create("rounds.csv", "round_ns");
	/* Messages that one round of messages() delivers */
	int64_t each = options->groups ? (int64_t)options->groups * PAIRS * PAIRS * options->messages : 1;
	int64_t total = 0;

	for (int i = 0; i < options->repeats; i++) {
		fprintf(rounds, "%" PRId64 "\n", samples[i]);
		total += samples[i];
	}
	fprintf(summary, "rounds,%d\ndone_each,%" PRId64 "\nelapsed_ns,%" PRId64 "\n",
		options->repeats, each, total);
	csv_finish(rounds, "rounds.csv");
	csv_finish(summary, "summary.csv");
}

static void set_priorities(char *text, void *to)
{
	int *priority = to;
	char *second = strchr(text, ',');

	if (second)
		*second++ = '\0';
	priority[0] = number(text, 0, 99, "priority");
	priority[1] = second ? number(second, 0, 99, "priority") : priority[0];
}

int main(int argc, char **argv)
{
	struct options options = { .repeats = 1000, .warmup = 100, .messages = 20 };
	const struct opt opts[] = {
		{ "repeats", "N", "rounds to record (1000)",
		  OPT_NUMBER(&options.repeats, 1, MAX_REPEATS) },
		{ "warmup", "N", "ping-pong rounds before these (100)",
		  OPT_NUMBER(&options.warmup, 0, MAX_REPEATS) },
		{ "priority", "A,B", "SCHED_FIFO priorities of the two players, 0: SCHED_OTHER (0,0);"
		  " A with --groups, for all", OPT_TEXT(set_priorities, options.priority) },
		{ "groups", "N", "groups of 5 senders and 5 receivers",
		  OPT_NUMBER(&options.groups, 1, 100) },
		{ "messages", "N", "messages from each sender to each receiver, a round (20)",
		  OPT_NUMBER(&options.messages, 1, 100000) },
		{ "sleepers", "N", "SCHED_FIFO 10 tasks that sleep for an hour meanwhile (0)",
		  OPT_NUMBER(&options.sleepers, 0, 10000) },
		{ "cpu", "N", "CPU for all tasks (0)", OPT_NUMBER(&options.cpu, 0, CPU_SETSIZE - 1) },
		{ }
	};
	int64_t *samples;
	int ret;

	parse_options(argc, argv, opts,
		      "Have tasks on one CPU wake each other; leave rounds.csv and summary.csv in the\n"
		      "working directory. Two processes play ping-pong by pipes, or, with --groups, many\n"
		      "send each other messages by local sockets.", NULL);
	samples = calloc(options.repeats, sizeof(*samples));
	if (!samples) {
		fprintf(stderr, "context_switch: no memory for %d samples\n", options.repeats);
		return 1;
	}
	if (task_pin(options.cpu) || start_sleepers(options.sleepers))
		return 1;
	ret = options.groups ? messages(&options, samples) : pingpong(&options, samples);
	if (ret) {
		fprintf(stderr, "context_switch: %s\n", strerror(-ret));
		return 1;
	}
	write_results(&options, samples);
	return 0;
}

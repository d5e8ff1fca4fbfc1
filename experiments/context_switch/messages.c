// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Groups of processes that send each other messages by local sockets, as
 * hackbench does: many ordinary tasks, many wake-ups.
 */
#include "switch.h"
#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 5		/* senders, and receivers, of a group */
#define SIZE 100	/* bytes of a message */

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

int64_t messages_each(const struct options *options)
{
	return (int64_t)options->groups * PAIRS * PAIRS * options->messages;
}

int messages(const struct options *options, int64_t *samples)
{
	int64_t unused;
	int ret = one_round(options, &unused);

	recording();
	for (int i = 0; i < options->repeats && !ret; i++)
		ret = one_round(options, &samples[i]);
	recording();
	return ret;
}

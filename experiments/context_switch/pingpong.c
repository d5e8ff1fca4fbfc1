// SPDX-License-Identifier: GPL-2.0-or-later
/* Two processes that hand each other a byte by pipes: two switches a round. */
#include "switch.h"
#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

int pingpong(const struct options *options, int64_t *samples)
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

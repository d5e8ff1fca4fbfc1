// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int timershield(char *const *words)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* the load that it is to move away holds it up less */
		setpriority(PRIO_PROCESS, 0, -20);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(words[0], words);
		_exit(127);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status)
		return 0;
	fprintf(stderr, "%s: 'timershield %s' failed\n", program_invocation_short_name, words[1]);
	return -EIO;
}

int isolate_cpu(int cpu)
{
	char number[16], *words[] = { "timershield", "isolate", number, NULL };

	snprintf(number, sizeof(number), "%d", cpu);
	return timershield(words);
}

int isolate_as(const char *config)
{
	char option[64], *words[] = { "timershield", "isolate", option, NULL };

	snprintf(option, sizeof(option), "--config=%s", config);
	return timershield(words);
}

int isolate_enter(int cpu)
{
	char number[16], pid[16];
	char *words[] = { "timershield", "run", "-c", number, "-P", pid, NULL };

	snprintf(number, sizeof(number), "%d", cpu);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return timershield(words);
}

int isolate_end(void)
{
	char *words[] = { "timershield", "unisolate", NULL };

	return timershield(words);
}

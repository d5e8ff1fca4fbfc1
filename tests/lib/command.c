// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

struct words {
	char text[512];
	char *argv[COMMAND_WORDS + 2];
};

static void split(struct words *words, const char *format, va_list args)
{
	char *rest = words->text, *word;
	int n = 1;

	vsnprintf(words->text, sizeof(words->text), format, args);
	words->argv[0] = "timershield";
	while (n <= COMMAND_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			words->argv[n++] = word;
	words->argv[n] = NULL;
}

static void execute(struct words *words)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp("timershield", words->argv);
	dprintf(STDERR_FILENO, "timershield: %s\n", strerror(errno));
	_exit(127);
}

static size_t take(int fd, char *text, size_t used)
{
	char spill[512];
	ssize_t n;

	if (used < COMMAND_OUTPUT - 1)
		n = read(fd, text + used, COMMAND_OUTPUT - 1 - used);
	else
		n = read(fd, spill, sizeof(spill));
	if (n <= 0)
		return 0;
	return used < COMMAND_OUTPUT - 1 ? (size_t)n : 0;
}

/* Until both pipes have no writer left. */
static void collect(int out, int err, struct command_result *result)
{
	struct pollfd sources[] = {
		{ .fd = out, .events = POLLIN },
		{ .fd = err, .events = POLLIN },
	};
	char *texts[] = { result->out, result->err };
	size_t used[] = { 0, 0 };

	while (sources[0].fd >= 0 || sources[1].fd >= 0) {
		poll(sources, 2, -1);
		for (int i = 0; i < 2; i++) {
			size_t n;

			if (sources[i].fd < 0 || !sources[i].revents)
				continue;
			n = take(sources[i].fd, texts[i], used[i]);
			used[i] += n;
			if (!n && !(sources[i].revents & POLLIN))
				sources[i].fd = -1;
			else if (!n && used[i] < COMMAND_OUTPUT - 1)
				sources[i].fd = -1;
		}
	}
	result->out[used[0]] = '\0';
	result->err[used[1]] = '\0';
}

static const struct command_result *run(struct words *words, bool nobody)
{
	static struct command_result result;
	int out[2], err[2], status;
	pid_t pid;

	require(!pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC), "pipe2: %s", strerror(errno));
	pid = fork();
	require(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		if (nobody && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
			_exit(126);
		execute(words);
	}
	close(out[1]);
	close(err[1]);
	collect(out[0], err[0], &result);
	close(out[0]);
	close(err[0]);
	require(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return &result;
}

const struct command_result *timershield(const char *format, ...)
{
	struct words words;
	va_list args;

	va_start(args, format);
	split(&words, format, args);
	va_end(args);
	return run(&words, false);
}

const struct command_result *timershield_as_nobody(const char *format, ...)
{
	struct words words;
	va_list args;

	va_start(args, format);
	split(&words, format, args);
	va_end(args);
	return run(&words, true);
}

static void be_silent(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

pid_t timershield_start(const char *format, ...)
{
	struct words words;
	va_list args;
	pid_t pid;

	va_start(args, format);
	split(&words, format, args);
	va_end(args);
	pid = fork();
	require(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		be_silent();
		execute(&words);
	}
	return pid;
}

void check_status(const struct command_result *result, int status)
{
	if (result->status == status)
		return;
	fault("timershield: exit status %d, not %d", result->status, status);
	note("it said: %.300s%.300s", result->out, result->err);
}

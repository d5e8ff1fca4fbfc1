// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* What it printed, as far as there is room. */
static void fetch(int file, char *text)
{
	ssize_t n = pread(file, text, COMMAND_OUTPUT - 1, 0);

	require(n >= 0, "pread: %m");
	text[n] = '\0';
	close(file);
}

const struct command_result *timershield_run(bool nobody, const char *format, ...)
{
	static struct command_result result;
	struct words words;
	va_list args;
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	int status;
	pid_t pid;

	va_start(args, format);
	split(&words, format, args);
	va_end(args);
	require(out >= 0 && err >= 0, "memfd_create: %m");
	pid = fork();
	require(pid >= 0, "fork: %m");
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		if (nobody && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
			_exit(126);
		execute(&words);
	}
	require(waitpid(pid, &status, 0) == pid, "waitpid: %m");
	result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	fetch(out, result.out);
	fetch(err, result.err);
	return &result;
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
	require(pid >= 0, "fork: %m");
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

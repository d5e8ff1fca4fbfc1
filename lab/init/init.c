// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PID 1 of a guest: runs the commands that the host put into /lab/commands, one
 * after the other, and sends what they print, how they end and the files they
 * leave in their working directory by the result port.
 *
 * A line of /lab/commands is
 *
 *	TIMEOUT WORD...
 *
 * TIMEOUT in seconds, words separated by single spaces, no quoting. The first
 * word is a program, "@write", which writes its second argument to the file named
 * by its first, "@load" and "@unload", which do that with a kernel module, or "@sleep",
 * which lets so many seconds pass.
 */
#define _GNU_SOURCE
#include "port.h"
#include "system.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORDS 64
#define SYSLOG_ACTION_READ_ALL 3
#define SYSLOG_ACTION_SIZE_BUFFER 10
#define COMMANDS "/lab/commands"

struct command {
	unsigned int number;
	unsigned int timeout;		/* s */
	char directory[32];
	char *words[MAX_WORDS + 1];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
}

static void say_hello(void)
{
	struct utsname name;
	char text[512];

	uname(&name);
	snprintf(text, sizeof(text), "%d %s %s %s %s", PORT_VERSION,
		 name.sysname, name.release, name.version, name.machine);
	port_send(PORT_HELLO, PORT_NO_COMMAND, text, strlen(text));
}

static void say_exit(unsigned int number, int32_t status, uint64_t took)
{
	uint8_t payload[12];

	status = (int32_t)htole32((uint32_t)status);
	took = htole64(took);
	memcpy(payload, &status, 4);
	memcpy(payload + 4, &took, 8);
	port_send(PORT_EXIT, number, payload, sizeof(payload));
}

static void say_taint(unsigned int number)
{
	static unsigned long long before;
	unsigned long long taint = system_taint();
	uint64_t payload = htole64(taint);

	if (taint == before)
		return;
	before = taint;
	port_send(PORT_TAINT, number, &payload, sizeof(payload));
}

static void send_file(unsigned int number, int directory, const char *name)
{
	char buffer[PORT_MAX];
	struct stat state;
	ssize_t n;
	int fd;

	if (fstatat(directory, name, &state, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(state.st_mode))
		return;
	fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	port_send(PORT_FILE, number, name, strlen(name));
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		port_send(PORT_DATA, number, buffer, n);
	close(fd);
	unlinkat(directory, name, 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void send_files(const struct command *command)
{
	int directory = open(command->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int n;

	if (directory < 0)
		return;
	n = scandir(command->directory, &entries, NULL, by_name);
	for (int i = 0; i < n; i++) {
		send_file(command->number, directory, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	close(directory);
	rmdir(command->directory);
}

static void child(const struct command *command, int output)
{
	int null = open("/dev/null", O_RDONLY);

	setsid();
	if (chdir(command->directory))
		_exit(126);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/tmp", 1);
	execv(command->words[0], command->words);
	dprintf(STDERR_FILENO, "%s: %m\n", command->words[0]);
	_exit(127);
}

/* Forward output until all writers are gone or time is up; 0 if it is up. */
static int forward_output(const struct command *command, int fd, uint64_t limit)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	char buffer[PORT_MAX];

	for (;;) {
		uint64_t now = now_ns();
		int left = now >= limit ? 0 : (int)((limit - now) / 1000000) + 1;
		ssize_t n;

		if (!left || poll(&source, 1, left) == 0)
			return 0;
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 1;
		port_send(PORT_OUTPUT, command->number, buffer, n);
	}
}

static void reap_everything(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void run_program(const struct command *command)
{
	uint64_t start = now_ns();
	int status = PORT_TIMED_OUT;
	int output[2];
	pid_t pid;

	mkdir(command->directory, 0777);
	chmod(command->directory, 0777);
	if (pipe2(output, O_CLOEXEC) || (pid = fork()) < 0) {
		say_exit(command->number, 126 << 8, 0);
		return;
	}
	if (!pid)
		child(command, output[1]);
	close(output[1]);
	if (forward_output(command, output[0], start + command->timeout * 1000000000ull)) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(output[0]);
	reap_everything();
	send_files(command);
	say_exit(command->number, status, now_ns() - start);
}

/* ERROR: of errno, or 0. */
static void say_result(const struct command *command, int error)
{
	const char *reason = strerror(error);

	if (error)
		port_send(PORT_OUTPUT, command->number, reason, strlen(reason));
	say_exit(command->number, error ? 1 << 8 : 0, 0);
}

static void run_write(const struct command *command)
{
	int ret = -EINVAL;

	if (command->words[1] && command->words[2])
		ret = system_write(command->words[1], command->words[2]);
	say_result(command, -ret);
}

static void run_load(const struct command *command)
{
	const char *path = command->words[1] ? command->words[1] : "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	say_result(command, fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? errno : 0);
	if (fd >= 0)
		close(fd);
}

static void run_unload(const struct command *command)
{
	const char *name = command->words[1] ? command->words[1] : "";

	say_result(command, syscall(SYS_delete_module, name, 0) ? errno : 0);
}

static void run_sleep(const struct command *command)
{
	sleep(command->words[1] ? strtoul(command->words[1], NULL, 10) : 0);
	say_exit(command->number, 0, 0);
}

static void run_line(unsigned int number, char *line)
{
	struct command command = { .number = number };
	char *rest, *word;
	int n = 0;

	port_send(PORT_BEGIN, number, line, strlen(line));
	command.timeout = strtoul(line, &rest, 10);
	snprintf(command.directory, sizeof(command.directory), "/tmp/%u", number);
	while (n < MAX_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			command.words[n++] = word;
	if (!n)
		say_exit(number, 126 << 8, 0);
	else if (!strcmp(command.words[0], "@write"))
		run_write(&command);
	else if (!strcmp(command.words[0], "@load"))
		run_load(&command);
	else if (!strcmp(command.words[0], "@unload"))
		run_unload(&command);
	else if (!strcmp(command.words[0], "@sleep"))
		run_sleep(&command);
	else
		run_program(&command);
	say_taint(number);
}

/*
 * The kernel's whole log: on PREEMPT_RT the console is written by a thread, which
 * may be a second behind.
 */
static void send_log(void)
{
	int size = klogctl(SYSLOG_ACTION_SIZE_BUFFER, NULL, 0);
	char *text = size > 0 ? malloc(size) : NULL;

	if (!text)
		return;
	size = klogctl(SYSLOG_ACTION_READ_ALL, text, size);
	if (size > 0)
		port_send(PORT_LOG, PORT_NO_COMMAND, text, size);
	free(text);
}

static void run_commands(void)
{
	unsigned int number = 0;
	size_t size = 0;
	char *line = NULL;
	ssize_t length;
	FILE *list = fopen(COMMANDS, "re");

	if (!list) {
		fprintf(stderr, "init: %s: %m\n", COMMANDS);
		return;
	}
	while ((length = getline(&line, &size, list)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (*line)
			run_line(number++, line);
	}
	free(line);
	fclose(list);
}

int main(void)
{
	const char *path;
	int ret;

	system_mount();
	system_prepare();
	path = system_find_port();
	if (!path) {
		fprintf(stderr, "init: no result port: neither lab_port= nor a virtio port\n");
		system_restart();
	}
	ret = port_open(path);
	if (ret) {
		fprintf(stderr, "init: %s: %s\n", path, strerror(-ret));
		system_restart();
	}
	say_hello();
	run_commands();
	send_log();
	port_send(PORT_END, PORT_NO_COMMAND, NULL, 0);
	port_drain();
	system_restart();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PID 1 of a guest: runs the commands that the host put into /lab/commands, one after the
 * other. What they print, how they end and the files that they leave in their working
 * directory leave the guest by a second serial port, as one tar stream. Its members are
 *
 *	uname		of the kernel
 *	N/command	the Nth command begins: its line
 *	N/output	a piece of what it printed
 *	N/files/NAME	a file that it left
 *	taint		/proc/sys/kernel/tainted, after it
 *	N/status	the status that waitpid() gave, or -1: time was up
 *	log		of the kernel, when all commands were run
 *
 * A line of /lab/commands is
 *
 *	TIMEOUT WORD...
 *
 * TIMEOUT in seconds, words separated by single spaces, no quoting. The first word is a
 * program, "@write", which writes its second argument to the file named by its first, "@load"
 * and "@unload", which do that with a kernel module, or "@sleep", which lets so many seconds
 * pass.
 */
#define _GNU_SOURCE
#include "file.h"
#include "system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORDS 256
#define SYSLOG_ACTION_READ_ALL 3
#define SYSLOG_ACTION_SIZE_BUFFER 10
#define COMMANDS "/lab/commands"
#define TIMED_OUT (-1)
#define BLOCK 512
#define PIECE 4096

struct command {
	unsigned int number, timeout;	/* s */
	char directory[32];
	char *words[MAX_WORDS + 1];
};

static int port;

static void write_all(const void *data, size_t length)
{
	while (length) {
		ssize_t n = write(port, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			perror("init: result port");
			exit(1);
		}
		data += n;
		length -= n;
	}
}

/* The header of a member; its contents follow, filled up to whole blocks. */
static void send_header(const char *name, size_t size)
{
	char header[BLOCK] = "";
	unsigned int sum = 8 * ' ';

	snprintf(header, 100, "%.99s", name);
	memcpy(header + 100, "0000644\0000000000\0000000000", 24);	/* mode, uid, gid */
	snprintf(header + 124, 12, "%011zo", size);
	memcpy(header + 136, "00000000000", 11);	/* time */
	header[156] = '0';				/* a file */
	memcpy(header + 257, "ustar\00000", 8);
	for (unsigned int i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	header[155] = ' ';
	write_all(header, BLOCK);
}

static void fill_up(size_t size)
{
	static const char zeros[BLOCK];

	write_all(zeros, -size % BLOCK);
}

static void send_data(const char *name, const void *data, size_t size)
{
	send_header(name, size);
	write_all(data, size);
	fill_up(size);
}

static void send_text(const char *name, const char *format, ...)
{
	char text[PIECE];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	send_data(name, text, n < PIECE ? n : PIECE - 1);
}

/* A member of the command's own. */
static const char *of(const struct command *command, const char *what)
{
	static char name[320];

	snprintf(name, sizeof(name), "%u/%s", command->number, what);
	return name;
}

static void send_file(const struct command *command, int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char member[300], buffer[PIECE] = "";
	struct stat state;

	if (fd < 0)
		return;
	if (!fstat(fd, &state) && S_ISREG(state.st_mode)) {
		snprintf(member, sizeof(member), "files/%s", name);
		send_header(of(command, member), state.st_size);
		for (off_t left = state.st_size; left > 0; ) {
			ssize_t n = read(fd, buffer, left < PIECE ? left : PIECE);

			if (n <= 0)	/* somebody still cuts it off */
				n = left < PIECE ? left : PIECE;
			write_all(buffer, n);
			left -= n;
		}
		fill_up(state.st_size);
		unlinkat(directory, name, 0);
	}
	close(fd);
}

static void send_files(const struct command *command)
{
	int directory = open(command->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int n;

	if (directory < 0)
		return;
	n = scandir(command->directory, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		send_file(command, directory, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	close(directory);
	rmdir(command->directory);
}

static void send_status(const struct command *command, int status)
{
	char taint[32] = "0";

	file_read("/proc/sys/kernel/tainted", taint, sizeof(taint));
	send_text("taint", "%s", taint);
	send_text(of(command, "status"), "%d", status);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
static int forward_output(const struct command *command, int fd)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	uint64_t end = now_ms() + command->timeout * 1000ull;
	char buffer[PIECE];

	for (;;) {
		uint64_t now = now_ms();
		ssize_t n;

		if (now >= end || poll(&source, 1, end - now) == 0)
			return 0;
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 1;
		send_data(of(command, "output"), buffer, n);
	}
}

static void run_program(const struct command *command)
{
	int status = TIMED_OUT;
	int output[2];
	pid_t pid;

	mkdir(command->directory, 0777);
	chmod(command->directory, 0777);
	if (pipe2(output, O_CLOEXEC)) {
		send_status(command, 126 << 8);
		return;
	}
	pid = fork();
	if (pid < 0)
		dprintf(output[1], "fork: %m\n");
	if (!pid)
		child(command, output[1]);
	close(output[1]);
	if (forward_output(command, output[0])) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(output[0]);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	send_files(command);
	send_status(command, status);
}

static int load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret = fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* What begins with an @; 0 or -errno. */
static int run_built_in(char **words)
{
	const char *what = words[0], *first = words[1] ? words[1] : "";

	if (!strcmp(what, "@write") && words[1] && words[2])
		return system_write(first, words[2]);
	if (!strcmp(what, "@load"))
		return load(first);
	if (!strcmp(what, "@unload"))
		return syscall(SYS_delete_module, first, 0) ? -errno : 0;
	if (!strcmp(what, "@sleep"))
		return sleep(strtoul(first, NULL, 10));
	return -EINVAL;
}

static void run_line(unsigned int number, char *line)
{
	struct command command = { .number = number };
	char *rest, *word;
	int n = 0, ret;

	send_text(of(&command, "command"), "%s", line);
	command.timeout = strtoul(line, &rest, 10);
	snprintf(command.directory, sizeof(command.directory), "/tmp/%u", number);
	while (n < MAX_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			command.words[n++] = word;
	if (!n) {
		send_status(&command, 126 << 8);
	} else if (*command.words[0] != '@') {
		run_program(&command);
	} else {
		ret = run_built_in(command.words);
		if (ret)
			send_text(of(&command, "output"), "%s", strerror(-ret));
		send_status(&command, ret ? 1 << 8 : 0);
	}
}

/*
 * The kernel's whole log: on PREEMPT_RT the console is written by a thread, which may be a
 * second behind.
 */
static void send_log(void)
{
	int size = klogctl(SYSLOG_ACTION_SIZE_BUFFER, NULL, 0);
	char *text = size > 0 ? malloc(size) : NULL;

	size = text ? klogctl(SYSLOG_ACTION_READ_ALL, text, size) : 0;
	send_data("log", text, size > 0 ? size : 0);
	free(text);
}

int main(void)
{
	unsigned int number = 0;
	struct utsname name;
	size_t size = 0;
	char *line = NULL;
	ssize_t length;
	FILE *list;

	system_mount();
	system_prepare();
	port = system_open_port();
	list = fopen(COMMANDS, "re");
	if (port < 0 || !list) {
		fprintf(stderr, "init: no result port, or no " COMMANDS ": %m\n");
		system_restart();
	}
	uname(&name);
	send_text("uname", "%s %s %s %s", name.sysname, name.release, name.version, name.machine);
	while ((length = getline(&line, &size, list)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (*line)
			run_line(number++, line);
	}
	send_log();
	if (isatty(port))
		tcdrain(port);
	system_restart();
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* clockfix-run.c - run a program whose absolute sleeps end at exactly their instants */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clockfix.h>

#define PRELOAD "libclockfix-run.so"

static const char usage[] =
	"usage: clockfix-run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND and makes its sleeps as exact as a clockfix job: clock_nanosleep(), by\n"
	"CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_TAI, nanosleep() and usleep(), in threads with\n"
	"real-time priority. Waits for a file or a futex do not change.\n"
	"\n"
	"  -a, --all            also serve threads without real-time priority\n"
	"  -c, --cpu N          let a thread take at most N percent of a CPU for waiting (1 to 100)\n"
	"  -s, --stats          print on stderr, for each process, how late it was\n"
	"  -h, --help           print this help\n"
	"  -V, --version        print the version\n";

__attribute__((noreturn, format(printf, 2, 3)))
static void die(int status, const char *format, ...)
{
	va_list args;

	fputs("clockfix-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		die(125, "no memory");
}

static void set_cpu(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || *text == '-' || !value || value > 100)
		die(125, "--cpu takes a number from 1 to 100, not '%s'", text);
	set("CLOCKFIX_RUN_CPU", text);
}

/* The library lies next to this program, or where it is installed or the environment says. */
static void preload(void)
{
	const char *others = getenv("LD_PRELOAD"), *elsewhere = getenv("CLOCKFIX_RUN_LIBRARY");
	const char *installed = elsewhere ? elsewhere : LIBRARY_DIRECTORY;
	char path[PATH_MAX], self[PATH_MAX], *list;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		die(125, "/proc/self/exe: %s", strerror(errno));
	self[length] = 0;
	snprintf(path, sizeof(path), "%s/%s", dirname(self), PRELOAD);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s/%s", installed, PRELOAD);
	if (access(path, R_OK))
		die(125, "%s is neither next to this program nor in %s; install it again", PRELOAD,
		    installed);
	/* the dynamic linker splits the list there, and knows no way to quote */
	if (strpbrk(path, " :"))
		die(125, "%s: a path with a blank or colon can't be preloaded; install it elsewhere",
		    path);
	if (asprintf(&list, "%s%s%s", path, others ? ":" : "", others ? others : "") < 0)
		die(125, "no memory");
	set("LD_PRELOAD", list);
	free(list);
}

/* Of a 64-bit ELF file: whether it names a dynamic linker. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;

	for (int i = 0; i < header->e_phnum; i++) {
		off_t at = header->e_phoff + i * sizeof(segment);

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Refuse what would run as if nothing had been asked for. What can't be read is tried. */
static void check(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
				(st.st_mode & S_ISGID && st.st_gid != getegid())))
		die(125, "%s is setuid or setgid: the dynamic linker preloads nothing there; "
		    "run it as the user it belongs to", path);
	if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	    (header.e_ident[EI_CLASS] != ELFCLASS64 || !has_interpreter(fd, &header)))
		die(125, "%s is a static or 32-bit program: nothing can be preloaded there; "
		    "use clockfix_sleep_until(3) in its source", path);
	close(fd);
}

/* as execvp() would find it */
static void check_command(const char *name)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];
	int length;

	if (strchr(name, '/')) {
		check(name);
		return;
	}
	for (; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(candidate, sizeof(candidate), "%.*s/%s", length, path, name);
		if (!access(candidate, X_OK)) {
			check(candidate);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "stats", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "+ac:shV", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			set("CLOCKFIX_RUN_ALL", "1");
			break;
		case 'c':
			set_cpu(optarg);
			break;
		case 's':
			set("CLOCKFIX_RUN_STATS", "1");
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			printf("clockfix-run %d.%d\n", CLOCKFIX_VERSION_MAJOR,
			       CLOCKFIX_VERSION_MINOR);
			return 0;
		default:
			fputs(usage, stderr);
			return 125;
		}
	}
	if (optind == argc) {
		fputs("clockfix-run: no COMMAND\n", stderr);
		fputs(usage, stderr);
		return 125;
	}
	check_command(argv[optind]);
	preload();
	execvp(argv[optind], argv + optind);
	option = errno;
	fprintf(stderr, "clockfix-run: %s: %s\n", argv[optind], strerror(option));
	return option == ENOENT ? 127 : 126;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* timershield - exact timing for the tasks that matter: timershield(8) */
#include "lib/message.h"
#include "lib/output.h"
#include "lib/verb.h"

#include <poll.h>
#include <signal.h>

static const struct verb verb_help, verb_version;

static const struct verb * const verbs[] = {
	&verb_status,
	&verb_isolate,
	&verb_unisolate,
	&verb_run,
	&verb_timers,
	&verb_blame,
	&verb_prove,
	&verb_help,
	&verb_version,
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static void print_all(void)
{
	printf("usage: timershield [VERB] [OPTION]... [ARGUMENT]...\n\n"
	       "Exact timing for real-time tasks: see what this machine lacks for it, find what\n"
	       "delays a task, isolate CPUs, and control the kernel's timer shield.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-11s%s\n", verbs[i]->name, verbs[i]->summary);
	printf("\nThe default verb is status. For details see 'timershield help VERB' and "
	       "timershield(8).\n");
}

static void print_all_json(void)
{
	json_open(NULL, '[');
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		json_open(NULL, '{');
		json_string("verb", verbs[i]->name);
		json_string("arguments", verbs[i]->arguments);
		json_string("summary", verbs[i]->summary);
		json_close('}');
	}
	json_close(']');
}

static bool help_words, help_roff;

/* The manual page from standard input, with each verb's options where it says so. */
static int print_manual(void)
{
	char *line = NULL, name[16];
	const struct verb *verb;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		verb = sscanf(line, ".\\\" options of %15s", name) == 1 ? find_verb(name) : NULL;
		if (verb)
			verb_print_roff(verb);
		else
			fputs(line, stdout);
	}
	free(line);
	return STATUS_OK;
}

static int run_help(int argc, char **argv)
{
	const struct verb *verb;

	argc -= optind;
	argv += optind;
	if (help_roff)
		return print_manual();
	if (!argc) {
		output == OUTPUT_JSON ? print_all_json() : print_all();
		return STATUS_OK;
	}
	verb = find_verb(argv[0]);
	if (argc > 1 || !verb)
		return usage_error(NULL, "unknown command '%s'", argv[argc - 1]);
	if (help_words)
		verb_print_words(verb);
	else
		verb_print_help(verb);
	return STATUS_OK;
}

static const struct verb verb_help = {
	.name = "help",
	.arguments = "[VERB]",
	.summary = "explain how to use timershield, or one of its verbs",
	.about = "",
	.options = (const struct verb_option[]){
		/* for bash's completion, and to build the manual page */
		{ "words", .flag = &help_words },
		{ "roff", .flag = &help_roff },
		{ 0 }
	},
	.words = "<verbs>",
	.run = run_help,
};

static int run_version(int argc, char **argv)
{
	if (output != OUTPUT_JSON) {
		puts("timershield " TIMERSHIELD_VERSION);
		return STATUS_OK;
	}
	json_open(NULL, '{');
	json_string("version", TIMERSHIELD_VERSION);
	json_close('}');
	return STATUS_OK;
}

static const struct verb verb_version = {
	.name = "version",
	.arguments = "",
	.summary = "print the version of this command",
	.about = "",
	.run = run_version,
};

/* Which write failed is not known: it may have been an earlier one. */
static bool has_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) != 1 || !(out.revents & POLLERR);
}

/*
 * A full disk must not look like success. A reader that has gone needs no words: the end is that of
 * any command in a pipe, also where a verb caught the signal to put things in order first.
 */
static int close_output(int status)
{
	errno = 0;	/* stays so if what failed was an earlier write */
	if (fflush(stdout) || ferror(stdout)) {
		if (has_reader()) {
			failed(-EIO, "standard output: %s",
			       errno ? strerror(errno) : "not all could be written");
		} else {
			signal(SIGPIPE, SIG_DFL);
			raise(SIGPIPE);
		}
		return status ? status : STATUS_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct verb *verb = &verb_status;
	char own_name[] = "timershield";
	int status;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		verb = &verb_help;
		argc = 1;
	} else if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		verb = &verb_version;
		argc = 1;
	} else if (argc > 1 && argv[1][0] != '-') {
		verb = find_verb(argv[1]);
		if (!verb)
			return usage_error(NULL, "unknown command '%s'", argv[1]);
		argc--;
		argv++;
	} else {
		for (int i = 2; i < argc; i++)
			if (find_verb(argv[i]))
				return usage_error(NULL, "the verb comes first: timershield %s %s",
						   argv[i], argv[1]);
	}
	argv[0] = own_name;
	status = verb_parse(verb, argc, argv);
	return close_output(status >= 0 ? status : verb->run(argc, argv));
}

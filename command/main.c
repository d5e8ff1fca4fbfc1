// SPDX-License-Identifier: GPL-2.0-or-later
/* timershield - exact timing for the tasks that matter: timershield(8) */
#include "lib/message.h"
#include "lib/output.h"
#include "lib/text.h"
#include "lib/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct verb verb_help, verb_version;

static const struct verb * const verbs[] = {
	&verb_status,
	&verb_isolate,
	&verb_unisolate,
	&verb_run,
	&verb_timers,
	&verb_blame,
	&verb_measure,
	&verb_help,
	&verb_version,
};

/* As these verbs were called before "shield" meant timers alone. */
static const struct {
	const char *old, *name;
} aliases[] = {
	{ "shield", "isolate" },
	{ "unshield", "unisolate" },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].old, name))
			name = aliases[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static void print_all(void)
{
	printf("usage: timershield [VERB] [OPTION]... [ARGUMENT]...\n\n"
	       "Exact timing for the tasks that matter: what this machine has and lacks for it,\n"
	       "CPUs isolated from everything else, and the kernel's shield against timers.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-11s%s\n", verbs[i]->name, verbs[i]->summary);
	printf("\nWithout a verb: status. 'timershield help VERB' and timershield(8) say more.\n");
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

static int run_help(int argc, char **argv)
{
	const struct verb *verb;
	int status = verb_common_options(&verb_help, argc, argv);

	if (status >= 0)
		return status;
	argc -= optind;
	argv += optind;
	if (!argc && output == OUTPUT_JSON)
		print_all_json();
	else if (!argc)
		print_all();
	if (!argc)
		return STATUS_OK;
	verb = find_verb(argv[0]);
	if (argc > 1 || !verb)
		return usage_error("", "there is no help on '%s'", argv[argc - 1]);
	verb_print_help(verb);
	return STATUS_OK;
}

static const struct verb verb_help = {
	.name = "help",
	.arguments = "[VERB]",
	.summary = "how to use timershield, or one of its verbs",
	.help = "",
	.run = run_help,
};

static int run_version(int argc, char **argv)
{
	int status = verb_common_options(&verb_version, argc, argv);

	if (status >= 0)
		return status;
	if (optind < argc)
		return usage_error("version", "'%s' is one argument too many", argv[optind]);
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
	.summary = "the version of this command",
	.help = "",
	.run = run_version,
};

/* A full disk, or a reader that has gone, must not look like success; the latter needs no words. */
static int close_output(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno != EPIPE)
			failed(-errno, "standard output: %s", strerror(errno));
		return status ? status : STATUS_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct verb *verb = &verb_status;
	char own_name[] = "timershield";

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		verb = &verb_help;
		argc = 1;
	} else if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		verb = &verb_version;
		argc = 1;
	} else if (argc > 1 && argv[1][0] != '-') {
		verb = find_verb(argv[1]);
		if (!verb)
			return usage_error("", "there is no '%s'", argv[1]);
		argc--;
		argv++;
	} else {
		for (int i = 2; i < argc; i++)
			if (find_verb(argv[i]))
				return usage_error("", "the verb comes first: timershield %s %s",
						   argv[i], argv[1]);
	}
	argv[0] = own_name;
	return close_output(verb->run(argc, argv));
}

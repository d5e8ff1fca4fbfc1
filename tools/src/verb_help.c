// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"
#include "verb.h"

#include <stdio.h>

static void print_all(void)
{
	printf("usage: timershield [VERB] [OPTION]... [ARGUMENT]...\n\n"
	       "Exact timing for the tasks that matter: what this machine has and lacks for it,\n"
	       "CPUs kept free of everything else, and the kernel's shield against timers.\n\n");
	for (size_t i = 0; verbs[i]; i++)
		printf("  %-10s%s\n", verbs[i]->name, verbs[i]->summary);
	printf("\nWithout a verb: status. 'timershield help VERB' and timershield(8) say more.\n");
}

void verb_print_help(const struct verb *verb)
{
	printf("usage: timershield %s%s%s\n\n%s.\n", verb->name, *verb->arguments ? " " : "",
	       verb->arguments, verb->summary);
	if (*verb->help)
		printf("\n%s", verb->help);
}

static int run(int argc, char **argv)
{
	const struct verb *verb;

	if (argc < 2) {
		print_all();
		return STATUS_OK;
	}
	verb = verb_find(argv[1]);
	if (argc > 2 || !verb)
		return usage_error("", "there is no help on '%s'", argv[argc > 2 ? 2 : 1]);
	verb_print_help(verb);
	return STATUS_OK;
}

const struct verb verb_help = {
	.name = "help",
	.arguments = "[VERB]",
	.summary = "how to use timershield, or one of its verbs",
	.help = "",
	.run = run,
};

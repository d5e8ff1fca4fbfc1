// SPDX-License-Identifier: GPL-2.0-or-later
#include "message.h"
#include "verb.h"

#include <stdio.h>

static int run(int argc, char **argv)
{
	if (argc > 1)
		return usage_error("version", "'%s' is one argument too many", argv[1]);
	puts("timershield " TIMERSHIELD_VERSION);
	return STATUS_OK;
}

const struct verb verb_version = {
	.name = "version",
	.arguments = "",
	.summary = "the version of this command",
	.help = "",
	.run = run,
};

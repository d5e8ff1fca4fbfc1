// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "mode.h"
#include "file.h"

#include <string.h>
#include <unistd.h>

bool mode_is_levels(void)
{
	char text[4096] = "";

	file_read("/proc/cmdline", text, sizeof(text));
	return strstr(text, "timershield=2");
}

int mode_switch_on(void)
{
	return access(SHIELD_SWITCH, F_OK) ? 0 : file_write(SHIELD_SWITCH, mode_is_levels() ? "2" : "1");
}

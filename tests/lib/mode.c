// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "mode.h"
#include "file.h"

#include <unistd.h>

static bool levels;

static void __attribute__((constructor)) note_mode(void)
{
	char text[16];

	levels = file_read(SHIELD_SWITCH, text, sizeof(text)) > 0 && *text == '2';
}

bool mode_is_levels(void)
{
	return levels;
}

int mode_switch_on(void)
{
	return access(SHIELD_SWITCH, F_OK) ? 0 : file_write(SHIELD_SWITCH, mode_is_levels() ? "2" : "1");
}

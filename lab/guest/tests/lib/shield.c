// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "shield.h"
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool shield_present(void)
{
	return access(SHIELD_SWITCH, F_OK) == 0;
}

int shield_write(const char *text)
{
	return file_write(SHIELD_SWITCH, text);
}

void shield_set(bool on)
{
	int ret;

	if (!shield_present())
		return;
	ret = shield_write(on ? "1" : "0");
	require(!ret, SHIELD_SWITCH ": cannot write %d: %s", on, strerror(-ret));
}

int shield_get(void)
{
	char text[16];
	int ret = file_read(SHIELD_SWITCH, text, sizeof(text));

	return ret < 0 ? ret : atoi(text);
}

int shield_read(unsigned int cpu, struct shield_cpu *state)
{
	static char text[1 << 14];
	char *line = text;
	int ret = file_read(SHIELD_STATE, text, sizeof(text));

	if (ret < 0)
		return ret;
	while ((line = strchr(line, '\n'))) {
		line++;
		if (sscanf(line, "%u\t%u\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64,
			   &state->cpu, &state->threshold, &state->masked,
			   &state->released, &state->avoided,
			   &state->longest_hold) == 6 && state->cpu == cpu)
			return 0;
	}
	return -ENOENT;
}

/*
 * An entry of /proc/timer_list is two lines:
 *  #0: <0000000000000000>, hrtimer_wakeup, S:01, L:12
 *  # expires at 5000000000-5000000000 nsecs [in 1000 to 1000 nsecs]
 */
int timer_level(const char *function, u64 expiry)
{
	FILE *list = fopen("/proc/timer_list", "re");
	char line[256], head[256] = "";
	int level = -ENOENT;

	if (!list)
		return -errno;
	while (fgets(line, sizeof(line), list)) {
		u64 soft, hard;
		char *at;

		if (sscanf(line, " # expires at %" SCNu64 "-%" SCNu64, &soft, &hard) != 2) {
			memcpy(head, line, sizeof(head));
			continue;
		}
		if ((expiry && soft != expiry) || (function && !strstr(head, function)))
			continue;
		at = strstr(head, "L:");
		level = at ? atoi(at + 2) : -ENODATA;
		break;
	}
	fclose(list);
	return level;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "shield.h"
#include "tap.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The index of the first clock base of ordinary tasks' timers: behind the hard and the soft ones */
#define ORDINARY_BASES 8

bool shield_present(void)
{
	return access(SHIELD_SWITCH, F_OK) == 0;
}

bool shield_has_levels(void)
{
	return mode_is_levels() || !(shield_present() || shield_is_module());
}

void shield_needs_levels(void)
{
	if (!shield_has_levels())
		skip("only levels order real-time tasks");
}

bool shield_is_module(void)
{
	return access("/sys/module/timershield_bases", F_OK) == 0;
}

void shield_load(bool loaded)
{
	int file, ret = 0;

	if (!loaded) {
		if (syscall(SYS_delete_module, "timershield", 0))
			ret = errno == ENOENT ? 0 : errno;
		require(!ret, "unloading timershield: %s", strerror(ret));
		return;
	}
	file = open(SHIELD_MODULE, O_RDONLY | O_CLOEXEC);
	require(file >= 0, SHIELD_MODULE ": %m");
	if (syscall(SYS_finit_module, file, "", 0))
		ret = errno == EEXIST ? 0 : errno;
	close(file);
	require(!ret, "loading timershield: %s", strerror(ret));
}

int shield_write(const char *text)
{
	return file_write(SHIELD_SWITCH, text);
}

void shield_set_mode(int mode)
{
	char text[16];
	int ret;

	snprintf(text, sizeof(text), "%d", mode);
	ret = shield_write(text);
	require(!ret, SHIELD_SWITCH ": cannot write %d: %s", mode, strerror(-ret));
}

void shield_set(bool on)
{
	if (shield_present())
		shield_set_mode(!on ? 0 : mode_is_levels() ? 2 : 1);
}

struct off_on off_and_on(u64 (*measure)(void))
{
	struct off_on found;

	shield_set(false);
	found.off = measure();
	shield_set(true);
	found.on = measure();
	return found;
}

void late_at_most(u64 (*late)(void), u64 allowed)
{
	struct off_on found = off_and_on(late);

	measured(found.on <= found.off + allowed,
		 "%llu ns late, %llu with the shield off; %llu more are allowed", found.on, found.off,
		 allowed);
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
		if (sscanf(line, "%u\t%u\t%llu\t%llu\t%llu\t%llu",
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
	bool levels = shield_has_levels();
	char line[256], head[256] = "";
	int level = -ENOENT, base = 0;

	if (shield_is_module())
		skip("/proc/timer_list does not show the module's timers");
	if (!list)
		return -errno;
	while (fgets(line, sizeof(line), list)) {
		u64 soft, hard;
		char *at;

		if (sscanf(line, " .index: %d", &base) == 1)
			continue;
		if (sscanf(line, " # expires at %llu-%llu", &soft, &hard) != 2) {
			memcpy(head, line, sizeof(head));
			continue;
		}
		if ((expiry && soft != expiry) || (function && !strstr(head, function)))
			continue;
		at = strstr(head, "L:");
		if (levels)
			level = at ? atoi(at + 2) : -ENODATA;
		else
			level = base < ORDINARY_BASES ? LEVEL_FIFO + 1 : LEVEL_FAIR;
		break;
	}
	fclose(list);
	return level;
}

unsigned int shown_level(unsigned int level)
{
	return shield_has_levels() || level <= LEVEL_FAIR ? level : LEVEL_FIFO + 1;
}

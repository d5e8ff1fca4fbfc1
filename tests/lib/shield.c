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

int shield_highest_mode(void)
{
	static int highest;

	if (!highest) {
		int found = shield_get();

		highest = shield_write("2") ? 1 : 2;
		shield_set_mode(found);
	}
	return highest;
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /etc/timershield.conf: lines KEY = VALUE; # begins a comment.
 *
 *	cpus = 2-3		CPUs to isolate; none
 *	procs = yes		from tasks
 *	irqs = yes		from interrupts
 *	timers = keep		the kernel's shield against timers: on, levels, off
 */
#ifndef TIMERSHIELD_CONFIG_H
#define TIMERSHIELD_CONFIG_H

#include "lib/cpus.h"

#define CONFIG_FILE "/etc/timershield.conf"

struct config {
	struct cpus cpus;
	bool procs, irqs;
	int timers;			/* its mode, or -1: it stays */
};

/* 0, or -errno after a message with the file's name and the line's number. */
int config_load(struct config *config, const char *path);

#endif

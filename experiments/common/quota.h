/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QUOTA_H
#define QUOTA_H

/*
 * quota_groups - make COUNT cgroups, each in the one before, each with half of every 2 ms
 * (cpu.max); the directory of the last one, or NULL with errno.
 */
const char *quota_groups(int count);

#endif

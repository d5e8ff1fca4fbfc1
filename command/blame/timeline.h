/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a CPU did during an episode. */
#ifndef TIMERSHIELD_BLAME_TIMELINE_H
#define TIMERSHIELD_BLAME_TIMELINE_H

#include "blame_types.h"

#include <stdio.h>

void timeline_print(const struct episode *episode, unsigned int cpu);
void timeline_print_json(const struct episode *episode, unsigned int cpu);

/* In the Chrome trace-event format; closes FILE. 0, or -errno after a message. */
int timeline_write(FILE *file, const struct episode *episode, unsigned int cpu);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock.h - other clocks than CLOCK_MONOTONIC, by which all waiting is done */
#ifndef CLOCKFIX_CLOCK_H
#define CLOCKFIX_CLOCK_H

#include <stdint.h>
#include <time.h>

#define STRETCH	100000	/* ns in which another speed is of no account: they can be polled */

/* The distance of @clock from CLOCK_MONOTONIC; -EINVAL: there is no such clock. */
int clock_offset(clockid_t clock, int64_t *offset);

/*
 * The instant by CLOCK_MONOTONIC; of a device's clock less, as it is to be looked at once more
 * then: it has an oscillator of its own, and takes microseconds to look at. Returns how long, in ns.
 */
int64_t clock_look(clockid_t clock, int64_t instant, int64_t *mono);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* waits.h - the rivals' ways to wait */
#ifndef CLOCKFIX_WAITS_H
#define CLOCKFIX_WAITS_H

#include <time.h>

#include <clockfix.h>

/* what one of them has at one interval */
struct wait_state {
	struct clockfix_sleeper *sleeper;
};

void wait_poll(int64_t instant, struct wait_state *state);
void wait_clock_nanosleep(int64_t instant, struct wait_state *state);
void wait_nanosleep(int64_t instant, struct wait_state *state);
void wait_futex(int64_t instant, struct wait_state *state);
void wait_margin(int64_t instant, struct wait_state *state);
void wait_sleep_until(int64_t instant, struct wait_state *state);

#endif

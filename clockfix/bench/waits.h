/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* waits.h - the rivals' ways to wait */
#ifndef CLOCKFIX_WAITS_H
#define CLOCKFIX_WAITS_H

#include <clockfix.h>

void wait_poll(int64_t instant, struct clockfix_sleeper *sleeper);
void wait_clock_nanosleep(int64_t instant, struct clockfix_sleeper *sleeper);
void wait_nanosleep(int64_t instant, struct clockfix_sleeper *sleeper);
void wait_futex(int64_t instant, struct clockfix_sleeper *sleeper);
void wait_margin(int64_t instant, struct clockfix_sleeper *sleeper);
void wait_sleep_until(int64_t instant, struct clockfix_sleeper *sleeper);

#endif

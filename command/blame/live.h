/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blame's view on a terminal, drawn each second, and the keys that change it. */
#ifndef TIMERSHIELD_LIVE_H
#define TIMERSHIELD_LIVE_H

#include "session.h"

/* Says that it starts; keys are read at once and not shown, if this process may. */
void live_start(void);

/* Draws anew once it is time. 0 or -errno. */
int live_draw(struct session *session);

/* Waits for a key, for NS at most, and takes it. Whether it was the one to quit. */
bool live_wait(struct session *session, u64 ns);

/* The terminal is as it was, its screen empty if anything was drawn. */
void live_end(void);

#endif

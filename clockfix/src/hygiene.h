/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hygiene.h - real-time set-up of the worker: CPU, policy, memory, timer slack, CPU latency */
#ifndef CLOCKFIX_HYGIENE_H
#define CLOCKFIX_HYGIENE_H

#include "state.h"

/* In the worker's thread: what asks for privileges. Notes in the capabilities what was refused. */
int hygiene_apply(struct clockfix *timer);
void hygiene_leave(struct clockfix *timer);

/* In any thread, once the worker has ended. */
void hygiene_undo(struct clockfix *timer);

#endif

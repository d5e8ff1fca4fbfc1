/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locking the memory of a program that is about to be executed.
 *
 * exec() forgets mlockall(), and the program itself may not call it. So a tracer waits
 * for the exec(), makes the program call mlockall() before its first instruction, and
 * leaves. Experimental: a kernel, container or debugger that forbids tracing forbids this.
 */
#ifndef TIMERSHIELD_MLOCK_H
#define TIMERSHIELD_MLOCK_H

#include <stdbool.h>

/* Whether this is done on this architecture. */
bool mlock_supported(void);

/*
 * Starts the tracer of this process, which then executes the program. If that cannot be
 * traced, or its memory not locked, the tracer says so and kills it. Returns 0, or
 * -errno after a message.
 */
int mlock_next_program(void);

#endif

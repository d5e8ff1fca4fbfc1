/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One change of the shield at a time. */
#ifndef TIMERSHIELD_LOCK_H
#define TIMERSHIELD_LOCK_H

/*
 * Creates /run/timershield if need be, and waits until no other timershield changes
 * anything, with a message if that is not at once. Returns a file descriptor, which
 * holds the lock until it is closed, also by exec() or by the process's end; or
 * -errno after a message.
 */
int lock_take(void);

#endif

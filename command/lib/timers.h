/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's shield against timers, built in or the module's. */
#ifndef TIMERSHIELD_TIMERS_H
#define TIMERSHIELD_TIMERS_H

#include <stdbool.h>

#define TIMERS_SWITCH "/proc/sys/kernel/timershield"
#define TIMERS_MODULE "timershield"

/*
 * Classes: while a real-time task runs, timers of ordinary tasks do not interrupt it. Levels: nor do
 * those of real-time tasks of lower priority; for systems whose real-time tasks are all pinned.
 */
enum timers_mode { TIMERS_OFF, TIMERS_CLASSES, TIMERS_LEVELS };

/* The mode, -ENOENT if this kernel has none, or -errno. */
int timers_get(void);

/* "off", "on" or "levels", as people write it; and back, -EINVAL for another word. */
const char *timers_mode_name(int mode);
int timers_mode_parse(const char *name);

/* Whether this kernel's modules have it, loaded or not. */
bool timers_module_there(void);

/* Whether the module can be built for this kernel's version; docs/module.md has them. */
bool timers_module_possible(void);

/* "built in", "module", "module, not loaded" or "absent". */
const char *timers_kind(void);

/* The module is loaded if this mode takes one. 0, or -errno after a message. */
int timers_load(int mode);

/* The same, and then the mode is this one. 0, or -errno after a message. */
int timers_set(int mode);

#endif

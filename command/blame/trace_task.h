/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What trace events do not tell of a task, looked up in /proc a moment later. */
#ifndef TIMERSHIELD_BLAME_TRACE_TASK_H
#define TIMERSHIELD_BLAME_TRACE_TASK_H

#include "blame_types.h"

/* PF_KTHREAD and PF_WQ_WORKER. */
u32 trace_task_flags(u32 tid);

/* Name and priority, for events that have only the number. */
void trace_task_who(struct who *who, u32 tid);

/* The system call in which it sleeps + 1; 0 if it is not known. */
u32 trace_task_call(u32 tid);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What takes time, by name, and what would take it away. The caller frees what is not const. */
#ifndef TIMERSHIELD_BLAME_CAUSE_H
#define TIMERSHIELD_BLAME_CAUSE_H

#include "source.h"
#include "task_info.h"

/* For programs. */
const char *cause_kind(u32 kind);

bool cause_is_tick(u64 function);
bool cause_is_tlb(u64 function);

/* What a task waited in: "futex", "page fault"; for the heading and for rows. */
char *sleep_text(u32 how);

/* An enum throttle: which one this kernel has, if the source could not tell. */
u32 cause_throttle(u32 why);

/* As the kernel numbers them. */
enum {
	SOFTIRQ_TIMER = 1, SOFTIRQ_NET_RX = NET_RX, SOFTIRQ_SCHED = 7, SOFTIRQ_HRTIMER = 8,
	SOFTIRQ_RCU = 9
};

/* "web[812]", "tick", "interrupt 24 virtio0"; SEVERAL: threads of that name woke the victim */
char *cause_name(const struct cause *cause, const struct who *who, bool several);

/* How a task's timer was armed, or who waited (SEVERAL: without its number); "" for other causes. */
char *cause_how(const struct cause *cause, bool several);

/* The thread that the victim needed, and that could not run; 0: none. */
u32 cause_needs(const struct cause *cause);

/* The file that limits the memory of the victim's cgroup, if that is what blocked it; or NULL. */
const char *cause_memory(const struct cause *cause);

/* The name, and how its timer was armed or what the worker does: "web[812]: timerfd" */
char *cause_text(const struct cause *cause, const struct who *who);

/* "FIFO 80", "OTHER" */
char *level_text(const struct who *who);

/* "process/thread[812]" */
char *who_text(const struct who *who);

/*
 * On this machine: a command, or a phrase that says what to do. NULL if nothing is known that
 * helps here: no option that the kernel was not built with, no isolation that cannot be had or
 * that does not remove this cause.
 */
char *remedy_for(const struct blame_victim *victim, const struct blame_row *row,
		 enum masked masked);

/* Whether the two share a CPU that nobody balances, where the victim may run on another one. */
bool remedy_unbalanced(const struct blame_victim *victim, const struct blame_row *row);

/* What was read of the machine is forgotten. */
void remedy_free(void);

#endif

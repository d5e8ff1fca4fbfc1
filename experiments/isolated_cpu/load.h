/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ISOLATED_CPU_LOAD_H
#define ISOLATED_CPU_LOAD_H

#define MEASURED_CPU	0
#define LOAD_CPU	1

/* What the load consists of. */
enum load { LOAD_NONE, LOAD_SPIN, LOAD_KERNEL };

/* Starts the load; its processes end with this one. 0 or -errno. */
int load_start(enum load load);

/*
 * Makes what gives the other CPU turns the lightest of tasks, or the scheduler would keep
 * the load away from the CPU on which that runs.
 */
void load_give_less_way(void);

/*
 * Ends all of it. On a CPU that is not isolated it would go on while nothing is measured, and
 * leave the other one hardly any turns: RCU stalls there, and unisolating waits.
 */
void load_stop(void);

/* Ends what gives the other CPU turns: an isolated CPU is idle, and takes few. */
void load_give_no_way(void);

#endif

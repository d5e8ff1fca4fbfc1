/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Isolation of CPUs: by a cpuset partition, and by the affinities of interrupts and tasks. */
#ifndef TIMERSHIELD_ISOLATION_H
#define TIMERSHIELD_ISOLATION_H

#include "journal.h"
#include "lib/machine.h"

#include <signal.h>

/*
 * Cgroups of others that want CPUs for themselves.
 *
 * Linux 6.12 ends such a partition, for good, as soon as another group names one of its CPUs,
 * also if that other one is then refused. So they are found before the first write.
 */
struct rival {
	char *group;			/* a path */
	char *type;			/* such as "root" or "isolated invalid (...)" */
	struct cpus cpus;
};

struct rivals {
	struct rival *items;
	size_t count;
	struct cpus taken;		/* by partitions that are valid */
	bool isolate;			/* one of these is isolated */
};

/* Finds all of them below the mount point of cgroup v2, but for our own. */
void rivals_find(struct rivals *rivals, const char *mount);
void rivals_free(struct rivals *rivals);

/* "GROUP/cpuset.cpus, ..." of those that want some of these CPUs, or ""; the caller frees it. */
char *rivals_named(const struct rivals *rivals, const struct cpus *cpus);

/* Writes its type back to each partition that was valid and is not any more. */
void rivals_restore(const struct rivals *rivals);

/* What the kernel says of it. */
struct partition {
	char *state;			/* such as "isolated"; NULL if there is none */
	struct cpus cpus;		/* those that it was given */
	struct cpus isolated;		/* those of them that it isolates now */
};

struct isolation {
	struct machine machine;
	struct journal journal;
	char *mount;			/* of cgroup v2; NULL: only interrupts can be kept away, */
	const char *why;		/* for this reason */
	struct partition partition;
	struct rivals rivals;
	struct cpus procs, irqs;	/* asked for: isolated from tasks, from interrupts */
	struct cpus isolated;		/* in fact isolated from tasks, by whatever means */
	struct cpus booted;		/* those of them that the kernel's command line names */
	bool settled;			/* no change was under way when this one began */
	bool touched;			/* something was changed */
	bool refused;			/* by the kernel: the partition */
	bool damaged;			/* the journal is */
	bool lost;			/* there is a partition of ours, but no journal */
};

/* Finds out how things are; 0 or -errno, after a message if LOUD. To be closed in any case. */
int isolation_open(struct isolation *isolation, bool loud);
void isolation_close(struct isolation *isolation);

/* Prints what to do about a damaged or lost journal; returns -EBADMSG. */
extern const char isolation_mend[];
int isolation_refuse_damaged(const struct isolation *isolation);

/* Before any change: -EBUSY after a message if cgroups of others have some of these CPUs. */
int isolation_refuse_taken(const struct isolation *isolation, const struct cpus *procs);

/* Signals that would end or stop the process wait until BEFORE is the mask again. */
void isolation_hold_signals(sigset_t *before);

/*
 * Isolates these CPUs and no others. Needs the lock. If it cannot be done, what was
 * before is brought back. Signals that would end the process wait until it is done.
 * 0, or -errno after a message.
 */
int isolation_set(struct isolation *isolation, const struct cpus *procs, const struct cpus *irqs);

/*
 * Files that hold CPUs: the affinity of interrupts, the steering of packets (rps_cpus),
 * and the affinity of unbound kernel work.
 *
 * Planning notes in the journal what each is now and what it is to be; applying
 * writes that. In between the journal is saved. A value that somebody else wrote since
 * is taken for the original one, and comes back when the isolation ends.
 */

/* Where packets are steered to; a pattern. */
#define STEERING_FILES "/sys/class/net/*/queues/rx-*/rps_cpus"

/*
 * With the empty set everything gets its original value. Steering counts as interrupts.
 * xps_cpus stays: it says which queue a CPU sends by, and no CPU works for another because of
 * it. 0, or -errno after a message.
 */
int settings_plan_irqs(struct journal *journal, const struct machine *machine,
		       const struct cpus *isolated);

/*
 * OTHERS: somebody else has an isolated partition. A new mask of unbound work would have that one's
 * CPUs until the next partition changes, so it stays: the kernel itself takes isolated CPUs out.
 */
int settings_plan_workqueue(struct journal *journal, const struct machine *machine,
			    const struct cpus *isolated, bool others);

/*
 * An interrupt that cannot be moved is no error, and stays in the journal as it is; one that cannot
 * be given back its original affinity is, after a message. 0 or -errno.
 */
int settings_apply_irqs(struct isolation *isolation);
int settings_apply_workqueue(struct isolation *isolation);

/*
 * Before a partition changes: unbound work leaves the CPUs that are to be isolated, and has not
 * come back to those that were. The kernel then has nothing to move for the partition's sake, which
 * it does badly for a process that is killed: Linux 6.12 warns in update_parent_effective_cpumask()
 * that it could not make a kernel thread, and shows a wrong cpumask_isolated until the next
 * partition. An error is for the one who applies the mask afterwards to tell: 0. Next to isolated
 * partitions of others, a mask that is to be restored is, so that the kernel takes their CPUs out of it.
 */
int settings_narrow_workqueue(struct isolation *isolation);

/* Reads the text of one of these files: a list, or a mask where it is one. */
int setting_parse(const char *path, const char *text, struct cpus *cpus);

/* How many interrupts may go to some of these CPUs, or -errno. */
int settings_count_irqs(const struct cpus *cpus);

/* Those of these CPUs that the default mask of interrupts names. */
struct cpus settings_exposed(const struct cpus *isolated);

/*
 * Affinities of tasks while CPUs are isolated.
 *
 * Linux before 6.2 forgets a task's own affinity when its cpuset changes, and gives it all CPUs. So
 * what differs from "all" is kept in the journal, and given back, without the isolated CPUs while
 * there are any. Later kernels remember what a user asked for, but not what kernel threads had. The
 * threads of interrupts are where these are sent, and go back there.
 *
 * Isolation by affinity has no partition: each task is told which CPUs it may use, as in
 * Brosky's article. What asks for an isolated CPU and others later gets it.
 */

/*
 * Notes in the journal what each task asked for. Nobody asked to be kept off the CPUs TAKEN by
 * partitions of others. 0, or -errno after a message.
 */
int affinity_plan(struct journal *journal, const struct machine *machine,
		  const struct cpus *taken);

/*
 * Once planned, before anything is changed: -ENODEV after a message if a task asked for CPUs alone that
 * leave isolation and are offline. It would keep others for good: the kernel does not look again.
 */
int affinity_refuse_offline(const struct journal *journal, const struct machine *machine,
			    const struct cpus *leaving);

/* Gives it to each without the CPUs isolated from tasks. Always 0. */
int affinity_apply(struct isolation *isolation);

/*
 * A change of a cpuset waits for RCU. On PREEMPT_RT a CPU's rcuc thread has to run for that, so a
 * task above it that never sleeps would make the change hang: meanwhile these threads outrank all.
 */

/* Notes them in the journal, after undoing what a change that was killed has left. 0 or -errno. */
int rcu_threads_plan(struct journal *journal);
void rcu_threads_raise(const struct journal *journal);
void rcu_threads_lower(const struct journal *journal);

/*
 * An isolated cpuset partition, "timershield" below the root of cgroup v2.
 *
 * It enables the controller for its own children, which keeps others (systemd does on
 * a reload) from disabling it at the root. Processes live in child groups run-PID.
 */

/* Below the mount point of cgroup v2. */
#define PARTITION "/timershield"

/*
 * Makes the partition, or changes its CPUs, and takes in what is to be adopted. With no CPUs: sends
 * its processes back to where they came from, removes it, and disables the controller if the
 * journal says that we enabled it. Each can be done again. 0, or -errno after a message.
 */
int partition_set(const char *mount, struct journal *journal, const struct cpus *cpus);

void partition_read(struct partition *partition, const char *mount);
void partition_free(struct partition *partition);

/* Whether this cgroup is the partition or in it, and whether this process is. */
bool partition_is(const char *group);
bool partition_has(pid_t pid);

/* Moves a process into the child group NAME, which is made. 0, or -errno after a message. */
int partition_enter(const char *mount, const char *name, pid_t pid);

/* Moves a process back to where it came from. 0, or -errno after a message. */
int partition_leave(const char *mount, const struct journal *journal, pid_t pid);

/*
 * Processes all of whose threads asked for isolated CPUs alone stay there: the partition
 * takes them in. Planning notes them in the journal. Releasing sends those back that no
 * longer belong there, before CPUs leave the partition; always 0.
 */
void partition_plan_adoption(struct journal *journal, const struct cpus *procs);
int partition_release(struct isolation *isolation);

/* Removes the groups of processes that have ended, also from the journal. */
void partition_forget_ended(const char *mount, struct journal *journal);

#endif

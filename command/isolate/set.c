// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/cgroup.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"
#include "lib/timers.h"

#include <signal.h>

/* What was asked for is in the journal; what is so, the kernel alone knows. */
static void read_isolated(struct isolation *isolation)
{
	const struct cpus *booted = &isolation->machine.booted;

	isolation->procs = isolation->journal.procs;
	isolation->irqs = isolation->journal.irqs;
	isolation->booted = cpus_and_not(booted, &isolation->partition.cpus);
	isolation->isolated = cpus_or(&isolation->partition.isolated, &isolation->booted);
	if (isolation->journal.by_affinity) {
		struct cpus online = cpus_and(&isolation->procs, &isolation->machine.online);

		isolation->isolated = cpus_or(&isolation->isolated, &online);
	}
}

int isolation_open(struct isolation *isolation, bool loud)
{
	int ret;

	*isolation = (struct isolation){ 0 };
	ret = machine_read(&isolation->machine);
	if (ret)
		return ret;
	ret = journal_load(&isolation->journal);
	isolation->damaged = ret == -EBADMSG;
	isolation->journal.exists |= isolation->damaged;
	if (ret && !isolation->damaged && (loud || ret != -EACCES))
		return failed(ret, JOURNAL_FILE ": %s", strerror(-ret));
	isolation->mount = cgroup_mount_point(&isolation->why);
	if (isolation->mount) {
		partition_read(&isolation->partition, isolation->mount);
		rivals_find(&isolation->rivals, isolation->mount);
		/* A partition of ours without journal is to be undone before anything else. */
		isolation->lost = !isolation->journal.exists &&
				  !cpus_empty(&isolation->partition.cpus);
	}
	read_isolated(isolation);
	return 0;
}

const char isolation_mend[] = "a reboot undoes all that it described";

int isolation_refuse_damaged(const struct isolation *isolation)
{
	return failed(-EBADMSG, "%s %s: %s", JOURNAL_FILE,
		      isolation->lost ? "is missing, but the partition exists" : "is damaged",
		      isolation_mend);
}

void isolation_close(struct isolation *isolation)
{
	journal_free(&isolation->journal);
	partition_free(&isolation->partition);
	rivals_free(&isolation->rivals);
	free(isolation->mount);
	isolation->mount = NULL;
}

static int write_mode(const char *path, const char *value, const char *now)
{
	int ret = change_write(path, value);

	return ret ? failed(ret, "%s: cannot write '%s': %s", path, value, strerror(-ret)) : 0;
}

static const struct record_kind mode_kind = { file_read_line, write_mode };

/* The shield's, if the configuration gives one, or unisolate restores it. */
static void plan_mode(struct journal *journal)
{
	autofree char *mode = format("%d", journal->timers);
	autotext struct text now = { 0 };
	struct record *record;

	if (!journal->gives)
		return;
	records_plan(&journal->values, &mode_kind);
	if (journal->timers < 0 || file_read_line(TIMERS_SWITCH, &now))
		return;
	record = records_find(&journal->values, TIMERS_SWITCH);
	if (record)
		record_set(&record->wanted, mode);
	else
		records_add(&journal->values, TIMERS_SWITCH, now.s, "", mode);
}

static int plan(struct isolation *isolation, const struct cpus *procs, const struct cpus *irqs)
{
	struct journal *journal = &isolation->journal;
	struct cpus partition = cpus_or(&journal->procs, &journal->procs_before);
	struct cpus leaving = cpus_and_not(&partition, procs);
	const bool by_cgroup = !journal->by_affinity;
	int ret;

	if (by_cgroup && !cpus_empty(&partition) && !isolation->mount)
		return failed(-EOPNOTSUPP,
			      "the partition of isolated CPUs cannot be reached: %s (%s)",
			      isolation->why, cgroup_mend());
	if (by_cgroup && !cpus_empty(procs) && !isolation->mount)
		return failed(-EOPNOTSUPP,
			      "CPUs cannot be isolated from tasks here: %s (%s); --irqs or --by-affinity would do",
			      isolation->why, cgroup_mend());
	ret = affinity_plan(journal, &isolation->machine, &isolation->rivals.taken);
	if (!ret)
		ret = affinity_refuse_offline(journal, &isolation->machine, &leaving);
	if (ret)
		return ret;
	journal->exists = true;
	if (by_cgroup && !cpus_empty(procs) && !cgroup_controller_enabled(isolation->mount))
		journal->controller_enabled = true;
	if (!journal->changing)
		journal->procs_before = journal->procs;
	journal->procs = *procs;
	journal->irqs = *irqs;
	if (by_cgroup)
		partition_plan_adoption(journal, procs);
	plan_mode(journal);
	ret = settings_plan_irqs(journal, &isolation->machine, irqs);
	return ret ? ret : settings_plan_workqueue(journal, &isolation->machine, procs,
						    isolation->rivals.isolate);
}

static int save(struct journal *journal, bool changing)
{
	journal->changing = changing;
	return change_only_list ? 0 : journal_save(journal);
}

/* The end: what is recorded of interrupts or tasks is of no more use without isolated CPUs. */
static int finish(struct journal *journal)
{
	journal->procs_before = journal->procs;
	records_free(&journal->raised);
	records_forget(&journal->settings);
	records_forget(&journal->values);
	journal->changing = false;
	return change_only_list ? 0 : journal_settle(journal);
}

/* Only what is to be isolated anew: what the partition has already is ours. */
int isolation_refuse_taken(const struct isolation *isolation, const struct cpus *procs)
{
	struct cpus new = cpus_and_not(procs, &isolation->partition.isolated);
	autofree char *rivals = rivals_named(&isolation->rivals, &new);
	autofree char *named = cpus_named(&new);

	return *rivals ? failed(-EBUSY, "other cgroups have %s; nothing was changed: %s", named,
				rivals) : 0;
}

/* Nothing is to be left of what was changed: what cannot be restored does not stop the rest. */
static bool ends(const struct journal *journal, const struct cpus *procs, const struct cpus *irqs)
{
	return cpus_empty(procs) && cpus_empty(irqs) && !(journal->gives && journal->timers >= 0);
}

static int give_mode(struct isolation *isolation)
{
	return records_apply(&isolation->journal.values, &mode_kind);
}

static int set_partition(struct isolation *isolation)
{
	struct journal *journal = &isolation->journal;
	int ret = 0;

	if (isolation->mount && !journal->by_affinity)
		ret = partition_set(isolation->mount, journal, &journal->procs);
	isolation->refused = ret && !cpus_empty(&journal->procs);
	return ret;
}

/*
 * Each brings about what the journal says, wherever things are now: so the way back is the same
 * steps with what was before in the journal. If a vital one fails, the journal stays, so that
 * unisolate can be repeated; and the rest is only done if nothing is to be left.
 */
static const struct step {
	int (*apply)(struct isolation *isolation);
	bool vital;
} steps[] = {
	{ give_mode, true },
	{ partition_release, false },
	{ settings_narrow_workqueue, false },
	{ set_partition, true },
	{ settings_apply_irqs, false },
	{ settings_apply_workqueue, false },
	{ affinity_apply, false },
};

static int set(struct isolation *isolation, const struct cpus *procs, const struct cpus *irqs)
{
	struct journal *journal = &isolation->journal;
	int ret = isolation_refuse_taken(isolation, procs), first = 0, vital = 0;

	isolation->settled = !journal->changing;
	if (!ret)
		ret = rcu_threads_plan(journal);
	if (!ret)
		ret = plan(isolation, procs, irqs);
	if (!ret)
		ret = save(journal, true);
	if (ret)
		return ret;
	isolation->touched = true;
	rcu_threads_raise(journal);
	for (const struct step *step = steps; step < &steps[ARRAY_SIZE(steps)]; step++) {
		ret = step->apply(isolation);
		if (!first)
			first = ret;
		if (step->vital && ret)
			vital = ret;
		if (vital && !ends(journal, procs, irqs))
			break;
	}
	rcu_threads_lower(journal);
	ret = vital ? vital : finish(journal);
	return ret ? ret : first;
}

/* There is no way back to a partition that the kernel has just refused. */
static int roll_back(struct isolation *isolation, int error, const struct cpus *new_procs)
{
	const struct cpus procs = isolation->procs, irqs = isolation->irqs;

	if (isolation->journal.gives)
		records_revert(&isolation->journal.values);
	isolation->journal.gives = false;
	if (isolation->refused && cpus_equal(&procs, new_procs)) {
		isolation->journal.irqs = irqs;
		give_mode(isolation);
		records_forget(&isolation->journal.values);
		save(&isolation->journal, false);
	} else if (set(isolation, &procs, &irqs)) {
		failed(error, "restoring the previous state failed as well: 'timershield unisolate' removes everything");
	} else {
		notice("nothing was changed");
	}
	rivals_restore(&isolation->rivals);
	return error;
}

void isolation_hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

int isolation_set(struct isolation *isolation, const struct cpus *procs, const struct cpus *irqs)
{
	sigset_t before;
	int ret;

	isolation_hold_signals(&before);
	ret = set(isolation, procs, irqs);
	if (ret && isolation->touched && !ends(&isolation->journal, procs, irqs))
		ret = roll_back(isolation, ret, procs);
	if (!ret && !change_only_list) {
		if (isolation->mount)
			partition_read(&isolation->partition, isolation->mount);
		read_isolated(isolation);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

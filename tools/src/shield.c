// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "cgroup.h"
#include "change.h"
#include "message.h"
#include "proc.h"
#include "settings.h"
#include "shield.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int open_journal(struct shield *shield, bool loud)
{
	int ret = journal_load(&shield->journal);

	shield->damaged = ret == -EBADMSG;
	if (shield->damaged)		/* the other backend has none */
		shield->journal.backend = BACKEND_CGROUP;
	if (ret && ret != -EBADMSG && (loud || ret != -EACCES))
		return failed(ret, JOURNAL_FILE ": %s", strerror(-ret));
	return 0;
}

static int choose_backend(struct shield *shield, enum backend_id wanted, const char **why)
{
	enum backend_id now = shield->journal.backend;

	if (now != BACKEND_NONE && wanted != BACKEND_NONE && wanted != now)
		return -EBUSY;
	if (now == BACKEND_NONE)
		now = wanted;
	if (now != BACKEND_CGROUP && proc_available()) {
		shield->backend = BACKEND_PROC;
		return 0;
	}
	*why = "this kernel has no /proc/shield (CONFIG_CPU_SHIELD)";
	if (now == BACKEND_PROC)
		return -EOPNOTSUPP;
	shield->mount = cgroup_mount_point(why);
	if (!shield->mount)
		return -EOPNOTSUPP;
	shield->backend = BACKEND_CGROUP;
	return 0;
}

static int read_shielded(struct shield *shield)
{
	int ret;

	if (shield->backend != BACKEND_PROC) {
		shield->procs = shield->journal.procs.wanted;
		shield->irqs = shield->journal.irqs.wanted;
		return 0;
	}
	ret = proc_read(PROC_PROCS, &shield->procs);
	return ret ? ret : proc_read(PROC_IRQS, &shield->irqs);
}

static int not_possible(int ret, enum backend_id wanted, const char *why)
{
	if (wanted == BACKEND_PROC)
		return failed(ret, "CPUs cannot be shielded here: %s", why);
	return failed(ret, "CPUs cannot be shielded here: %s (%s)", why, cgroup_mend());
}

int shield_open(struct shield *shield, enum backend_id wanted, bool loud)
{
	const char *why = "";
	int ret;

	*shield = (struct shield){ 0 };
	ret = machine_read(&shield->machine);
	if (!ret)
		ret = open_journal(shield, loud);
	if (ret)
		return ret;
	ret = choose_backend(shield, wanted, &why);
	if (ret == -EBUSY)
		return failed(ret, "CPUs are shielded by backend %s: 'timershield unshield' first",
			      backend_name(shield->journal.backend));
	if (ret)
		return loud ? not_possible(ret, wanted, why) : 0;
	return read_shielded(shield);
}

int shield_refuse_damaged(void)
{
	return failed(-EBADMSG, "%s is damaged: '%s' undoes what can still be read of it",
		      JOURNAL_FILE, "timershield unshield --salvage");
}

void shield_close(struct shield *shield)
{
	journal_free(&shield->journal);
	free(shield->mount);
	shield->mount = NULL;
}

static int plan(struct shield *shield, const struct cpus *procs, const struct cpus *irqs)
{
	struct journal *journal = &shield->journal;
	int ret = affinity_plan(journal, &shield->machine);

	if (ret)
		return ret;
	if (journal->backend == BACKEND_NONE)
		journal->backend = BACKEND_CGROUP;
	if (!cpus_empty(procs) && !cgroup_controller_enabled(shield->mount))
		journal->controller_enabled = true;
	if (!journal->changing) {
		journal->procs.before = journal->procs.wanted;
		journal->irqs.before = journal->irqs.wanted;
	}
	journal->procs.wanted = *procs;
	journal->irqs.wanted = *irqs;
	cgroup_plan_adoption(journal, procs);
	ret = settings_plan_irqs(journal, &shield->machine, irqs);
	return ret ? ret : settings_plan_workqueue(journal, &shield->machine, procs);
}

static int save(struct journal *journal, bool changing)
{
	int ret;

	journal->changing = changing;
	if (change_is_listed())
		return 0;
	ret = journal_save(journal);
	return ret ? failed(ret, JOURNAL_FILE ": cannot write it: %s", strerror(-ret)) : 0;
}

/* The end: what is recorded of interrupts or tasks is of no more use without a shield. */
static int finish(struct journal *journal)
{
	int ret;

	journal->procs.before = journal->procs.wanted;
	journal->irqs.before = journal->irqs.wanted;
	for (size_t i = 0; i < journal->nr_settings; i++)
		journal->settings[i].before = journal->settings[i].wanted;
	if (!cpus_empty(&journal->procs.wanted) || !cpus_empty(&journal->irqs.wanted))
		return save(journal, false);
	if (change_is_listed())
		return 0;
	ret = journal_remove();
	return ret ? failed(ret, JOURNAL_FILE ": cannot remove it: %s", strerror(-ret)) : 0;
}

/* An interrupt or mask that cannot be restored is told, and does not stop the rest. */
static int set_by_cgroup(struct shield *shield, const struct cpus *procs, const struct cpus *irqs)
{
	struct journal *journal = &shield->journal;
	const bool settled = !journal->changing;
	int ret = plan(shield, procs, irqs);
	int first, second;

	if (!ret)
		ret = save(journal, true);
	if (ret)
		return ret;
	shield->touched = true;
	if (settled)			/* else the journal may not have every task */
		cgroup_release(shield->mount, journal, procs);
	settings_narrow_workqueue(journal, &shield->machine);
	ret = cgroup_set(shield->mount, journal, procs);
	if (ret)
		return ret;
	cgroup_adopt(shield->mount, journal);
	cgroup_remove_unused(shield->mount, journal);
	first = settings_apply_irqs(journal);
	second = settings_apply_workqueue(journal);
	affinity_apply(journal);
	ret = finish(journal);
	return ret ? ret : first ? first : second;
}

static int set_by_proc(struct shield *shield, const struct cpus *procs, const struct cpus *irqs)
{
	int ret = proc_write(PROC_PROCS, procs);

	shield->touched = !ret;
	return ret ? ret : proc_write(PROC_IRQS, irqs);
}

static int set(struct shield *shield, const struct cpus *procs, const struct cpus *irqs)
{
	return shield->backend == BACKEND_PROC ? set_by_proc(shield, procs, irqs) :
	       set_by_cgroup(shield, procs, irqs);
}

static int roll_back(struct shield *shield, int error)
{
	const struct cpus procs = shield->procs, irqs = shield->irqs;

	if (set(shield, &procs, &irqs))
		failed(error, "going back failed too: 'timershield unshield' removes all");
	else
		notice("nothing was changed");
	return error;
}

int shield_set(struct shield *shield, const struct cpus *procs, const struct cpus *irqs)
{
	sigset_t deadly, before;
	int ret;

	sigemptyset(&deadly);
	sigaddset(&deadly, SIGINT);
	sigaddset(&deadly, SIGTERM);
	sigaddset(&deadly, SIGHUP);
	sigaddset(&deadly, SIGPIPE);
	sigprocmask(SIG_BLOCK, &deadly, &before);
	ret = set(shield, procs, irqs);
	if (ret && shield->touched && !(cpus_empty(procs) && cpus_empty(irqs)))
		ret = roll_back(shield, ret);
	if (!ret) {
		shield->procs = *procs;
		shield->irqs = *irqs;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

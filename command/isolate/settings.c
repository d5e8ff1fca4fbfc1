// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"

#define IRQ_DIRECTORY "/proc/irq"
#define IRQ_DEFAULT IRQ_DIRECTORY "/default_smp_affinity"
#define IRQ_LISTS IRQ_DIRECTORY "/[0-9]*/smp_affinity_list"
#define WORKQUEUE "/sys/devices/virtual/workqueue/cpumask"
#define WORKQUEUE_REQUESTED WORKQUEUE "_requested"

struct plan {
	struct journal *journal;
	const struct machine *machine;
	const struct cpus *isolated;
};

static bool is_mask(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strcmp(name, "/default_smp_affinity") || !strcmp(name, "/cpumask") ||
			!strcmp(name, "/rps_cpus"));
}

int setting_parse(const char *path, const char *text, struct cpus *cpus)
{
	return is_mask(path) ? cpus_parse_mask(cpus, text) : cpus_parse(cpus, text);
}

static char *setting_text(const char *path, const struct cpus *cpus)
{
	return is_mask(path) ? cpus_mask(cpus) : cpus_list(cpus);
}

/*
 * From Linux 6.7 on the mask of unbound work shows what is in force, without isolated
 * CPUs, and another file what was written.
 */
static int read_setting(const char *path, struct text *text, struct cpus *cpus)
{
	const bool requested = !strcmp(path, WORKQUEUE) && file_exists(WORKQUEUE_REQUESTED);
	int ret = file_read_line(requested ? WORKQUEUE_REQUESTED : path, text);

	return ret ? ret : setting_parse(path, text->s, cpus);
}

static struct cpus original_of(const struct record *setting)
{
	struct cpus original = { 0 };

	/* The journal holds no text that cannot be read. */
	setting_parse(setting->what, setting->original, &original);
	return original;
}

/* Of a list in the journal. */
static struct cpus set_of(const char *list)
{
	struct cpus set = { 0 };

	cpus_parse(&set, list);
	return set;
}

static bool is_interrupt(const char *path)
{
	return strcmp(path, IRQ_DEFAULT) && strcmp(path, WORKQUEUE);
}

/*
 * What remains of the original without isolated CPUs. An interrupt that is directed to
 * isolated CPUs alone stays; what is for all, goes elsewhere.
 */
static struct cpus wanted_of(const struct plan *plan, const struct record *setting)
{
	struct cpus original = original_of(setting);
	struct cpus wanted = cpus_and_not(&original, plan->isolated);

	if (cpus_intersect(&wanted, &plan->machine->online))
		return wanted;
	return is_interrupt(setting->what) ? original :
	       cpus_and_not(&plan->machine->online, plan->isolated);
}

/* What it is between the two, for unbound work alone; there may be no such CPU. */
static struct cpus narrowed_of(const struct record *setting)
{
	struct cpus before = set_of(setting->before), wanted = set_of(setting->wanted);

	return cpus_and(&before, &wanted);
}

static bool is_known(const struct record *setting, const struct cpus *now)
{
	struct cpus original = original_of(setting);
	struct cpus narrowed = narrowed_of(setting);
	autofree char *list = cpus_list(now);

	return cpus_equal(now, &original) || cpus_equal(now, &narrowed) ||
	       !strcmp(list, setting->before) || !strcmp(list, setting->wanted);
}

/*
 * An interrupt that came while the default mask was an isolated one has that mask; its
 * original one is what it would have got. NULL if it is not such a one.
 */
static char *original_of_newcomer(const struct journal *journal, const struct cpus *now)
{
	const struct record *standard = records_find(&journal->settings, IRQ_DEFAULT);
	struct cpus original, before;

	if (!standard)
		return NULL;
	original = original_of(standard);
	before = set_of(standard->before);
	return cpus_equal(now, &before) && !cpus_equal(now, &original) ?
	       cpus_list(&original) : NULL;
}

static int plan_setting(const struct plan *plan, const char *path)
{
	struct journal *journal = plan->journal;
	struct record *setting = records_find(&journal->settings, path);
	autotext struct text text = { 0 };
	unsigned int irq;
	const bool is_irq = sscanf(path, IRQ_DIRECTORY "/%u/", &irq) == 1;
	autofree char *before = NULL, *list = NULL;
	struct cpus now, wanted;
	int ret = read_setting(path, &text, &now);

	/* It has just gone, or was never there; or the architecture gives it no affinity. */
	if (ret == -ENOENT || (is_irq && (ret == -EIO || ret == -EINVAL)))
		return 0;
	if (ret)
		return failed(ret, "%s: %s", path, strerror(-ret));
	if (!setting) {
		autofree char *original = is_irq && !journal->changing ?
					  original_of_newcomer(journal, &now) : NULL;

		setting = records_add(&journal->settings, path, original ? original : text.s, "",
				      "");
	} else if (!is_known(setting, &now)) {
		record_set(&setting->original, text.s);
	}
	wanted = wanted_of(plan, setting);
	before = cpus_list(&now);
	list = cpus_list(&wanted);
	record_set(&setting->before, before);
	record_set(&setting->wanted, list);
	return 0;
}

int settings_plan_irqs(struct journal *journal, const struct machine *machine,
		       const struct cpus *isolated)
{
	struct plan plan = { journal, machine, isolated };
	autonames struct names files = { 0 };
	int ret = plan_setting(&plan, IRQ_DEFAULT);

	file_glob(IRQ_LISTS, &files);
	/* The CPUs to which packets are steered process them in NET_RX. */
	file_glob(STEERING_FILES, &files);
	for (size_t i = 0; i < files.count && !ret; i++)
		ret = plan_setting(&plan, files.items[i]);
	return ret;
}

int settings_plan_workqueue(struct journal *journal, const struct machine *machine,
			    const struct cpus *isolated, bool others)
{
	struct plan plan = { journal, machine, isolated };

	if (others && !records_find(&journal->settings, WORKQUEUE) &&
	    file_exists(WORKQUEUE_REQUESTED))
		return 0;
	return plan_setting(&plan, WORKQUEUE);
}

static int apply_setting(struct record *setting)
{
	struct cpus original = original_of(setting), wanted = set_of(setting->wanted), now;
	bool restore = cpus_equal(&wanted, &original);
	autotext struct text is = { 0 };
	autofree char *text = NULL;
	int ret = read_setting(setting->what, &is, &now);

	/* The kernel may have changed it itself meanwhile. */
	if (ret == -ENOENT || (!ret && cpus_equal(&now, &wanted)))
		return 0;
	text = restore ? copy(setting->original) : setting_text(setting->what, &wanted);
	ret = change_write(setting->what, text);
	if (!ret || ret == -ENOENT)
		return 0;
	if (restore || !is_interrupt(setting->what))
		return failed(ret, "%s: cannot write '%s': %s", setting->what, text,
			      strerror(-ret));
	/* Managed by the kernel, which says EIO, or EPERM where it is newer. */
	record_set(&setting->wanted, setting->before);
	return 0;
}

int settings_apply_irqs(struct isolation *isolation)
{
	struct journal *journal = &isolation->journal;
	int first = 0;

	for (size_t i = 0; i < journal->settings.count; i++) {
		struct record *setting = &journal->settings.items[i];
		int ret = strcmp(setting->what, WORKQUEUE) ? apply_setting(setting) : 0;

		if (!first)
			first = ret;
	}
	return first;
}

int settings_narrow_workqueue(struct isolation *isolation)
{
	const struct record *setting = records_find(&isolation->journal.settings, WORKQUEUE);
	struct cpus narrowed, before;
	autofree char *text = NULL;

	if (!setting)
		return 0;
	narrowed = isolation->rivals.isolate ? set_of(setting->wanted) : narrowed_of(setting);
	before = set_of(setting->before);
	if (cpus_equal(&narrowed, &before) ||
	    !cpus_intersect(&narrowed, &isolation->machine.online))
		return 0;
	text = setting_text(WORKQUEUE, &narrowed);
	change_write(WORKQUEUE, text);
	return 0;
}

int settings_apply_workqueue(struct isolation *isolation)
{
	struct record *setting = records_find(&isolation->journal.settings, WORKQUEUE);
	struct cpus narrowed, wanted;

	if (!setting)
		return 0;
	narrowed = narrowed_of(setting);
	wanted = set_of(setting->wanted);
	/* A list of changes has it already if narrowing is all there is to do */
	return change_only_list && cpus_equal(&narrowed, &wanted) ? 0 :
	       apply_setting(setting);
}

int settings_count_irqs(const struct cpus *cpus)
{
	autonames struct names irqs = { 0 };
	int count = 0;

	file_glob(IRQ_LISTS, &irqs);
	for (size_t i = 0; i < irqs.count; i++) {
		struct cpus now = { 0 };
		int ret = file_read_cpus(irqs.items[i], &now);

		if (ret && ret != -ENOENT && ret != -EIO)
			return ret;
		count += cpus_intersect(&now, cpus);
	}
	return count;
}

struct cpus settings_exposed(const struct cpus *isolated)
{
	autotext struct text text = { 0 };
	struct cpus now = { 0 };

	read_setting(IRQ_DEFAULT, &text, &now);
	return cpus_and(&now, isolated);
}

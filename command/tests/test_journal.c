// SPDX-License-Identifier: GPL-2.0-or-later
/* A journal comes back as it was; cut off anywhere, it is never taken for whole. */
#include "check.h"
#include "isolate/journal.h"

#define BOOT "753605b8-ec69-4ae9-81ba-3d32ecd78051"

static void fill(struct journal *journal)
{
	static const char * const origins[] = {
		"/", "/user.slice/a b", "/odd\ttab%name", "/..x/...", "/a../.b",
	};
	*journal = (struct journal){ .exists = true, .controller_enabled = true };
	cpus_add(&journal->procs, 1);
	cpus_add(&journal->irqs, 70);
	records_add(&journal->settings, "/proc/irq/default_smp_affinity", "ff,ffffffff", "", "3");
	records_add(&journal->settings, "/sys/class/net/eth0.7/queues/rx-0/rps_cpus", "00,0000000f",
		    "", "");
	records_add(&journal->values, "/proc/sys/kernel/timershield", "0", "", "1\t%");
	for (unsigned int i = 0; i < 20; i++) {
		autofree char *path = format("/proc/irq/%u/smp_affinity_list", i);
		autofree char *wanted = format("%u", i);

		records_add(&journal->settings, path, "0-3,7", "7", wanted);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(origins); i++) {
		autofree char *name = format("run-%u", 100 + i);

		journal_add_run(journal, name, origins[i], 0);
	}
	for (int i = 0; i < 10; i++) {
		struct task_record record = { .tid = 200 + i, .start = ~0ull - (unsigned int)i };

		cpus_add(&record.cpus, (unsigned int)i);
		*append(journal->tasks, journal->nr_tasks) = record;
	}
	records_add(&journal->raised, "301 8", "1 1", "1 99", "");
	records_add(&journal->proved, "/sys/fs/cgroup/x", "absent", "", "there");
}

static void comes_back(const char *text)
{
	autofree char *again = NULL;
	struct journal journal;

	check(!journal_parse(&journal, text, strlen(text), BOOT), "a whole journal");
	check(journal.settings.count == 22 && journal.nr_runs == 5 && journal.nr_tasks == 10 &&
	      journal.values.count == 1 &&
	      journal.raised.count == 1 && journal.proved.count == 1,
	      "%zu settings, %zu runs, %zu tasks", journal.settings.count, journal.nr_runs,
	      journal.nr_tasks);
	check(!strcmp(journal_run(&journal, "run-102")->origin, "/odd\ttab%name"), "origin");
	again = journal_text(&journal, BOOT);
	check(!strcmp(text, again), "it reads:\n%s", again);
	journal_free(&journal);
}

static void refused(const char *text, size_t length, const char *how)
{
	struct journal journal;
	int ret = journal_parse(&journal, text, length, BOOT);

	check(ret == -EBADMSG, "%s it gives %d", how, ret);
	check(!journal.exists && !journal.settings.count && !journal.nr_tasks, "%s it is used",
	      how);
}

/* Cut off anywhere, or with one bit changed. */
static void damaged_anywhere(char *text)
{
	const size_t length = strlen(text);

	for (size_t i = 0; i < length; i++) {
		autofree char *how = format("damaged at byte %zu", i);

		refused(text, i, how);
		text[i] ^= 1;
		refused(text, length, how);
		text[i] ^= 1;
	}
}

static void other_boot(const char *text)
{
	struct journal journal;

	check(journal_parse(&journal, text, strlen(text), "another") == -ESTALE, "other boot");
	journal_free(&journal);
}

int main(void)
{
	autofree char *text = NULL;
	struct journal journal;

	fill(&journal);
	text = journal_text(&journal, BOOT);
	check(strstr(text, "\nirqs\t70\t\n"), "2.0.0 ignores irqs of two fields:\n%s", text);
	comes_back(text);
	damaged_anywhere(text);
	other_boot(text);
	journal_free(&journal);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* A journal comes back as it was; cut off anywhere, it is never taken for whole. */
#include "check.h"
#include "isolate/journal_text.h"
#include "lib/text.h"

#include <errno.h>
#include <string.h>

#define BOOT "753605b8-ec69-4ae9-81ba-3d32ecd78051"

static void fill(struct journal *journal)
{
	static const char * const origins[] = {
		"/", "/user.slice/a b", "/odd\ttab%name", "/..x/...", "/a../.b",
	};
	struct setting *setting;

	*journal = (struct journal){ .exists = true, .controller_enabled = true };
	cpus_add(&journal->procs.wanted, 1);
	cpus_add(&journal->irqs.before, 70);
	setting = journal_add_setting(journal, "/proc/irq/default_smp_affinity", "ff,ffffffff");
	cpus_add(&setting->wanted, 3);
	journal_add_setting(journal, "/sys/class/net/eth0.7/queues/rx-0/rps_cpus", "00,0000000f");
	journal_add_setting(journal, "/sys/class/net/eth0/threaded", "0");
	for (unsigned int i = 0; i < 20; i++) {
		char *path = format("/proc/irq/%u/smp_affinity_list", i);

		setting = journal_add_setting(journal, path, "0-3,7");
		cpus_add(&setting->before, 7);
		cpus_add(&setting->wanted, i);
		free(path);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(origins); i++) {
		char *name = format("run-%u", 100 + i);

		journal_add_run(journal, name, origins[i], 0);
		free(name);
	}
	for (int i = 0; i < 10; i++) {
		struct task_record record = { .tid = 200 + i, .start = ~0ull - (unsigned int)i };

		cpus_add(&record.cpus, (unsigned int)i);
		*append(journal->tasks, journal->nr_tasks) = record;
	}
	*append(journal->servers, journal->nr_servers) = (struct server_record){ 5, 50000000 };
	*append(journal->threads, journal->nr_threads) =
		(struct thread_record){ 300, 7, 1, 50, 80, 81 };
	*append(journal->raised, journal->nr_raised) =
		(struct thread_record){ 301, 8, 1, 1, 99, 0 };
}

static void comes_back(const char *text)
{
	struct journal journal;
	char *again;

	check(!journal_parse(&journal, text, strlen(text), BOOT), "a whole journal");
	check(journal.nr_settings == 23 && journal.nr_runs == 5 && journal.nr_tasks == 10 &&
	      journal.nr_servers == 1 && journal.nr_threads == 1 && journal.nr_raised == 1,
	      "%zu settings, %zu runs, %zu tasks", journal.nr_settings, journal.nr_runs,
	      journal.nr_tasks);
	check(!strcmp(journal_run(&journal, "run-102")->origin, "/odd\ttab%name"), "origin");
	again = journal_text(&journal, BOOT);
	check(!strcmp(text, again), "it reads:\n%s", again);
	free(again);
	journal_free(&journal);
}

/* What is read of a damaged journal is a part of what was written. */
static void is_part(const struct journal *part, const struct journal *whole)
{
	check(part->nr_settings <= whole->nr_settings && part->nr_tasks <= whole->nr_tasks &&
	      part->nr_runs <= whole->nr_runs, "it has more than was written");
	for (size_t i = 0; i < part->nr_settings; i++)
		check(!strcmp(part->settings[i].original, whole->settings[i].original) &&
		      cpus_equal(&part->settings[i].wanted, &whole->settings[i].wanted),
		      "setting %zu", i);
	for (size_t i = 0; i < part->nr_runs; i++)
		check(!strcmp(part->runs[i].origin, whole->runs[i].origin), "run %zu", i);
	for (size_t i = 0; i < part->nr_tasks; i++)
		check(part->tasks[i].tid == whole->tasks[i].tid &&
		      part->tasks[i].start == whole->tasks[i].start &&
		      cpus_equal(&part->tasks[i].cpus, &whole->tasks[i].cpus), "task %zu", i);
}

static void cut_anywhere(const char *text, const struct journal *whole)
{
	for (size_t length = 0; length < strlen(text); length++) {
		struct journal journal;
		int ret = journal_parse(&journal, text, length, BOOT);

		check(ret == -EBADMSG, "cut off after %zu bytes it gives %d", length, ret);
		is_part(&journal, whole);
		journal_free(&journal);
	}
}

static void other_boot(const char *text)
{
	struct journal journal;

	check(journal_parse(&journal, text, strlen(text), "another") == -ESTALE, "other boot");
	journal_free(&journal);
}

/* A journal that names other files than ours is refused. */
static void foreign_paths(void)
{
	static const char * const paths[] = {
		"/etc/passwd", "/proc/irq/../sys/smp_affinity_list", "/proc/irq/1/smp_affinity",
		"/proc/irq/ 1/smp_affinity_list", "/proc/irq/-1/smp_affinity_list",
		"/proc/irq/1/smp_affinity_list/x", "",
		"/sys/class/net/../queues/rx-0/rps_cpus", "/sys/class/net/a/queues/rx-0/rps_flow_cnt",
		"/sys/class/net/a/b/queues/rx-0/rps_cpus", "/sys/class/net/a/queues/tx-0/xps_cpus",
		"/sys/class/net/../threaded", "/sys/class/net/a/threaded/x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct journal journal = { .exists = true }, back;
		char *text;

		journal_add_setting(&journal, paths[i], "1");
		text = journal_text(&journal, BOOT);
		check(journal_parse(&back, text, strlen(text), BOOT) == -EBADMSG, "%s", paths[i]);
		check(!back.nr_settings, "%s was taken", paths[i]);
		free(text);
		journal_free(&journal);
		journal_free(&back);
	}
}

/* One whose process came from no cgroup, too. */
static void foreign_origins(void)
{
	static const char * const origins[] = { "", "x", "/..", "/../x", "/a/..", "/..a/../b" };

	for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
		struct journal journal = { .exists = true }, back;
		char *text;

		journal_add_run(&journal, "run-1", origins[i], 0);
		text = journal_text(&journal, BOOT);
		check(journal_parse(&back, text, strlen(text), BOOT) == -EBADMSG, "'%s'",
		      origins[i]);
		free(text);
		journal_free(&journal);
		journal_free(&back);
	}
}

int main(void)
{
	struct journal journal;
	char *text;

	fill(&journal);
	text = journal_text(&journal, BOOT);
	comes_back(text);
	cut_anywhere(text, &journal);
	other_boot(text);
	foreign_paths();
	foreign_origins();
	free(text);
	journal_free(&journal);
	return 0;
}

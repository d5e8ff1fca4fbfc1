// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What "timershield isolate" changed, "timershield unisolate" undoes: every file of
 * interrupt affinity, the cgroup tree and every task's affinity are then as they were,
 * whatever happened in between, SIGKILL before any system call included.
 *
 * That such tests fail when they should was seen with the same ones outside a guest,
 * command/tests/test_kill.py, and a defect put into the command: with the journal saved
 * after the change instead of before, the tests of killed commands and of
 * random sequences failed; with the original value taken anew each time these, too;
 * without the lock many_at_once.
 */
#define _GNU_SOURCE
#include "lib/cpushield.h"
#include "file.h"
#include "lib/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOURNAL "/run/timershield/journal"

static void once(void)
{
	struct snapshot before, isolated;

	prepare_tasks(&before);
	isolate("1");
	snapshot_take(&isolated);
	require(before.length != isolated.length ||
		memcmp(before.text, isolated.text, before.length),
		"isolating a CPU changed nothing that could be undone");
	unisolate("");
	snapshot_check(&before, "after unisolate");
}

static void twice_and_in_parts(void)
{
	struct snapshot before, one, again;

	prepare_tasks(&before);
	isolate("1");
	snapshot_take(&one);
	isolate("1");
	snapshot_check(&one, "after the same isolation again");
	isolate("2");
	unisolate("2");
	snapshot_take(&again);
	snapshot_compare(&one, &again, "after CPU 2 was isolated for a time");
	isolate("--only --irqs 2");
	isolate("--only 1-2");
	unisolate("--irqs 1");
	unisolate("--procs");
	unisolate("2");
	snapshot_check(&before, "after the isolation ended in parts");
	unisolate("");
	snapshot_check(&before, "after a further unisolate");
}

static void dry_run_changes_nothing(void)
{
	const struct command_result *result;
	struct snapshot before;

	prepare_tasks(&before);
	result = timershield("isolate --dry-run 1");
	check_status(result, 0);
	check(result->out[0], "it lists no change");
	snapshot_check(&before, "after a dry run");
	isolate("1");
	snapshot_free(&before);
	snapshot_take(&before);
	result = timershield("unisolate --dry-run");
	check(result->out[0], "it lists no change");
	snapshot_check(&before, "after a dry run of unisolate");
	unisolate("");
}

static void refuse(const char *words, int status)
{
	const struct command_result *result;

	result = timershield("isolate %s", words);
	check_status(result, status);
	check(result->err[0], "'isolate %s' gives no reason", words);
}

static void refused_changes_nothing(void)
{
	struct snapshot before;

	prepare_tasks(&before);
	for (int isolated = 0; isolated < 2; isolated++) {
		refuse("0-2", 1);
		refuse("0-3", 1);
		refuse("77", 1);
		refuse("9999999999999999999999", 2);
		refuse("1-", 2);
		refuse("", 2);
		refuse("none", 2);
		refuse("2-1", 2);
		refuse("--nonsense 1", 2);
		refuse("1 2", 2);
		snapshot_check(&before, "after a refused isolate");
		isolate("1");
		snapshot_free(&before);
		snapshot_take(&before);
	}
	refuse("0,2", 1);
	check_status(timershield_as_nobody("isolate 2"), 3);
	check_status(timershield_as_nobody("unisolate"), 3);
	snapshot_check(&before, "after somebody without privilege tried");
	unisolate("");
}

static void foreign_changes_stay(void)
{
	char text[64], before[64];

	prepare_cpus();
	require(file_read("/proc/irq/default_smp_affinity", before, sizeof(before)) > 0,
		"no default_smp_affinity");
	isolate("1");
	require(!file_write("/proc/irq/default_smp_affinity", "4\n"), "cannot write");
	unisolate("");
	file_read("/proc/irq/default_smp_affinity", text, sizeof(text));
	check(!strcmp(text, "4\n"), "the administrator's mask 4 became %s", text);
	file_write("/proc/irq/default_smp_affinity", before);
}

/* Isolates or ends it 20 times, each a process of its own, all at once. */
static void many_at_once(void)
{
	struct snapshot before;
	pid_t pids[20];
	int status;

	prepare_tasks(&before);
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = i % 3 ? timershield_start("isolate %u", 1 + i % 2) :
			  timershield_start("unisolate");
	for (unsigned int i = 0; i < ARRAY_SIZE(pids); i++) {
		waitpid(pids[i], &status, 0);
		check(!status, "process %u ended with %#x", i, status);
	}
	unisolate("");
	snapshot_check(&before, "after many at once");
}

static void killed_before_every_change(void)
{
	struct snapshot before;
	unsigned int calls, count;

	prepare_tasks(&before);
	for (count = 1; timershield_killed_at(count, "isolate 1"); count++) {
		unisolate("");
		if (snapshot_check(&before, "after an isolate that was killed"))
			fail("killed before change %u", count);
	}
	calls = count;
	unisolate("");
	for (count = 1; ; count++) {
		bool killed;

		isolate("1");
		killed = timershield_killed_at(count, "unisolate");
		if (count % 3 == 1)
			isolate("2");
		unisolate("");
		if (snapshot_check(&before, "after an unisolate that was killed"))
			fail("killed before change %u", count);
		if (!killed)
			break;
	}
	check(calls > 3 && count > 3, "only %u and %u calls", calls, count);
	note("killed before each of %u calls of isolate, %u of unisolate", calls - 1, count - 1);
}

static void cut(const char *text, size_t length)
{
	int fd = open(JOURNAL, O_WRONLY | O_TRUNC | O_CLOEXEC);

	require(fd >= 0, JOURNAL ": %s", strerror(errno));
	require(write(fd, text, length) == (ssize_t)length, "write: %s", strerror(errno));
	close(fd);
}

/*
 * A journal that is cut off is not taken for a whole one; what it still tells is undone
 * on demand. Every 97th position: each of them is tested outside the guest.
 */
static void damaged_journal(void)
{
	static char journal[1 << 16], lost[1 << 16];
	struct snapshot before, isolated;
	int length;

	prepare_cpus();
	snapshot_take(&before);
	isolate("1");
	length = file_read(JOURNAL, journal, sizeof(journal));
	require(length > 0, JOURNAL ": %s", strerror(-length));
	snapshot_take(&isolated);
	for (int at = 0; at < length; at += 97) {
		cut(journal, at);
		check_status(timershield("isolate 1"), 5);
		check_status(timershield("unisolate"), 5);
	}
	cut(journal, length);
	snapshot_check(&isolated, "after refusing a damaged journal");
	memcpy(lost, journal, length);
	lost[length - 3] ^= 1;
	cut(lost, length);
	check_status(timershield("unisolate"), 5);
	unisolate("--salvage");
	snapshot_check(&before, "after salvaging a journal without its end");
}

/* After a reboot nothing that a journal tells is true any more. */
static void journal_of_another_boot(void)
{
	static const char journal[] =
		"timershield-journal\t1\nboot\t00000000-0000-0000-0000-000000000000\n"
		"backend\tcgroup\tenabled\nstate\tsettled\nprocs\t1\t1\nirqs\t1\t1\n"
		"set\t/proc/irq/default_smp_affinity\t4\t7\t7\nend\n";
	struct snapshot before;
	FILE *file;

	prepare_cpus();
	snapshot_take(&before);
	file = fopen(JOURNAL, "we");
	require(file, JOURNAL ": %s", strerror(errno));
	fputs(journal, file);
	fclose(file);
	check_status(timershield("unisolate"), 0);
	unlink(JOURNAL);
	snapshot_check(&before, "after unisolate with a journal of another boot");
}

static const struct test tests[] = {
	TEST(once),
	TEST(twice_and_in_parts),
	TEST(dry_run_changes_nothing),
	TEST(refused_changes_nothing),
	TEST(foreign_changes_stay),
	TEST(many_at_once),
	TEST(killed_before_every_change),
	TEST(damaged_journal),
	TEST(journal_of_another_boot),
};

int main(int argc, char **argv)
{
	/* Every change of a cpuset waits for grace periods; 105 s were seen on PREEMPT_RT */
	set_test_timeout(300);
	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}

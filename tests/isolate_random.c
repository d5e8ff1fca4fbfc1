// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random sequences of isolate and unisolate, most of them killed at a random time, leave
 * nothing behind once "timershield unisolate" has run.
 */
#define _GNU_SOURCE
#include "lib/isolation.h"
#include "lib/task.h"

#include <signal.h>
#include <sys/wait.h>

#define SEQUENCES 60

static unsigned int pick(unsigned int below)
{
	static unsigned int state = 20260101;

	state = state * 1103515245 + 12345;
	return (state >> 16) % below;
}

static pid_t start_something(void)
{
	static const char * const lists[] = { "1", "2", "1-2", "--irqs 1", "--procs 2",
					      "--only 1", "--only --irqs 2" };

	switch (pick(3)) {
	case 0:
		return timershield_start("unisolate");
	case 1:
		return timershield_start("unisolate %u", 1 + pick(2));
	default:
		return timershield_start("isolate %s", lists[pick(ARRAY_SIZE(lists))]);
	}
}

/*
 * How long a command is left alone at most, so that seven of ten are killed before they
 * end, somewhere: what takes how long changes with the machine's load.
 */
static void adapt(u64 *patience, bool killed)
{
	*patience = killed ? *patience * 51 / 50 : *patience * 19 / 20;
	if (*patience < 100 * USEC)
		*patience = 100 * USEC;
}

/* Sequences of up to four commands, of which most are killed at random times. */
TEST(random_sequences)
{
	unsigned int killed = 0, ended = 0;
	struct snapshot before;
	u64 start, patience;
	int status;

	prepare_tasks(&before);
	start = now();
	isolate("1");
	patience = now() - start;
	unisolate("");
	for (unsigned int i = 0; i < SEQUENCES; i++) {
		for (unsigned int n = 1 + pick(4); n; n--) {
			pid_t pid = start_something();
			bool kills = pick(4);

			if (kills) {
				sleep_for(patience * pick(1000) / 1000);
				kill(pid, SIGKILL);
			}
			waitpid(pid, &status, 0);
			if (kills)
				adapt(&patience, WIFSIGNALED(status));
			if (WIFSIGNALED(status))
				killed++;
			else
				ended++;
			check(WIFSIGNALED(status) || !WEXITSTATUS(status),
			      "sequence %u: exit status %d", i, WEXITSTATUS(status));
		}
		unisolate("");
		if (snapshot_check(&before, "after a random sequence"))
			fail("sequence %u", i);
	}
	check(killed > SEQUENCES / 2 && ended > SEQUENCES / 4, "%u killed, %u ended", killed, ended);
	note("%u commands killed, %u ended by themselves", killed, ended);
}

int main(int argc, char **argv)
{
	set_test_timeout(500);		/* of the host, which may be busy */
	return run_tests(argc, argv, 0);
}

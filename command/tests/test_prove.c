// SPDX-License-Identifier: GPL-2.0-or-later
/* prove's verdicts on samples that are made up, and what it puts back. */
#include "check.h"
#include "lib/file.h"
#include "lib/timers.h"
#include "prove/undo.h"
#include "prove/verdict.h"

#define JOBS 400

static const struct load_kind timers = { .name = "timers", .title = "timers", .timers = true };
static const struct load_kind hogs = { .name = "hogs", .title = "hogs" };

/* How a turn went. */
struct recipe {
	double us;			/* the median */
	double interruptions;		/* a job */
	double drift;			/* us from the turn's first job to its last */
	double disturbance;		/* us more in its first eighth */
};

/* Every fourth job takes 5 us more: no distribution is a single value. */
static void cook(struct turn *turn, struct recipe recipe)
{
	turn->count = JOBS;
	turn->jobs = grow(NULL, JOBS, sizeof(*turn->jobs));
	for (unsigned int i = 0; i < JOBS; i++) {
		double us = recipe.us + (i % 4 ? 0 : 5) + recipe.drift * i / JOBS +
			    (i < JOBS / 8 ? recipe.disturbance : 0);
		double before = recipe.interruptions * i, after = recipe.interruptions * (i + 1);

		turn->jobs[i] = (struct job){
			.response = (uint64_t)(us * 1000), .taken = 100,
			.interruptions = (uint32_t)after - (uint32_t)before,
		};
	}
}

static void free_turns(struct trial *trial)
{
	for (int i = 0; i < TURNS; i++)
		free(trial->turns[i].jobs);
}

static void expect(const char *what, const struct load_kind *kind, struct recipe off,
		   struct recipe on, struct recipe again, enum verdict wanted)
{
	struct trial trial = { .kind = kind };
	enum verdict verdict;

	cook(&trial.turns[TURN_OFF], off);
	cook(&trial.turns[TURN_ON], on);
	cook(&trial.turns[TURN_OFF_AGAIN], again);
	verdict = judge(&trial, &trial).verdict;
	check(verdict == wanted, "%s: %s, not %s", what, verdict_text(verdict), verdict_text(wanted));
	free_turns(&trial);
}

#define R(us, interruptions) ((struct recipe){ us, interruptions, 0, 0 })
#define DRIFTING(us, by) ((struct recipe){ us, 0, by, 0 })
#define DISTURBED(us, by) ((struct recipe){ us, 0, 0, by })

static void with_a_shield(void)
{
	expect("much less time", &timers, R(400, 80), R(300, 0), R(401, 81), VERDICT_HELPS);
	expect("no interruptions", &timers, R(300, 0), R(310, 0), R(300, 0), VERDICT_COSTS);
	expect("fewer interruptions", &timers, R(300, 7), R(299, 0), R(300, 7), VERDICT_HELPS);
	expect("more interruptions", &timers, R(300, 0), R(300, 3), R(300, 0), VERDICT_COSTS);
	expect("the same", &timers, R(300, 0.5), R(301, 0), R(300, 0.5), VERDICT_NO_HELP);
	expect("less than 1 %", &timers, R(301, 0), R(299, 0), R(301, 0), VERDICT_NO_HELP);
	expect("a drift larger than the difference", &timers, R(300, 0), R(310, 0), R(325, 0),
	       VERDICT_UNKNOWN);
	expect("a drift without a difference", &timers, R(300, 0), R(305, 0), R(310, 0),
	       VERDICT_UNKNOWN);
	expect("a turn that changes half-way", &timers, DRIFTING(320, 40),
	       DRIFTING(352, -40), DRIFTING(325, 40), VERDICT_UNKNOWN);
	expect("one that changes, beyond doubt", &timers, DRIFTING(420, 40),
	       DRIFTING(320, -20), DRIFTING(425, 40), VERDICT_HELPS);
	expect("an eighth of a turn is disturbed", &timers, DISTURBED(330, -40), DISTURBED(300, 60),
	       R(330, 0), VERDICT_HELPS);
	expect("hogs cost, too", &hogs, R(300, 0), R(310, 0), R(300, 0), VERDICT_COSTS);
}

static void expect_without(const char *what, const struct load_kind *kind, struct recipe alone,
			   struct recipe first, struct recipe last, enum verdict wanted)
{
	struct trial nothing = { .kind = &hogs }, trial = { .kind = kind };
	enum verdict verdict;

	cook(&nothing.turns[TURN_OFF], alone);
	cook(&nothing.turns[TURN_OFF_AGAIN], alone);
	cook(&trial.turns[TURN_OFF], first);
	cook(&trial.turns[TURN_OFF_AGAIN], last);
	verdict = judge(&trial, &nothing).verdict;
	check(verdict == wanted, "%s: %s, not %s", what, verdict_text(verdict), verdict_text(wanted));
	check(judge(&nothing, &nothing).verdict == VERDICT_NONE, "a verdict on nothing");
	free_turns(&nothing);
	free_turns(&trial);
}

static void without_a_shield(void)
{
	expect_without("timers", &timers, R(300, 0), R(400, 80), R(401, 80), VERDICT_COULD_HELP);
	expect_without("few timers", &timers, R(300, 0), R(301, 0.1), R(301, 0.1),
		       VERDICT_COULD_NOT_HELP);
	expect_without("drift", &timers, R(300, 0), R(310, 0), R(340, 0), VERDICT_UNKNOWN);
	expect_without("hogs have no timers", &hogs, R(300, 0), R(320, 0), R(320, 0),
		       VERDICT_COULD_NOT_HELP);
	expect_without("hogs that are interrupted", &hogs, R(300, 0), R(300, 4), R(300, 4),
		       VERDICT_COULD_HELP);
}

/* Timers of others a job, and the time that they take, in each of the two turns. */
static void expect_watched(const char *what, double first, double last, double us,
			   enum verdict wanted)
{
	struct trial nothing = { .kind = &hogs }, trial = { .kind = &timers };
	struct turn *turns[] = { &trial.turns[TURN_OFF], &trial.turns[TURN_OFF_AGAIN] };
	struct judgement judgement;

	for (int i = 0; i < 2; i++) {
		/* gaps of somebody else: without a count they would mean "could help" */
		cook(turns[i], R(i ? 400 : 402, 20));
		turns[i]->watched = true;
		turns[i]->seen = (struct watched){ .jobs = 2 * JOBS,
			.timers = (uint64_t)((i ? last : first) * 2 * JOBS),
			.taken = (uint64_t)(us * 1000 * 2 * JOBS) };
	}
	judgement = judge(&trial, &nothing);
	check(judgement.verdict == wanted, "%s: %s, not %s", what,
	      verdict_text(judgement.verdict), verdict_text(wanted));
	check(judge(&trial, &trial).verdict == wanted, "%s, next to nothing", what);
	check(judgement.p50_gain > us * 1000 - 1 && judgement.p50_gain < us * 1000 + 1,
	      "%s: gains %f ns", what, judgement.p50_gain);
	free_turns(&trial);
}

static void watched_without_a_shield(void)
{
	expect_watched("timers of others", 4.1, 4.2, 18.9, VERDICT_COULD_HELP);
	expect_watched("gaps, but no timers", 0, 0.1, 0.1, VERDICT_COULD_NOT_HELP);
	expect_watched("few, but long ones", 0.2, 0.2, 6, VERDICT_COULD_HELP);
	expect_watched("in one turn alone", 0.1, 3, 2, VERDICT_UNKNOWN);
}

static void figures(void)
{
	struct job jobs[1000];
	struct trial trial = { .turns[TURN_ON] = { .jobs = jobs, .count = 1000, .missed = 2 } };
	struct figures off = figures_of(&trial, false), on;

	check(!off.count && !off.responses, "figures without jobs");
	for (unsigned int i = 0; i < 1000; i++)
		jobs[i] = (struct job){ .response = 1000 - i, .interruptions = i % 2, .taken = 3 };
	on = figures_of(&trial, true);
	check(on.count == 1000 && on.missed == 2, "%u jobs, %u missed", on.count, on.missed);
	check(on.p50 == 500 && on.p999 == 999 && on.max == 1000, "%llu, %llu, %llu",
	      (unsigned long long)on.p50, (unsigned long long)on.p999,
	      (unsigned long long)on.max);
	check(on.interruptions == 500 && on.taken == 3000, "sums");
	free(on.responses);
}

static void whole(void)
{
	struct judgement some[] = {
		{ .verdict = VERDICT_NO_HELP }, { .verdict = VERDICT_UNKNOWN },
		{ .verdict = VERDICT_COSTS }, { .verdict = VERDICT_HELPS },
	};

	check(judge_all(some, 0) == VERDICT_NONE, "nothing");
	check(judge_all(some, 1) == VERDICT_NO_HELP, "one");
	check(judge_all(some, 2) == VERDICT_UNKNOWN, "two");
	check(judge_all(some, 3) == VERDICT_COSTS, "three");
	check(judge_all(some, 4) == VERDICT_HELPS, "four");
}

static void put(const char *path, const char *content)
{
	check(!file_replace(path, content, strlen(content)), "%s%s", file_root(), path);
}

/* Killed while it switched from one value to another; the switch was 1 when it began. */
static void killed(const char *is, const char *before, const char *wanted, const char *put_back)
{
	struct journal journal = { 0 };
	autotext struct text after = { 0 };
	autofree char *state = NULL;

	records_add(&journal.proved, "/sys/fs/cgroup/timershield-prove", "absent", "", "there");
	records_add(&journal.proved, TIMERS_SWITCH, "1", before, wanted);
	state = journal_text(&journal, "b");
	journal_free(&journal);
	put("/proc/sys/kernel/random/boot_id", "b\n");
	put(TIMERS_SWITCH, is);
	put(JOURNAL_FILE, state);
	check(!undo_leftovers(&journal) && !journal.exists, "undo");
	check(!file_exists(JOURNAL_FILE), "the journal is still there");
	file_read_line(TIMERS_SWITCH, &after);
	check(!strcmp(after.s, put_back), "%s, %s, %s: it is %s", is, before, wanted, after.s);
}

static void killed_between_two_turns(void)
{
	char root[] = "/tmp/prove-XXXXXX";
	autofree char *make = NULL, *remove = format("rm -r %s", mkdtemp(root));

	make = format("mkdir -p %s/run/timershield %s/proc/sys/kernel/random", root, root);
	check(!system(make), "%s", make);
	file_set_root(root);
	killed("1", "1", "0", "1");
	killed("0", "1", "0", "1");
	killed("0", "0", "1", "1");
	killed("1", "0", "1", "1");
	killed("0", "1", "1", "0");	/* by somebody else */
	file_set_root("");
	check(!system(remove), "%s", remove);
}

int main(void)
{
	with_a_shield();
	without_a_shield();
	watched_without_a_shield();
	figures();
	whole();
	killed_between_two_turns();
	return 0;
}

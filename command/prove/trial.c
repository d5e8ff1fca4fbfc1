// SPDX-License-Identifier: GPL-2.0-or-later
#include "trial.h"

#include "lib/message.h"
#include "lib/refusal.h"
#include "lib/timers.h"
#include "lib/unseen.h"
#include "loop/loads.h"

#include <sched.h>
#include <sys/mman.h>

#define LEAD_NS 2000000

static const char * const turn_names[] = {
	[TURN_OFF] = "shield off", [TURN_ON] = "shield on", [TURN_OFF_AGAIN] = "shield off again",
};

/* On a terminal a line that the next one replaces; NULL: none. */
static void progress(const struct prove *prove, const char *what)
{
	const bool terminal = isatty(STDERR_FILENO);

	if (terminal)
		fputs("\r\033[K", stderr);
	if (what && (terminal || prove->progress))
		fprintf(stderr, "%zu of %zu, next to %s: %s%c", prove->count + 1, load_kind_count,
			load_kinds[prove->count].title, what, terminal ? ' ' : '\n');
	fflush(stderr);
}

static void run_jobs(struct prove *prove, struct turn *turn, unsigned int count)
{
	struct periodic periodic = {
		.due = loads_zero(LEAD_NS), .period = LOOP_PERIOD,
		.self = &prove->loop, .work = control_loop_work,
	};

	periodic_run(&periodic, NULL, LOOP_WARM_UP);
	periodic.missed = 0;
	periodic_run(&periodic, turn->jobs, count);
	turn->missed = (unsigned int)periodic.missed;
}

static int run_turn(struct prove *prove, struct turn *turn, unsigned int count)
{
	int ret;

	turn->jobs = zeroed(count, sizeof(*turn->jobs));
	ret = control_loop_enter(&prove->loop);
	if (ret)
		return failed(ret, "FIFO %d on CPU %u: %s", LOOP_PRIORITY, prove->loop.cpu,
			      strerror(-ret));
	turn->watched = prove->watches && watch_turn();
	run_jobs(prove, turn, count);
	turn->watched = turn->watched && watch_read(&turn->seen, count + LOOP_WARM_UP);
	control_loop_leave();
	if (loads_interrupted)
		return -EINTR;
	turn->count = count;
	return 0;
}

static int run_turns(struct prove *prove, struct trial *trial, const struct loads *loads)
{
	unsigned int turns = prove->shield ? 3 : 2;
	unsigned int count = prove->seconds * 1000 / (turns * (unsigned int)load_kind_count);
	const bool fifo = loads->task_count && loads->tasks[0].policy == SCHED_FIFO;
	const int mode = prove->levels && fifo ? TIMERS_LEVELS : prove->mode;
	int ret = 0;

	for (int i = 0; i < TURNS; i++) {
		if (i == TURN_ON && !prove->shield)
			continue;
		progress(prove, turn_names[i]);
		ret = prove->shield ? undo_switch(&prove->journal, i == TURN_ON ? mode : TIMERS_OFF) : 0;
		if (!ret)
			ret = run_turn(prove, &trial->turns[i], count);
		if (!ret && loads_have_ended(loads))
			ret = failed(-ECHILD, "the load '%s' has ended", trial->kind->title);
		if (ret)
			return ret;
	}
	return 0;
}

static int run_trial(struct prove *prove, struct trial *trial)
{
	struct loads loads;
	int ret = load_start(&loads, trial->kind, prove->loop.cpu, prove->group);

	if (!ret)
		ret = run_turns(prove, trial, &loads);
	loads_end(&loads);
	return ret;
}

static int calibrate(struct control_loop *loop)
{
	int ret = mlockall(MCL_CURRENT | MCL_FUTURE) ? -errno : 0;

	if (ret)
		return failed(ret, "cannot lock memory: %s", strerror(-ret));
	ret = control_loop_enter(loop);
	if (ret == -EPERM)
		return refusal_failed(ret, 0, LOOP_PRIORITY);
	if (ret)
		return failed(ret, "FIFO %d on CPU %u: %s%s", LOOP_PRIORITY, loop->cpu,
			      strerror(-ret), ret == -EINVAL ?
			      " (if it is isolated, measure on another: -c)" : "");
	ret = control_loop_calibrate(loop);
	control_loop_leave();
	if (ret)
		return failed(ret, "cannot calibrate the loop: %s", strerror(-ret));
	return loads_interrupted ? -EINTR : 0;
}

static uint64_t steal_ms(unsigned int cpu)
{
	uint64_t *steal = unseen_steal(cpu + 1), ms = steal[cpu] / 1000000;

	free(steal);
	return ms;
}

int trials_run(struct prove *prove)
{
	int ret = prove->shield ? undo_switch(&prove->journal, TIMERS_OFF) : 0;
	uint64_t stolen;

	progress(prove, "calibrating");
	if (!ret)
		ret = calibrate(&prove->loop);
	prove->watches = !ret && !prove->shield && watch_start();
	stolen = steal_ms(prove->loop.cpu);
	for (size_t i = 0; i < load_kind_count && !ret; i++) {
		prove->trials[i].kind = &load_kinds[i];
		ret = run_trial(prove, &prove->trials[i]);
		if (!ret)
			prove->count++;
	}
	prove->steal_ms = steal_ms(prove->loop.cpu) - stolen;
	if (prove->watches)
		watch_stop();
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	progress(prove, NULL);
	for (size_t i = 0; i < prove->count; i++)
		prove->judgements[i] = judge(&prove->trials[i], &prove->trials[0]);
	return ret;
}

void trials_free(struct prove *prove)
{
	for (size_t i = 0; i < TRIALS; i++)
		for (int j = 0; j < TURNS; j++)
			free(prove->trials[i].turns[j].jobs);
}

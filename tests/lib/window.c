// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "window.h"
#include "shield.h"
#include "task.h"
#include "trace.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define INTERRUPT_ENTRY "irq_vectors/local_timer_entry"
#define INTERRUPT_EXIT "irq_vectors/local_timer_exit"
#define IS_ENTRY(line) strstr(line, " local_timer_entry: ")
#define IS_EXIT(line) strstr(line, " local_timer_exit: ")
#elif defined(__aarch64__)
#define INTERRUPT_ENTRY "irq/irq_handler_entry"
#define INTERRUPT_EXIT "irq/irq_handler_exit"
#define IS_ENTRY(line) (strstr(line, " irq_handler_entry: ") && strstr(line, "arch_timer"))
#define IS_EXIT(line) strstr(line, " irq_handler_exit: ")
#else
#error "which tracepoint shows this architecture's timer interrupt?"
#endif

/* What tasks' timers run; all others are the kernel's own. */
static const char * const task_functions[] = {
	"hrtimer_wakeup", "posix_timer_fn", "timerfd_tmrproc", "it_real_fn",
	"alarmtimer_fired", "timerfd_alarmproc", "io_timeout_fn", "io_link_timeout_fn",
	"io_cqring_timer_wakeup",
};

static const char * const tick_functions[] = { "tick_nohz_handler", "tick_sched_timer" };

struct reading {
	struct window *window;
	bool inside;			/* of a timer interrupt */
	unsigned int tick, task, kernel;	/* expired in this interrupt */
	/* On: tasks' timers in an interrupt of the kernel's were held. The module's own are such, too. */
	bool shield, module;
};

void window_prepare(void)
{
	static bool prepared;

	if (prepared) {
		trace_clear();
		return;
	}
	prepared = true;
	trace_prepare();
	trace_enable("timer/hrtimer_expire_entry");
	trace_enable(INTERRUPT_ENTRY);
	trace_enable(INTERRUPT_EXIT);
}

static void poll_clock(struct window *window, u64 until)
{
	u64 last = now();
	u64 time;

	do {
		time = now();
		if (time - last > GAP) {
			window->gaps++;
			if (time - last > window->longest)
				window->longest = time - last;
		}
		last = let_other_cpus_run(time) ? now() : time;
	} while (time < until);
	window->end = time;
}

void window_go_on(struct window *window, u64 until)
{
	trace_on();
	if (!window->begin)
		window->begin = now();
	poll_clock(window, until);
	trace_off();
}

void window_spin(struct window *window, u64 until)
{
	/* Once for nothing: no page fault later. */
	poll_clock(window, now() + 20 * USEC);
	memset(window, 0, sizeof(*window));
	window_go_on(window, until);
}

void window_open(struct window *window)
{
	memset(window, 0, sizeof(*window));
	trace_on();
	window->begin = now();
}

void window_close(struct window *window)
{
	window->end = now();
	trace_off();
}

static bool runs_one_of(const char *line, const char * const *functions, size_t count)
{
	const char *name = strstr(line, "function=");

	if (!name)
		return false;
	name += strlen("function=");
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, functions[i], strlen(functions[i])))
			return true;
	return false;
}

static void end_interrupt(struct reading *reading)
{
	struct window *window = reading->window;

	if (!reading->inside)
		return;
	reading->inside = false;
	window->interrupts++;
	window->ticks += reading->tick > 0;
	if (reading->shield && (reading->tick || (reading->kernel && !reading->module))) {
		window->held += reading->task;
		window->expired -= reading->task;
		reading->task = 0;
	}
	if (reading->task > window->most)
		window->most = reading->task;
	if (reading->task || (!reading->tick && !reading->kernel))
		window->foreign++;
}

static void read_line(char *line, void *argument)
{
	struct reading *reading = argument;

	if (IS_ENTRY(line)) {
		end_interrupt(reading);
		*reading = (struct reading){ .window = reading->window, .inside = true,
					     .shield = reading->shield, .module = reading->module };
	} else if (IS_EXIT(line)) {
		end_interrupt(reading);
	} else if (strstr(line, " hrtimer_expire_entry: ")) {
		if (runs_one_of(line, task_functions, ARRAY_SIZE(task_functions))) {
			reading->task++;
			reading->window->expired++;
		} else if (runs_one_of(line, tick_functions, ARRAY_SIZE(tick_functions))) {
			reading->tick++;
		} else {
			reading->kernel++;
		}
	}
}

void window_read(struct window *window)
{
	struct reading reading = {
		.window = window, .shield = shield_get() > 0, .module = shield_is_module(),
	};

	window->interrupts = 0;
	window->ticks = 0;
	window->foreign = 0;
	window->expired = 0;
	window->held = 0;
	window->most = 0;
	trace_for_each(read_line, &reading);
	end_interrupt(&reading);
}

/*
 * Whether time is instruction-counted, and this the only CPU, for others take turns with it: spinning
 * then has no jitter at all. Five times a tenth of a millisecond; two ticks cannot fall into one of
 * these.
 */
static bool time_is_exact(void)
{
	static int exact = -1;

	if (exact >= 0)
		return exact;
	exact = online_cpus() == 1;
	for (int i = 0; exact && i < 5; i++) {
		struct window window = { 0 };

		poll_clock(&window, now() + 100 * USEC);
		if (window.gaps > 1)
			exact = 0;
	}
	return exact;
}

void check_undisturbed(const struct window *window, const char *name)
{
	/* On PREEMPT_RT one wakes the thread that serves all timers of ordinary tasks. */
	check(window->foreign <= kernel_is_rt(), "%s: interrupted %u times by timers below it", name,
	      window->foreign);
	check(window->expired == 0, "%s: %u timers below it expired", name,
	      window->expired);
	if (time_is_exact())
		check(window->gaps <= window->interrupts,
		      "%s: the task saw %u interruptions, the kernel %u timer interrupts (longest %llu ns)",
		      name, window->gaps, window->interrupts, window->longest);
}

void check_masked(void (*play)(struct window *window), const char *name)
{
	struct window *window = shared_memory(sizeof(*window));

	needs_a_fast_kernel();
	shield_set(false);
	play(window);
	require_disturbed(window, name);
	note("%u interruptions with the shield off", window->foreign);
	shield_set(true);
	play(window);
	check_undisturbed(window, name);
}

void require_disturbed(const struct window *window, const char *name)
{
	require(window->foreign > 0,
		"%s: no interruption with the shield off: the test would see nothing (%u gaps, %u interrupts, %u ticks)",
		name, window->gaps, window->interrupts, window->ticks);
}

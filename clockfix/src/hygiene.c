// SPDX-License-Identifier: LGPL-2.1-or-later
/* hygiene.c - real-time set-up of the worker: what is refused is noted */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <platform.h>

#include "state.h"

#define STACK_LOCKED 65536u	/* bytes below the frame, on which jobs run; or what there is */

static int pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return CLOCKFIX_NOT_ASKED;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int schedule(const struct clockfix_options *o)
{
	struct sched_param param = { .sched_priority = o->priority };

	if (o->policy == SCHED_OTHER)
		return CLOCKFIX_NOT_ASKED;
	return -pthread_setschedparam(pthread_self(), o->policy, &param);
}

static int lock_stack(struct clockfix *timer)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), low;
	pthread_attr_t attr;
	size_t size;
	void *stack;
	int ret = -pthread_getattr_np(pthread_self(), &attr);

	if (ret)
		return ret;
	pthread_attr_getstack(&attr, &stack, &size);
	pthread_attr_destroy(&attr);
	low = (uintptr_t)stack;
	if (here - low > STACK_LOCKED)
		low = here - STACK_LOCKED;
	if (mlock((void *)low, here - low))
		return -errno;
	timer->stack = low;
	timer->stack_locked = here - low;
	return 0;
}

static int lock_memory(struct clockfix *timer)
{
	int ret;

	if (!(timer->options.flags & CLOCKFIX_LOCK_MEMORY))
		return CLOCKFIX_NOT_ASKED;
	ret = lock_stack(timer);
	if (ret)
		return ret;
	if (mlock(timer, sizeof(*timer)))
		return -errno;
	return timer->slots.lock_error;
}

/* The C library keeps stacks of ended threads for others. */
void hygiene_leave(struct clockfix *timer)
{
	if (timer->stack)
		munlock((void *)timer->stack, timer->stack_locked);
	timer->stack = 0;
}

/* The kernel drops the request when the file is closed. */
static int limit_latency(struct clockfix *timer)
{
	int32_t us = timer->options.cpu_latency_us;
	int ret = 0;

	if (us < 0)
		return CLOCKFIX_NOT_ASKED;
	timer->latency_fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (timer->latency_fd < 0)
		return -errno;
	if (write(timer->latency_fd, &us, sizeof(us)) != sizeof(us)) {
		ret = -errno;
		hygiene_undo(timer);
	}
	return ret;
}

int hygiene_apply(struct clockfix *timer)
{
	struct clockfix_capabilities *caps = &timer->caps;
	const int32_t *status[] = {
		&caps->timer_slack, &caps->affinity, &caps->scheduling, &caps->memory,
		&caps->cpu_latency,
	};

	prctl(PR_SET_NAME, timer->options.name);
	caps->timer_slack = prctl(PR_SET_TIMERSLACK, 1UL) ? -errno : 0;
	caps->affinity = pin(timer->options.cpu);
	caps->scheduling = schedule(&timer->options);
	caps->memory = lock_memory(timer);
	caps->cpu_latency = limit_latency(timer);

	if (!(timer->options.flags & CLOCKFIX_STRICT))
		return 0;
	for (size_t i = 0; i < sizeof(status) / sizeof(*status); i++) {
		if (*status[i] < 0)
			return *status[i];
	}
	return 0;
}

void hygiene_undo(struct clockfix *timer)
{
	if (timer->latency_fd >= 0)
		close(timer->latency_fd);
	timer->latency_fd = -1;
}

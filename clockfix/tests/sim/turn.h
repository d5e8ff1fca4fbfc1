/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turn.h - drive a timer without a thread on the simulated machine */
#ifndef SIM_TURN_H
#define SIM_TURN_H

#include <platform.h>

#include "state.h"

static inline struct clockfix *sim_timer(const struct clockfix_options *options)
{
	struct clockfix *timer = NULL;

	return timer_new(&timer, options) ? NULL : timer;
}

static inline void sim_timer_free(struct clockfix *timer)
{
	timer_release(timer);
	pthread_mutex_destroy(&timer->mutex);
	timer_free(timer);
}

static inline bool sim_turn(struct clockfix *timer)
{
	bool goes_on;

	worker_set_self(timer);
	goes_on = worker_turn(timer);
	worker_set_self(NULL);
	return goes_on;
}

/* until nothing is pending; false if that takes more turns than it may */
static inline bool sim_run(struct clockfix *timer, unsigned int turns)
{
	while (timer_pending(timer)) {
		if (!turns--)
			return false;
		sim_turn(timer);
	}
	return true;
}

#endif

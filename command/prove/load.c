// SPDX-License-Identifier: GPL-2.0-or-later
#include "load.h"

#include "lib/message.h"
#include "loop/clock.h"

#define LEAD_NS 100000000
#define SETTLE_NS 200000000		/* until a load that has just started is in full swing */

struct load_kind load_kinds[] = {
	{ "nothing", "nothing", NULL, false },
	{ "timerfds", "1,000 timerfds", "timerfds:n=1000", true },
	{ "threads", "50 sleeping threads", "threads:n=50", true },
	{ "synchronized", "100 synchronized FIFO sleepers", "sleepers:n=100,sync", true },
	{ "hogs", "2 CPU hogs", "hogs:n=2", false },
};

size_t load_kind_count = ARRAY_SIZE(load_kinds);

int load_choose(const char *description)
{
	struct loads loads = { 0 };
	int ret = loads_plan(&loads);

	if (!ret)
		ret = loads_add(&loads, description);
	loads_end(&loads);
	load_kinds[1] = (struct load_kind){
		description, description, description, strncmp(description, "hogs", 4),
	};
	load_kind_count = 2;
	return ret;
}

int load_start(struct loads *loads, const struct load_kind *kind, unsigned int cpu,
	       const char *group)
{
	int64_t zero;
	int ret;

	*loads = (struct loads){ .cpu = (int)cpu, .group = group, .name = "prove-load", .seed = 1 };
	ret = loads_plan(loads);
	if (!ret && kind->description)
		ret = loads_add(loads, kind->description);
	if (!ret)
		ret = loads_start(loads);
	if (!ret)
		ret = loads_wait_ready(loads);
	if (ret == -EINTR)
		return ret;
	if (ret)
		return failed(ret, "the load '%s' could not be set up: %s", kind->title,
			      strerror(-ret));
	zero = loads_zero(LEAD_NS);
	loads_go(loads, zero, INT64_MAX);
	sleep_until(zero + SETTLE_NS);
	return loads_interrupted ? -EINTR : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// header.cc - the header in a C++ program, with all warnings
#include <clockfix.h>

static int count;

static void job(void *, const struct clockfix_run *)
{
	count++;
}

int main()
{
	clockfix_options options;
	clockfix_spec spec;
	clockfix *timer;

	clockfix_options_init(&options);
	clockfix_spec_init(&spec);
	spec.fn = job;
	if (clockfix_create(&timer, &options) || clockfix_schedule(timer, &spec, nullptr))
		return 1;
	clockfix_destroy(timer, 0);
	return count == 1 ? 0 : 1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* header.c - the header alone, first, in strict C11 */
#include <clockfix.h>

#if defined(_POSIX_C_SOURCE) && !defined(CLOCK_MONOTONIC)
#error "clockfix_now(CLOCK_MONOTONIC) does not compile"
#endif

int main(void)
{
	struct clockfix_options options;
	struct clockfix_spec spec;

	clockfix_options_init(&options);
	clockfix_spec_init(&spec);
	return options.size != sizeof(options) || spec.size != sizeof(spec);
}

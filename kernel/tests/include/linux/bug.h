/* SPDX-License-Identifier: GPL-2.0-only */
/* A warning ends the test or the benchmark. */
#ifndef _TESTS_LINUX_BUG_H
#define _TESTS_LINUX_BUG_H

#include <stdlib.h>

#define WARN_ON_ONCE(_condition) ({ if (_condition) abort(); 0; })

#endif /* _TESTS_LINUX_BUG_H */

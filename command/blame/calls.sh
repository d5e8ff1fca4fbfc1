# SPDX-License-Identifier: GPL-2.0-or-later
# calls.sh COMPILER...: the names of its machine's system calls, as designated initializers.
echo '#include <asm/unistd.h>' | "$@" -E -dM - |
	sed -n 's/^#define __NR_\([a-z][a-z0-9_]*\) .*/[__NR_\1] = "\1",/p'

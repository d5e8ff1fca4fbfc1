// SPDX-License-Identifier: GPL-2.0-only
/* The fuzz target: whatever bytes libFuzzer thinks of, as operations */

#include "invariants.h"
#include "replay.h"

void kernel_warned(const char *file, int line)
{
	fail("the queue warned at %s:%d", file, line);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	replay(data, size);
	return 0;
}

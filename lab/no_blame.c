// SPDX-License-Identifier: GPL-2.0-or-later
/* In place of blame/source.c, where there is no libbpf for the guest's architecture. */
#include "blame/source.h"

int source_start(const struct blame_config *config, struct text *why)
{
	text_add(why, "this build has no BPF");
	return -EOPNOTSUPP;
}

/* After that nothing else is called. */
#define NEVER(name, arguments) int name arguments { return -EOPNOTSUPP; }
NEVER(source_reset, (const struct blame_config *config))
NEVER(source_add_target, (u32 id))
NEVER(source_read, (struct blame_figures *figures))
NEVER(source_read_cpu, (unsigned int number, struct cpu *cpu))
NEVER(source_read_stack, (u32 stack, u64 *addresses))
u64 source_taken(u32 id) { return 0; }
void source_attach_job(const char *file) { }
void source_configure(const struct blame_config *config) { }
void source_stop(void) { }

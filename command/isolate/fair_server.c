// SPDX-License-Identifier: GPL-2.0-or-later
#include "fair_server.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/message.h"

static char *file_of(unsigned int cpu)
{
	return format(FAIR_SERVER "/cpu%u/runtime", cpu);
}

static const struct server_record *find(const struct journal *journal, unsigned int cpu)
{
	for (size_t i = 0; i < journal->nr_servers; i++)
		if (journal->servers[i].cpu == cpu)
			return &journal->servers[i];
	return NULL;
}

bool fair_server_can_stop(void)
{
	return machine_linux_since(7, 0);
}

void fair_server_plan(struct journal *journal, const struct cpus *procs)
{
	if (!fair_server_can_stop())
		return;
	cpus_for_each(cpu, procs) {
		autofree char *file = file_of(cpu);
		long long runtime = 0;

		if (!find(journal, cpu) && !file_read_number(file, &runtime) && runtime > 0)
			*append(journal->servers, journal->nr_servers) =
				(struct server_record){ cpu, (unsigned long long)runtime };
	}
}

/* Stops it on these CPUs, or starts it on all others. */
static void apply(const struct journal *journal, const struct cpus *cpus, bool stop)
{
	for (size_t i = 0; i < journal->nr_servers; i++) {
		const struct server_record *record = &journal->servers[i];
		autofree char *file = file_of(record->cpu);
		autofree char *value = format("%llu", stop ? 0 : record->runtime);
		long long now;
		int ret;

		/* what is neither of the two, somebody else has written */
		if (stop != cpus_has(cpus, record->cpu) || file_read_number(file, &now) ||
		    (!stop && now) || (stop && now != (long long)record->runtime))
			continue;
		ret = change_write(file, value);
		if (ret)
			notice("%s: %s; the fair server of CPU %u stays %s", file, strerror(-ret),
			       record->cpu, stop ? "on" : "off");
	}
}

void fair_server_stop(const struct journal *journal)
{
	apply(journal, &journal->procs.wanted, true);
}

void fair_server_start(const struct journal *journal, const struct cpus *except)
{
	apply(journal, except, false);
}

void fair_server_forget(struct journal *journal)
{
	size_t kept = 0;

	for (size_t i = 0; i < journal->nr_servers; i++)
		if (cpus_has(&journal->procs.wanted, journal->servers[i].cpu))
			journal->servers[kept++] = journal->servers[i];
	journal->nr_servers = kept;
}

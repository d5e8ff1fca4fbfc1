// SPDX-License-Identifier: GPL-2.0-or-later
#include "fair_server.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/message.h"

bool fair_server_can_stop(void)
{
	return machine_linux_since(7, 0);
}

void fair_server_plan(struct journal *journal, const struct cpus *procs)
{
	if (!fair_server_can_stop())
		return;
	cpus_for_each(cpu, procs) {
		autofree char *file = format(FAIR_SERVER_RUNTIME, cpu);
		autotext struct text now = { 0 };

		if (!records_find(&journal->servers, file) && !file_read_line(file, &now) &&
		    atoll(now.s) > 0)
			records_add(&journal->servers, file, now.s, "", "0");
	}
}

static bool is_of(const struct record *record, const struct cpus *cpus)
{
	unsigned int cpu;

	return sscanf(record->what, FAIR_SERVER_RUNTIME, &cpu) == 1 && cpus_has(cpus, cpu);
}

/* Stops it on these CPUs, or starts it on all others. */
static void apply(const struct journal *journal, const struct cpus *cpus, bool stop)
{
	for (size_t i = 0; i < journal->servers.count; i++) {
		const struct record *record = &journal->servers.items[i];
		const char *from = stop ? record->original : record->wanted;
		autotext struct text now = { 0 };
		int ret;

		/* what is neither of the two, somebody else has written */
		if (stop != is_of(record, cpus) || file_read_line(record->what, &now) ||
		    strcmp(now.s, from))
			continue;
		ret = change_write(record->what, stop ? record->wanted : record->original);
		if (ret)
			notice("%s: %s; the fair server stays %s", record->what, strerror(-ret),
			       stop ? "on" : "off");
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
	for (size_t i = 0; i < journal->servers.count; i++)
		if (!is_of(&journal->servers.items[i], &journal->procs.wanted))
			record_want(&journal->servers.items[i], "");
	records_forget(&journal->servers);
}

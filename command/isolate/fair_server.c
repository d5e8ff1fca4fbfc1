// SPDX-License-Identifier: GPL-2.0-or-later
#include "fair_server.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "lib/message.h"

#define STOPPED "0"

bool fair_server_can_stop(void)
{
	return machine_linux_since(7, 0);
}

void fair_server_plan(struct journal *journal, const struct cpus *procs)
{
	struct records *servers = &journal->servers;

	for (size_t i = 0; i < servers->count; i++)
		record_set(&servers->items[i].wanted, "");
	if (!fair_server_can_stop())
		return;
	cpus_for_each(cpu, procs) {
		autofree char *file = format(FAIR_SERVER_RUNTIME, cpu);
		struct record *record = records_find(servers, file);
		autotext struct text now = { 0 };

		if (record)
			record_set(&record->wanted, STOPPED);
		else if (!file_read_line(file, &now) && atoll(now.s) > 0)
			records_add(servers, file, now.s, "", STOPPED);
	}
}

/* What it does not have FROM us, or from before, somebody else has written. */
static void give(const struct record *record, const char *from, const char *value)
{
	autotext struct text now = { 0 };
	int ret;

	if (file_read_line(record->what, &now) || strcmp(now.s, from))
		return;
	ret = change_write(record->what, value);
	if (ret)
		notice("%s: %s; the fair server stays %s", record->what, strerror(-ret),
		       strcmp(from, STOPPED) ? "on" : "off");
}

int fair_server_stop(struct isolation *isolation)
{
	const struct records *servers = &isolation->journal.servers;

	for (size_t i = 0; i < servers->count; i++)
		if (*servers->items[i].wanted)
			give(&servers->items[i], servers->items[i].original, STOPPED);
	return 0;
}

int fair_server_start(struct isolation *isolation)
{
	const struct records *servers = &isolation->journal.servers;
	const bool all = !isolation->settled || !cpus_equal(&isolation->partition.isolated,
							    &isolation->journal.procs);

	for (size_t i = 0; i < servers->count; i++)
		if (all || !*servers->items[i].wanted)
			give(&servers->items[i], STOPPED, servers->items[i].original);
	return 0;
}

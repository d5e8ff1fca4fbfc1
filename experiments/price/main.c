// SPDX-License-Identifier: GPL-2.0-or-later
#include "price.h"
#include "file.h"
#include "tasks.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SWITCH "/proc/sys/kernel/timershield"
#define MODES 3

/* Periods that differ a little: some 30,000 wake-ups a second, as with those of THREADS */
#define THOUSAND "sleepers:n=1000,period=32000000,periods=drift"
#define THREADS "threads:n=120"
#define AT_ONCE ",priority=70,sync,period=20000000"

static const struct row rows[] = {
	{ "job", job, .number = 0 },
	{ "own-200", job, .number = 200 },
	{ "arm", arming, .number = 1 },
	{ "cancel", arming, .number = 0 },
	{ "spare-90-levels", spare, .load = THOUSAND ",spread" },
	{ "spare-one-level", spare, .load = THOUSAND ",priority=70" },
	{ "spare-ordinary", spare, .load = THREADS },
	{ "sync-300", synchronized, .load = "sleepers:n=300" AT_ONCE },
	{ "sync-1000", synchronized, .load = "sleepers:n=1000" AT_ONCE },
	{ "release-apart", release, .number = 2500 },
	{ "release-together", release, .number = 0 },
	{ "pair-fifo", pair, .priority = { 80, 70 } },
	{ "pair-one-level", pair, .priority = { 70, 70 } },
	{ "pair-fifo-ordinary", pair, .priority = { 80, 0 } },
	{ "pair-ordinary", pair, .priority = { 0, 0 } },
	{ "neighbour", neighbour, .number = 0 },
};

int main(int argc, char **argv)
{
	int measured = 0;

	if (argc > 1) {
		fputs("Usage: price\nMeasure what the shield gives and costs, off and in each mode; "
		      "leave price.csv.\n", stderr);
		return 2;
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || task_pin(0))
		return 1;
	figures_begin();
	for (int mode = 0; mode < MODES; mode++) {
		char text[] = { (char)('0' + mode), '\0' };

		/* A stock kernel has one mode, a series of classes alone has two. */
		if (file_write(SWITCH, text) && (mode || !access(SWITCH, F_OK)))
			break;
		figures_of_mode(mode);
		for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			rows[i].measure(&rows[i]);
		measured++;
	}
	figures_end(measured);
	return measured ? 0 : 1;
}

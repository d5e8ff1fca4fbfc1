// SPDX-License-Identifier: GPL-2.0-or-later
#include "meanwhile.h"

#include "lib/file.h"
#include "lib/machine.h"
#include "lib/unseen.h"

static uint64_t steal_ms(unsigned int cpu)
{
	uint64_t *steal = unseen_steal(cpu + 1), ms = steal[cpu] / 1000000;

	free(steal);
	return ms;
}

void meanwhile_begin(struct meanwhile *meanwhile, unsigned int cpu)
{
	*meanwhile = (struct meanwhile){ .cpu = cpu };
	meanwhile->steal_start = steal_ms(cpu);
	meanwhile->smis = unseen_smis(cpu, &meanwhile->smi_start) ? -1 : 0;
}

void meanwhile_look(struct meanwhile *meanwhile)
{
	autofree char *path = format(CPU_DIRECTORY "/cpu%u/cpufreq/scaling_cur_freq",
				     meanwhile->cpu);
	long long khz;

	if (file_read_number(path, &khz) || khz <= 0)
		return;
	if (!meanwhile->khz_low || (uint64_t)khz < meanwhile->khz_low)
		meanwhile->khz_low = (uint64_t)khz;
	if ((uint64_t)khz > meanwhile->khz_high)
		meanwhile->khz_high = (uint64_t)khz;
}

void meanwhile_end(struct meanwhile *meanwhile)
{
	unsigned long long smis = 0;

	meanwhile->steal_ms = steal_ms(meanwhile->cpu) - meanwhile->steal_start;
	if (meanwhile->smis == 0 && !unseen_smis(meanwhile->cpu, &smis))
		meanwhile->smis = (int64_t)(smis - meanwhile->smi_start);
}

long meanwhile_steal_step(void)
{
	return 1000 / sysconf(_SC_CLK_TCK);
}

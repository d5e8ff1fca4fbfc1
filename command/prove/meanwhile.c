// SPDX-License-Identifier: GPL-2.0-or-later
#include "meanwhile.h"

#include "lib/file.h"
#include "lib/machine.h"
#include "lib/unseen.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>

#define MSR_PMU "/sys/bus/event_source/devices/msr/"

static uint64_t steal_ms(unsigned int cpu)
{
	uint64_t *steal = unseen_steal(cpu + 1), ms = steal[cpu] / 1000000;

	free(steal);
	return ms;
}

static int perf_open(uint32_t type, uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attributes = {
		.type = type, .size = sizeof(attributes), .config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int perf_read(int fd, uint64_t *value)
{
	struct {
		uint64_t value, enabled, running;
	} got;

	if (fd < 0 || read(fd, &got, sizeof(got)) != sizeof(got) || !got.running ||
	    got.running != got.enabled)
		return -ENODATA;
	*value = got.value;
	return 0;
}

/* The counter of SMIs, which Intel's processors have. */
static int open_smis(unsigned int cpu)
{
	unsigned int event;
	autotext struct text text = { 0 };
	long long type;

	if (file_read_number(MSR_PMU "type", &type) ||
	    file_read_line(MSR_PMU "events/smi", &text) ||
	    sscanf(text.s, "event=%x", &event) != 1)
		return -1;
	return perf_open((uint32_t)type, event, -1, (int)cpu);
}

static int read_smis(const struct meanwhile *meanwhile, unsigned long long *count)
{
	uint64_t value = 0;
	int ret;

	if (meanwhile->smi_fd < 0)
		return unseen_smis(meanwhile->cpu, count);
	ret = perf_read(meanwhile->smi_fd, &value);
	*count = value;
	return ret;
}

void meanwhile_begin(struct meanwhile *meanwhile, unsigned int cpu)
{
	*meanwhile = (struct meanwhile){ .cpu = cpu, .smi_fd = open_smis(cpu) };
	meanwhile->steal_start = steal_ms(cpu);
	meanwhile->smis = read_smis(meanwhile, &meanwhile->smi_start) ? -1 : 0;
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
	unsigned long long smis;

	meanwhile->steal_ms = steal_ms(meanwhile->cpu) - meanwhile->steal_start;
	if (meanwhile->smis == 0 && !read_smis(meanwhile, &smis))
		meanwhile->smis = (int64_t)(smis - meanwhile->smi_start);
	if (meanwhile->smi_fd >= 0)
		close(meanwhile->smi_fd);
}

void counters_open(struct counters *counters)
{
	counters->cycles_fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, -1);
	counters->misses_fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0, -1);
}

void counters_close(struct counters *counters)
{
	if (counters->cycles_fd >= 0)
		close(counters->cycles_fd);
	if (counters->misses_fd >= 0)
		close(counters->misses_fd);
}

int counters_read(const struct counters *counters, uint64_t *cycles, uint64_t *misses)
{
	int ret = perf_read(counters->cycles_fd, cycles);

	return ret ? ret : perf_read(counters->misses_fd, misses);
}

long meanwhile_steal_step(void)
{
	return 1000 / sysconf(_SC_CLK_TCK);
}

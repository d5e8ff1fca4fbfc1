// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"
#include "file.h"
#include "message.h"

static int read_cpus(const char *path, struct cpus *cpus)
{
	int ret = file_read_cpus(path, cpus);

	return ret ? failed(ret, "%s: %s", path, strerror(-ret)) : 0;
}

int machine_read(struct machine *machine)
{
	int ret = read_cpus(CPU_DIRECTORY "/online", &machine->online);

	/* Later kernels add isolated partitions to the file, which then names more than these. */
	if (!file_has("/proc/cmdline", "isolcpus=") ||
	    file_read_cpus(CPU_DIRECTORY "/isolated", &machine->booted))
		machine->booted = (struct cpus){ 0 };
	return ret ? ret : read_cpus(CPU_DIRECTORY "/possible", &machine->possible);
}

bool machine_linux_since(unsigned int major, unsigned int minor)
{
	unsigned int is_major, is_minor;
	autotext struct text release = { 0 };

	return !file_read_line("/proc/sys/kernel/osrelease", &release) &&
		     sscanf(release.s, "%u.%u", &is_major, &is_minor) == 2 &&
		     (is_major > major || (is_major == major && is_minor >= minor));
}

bool fair_server_can_stop(void)
{
	return machine_linux_since(7, 0);
}

bool machine_is_virtual(void)
{
	return file_has("/proc/cpuinfo", " hypervisor");
}

struct cpus machine_siblings(const struct cpus *cpus)
{
	struct cpus all = { 0 }, siblings;

	cpus_for_each(cpu, cpus) {
		autofree char *path = format(CPU_SIBLINGS, cpu);

		if (!file_read_cpus(path, &siblings))
			all = cpus_or(&all, &siblings);
	}
	return cpus_and_not(&all, cpus);
}

int machine_check_online(const struct machine *machine, const struct cpus *cpus)
{
	struct cpus missing = cpus_and_not(cpus, &machine->possible);
	struct cpus offline = cpus_and_not(cpus, &machine->online);
	autofree char *possible = cpus_list(&machine->possible), *missed = cpus_named(&missing);
	autofree char *online = cpus_list(&machine->online), *are = cpus_are(&offline);

	if (!cpus_empty(&missing))
		return failed(-ERANGE, "no such CPU: %s (this machine has %s)", missed, possible);
	if (!cpus_empty(&offline))
		return failed(-ENODEV, "%s offline; online are %s", are, online);
	return 0;
}

int machine_check(const struct machine *machine, const struct cpus *cpus)
{
	int ret = machine_check_online(machine, cpus);
	autofree char *list = cpus_list(cpus);

	if (ret || !cpus_subset(&machine->online, cpus))
		return ret;
	return failed(-EBUSY, "CPUs %s are all that are online: leave one for the rest", list);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"
#include "machine.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIRECTORY "/sys/devices/system/cpu/"

static int read_cpus(const char *path, struct cpus *cpus)
{
	struct text text = { 0 };
	int ret = file_read_line(path, &text);

	if (!ret)
		ret = cpus_parse(cpus, text.s, text.length);
	text_free(&text);
	return ret ? failed(ret, "%s: %s", path, strerror(-ret)) : 0;
}

int machine_read(struct machine *machine)
{
	int ret = read_cpus(CPU_DIRECTORY "online", &machine->online);

	return ret ? ret : read_cpus(CPU_DIRECTORY "possible", &machine->possible);
}

bool machine_linux_since(unsigned int major, unsigned int minor)
{
	unsigned int is_major, is_minor;
	struct text release = { 0 };
	bool since = !file_read_line("/proc/sys/kernel/osrelease", &release) &&
		     sscanf(release.s, "%u.%u", &is_major, &is_minor) == 2 &&
		     (is_major > major || (is_major == major && is_minor >= minor));

	text_free(&release);
	return since;
}

bool machine_is_virtual(void)
{
	return file_has("/proc/cpuinfo", " hypervisor");
}

int machine_check(const struct machine *machine, const struct cpus *cpus)
{
	struct cpus missing = cpus_and_not(cpus, &machine->possible);
	struct cpus offline = cpus_and_not(cpus, &machine->online);
	char *list, *has;
	int ret = 0;

	if (!cpus_empty(&missing)) {
		list = cpus_named(&missing);
		has = cpus_list(&machine->possible);
		ret = failed(-ERANGE, "there is no %s: this machine has %s", list, has);
	} else if (!cpus_empty(&offline)) {
		list = cpus_named(&offline);
		has = cpus_list(&machine->online);
		ret = failed(-ENODEV, "%s %s offline; online are %s", list,
			     cpus_count(&offline) > 1 ? "are" : "is", has);
	} else if (cpus_subset(&machine->online, cpus)) {
		list = cpus_list(cpus);
		has = cpus_list(&machine->online);
		ret = failed(-EBUSY, "CPUs %s are all that are online (%s): leave one for the rest",
			     list, has);
	} else {
		return 0;
	}
	free(list);
	free(has);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: how frames of a fieldbus reach its program: coalescing, and the threads of interrupts. */
#include "finding.h"
#include "lib/file.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define DEVICES "/sys/class/net"

/* PROFINET, EtherCAT, POWERLINK, SERCOS III */
static const char fieldbuses[] = "8892 88a4 88ab 88cd";

static bool has_socket(pid_t pid, unsigned long inode)
{
	autofree char *directory = format("/proc/%d/fd", pid);
	autofree char *wanted = format("socket:[%lu]", inode);
	autonames struct names files = { 0 };
	bool has = false;

	file_names(directory, &files);
	for (size_t i = 0; i < files.count && !has; i++) {
		autofree char *name = format("%s/%s", directory, files.items[i]);
		autofree char *path = file_path(name);
		char link[64] = "";

		has = readlink(path, link, sizeof(link) - 1) > 0 && !strcmp(link, wanted);
	}
	return has;
}

/* What the driver waits for before it interrupts, us; -errno if it does not say. */
static int read_coalescing(const char *device, bool *adaptive)
{
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ifreq request = { .ifr_data = (char *)&coalesce };
	int fd = *file_root() ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -ENODEV;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	ret = ioctl(fd, SIOCETHTOOL, &request) ? -errno : (int)coalesce.rx_coalesce_usecs;
	close(fd);
	*adaptive = coalesce.use_adaptive_rx_coalesce;
	return ret;
}

static void add_coalescing(struct findings *findings, const char *device)
{
	autofree char *mend = format("ethtool -C %s adaptive-rx off rx-usecs 0", device);
	bool adaptive = false;
	int us = read_coalescing(device, &adaptive);

	if (us > 0 || (!us && adaptive))
		finding_add(findings, FINDING_WARNING, "coalescing", mend,
			    "%s may keep a fieldbus's frame for %d us%s before it interrupts (coalescing).",
			    device, us, adaptive ? ", or longer by its load," : "");
	else if (!us)
		finding_add(findings, FINDING_GOOD, "coalescing", "",
			    "%s, which a fieldbus uses, interrupts at once for each frame.", device);
}

/* The threads of its interrupts, with PREEMPT_RT or threadirqs, below a task of this PRIORITY. */
static void add_threads(struct inspection *inspection, const char *device, int priority)
{
	autofree char *directory = format(DEVICES "/%s/device/msi_irqs", device);
	autonames struct names irqs = { 0 };

	file_names(directory, &irqs);
	tasks_for_each(task, &inspection->tasks) {
		autofree char *policy = policy_text(task->policy, task->rt_priority), *mend = NULL;
		unsigned int irq;
		size_t i = 0;

		if (!(task->flags & TASK_KERNEL_THREAD) || sscanf(task->name, "irq/%u-", &irq) != 1 ||
		    task->rt_priority >= priority)
			continue;
		while (i < irqs.count && (unsigned int)atoi(irqs.items[i]) != irq)
			i++;
		if (i == irqs.count)
			continue;
		mend = format("timershield run -p %d -P %d", priority < 99 ? priority + 1 : 99,
			      task->tid);
		finding_add(&inspection->findings, FINDING_WARNING, "frames", mend,
			    "A fieldbus's frames come from %s through %s[%d], %s: real-time tasks up to FIFO %d keep them waiting.",
			    device, task->name, task->tid, policy, priority);
	}
}

void check_network(struct inspection *inspection, pid_t pid, int priority)
{
	autofree char *path = pid ? format("/proc/%d/net/packet", pid) : copy("/proc/net/packet");
	autotext struct text sockets = { 0 };
	autonames struct names devices = { 0 };
	char *rest, *line;
	struct cpus seen = { 0 };	/* of interfaces' numbers */

	if (file_read(path, &sockets) || file_names(DEVICES, &devices))
		return;
	for (rest = sockets.s; (line = strsep(&rest, "\n")); ) {
		unsigned int number;
		unsigned long inode;
		char protocol[5];

		if (sscanf(line, "%*x %*u %*u %4s %u %*u %*u %*u %lu", protocol, &number, &inode) == 3 &&
		    number < CPUS_MAX && (pid ? has_socket(pid, inode) : has_word(fieldbuses, protocol)))
			cpus_add(&seen, number);
	}
	for (size_t i = 0; i < devices.count; i++) {
		autofree char *file = format(DEVICES "/%s/ifindex", devices.items[i]);
		long long number;

		if (file_read_number(file, &number) || number < 0 || number >= CPUS_MAX ||
		    !cpus_has(&seen, (unsigned int)number))
			continue;
		add_coalescing(&inspection->findings, devices.items[i]);
		add_threads(inspection, devices.items[i], priority);
	}
}

void check_fieldbuses(struct inspection *inspection)
{
	int highest = 0;

	tasks_for_each(task, &inspection->tasks)
		if (!(task->flags & TASK_KERNEL_THREAD) && task->rt_priority > highest)
			highest = task->rt_priority;
	check_network(inspection, 0, highest);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "isolation.h"
#include "lib/cgroup.h"
#include "lib/machine.h"

#define TYPE "cpuset.cpus.partition"

static bool is_valid(const char *type)
{
	return !strcmp(type, "root") || !strcmp(type, "isolated");
}

/* Without a type the controller is not enabled in a group, nor further down. */
void rivals_find(struct rivals *rivals, const char *mount)
{
	autonames struct names groups = { 0 };

	*rivals = (struct rivals){ 0 };
	cgroup_below(mount, TYPE, &groups);
	for (size_t i = 0; i < groups.count; i++) {
		const char *group = groups.items[i], *name = group + strlen(mount);
		autofree char *type = cgroup_read(group, TYPE);
		struct cpus cpus = cgroup_read_cpus(group, "cpuset.cpus");
		struct cpus exclusive = cgroup_read_cpus(group, "cpuset.cpus.exclusive");

		if (!type || partition_is(name))
			continue;
		cpus = cpus_or(&cpus, &exclusive);
		if (is_valid(type))
			rivals->taken = cpus_or(&rivals->taken, &cpus);
		rivals->isolate |= !strcmp(type, "isolated");
		/* Before Linux 7 a plain group keeps its CPUs from a partition next to it. */
		if (strcmp(type, "member") ||
		    (!strchr(name + 1, '/') && !machine_linux_since(7, 0)))
			*append(rivals->items, rivals->count) =
				(struct rival){ copy(group), copy(type), cpus };
	}
}

void rivals_free(struct rivals *rivals)
{
	while (rivals->count) {
		struct rival *rival = &rivals->items[--rivals->count];

		free(rival->group);
		free(rival->type);
	}
	free(rivals->items);
	*rivals = (struct rivals){ 0 };
}

char *rivals_named(const struct rivals *rivals, const struct cpus *cpus)
{
	struct text text = { .s = copy("") };

	for (size_t i = 0; i < rivals->count; i++) {
		const struct rival *rival = &rivals->items[i];

		if (cpus_intersect(&rival->cpus, cpus))
			text_add(&text, "%s%s/cpuset.cpus", text.length ? ", " : "", rival->group);
	}
	return text.s;
}

void rivals_restore(const struct rivals *rivals)
{
	for (size_t i = 0; i < rivals->count; i++) {
		const struct rival *rival = &rivals->items[i];
		autofree char *now = cgroup_read(rival->group, TYPE);

		if (is_valid(rival->type) && now && strcmp(now, rival->type))
			cgroup_must_write(rival->group, TYPE, rival->type);
	}
}

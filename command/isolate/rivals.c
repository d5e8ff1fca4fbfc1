// SPDX-License-Identifier: GPL-2.0-or-later
#include "rivals.h"
#include "lib/cgroup.h"
#include "lib/file.h"
#include "lib/machine.h"
#include "partition.h"

#define TYPE "cpuset.cpus.partition"

static int read_type(const char *group, struct text *type)
{
	autofree char *path = format("%s/" TYPE, group);

	return file_read_line(path, type);
}

static bool is_valid(const char *type)
{
	return !strcmp(type, "root") || !strcmp(type, "isolated");
}

static struct cpus wanted_by(const char *group)
{
	static const char * const files[] = { "cpuset.cpus", "cpuset.cpus.exclusive" };
	struct cpus all = { 0 }, named;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		autofree char *path = format("%s/%s", group, files[i]);

		if (!file_read_cpus(path, &named))
			all = cpus_or(&all, &named);
	}
	return all;
}

/* Without a type the controller is not enabled here, nor further down. */
static void look_at(struct rivals *rivals, const char *parent, bool next_to_ours)
{
	autonames struct names names = { 0 };

	file_names(parent, &names);
	for (size_t i = 0; i < names.count; i++) {
		autofree char *group = format("%s/%s", parent, names.items[i]);
		autotext struct text type = { 0 };
		struct cpus cpus;

		if ((next_to_ours && !strcmp(names.items[i], &PARTITION[1])) ||
		    read_type(group, &type))
			continue;
		cpus = wanted_by(group);
		if (is_valid(type.s))
			rivals->taken = cpus_or(&rivals->taken, &cpus);
		rivals->isolate |= !strcmp(type.s, "isolated");
		/* Before Linux 7 a plain group keeps its CPUs from a partition next to it. */
		if (strcmp(type.s, "member") || (next_to_ours && !machine_linux_since(7, 0)))
			*append(rivals->items, rivals->count) =
				(struct rival){ copy(group), copy(type.s), cpus };
		look_at(rivals, group, false);
	}
}

void rivals_find(struct rivals *rivals, const char *mount)
{
	*rivals = (struct rivals){ 0 };
	look_at(rivals, mount, true);
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
	struct text text = { 0 };

	text_add(&text, "%s", "");
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
		autotext struct text now = { 0 };

		if (is_valid(rival->type) && !read_type(rival->group, &now) &&
		    strcmp(now.s, rival->type))
			cgroup_must_write(rival->group, TYPE, rival->type);
	}
}

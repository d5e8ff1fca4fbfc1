// SPDX-License-Identifier: GPL-2.0-or-later
#include "leftovers.h"
#include "lib/change.h"
#include "lib/output.h"
#include "lib/timers.h"

void leftovers_json(const char *key, const struct leftovers *list)
{
	json_open(key, '[');
	for (size_t i = 0; i < list->count; i++) {
		const struct leftover *item = &list->items[i];

		json_open(NULL, '{');
		json_string("kind", item->kind);
		json_string("id", item->id);
		json_cpus("cpus", &item->cpus);
		json_string("name", item->name);
		json_string("reason", item->reason);
		json_close('}');
	}
	json_close(']');
}

/* The like of "migration/3" are those with another number; so are those of "nvme0q3". */
static char *pattern_of(const struct leftover *item)
{
	size_t whole = strlen(item->name), length = strcspn(item->name, "/") + 1;

	if (length > whole) {
		length = whole;
		while (length && strchr("0123456789", item->name[length - 1]))
			length--;
	}
	/* "i8042" is a name of its own; so is "irq/9-acpi" */
	if (length < 3 || (length < whole && strspn(item->name + length, "0123456789:HRu") <
			   whole - length && strncmp(item->name, "kworker/", 8)))
		length = whole;
	return length < whole ? format("%.*s*", (int)length, item->name) : copy(item->name);
}

struct group {
	const struct leftover *first;
	char *pattern;
	struct cpus cpus;
	unsigned int count;
};

/* Adds it to the group of its like; there may be room for one more group. */
static size_t group_item(struct group *groups, size_t count, const struct leftover *item)
{
	char *pattern = pattern_of(item);
	struct group *group = groups;

	while (group < &groups[count] &&
	       (strcmp(group->pattern, pattern) || strcmp(group->first->kind, item->kind) ||
		strcmp(group->first->reason, item->reason)))
		group++;
	if (group < &groups[count])
		free(pattern);
	else
		*(group = &groups[count++]) = (struct group){ item, pattern, item->cpus, 0 };
	group->cpus = cpus_or(&group->cpus, &item->cpus);
	group->count++;
	return count;
}

void leftovers_print_grouped(const struct leftovers *list, const char *indent)
{
	struct group *groups = grow(NULL, list->count + 1, sizeof(*groups));
	struct table table = { .columns = 5 };
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count = group_item(groups, count, &list->items[i]);
	for (size_t i = 0; i < count; i++) {
		const struct group *group = &groups[i];
		autofree char *many = format("%u %ss", group->count, group->first->kind);
		autofree char *named = cpus_named(&group->cpus);
		bool one = group->count == 1;

		table_add(&table, "%s\t%s\t%s\t%s\t%s", one ? group->first->kind : many,
			  one ? group->first->id : "", named,
			  one ? group->first->name : group->pattern, group->first->reason);
		free(group->pattern);
	}
	table_print(&table, indent);
	free(groups);
}

static void add_part(struct text *text, const struct cpus *cpus, const char *from)
{
	autofree char *are = cpus_are(cpus);

	if (!cpus_empty(cpus))
		text_add(text, "%s%s isolated from %s", text->length ? ", " : "", are, from);
}

char *isolate_sentence(const struct cpus *procs, const struct cpus *irqs)
{
	struct text text = { .s = copy("") };

	if (cpus_equal(procs, irqs)) {
		add_part(&text, procs, "tasks and interrupts");
	} else {
		add_part(&text, procs, "tasks");
		add_part(&text, irqs, "interrupts");
	}
	if (!text.length)
		text_add(&text, "No CPU is isolated");
	return text.s;
}

static void print_changes(void)
{
	size_t count;
	const struct change *changes = change_listed(&count);
	struct table table = { .columns = 3 };

	if (output == OUTPUT_JSON) {
		json_open(NULL, '[');
		for (size_t i = 0; i < count; i++) {
			json_open(NULL, '{');
			json_string("what", changes[i].what);
			json_string("where", changes[i].where);
			json_string("value", changes[i].value);
			json_close('}');
		}
		json_close(']');
		return;
	}
	for (size_t i = 0; i < count; i++)
		table_add(&table, "%s\t%s\t%s", changes[i].what, changes[i].where,
			  changes[i].value);
	table_print(&table, "");
}

static void print_sentence(const struct isolation *isolation, const struct leftovers *list)
{
	struct cpus others = machine_siblings(&isolation->isolated);
	autofree char *sentence = isolate_sentence(&isolation->isolated, &isolation->irqs);
	autofree char *siblings = cpus_named(&others);

	printf("%s.\n", sentence);
	if (isolation->journal.gives && isolation->journal.timers >= 0)
		printf("The timer shield is %s.\n", timers_mode_name(isolation->journal.timers));
	if (!cpus_empty(&others))
		printf("%s, not isolated, share%s a core with them: tasks there slow them down.\n",
		       siblings, cpus_count(&others) > 1 ? "" : "s");
	if (list->count)
		puts("Still there, and why:");
	leftovers_print_grouped(list, "  ");
}

int isolate_print(const struct isolation *isolation)
{
	struct leftovers list = { 0 };
	int ret;

	if (change_only_list) {
		print_changes();
		return 0;
	}
	ret = leftovers_find(&list, isolation);
	if (output == OUTPUT_JSON) {
		json_open(NULL, '{');
		json_cpus("procs", &isolation->isolated);
		json_cpus("irqs", &isolation->irqs);
		leftovers_json("unmoved", &list);
		json_close('}');
	} else {
		print_sentence(isolation, &list);
	}
	leftovers_free(&list);
	return ret;
}

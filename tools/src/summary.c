// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "output.h"
#include "summary.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

void unmoved_json(const char *key, const struct unmoved_list *list)
{
	json_open(key, '[');
	for (size_t i = 0; i < list->count; i++) {
		const struct unmoved *item = &list->items[i];

		json_open(NULL, '{');
		json_string("kind", item->kind);
		json_string("id", item->id);
		json_string("cpus", item->cpus);
		json_string("name", item->name);
		json_string("reason", item->reason);
		json_close('}');
	}
	json_close(']');
}

void unmoved_print(const struct unmoved_list *list, const char *indent)
{
	struct table table = { .columns = 5 };

	for (size_t i = 0; i < list->count; i++) {
		const struct unmoved *item = &list->items[i];

		table_add(&table, item->kind);
		table_add(&table, item->id);
		table_add(&table, item->cpus);
		table_add(&table, item->name);
		table_add(&table, item->reason);
	}
	table_print(&table, indent);
	table_free(&table);
}

static void add_part(struct text *text, const struct cpus *cpus, const char *from)
{
	char *named = cpus_named(cpus);

	if (!cpus_empty(cpus))
		text_add(text, "%s%s %s shielded from %s", text->length ? ", " : "", named,
			 cpus_count(cpus) > 1 ? "are" : "is", from);
	free(named);
}

char *summary_sentence(const struct cpus *procs, const struct cpus *irqs)
{
	struct text text = { 0 };

	text_add(&text, "%s", "");
	if (cpus_equal(procs, irqs)) {
		add_part(&text, procs, "tasks and interrupts");
	} else {
		add_part(&text, procs, "tasks");
		add_part(&text, irqs, "interrupts");
	}
	if (!text.length)
		text_add(&text, "No CPU is shielded");
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
	for (size_t i = 0; i < count; i++) {
		table_add(&table, changes[i].what);
		table_add(&table, changes[i].where);
		table_add(&table, changes[i].value);
	}
	table_print(&table, "");
	table_free(&table);
	change_free_list();
}

static void print_sentence(const struct shield *shield, const struct unmoved_list *list)
{
	char *sentence = summary_sentence(&shield->procs, &shield->irqs);

	printf("%s.\n", sentence);
	free(sentence);
	if (list->count)
		puts("Still there, and why:");
	unmoved_print(list, "  ");
}

static void print_json(const struct shield *shield, const struct unmoved_list *list)
{
	json_open(NULL, '{');
	json_string("backend", backend_name(shield->backend));
	json_cpus("procs", &shield->procs);
	json_cpus("irqs", &shield->irqs);
	unmoved_json("unmoved", list);
	json_close('}');
}

int summary_print(const struct shield *shield)
{
	struct unmoved_list list = { 0 };
	int ret;

	if (change_is_listed()) {
		print_changes();
		return 0;
	}
	ret = unmoved_find(&list, shield->backend, &shield->procs, &shield->irqs);
	if (output == OUTPUT_JSON)
		print_json(shield, &list);
	else if (output == OUTPUT_PORCELAIN)
		unmoved_print(&list, "");
	else
		print_sentence(shield, &list);
	unmoved_free(&list);
	return ret;
}

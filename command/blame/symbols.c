// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbols.h"

#include "lib/file.h"

struct symbol {
	u64 address;
	const char *name;
};

static struct text content;
static struct symbol *symbols;
static size_t count;

static int by_address(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

/* "address type name", perhaps "\t[module]"; compilers append ".llvm.1" and the like. */
static void add_symbol(char *line)
{
	char *end, *name;
	u64 address = strtoull(line, &end, 16);

	if (!address || *end != ' ' || !strchr("tTwW", end[1]) || end[2] != ' ')
		return;
	name = end + 3;
	name[strcspn(name, ".\t ")] = '\0';
	*append(symbols, count) = (struct symbol){ .address = address, .name = name };
}

int symbols_read(struct text *why)
{
	char *save = NULL;
	int ret;

	if (count)
		return 0;
	ret = file_read("/proc/kallsyms", &content);
	if (ret) {
		text_add(why, "/proc/kallsyms: %s", strerror(-ret));
		return ret;
	}
	for (char *line = strtok_r(content.s, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		add_symbol(line);
	if (!count) {
		text_add(why, geteuid() ? "blame needs root" :
			 "/proc/kallsyms hides the kernel's addresses; "
			 "sysctl kernel.kptr_restrict=1 shows them");
		return -EPERM;
	}
	qsort(symbols, count, sizeof(*symbols), by_address);
	return 0;
}

u64 symbol_address(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].address;
	return 0;
}

const char *symbol_around(u64 address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address >> 63 ? symbols[low - 1].name : NULL;
}

const char *symbol_name(u64 address)
{
	struct symbol key = { .address = address }, *found;

	if (!count)
		return NULL;
	found = bsearch(&key, symbols, count, sizeof(*symbols), by_address);
	return found ? found->name : NULL;
}

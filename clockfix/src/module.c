// SPDX-License-Identifier: LGPL-2.1-or-later
/* module.c - what the first call out of a function goes through */
#include <elf.h>
#include <link.h>

#include "module.h"

#define LINKERS_OWN 3	/* entries at the beginning of the table */

static const char *table_of(const struct dl_phdr_info *info, const ElfW(Dyn) *dyn)
{
	for (; dyn->d_tag != DT_NULL; dyn++) {
		uintptr_t at = dyn->d_un.d_ptr;

		/* glibc has relocated it, musl has not */
		if (dyn->d_tag == DT_PLTGOT)
			return (const char *)(at < info->dlpi_addr ? at + info->dlpi_addr : at) +
			       LINKERS_OWN * sizeof(void *);
	}
	return NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Dyn) *dyn = NULL;
	struct module *found = arg;
	uintptr_t fn = found->low;
	bool has = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)at;
		if (segment->p_type != PT_LOAD || fn - at >= segment->p_memsz)
			continue;
		*found = (struct module){ at, segment->p_memsz, (const char *)at, NULL };
		has = true;
	}
	if (has && dyn)
		found->table = table_of(info, dyn);
	return has;
}

struct module module_of(uintptr_t fn)
{
	struct module module = { fn, 1, (const char *)fn, (const char *)fn };

	dl_iterate_phdr(look, &module);
	return module;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "change.h"
#include "file.h"
#include "message.h"
#include "proc.h"

#include <stdlib.h>
#include <string.h>

bool proc_available(void)
{
	return file_exists(PROC_PROCS);
}

int proc_read(const char *file, struct cpus *cpus)
{
	struct text text = { 0 };
	int ret = file_read_line(file, &text);

	if (!ret)
		ret = cpus_parse(cpus, text.s, text.length);
	text_free(&text);
	return ret ? failed(ret, "%s: %s", file, strerror(-ret)) : 0;
}

int proc_write(const char *file, const struct cpus *cpus)
{
	char *list = cpus_list(cpus);
	int ret = change_write(file, *list ? list : "none");

	if (ret)
		failed(ret, "%s: cannot write '%s': %s", file, list, strerror(-ret));
	free(list);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel.h"
#include "file.h"

static int unpack(const char *path, struct text *text)
{
	autofree char *full = file_path(path), *command = format("gzip -dc '%s' 2>/dev/null", full);
	FILE *pipe = popen(command, "re");
	char buffer[4096];
	size_t n;

	while (pipe && (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
		text_add_bytes(text, buffer, n);
	return !pipe || pclose(pipe) || !text->length ? -1 : 0;
}

/* BEFORE and AFTER make a path together with the kernel's release. */
static int read_released(const char *before, const char *after, struct text *text)
{
	autotext struct text release = { 0 };
	int ret = file_read_line("/proc/sys/kernel/osrelease", &release);
	autofree char *path = format("%s%s%s", before, release.s, after);

	if (!ret)
		ret = file_read(path, text);
	return ret;
}

/* The whole text, read once, with a newline before each line; NULL if there is none. */
static const char *configuration(void)
{
	static char *lines;
	static bool tried;
	autotext struct text text = { 0 };

	if (tried)
		return lines;
	tried = true;
	if ((file_exists("/proc/config.gz") && !unpack("/proc/config.gz", &text)) ||
	    !read_released("/boot/config-", "", &text) ||
	    !read_released("/lib/modules/", "/config", &text))
		lines = format("\n%s", text.s);
	return lines;
}

bool kernel_has(const char *name)
{
	autofree char *value = kernel_option(name);

	return value && !strcmp(value, "y");
}

char *kernel_option(const char *name)
{
	autofree char *key = format("\n%s=", name);
	const char *text = configuration();
	char *value = text ? text_after(text, key) : NULL;

	return text && !value ? copy("") : value;
}

char *kernel_parameter(const char *name)
{
	const size_t length = strlen(name);
	autotext struct text text = { 0 };
	char *rest, *word, *value = NULL;

	file_read_line("/proc/cmdline", &text);
	for (rest = text.s; (word = strsep(&rest, " ")); ) {
		if (strncmp(word, name, length) || (word[length] && word[length] != '='))
			continue;
		free(value);
		value = copy(word + length + !!word[length]);
	}
	return value;
}

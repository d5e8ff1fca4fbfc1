// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>

#define READ_MAX (64u << 20)

static const char *root = "";

void file_set_root(const char *directory)
{
	root = directory;
}

const char *file_root(void)
{
	return root;
}

char *file_path(const char *path)
{
	return format("%s%s", root, path);
}

static int open_below(const char *path, int flags)
{
	autofree char *full = file_path(path);
	int fd = open(full, flags | O_CLOEXEC);

	if (fd < 0)
		fd = -errno;
	return fd;
}

bool file_exists(const char *path)
{
	autofree char *full = file_path(path);

	return access(full, F_OK) == 0;
}

static int read_all(int fd, struct text *text)
{
	char buffer[16384];
	ssize_t n;

	while ((n = TEMP_FAILURE_RETRY(read(fd, buffer, sizeof(buffer)))) > 0) {
		if (text->length + (size_t)n > READ_MAX)
			return -EFBIG;
		text_add_bytes(text, buffer, (size_t)n);
	}
	return n ? -errno : 0;
}

int file_read(const char *path, struct text *text)
{
	int fd = open_below(path, O_RDONLY);
	int ret;

	text->length = 0;
	text_add(text, "%s", "");
	if (fd < 0)
		return fd;
	ret = read_all(fd, text);
	close(fd);
	return ret;
}

int file_read_line(const char *path, struct text *text)
{
	int ret = file_read(path, text);

	text_chomp(text);
	return ret;
}

bool file_has(const char *path, const char *wanted)
{
	autotext struct text text = { 0 };

	return !file_read(path, &text) && strstr(text.s, wanted);
}

char *file_find(const char *path, const char *key)
{
	autotext struct text text = { 0 };

	return file_read(path, &text) ? NULL : text_after(text.s, key);
}

int file_read_number(const char *path, long long *number)
{
	autotext struct text text = { 0 };
	int ret = file_read_line(path, &text);
	char *end;

	if (!ret) {
		errno = 0;
		*number = strtoll(text.s, &end, 10);
		if (errno || end == text.s || *end)
			ret = -EINVAL;
	}
	return ret;
}

int file_read_cpus(const char *path, struct cpus *cpus)
{
	autotext struct text text = { 0 };
	int ret = file_read_line(path, &text);

	if (!ret)
		ret = cpus_parse(cpus, text.s);
	return ret;
}

int file_write(const char *path, const char *value)
{
	int fd = open_below(path, O_WRONLY | (*root ? O_TRUNC : 0));
	autofree char *line = NULL;
	int ret = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	line = format("%s\n", value);
	n = TEMP_FAILURE_RETRY(write(fd, line, strlen(line)));
	if (n < 0)
		ret = -errno;
	else if ((size_t)n != strlen(line))
		ret = -EIO;
	close(fd);
	return ret;
}

int file_replace(const char *path, const char *content, size_t length)
{
	autofree char *full = file_path(path), *temporary = format("%s.new", full);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int ret = 0;

	if (!file)
		return -errno;
	if (fwrite(content, 1, length, file) != length)
		ret = -errno;
	if (fclose(file) && !ret)
		ret = -errno;
	if (!ret && rename(temporary, full))
		ret = -errno;
	if (ret)
		unlink(temporary);
	return ret;
}

int file_names(const char *directory, struct names *names)
{
	autofree char *full = file_path(directory);
	DIR *stream = opendir(full);
	struct dirent *entry;
	int ret;

	if (!stream)
		return -errno;
	while ((errno = 0, entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			*append(names->items, names->count) = copy(entry->d_name);
	ret = -errno;
	closedir(stream);
	return ret;
}

void file_glob(const char *pattern, struct names *paths)
{
	autofree char *full = file_path(pattern);
	glob_t found = { 0 };
	size_t count = glob(full, GLOB_BRACE, NULL, &found) ? 0 : found.gl_pathc;

	for (size_t i = 0; i < count; i++)
		*append(paths->items, paths->count) = copy(found.gl_pathv[i] + strlen(root));
	globfree(&found);
}

void names_free(struct names *names)
{
	while (names->count)
		free(names->items[--names->count]);
	free(names->items);
}

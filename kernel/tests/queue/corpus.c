// SPDX-License-Identifier: GPL-2.0-only
/* Replays the inputs that fuzzing has found worth keeping. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "invariants.h"
#include "replay.h"
#include "runner.h"

#define INPUT_BYTES	65536

static const char *corpus;

void kernel_warned(const char *file, int line)
{
	fail("the queue warned at %s:%d", file, line);
}

static void replay_file(const char *name)
{
	static u8 data[INPUT_BYTES];
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", corpus, name);
	file = fopen(path, "rb");
	if (!file)
		fail("%s: %m", path);
	replay(data, fread(data, 1, sizeof(data), file));
	fclose(file);
}

static void replay_corpus(void)
{
	DIR *dir = opendir(corpus);
	struct dirent *entry;
	unsigned int files = 0;

	if (!dir)
		fail("%s: %m", corpus);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		replay_file(entry->d_name);
		files++;
	}
	closedir(dir);
	expect(files > 0);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "every input of the corpus", replay_corpus },
		{ 0 }
	};

	if (argc != 2) {
		fprintf(stderr, "Usage: corpus DIRECTORY\n");
		return 2;
	}
	corpus = argv[1];
	return run_tests("corpus", cases);
}

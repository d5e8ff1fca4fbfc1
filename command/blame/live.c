// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame_print.h"
#include "lib/output.h"

#include <sys/ioctl.h>
#include <time.h>

#define CLEAR "\033[H\033[J"
#define WIDE 72				/* all columns, and 20 characters of a name */

static u64 drawn;			/* when a picture was drawn last */
static bool pictures;

void live_start(void)
{
	printf(CLEAR "timershield blame: starting\n");
	fflush(stdout);
	drawn = clock_ns();
}

void live_end(void)
{
	if (pictures)
		fputs(CLEAR, stdout);
}

/*
 * TEXT, no wider than the terminal: lines that wrap would push the first ones out. What is below a
 * table's head, the first of the culprits, is marked.
 */
static void print_cut(const char *text, unsigned int columns)
{
	const bool colour = output_has_colour();
	bool first = false;

	while (*text) {
		const size_t length = strcspn(text, "\n");
		int width = length > columns ? (int)columns : (int)length;

		while (width && ((unsigned char)text[width] & 0xc0) == 0x80)	/* within a character */
			width--;
		if (first)
			printf("%s>%.*s%s\n", colour ? "\033[1;31m" : "", width - 1, text + 1,
			       colour ? "\033[0m" : "");
		else
			printf("%.*s\n", width, text);
		first = !strncmp(text, CULPRITS_HEAD, strlen(CULPRITS_HEAD)) ||
			!strncmp(text, CULPRITS_HEAD_NARROW, strlen(CULPRITS_HEAD_NARROW));
		text += length + (text[length] == '\n');
	}
}

int live_draw(struct session *session)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	const u64 now = clock_ns();
	unsigned int columns;
	struct report report;
	char *text = NULL;
	size_t length;
	FILE *memory;
	int ret;

	if (now - drawn <= 1000000000)
		return 0;
	drawn = now;
	pictures = true;
	ret = session_report(session, &report);
	if (ret)
		return ret;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	columns = size.ws_col ? size.ws_col : 80;
	memory = open_memstream(&text, &length);
	if (memory) {
		report_print(memory, &report, size.ws_row > 10 ? size.ws_row - 6 : 4, columns < WIDE);
		fclose(memory);
	}
	printf(CLEAR "%.*s\n\n", (int)columns, "Ctrl-C ends it with a summary");
	if (text)
		print_cut(text, columns);
	fflush(stdout);
	free(text);
	report_free(&report);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame_print.h"
#include "lib/output.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

#define CLEAR "\033[H\033[J"
#define WIDE 72				/* all columns, and 20 characters of a name */
#define KEYS "q quit, s sort, b by, f freeze, / filter"

enum sort { SORT_TOTAL, SORT_LONGEST, SORT_TIMES, SORTS };

static struct {
	struct termios before;
	bool has_keys, pictures, frozen, typing;
	enum sort sort;
	char filter[32];
	u64 drawn;			/* 0: to be drawn anew */
} live;

void live_start(void)
{
	struct termios raw;

	printf(CLEAR "timershield blame: starting\n");
	fflush(stdout);
	live.drawn = clock_ns();
	live.has_keys = tcgetpgrp(STDIN_FILENO) == getpgrp() &&
			!tcgetattr(STDIN_FILENO, &live.before);
	if (!live.has_keys)
		return;
	raw = live.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void live_end(void)
{
	if (live.has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &live.before);
	live.has_keys = false;
	if (live.pictures)
		fputs(CLEAR, stdout);
}

static u64 sort_key(const struct culprit *culprit)
{
	return live.sort == SORT_LONGEST ? culprit->longest :
	       live.sort == SORT_TIMES ? culprit->count : culprit->total;
}

static bool is_shown(const struct culprit *culprit)
{
	return strstr(culprit->name, live.filter) || strstr(culprit->how, live.filter) ||
	       strstr(culprit->unit, live.filter) || strstr(culprit->function, live.filter);
}

/* Those to be shown first, in the order that was chosen. */
static int compare(const void *a, const void *b)
{
	const struct culprit *one = a, *other = b;
	const u64 key = sort_key(one), other_key = sort_key(other);

	if (is_shown(one) != is_shown(other))
		return is_shown(one) ? -1 : 1;
	return key > other_key ? -1 : key < other_key;
}

static void arrange(struct victim_report *victim)
{
	qsort(victim->culprits, victim->count, sizeof(*victim->culprits), compare);
	victim->shown = 0;
	while (victim->shown < victim->count && is_shown(&victim->culprits[victim->shown]))
		victim->shown++;
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

static void print_head(const struct session *session, u64 elapsed, unsigned int columns)
{
	static const char * const sorts[] = { "total", "longest", "times" };
	static const char * const by[] = {
		[BY_PROCESS] = "process", [BY_PROGRAM] = "program", [BY_THREAD] = "thread",
	};
	autofree char *filter = format("%s%s%s", live.typing || *live.filter ? ", filter /" : "",
				       live.filter, live.typing ? "_" : "");
	autofree char *line = format("%.0f s, by %s, sorted by %s%s%s; %s", (double)elapsed / 1e9,
				     by[session->by], sorts[live.sort], filter,
				     live.frozen ? ", frozen" : "",
				     live.has_keys ? KEYS : "Ctrl-C ends it with a summary");

	printf(CLEAR "%.*s\n\n", (int)columns, line);
}

int live_draw(struct session *session)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	const u64 now = clock_ns();
	FILE *terminal = stdout;
	unsigned int columns;
	struct report report;
	char *text = NULL;
	size_t length;
	int ret;

	if (live.drawn && (live.frozen || now - live.drawn <= 1000000000))
		return 0;
	live.drawn = now;
	live.pictures = true;
	ret = session_report(session, &report);
	if (ret)
		return ret;
	for (size_t i = 0; i < report.count; i++)
		arrange(&report.victims[i]);
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	columns = size.ws_col ? size.ws_col : 80;
	stdout = open_memstream(&text, &length);
	if (stdout) {
		report_print(&report, size.ws_row > 10 ? size.ws_row - 6 : 4, columns < WIDE);
		fclose(stdout);
	}
	stdout = terminal;
	print_head(session, report.elapsed, columns);
	if (text)
		print_cut(text, columns);
	fflush(stdout);
	free(text);
	report_free(&report);
	return 0;
}

/* Enter ends the filter, and Escape drops it. */
static void type(char key)
{
	const size_t length = strlen(live.filter);

	if (key == '\033')
		*live.filter = '\0';
	if (key == '\n' || key == '\033')
		live.typing = false;
	else if ((key == '\b' || key == 0x7f) && length)
		live.filter[length - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && length + 1 < sizeof(live.filter))
		live.filter[length] = key;
}

static void take(struct session *session, char key)
{
	if (live.typing) {
		type(key);
	} else if (key == 's') {
		live.sort = (live.sort + 1) % SORTS;
	} else if (key == 'b') {
		session->by = (session->by + 1) % (BY_THREAD + 1);
	} else if (key == 'f') {
		live.frozen = !live.frozen;
	} else if (key == '/') {
		memset(live.filter, 0, sizeof(live.filter));
		live.typing = true;
	}
}

bool live_wait(struct session *session, u64 ns)
{
	const struct timespec pause = { .tv_nsec = (long)ns };
	struct pollfd keys = { .fd = live.has_keys ? STDIN_FILENO : -1, .events = POLLIN };
	char key;

	if (ppoll(&keys, 1, &pause, NULL) != 1)
		return false;
	if (read(STDIN_FILENO, &key, 1) != 1) {		/* the terminal has gone */
		live.has_keys = false;
		return false;
	}
	if (key == 'q' && !live.typing)
		return true;
	take(session, key);
	live.drawn = 0;
	return false;
}

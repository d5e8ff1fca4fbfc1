// SPDX-License-Identifier: GPL-2.0-or-later
#include "plot.h"
#include "prove_print.h"

#include "lib/file.h"
#include "lib/message.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static const char head[] =
"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
"<meta name=\"viewport\" content=\"width=device-width\"><title>timershield prove</title>\n<style>\n"
":root { color-scheme: light dark; --ink: #111; --paper: #fff; --rule: #ccc; --grid: #ddd;\n"
"        --off: #d55e00; --on: #0072b2; --alone: #777; }\n"
"@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --rule: #555;\n"
"        --grid: #333; --off: #ff8c42; --on: #5db7f0; --alone: #999; } }\n"
"body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1.5rem auto;\n"
"       padding: 0 1rem; color: var(--ink); background: var(--paper); }\n"
"h1 { font-size: 1.5rem; line-height: 1.3; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; }\n"
".scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; width: 100%; }\n"
"th, td { padding: .25rem .55rem; text-align: right; border-bottom: 1px solid var(--rule);\n"
"         font-variant-numeric: tabular-nums; vertical-align: top; }\n"
"th { border-bottom: 2px solid var(--ink); }\n"
"th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }\n"
"td.number { white-space: nowrap; } .machine th { border-bottom: 1px solid var(--rule); width: 8rem; }\n"
".machine td { overflow-wrap: anywhere; }\n"
"figure { margin: 0; display: flex; flex-wrap: wrap; }\n"
"svg { flex: 1 1 20rem; min-width: 0; height: auto; font: 12px system-ui, sans-serif;\n"
"      fill: var(--ink); }\n"
"svg path { fill: none; stroke-width: 1.8; } .grid line { stroke: var(--grid); stroke-width: .7; }\n"
".axis { stroke: var(--ink); } .alone { stroke: var(--alone); stroke-dasharray: 2 3; }\n"
".off { stroke: var(--off); stroke-dasharray: 6 3; } .on { stroke: var(--on); }\n"
".key { font-size: .87rem; } .key svg { display: inline; width: 2.2rem; height: .6rem; margin: 0 .3rem 0 1rem; }\n"
"@media print { body { max-width: none; margin: 0; font-size: 10pt; }\n"
"  table { font-size: 8pt; } .scroll { overflow: visible; } td.number { white-space: normal; }\n"
"  section, table { break-inside: avoid; } }\n</style></head><body>\n";

static const char rule[] =
"A difference counts if it is 1 % of the median, or one interruption a job, if it is larger than "
"the one between the first and the last turn, and if chance alone orders the eighths of the turns "
"like that in less than one of 100 cases (rank test of Mann and Whitney).";

static void add_escaped(struct text *page, const char *string)
{
	for (; *string; string++) {
		switch (*string) {
		case '<':
			text_add(page, "&lt;");
			break;
		case '>':
			text_add(page, "&gt;");
			break;
		case '&':
			text_add(page, "&amp;");
			break;
		default:
			text_add_bytes(page, string, 1);
		}
	}
}

static void add_element(struct text *page, const char *tag, const char *class, const char *string)
{
	text_add(page, "<%s%s%s%s>", tag, *class ? " class=\"" : "", class, *class ? "\"" : "");
	add_escaped(page, string);
	text_add(page, "</%s>\n", tag);
}

static void add_row(struct text *page, const char *tag, const char *cells)
{
	autofree char *copied = copy(cells);
	char *rest = copied, *last = strrchr(copied, '\t'), *cell;
	const char *class = strcmp(tag, "td") ? "" : "number";

	/* The verdict comes second: a narrow screen shows the beginning of a row. */
	*last++ = '\0';
	text_add(page, "<tr>");
	add_element(page, tag, "", strsep(&rest, "\t"));
	add_element(page, tag, "", last);
	while ((cell = strsep(&rest, "\t")))
		add_element(page, tag, class, cell);
	text_add(page, "</tr>\n");
}

static void add_table(struct text *page, const struct prove *prove)
{
	text_add(page, "<div class=\"scroll\"><table><thead>\n");
	add_row(page, "th", prove_head(prove, true));
	text_add(page, "</thead><tbody>\n");
	for (size_t i = 0; i < prove->count; i++) {
		autofree char *row = prove_row(prove, i, true);

		add_row(page, "td", row);
	}
	text_add(page, "</tbody></table></div>\n");
}

static void add_key(struct text *page, const char *class, const char *words)
{
	text_add(page, "<svg viewBox=\"0 0 34 8\"><path class=\"%s\" d=\"M0 4h34\"/></svg>%s\n",
		 class, words);
}

static void add_figure(struct text *page, const struct prove *prove, size_t trial,
		       const struct scale *scale)
{
	struct figures alone = figures_of(&prove->trials[0], false);
	struct figures off = figures_of(&prove->trials[trial], false);
	struct figures on = figures_of(&prove->trials[trial], true);
	autofree char *title = format("Next to %s", prove->trials[trial].kind->title);

	text_add(page, "<section>");
	add_element(page, "h2", "", title);
	text_add(page, "<figure>\n");
	plot_distribution(page, scale, trial ? &alone : NULL, &off, &on);
	text_add(page, "</figure></section>\n");
	free(alone.responses);
	free(off.responses);
	free(on.responses);
}

/* Of the same axes for all plots: a curve can be compared with that of any other load. */
static struct scale find_scale(const struct prove *prove)
{
	struct scale scale = { 0 };

	for (size_t i = 0; i < 2 * prove->count; i++) {
		struct figures figures = figures_of(&prove->trials[i / 2], i % 2);

		if (figures.count)
			plot_include(&scale, &figures);
		free(figures.responses);
	}
	return scale;
}

static void add_fact(struct text *page, const char *name, const char *value)
{
	text_add(page, "<tr>");
	add_element(page, "th", "", name);
	add_element(page, "td", "", value);
	text_add(page, "</tr>\n");
}

/* What follows the first "model name : ". */
static char *processor(void)
{
	autofree char *name = file_find("/proc/cpuinfo", "model name");
	const char *at = name ? strchr(name, ':') : NULL;

	return copy(at ? at + 2 : "not named by the kernel");
}

static char *file_or(const char *path, const char *other)
{
	autotext struct text text = { 0 };

	return file_read_line(path, &text) || !text.length ? copy(other) : copy(text.s);
}

static void add_machine(struct text *page, const struct prove *prove, const char *command)
{
	autofree char *cpu = processor(), *online = file_or("/sys/devices/system/cpu/online", "?");
	autofree char *vendor = file_or("/sys/class/dmi/id/sys_vendor", "");
	autofree char *product = file_or("/sys/class/dmi/id/product_name", "unknown");
	autofree char *clock = file_or(CLOCKSOURCE, "unknown");
	autofree char *machine = format("%s %s", vendor, product);
	autofree char *kernel = NULL;
	struct utsname system;
	char date[32];
	time_t now = time(NULL);

	uname(&system);
	kernel = format("%s %s %s", system.release, system.version, system.machine);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
	text_add(page, "<section><h2>The machine</h2><table class=\"machine\">\n");
	add_fact(page, "command", command);
	add_fact(page, "timershield", TIMERSHIELD_VERSION);
	add_fact(page, "shield", prove->kind);
	add_fact(page, "date", date);
	add_fact(page, "kernel", kernel);
	add_fact(page, "clock", clock);
	add_fact(page, "machine", machine);
	add_fact(page, "processor", cpu);
	add_fact(page, "CPUs online", online);
	text_add(page, "</table></section>\n");
}

FILE *page_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int error = errno;

	if (!file)
		failed(-error, "%s: %s", path, strerror(error));
	errno = error;
	return file;
}

static int write_all(FILE *file, const struct text *page)
{
	/* What is no regular file has no length. */
	int ret = ftruncate(fileno(file), 0) && errno != EINVAL ? -errno : 0;

	if (fwrite(page->s, 1, page->length, file) != page->length && !ret)
		ret = -errno;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret ? failed(ret, "the report: %s", strerror(-ret)) : 0;
}

int page_write(FILE *file, const struct prove *prove, const char *command)
{
	autofree char *headline = prove_headline(prove), *summary = prove_summary(prove);
	autofree char *method = prove_method(prove), *meanwhile = prove_meanwhile(prove);
	autofree char *advice = prove_advice(prove);
	const struct scale scale = find_scale(prove);
	const size_t shown = prove_best(prove);
	autotext struct text page = { 0 };

	text_add(&page, "%s", head);
	add_element(&page, "h1", "", headline);
	add_figure(&page, prove, shown, &scale);
	text_add(&page, "<p class=\"key\">First the share of jobs that took no longer, up to p99.9; then the share that took as long or longer, up to the maximum. The axes are the same everywhere.\n");
	add_key(&page, "alone", "next to nothing");
	add_key(&page, "off", prove->shield ? "shield off" : "next to the load");
	if (prove->shield)
		add_key(&page, "on", "shield on");
	text_add(&page, "</p>\n");
	add_table(&page, prove);
	add_element(&page, "p", "verdict", summary);
	if (*advice)
		add_element(&page, "p", "", advice);
	for (size_t i = 0; i < prove->count; i++)
		if (i != shown)
			add_figure(&page, prove, i, &scale);
	text_add(&page, "<h2>How it was measured</h2>\n");
	add_element(&page, "p", "", method);
	if (prove->shield)
		add_element(&page, "p", "", rule);
	add_element(&page, "p", "", meanwhile);
	add_machine(&page, prove, command);
	text_add(&page, "</body></html>\n");
	return write_all(file, &page);
}

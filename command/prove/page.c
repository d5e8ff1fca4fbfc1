// SPDX-License-Identifier: GPL-2.0-or-later
#include "page.h"
#include "plot.h"
#include "prove_print.h"

#include "lib/file.h"
#include "lib/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static const char head[] =
"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
"<meta name=\"viewport\" content=\"width=device-width\"><title>timershield prove</title>\n<style>\n"
":root { color-scheme: light; }\n"
"body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;\n"
"       padding: 0 1rem; color: #111; background: #fff; }\n"
"h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 1.6rem 0 .3rem; }\n"
".scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; width: 100%; }\n"
"th, td { padding: .25rem .55rem; text-align: right; border-bottom: 1px solid #ccc;\n"
"         font-variant-numeric: tabular-nums; vertical-align: top; }\n"
"th { border-bottom: 2px solid #111; }\n"
"th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }\n"
"td.number { white-space: nowrap; } .machine th { border-bottom: 1px solid #ccc; width: 11rem; }\n"
".machine td { overflow-wrap: anywhere; }\n"
".verdict { border: 2px solid #111; padding: .4rem .8rem; font-weight: bold; }\n"
"figure { margin: 0; } svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: #111; }\n"
"svg path { fill: none; } .grid line { stroke: #ddd; stroke-width: .7; } .axis { stroke: #111; }\n"
".off { stroke: #d55e00; stroke-width: 1.8; stroke-dasharray: 6 3; }\n"
".on { stroke: #0072b2; stroke-width: 1.8; }\n"
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
	char *rest = copied, *cell;
	unsigned int column = 0;

	text_add(page, "<tr>");
	while ((cell = strsep(&rest, "\t")))
		add_element(page, tag, column++ && !strcmp(tag, "td") ? "number" : "", cell);
	text_add(page, "</tr>\n");
}

static void add_table(struct text *page, const struct prove *prove)
{
	text_add(page, "<div class=\"scroll\"><table><thead>\n");
	add_row(page, "th", prove_head(prove));
	text_add(page, "</thead><tbody>\n");
	for (size_t i = 0; i < prove->count; i++) {
		autofree char *row = prove_row(prove, i);

		add_row(page, "td", row);
	}
	text_add(page, "</tbody></table></div>\n");
}

static void add_figures(struct text *page, const struct prove *prove)
{
	for (size_t i = 0; i < prove->count; i++) {
		struct figures off = figures_of(&prove->trials[i], false);
		struct figures on = figures_of(&prove->trials[i], true);
		autofree char *title = format("Next to %s", prove->trials[i].kind->title);
		autofree char *jobs = on.count ?
			format("%u jobs with the shield off, %u with it on.", off.count, on.count) :
			format("%u jobs.", off.count);

		text_add(page, "<section>");
		add_element(page, "h2", "", title);
		text_add(page, "<figure>\n");
		plot_distribution(page, &off, &on);
		text_add(page, "<figcaption>%s Left: the distribution up to p99.9. Right: the tail up to the maximum.</figcaption></figure></section>\n",
			 jobs);
		free(off.responses);
		free(on.responses);
	}
}

static void add_fact(struct text *page, const char *name, const char *value)
{
	text_add(page, "<tr>");
	add_element(page, "th", "", name);
	add_element(page, "td", "", value);
	text_add(page, "</tr>\n");
}

/* What follows the first "model name : " and the like. */
static char *processor(void)
{
	autotext struct text text = { 0 };
	const char *at;

	if (file_read("/proc/cpuinfo", &text))
		return copy("unknown");
	at = strstr(text.s, "model name");
	at = at ? strchr(at, ':') : NULL;
	return at ? format("%.*s", (int)strcspn(at + 2, "\n"), at + 2) :
	       copy("not named by the kernel");
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
	autofree char *cmdline = file_or("/proc/cmdline", "unknown");
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
	add_fact(page, "kernel command line", cmdline);
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
	autofree char *summary = prove_summary(prove), *method = prove_method(prove);
	autofree char *meanwhile = prove_meanwhile(prove), *advice = prove_advice(prove);
	autotext struct text page = { 0 };

	text_add(&page, "%s<h1>Does the shield against timers help here?</h1>\n", head);
	add_element(&page, "p", "verdict", summary);
	if (*advice)
		add_element(&page, "p", "", advice);
	add_table(&page, prove);
	add_element(&page, "p", "", method);
	add_element(&page, "p", "", rule);
	add_element(&page, "p", "", meanwhile);
	add_figures(&page, prove);
	add_machine(&page, prove, command);
	text_add(&page, "</body></html>\n");
	return write_all(file, &page);
}

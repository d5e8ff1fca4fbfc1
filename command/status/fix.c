// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what mends the findings becomes lines of the configuration, which isolate applies. */
#include "finding.h"
#include "isolate/config.h"
#include "lib/change.h"
#include "lib/file.h"
#include "lib/message.h"

#define NEW CONFIG_FILE ".new"
#define HEADING "# timershield status --fix"

static bool has_line(const char *text, const char *line)
{
	const size_t length = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && (!at[length] || at[length] == '\n'))
			return true;
	return false;
}

/* What is isolated now is in no file if a command did it: it is to stay. */
static void add_isolated(struct text *lines, const struct isolation *isolation,
			 const struct config *config)
{
	const struct cpus all = cpus_or(&isolation->procs, &isolation->irqs);
	autofree char *list = cpus_list(&all);

	if (!cpus_empty(&all) && !cpus_equal(&all, &config->cpus))
		text_add(lines, "cpus = %s\nprocs = %s\nirqs = %s\n", list,
			 cpus_empty(&isolation->procs) ? "no" : "yes",
			 cpus_empty(&isolation->irqs) ? "no" : "yes");
}

/* The file's own CPUs count, if they are not isolated yet. */
static bool is_chosen(const char *line, const struct isolation *isolation,
		      const struct config *config)
{
	return !strncmp(line, "cpus", 4) && cpus_empty(&isolation->procs) &&
	       cpus_empty(&isolation->irqs) && !cpus_empty(&config->cpus);
}

/* The lines that are to be added, and whether any finding has one. */
static bool find_lines(struct text *lines, const struct inspection *inspection,
		       const struct config *config, const char *old)
{
	bool any = false;

	text_add(lines, "%s", "");
	add_isolated(lines, &inspection->isolation, config);
	for (size_t i = 0; i < inspection->findings.count; i++) {
		const char *line = inspection->findings.items[i].fix;

		any |= *line != '\0';
		if (*line && !has_line(old, line) && !has_line(lines->s, line) &&
		    !is_chosen(line, &inspection->isolation, config))
			text_add(lines, "%s\n", line);
	}
	return any;
}

static void print_rest(const struct findings *findings)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];

		if (*finding->fix || !*finding->mend || finding->severity > FINDING_WARNING)
			continue;
		if (!any)
			puts("Left to you:");
		any = true;
		printf("  %s\n    -> %s\n", finding->text, finding->mend);
	}
}

/* The new file waits beside the old one, in whose place it comes once all has been applied. */
static int apply(const char *text, size_t length)
{
	autofree char *new = file_path(NEW), *path = file_path(CONFIG_FILE);
	struct config config;
	sigset_t before;
	int ret = config_parse(&config, CONFIG_FILE, text, length), status;

	if (!ret && !change_only_list) {
		ret = file_replace(NEW, text, length);
		if (ret)
			failed(ret, NEW ": %s", strerror(-ret));
	}
	isolation_hold_signals(&before);
	status = ret ? (int)status_of(ret) : isolate_by_config(&config);
	if (!status && !change_only_list && rename(new, path))
		status = status_of(failed(-errno, "%s: %s; 'timershield unisolate' undoes the rest",
					  CONFIG_FILE, strerror(errno)));
	if (status)
		unlink(new);
	sigprocmask(SIG_SETMASK, &before, NULL);
	config_free(&config);
	return status;
}

int fix(const struct inspection *inspection)
{
	autotext struct text lines = { 0 }, text = { 0 };
	struct config config = { 0 };
	int ret = file_read(CONFIG_FILE, &text), status;
	bool any;

	if (ret && ret != -ENOENT)
		return status_of(failed(ret, CONFIG_FILE ": %s", strerror(-ret)));
	ret = config_parse(&config, CONFIG_FILE, text.s, text.length);
	if (ret) {
		config_free(&config);
		return status_of(ret);
	}
	any = find_lines(&lines, inspection, &config, text.s);
	config_free(&config);
	if (lines.length)
		text_add(&text, "%s" HEADING "\n%s",
			 text.length && text.s[text.length - 1] != '\n' ? "\n" : "", lines.s);
	if (any && lines.length)
		printf("Lines for " CONFIG_FILE ":\n%s\n", lines.s);
	status = any ? apply(text.s, text.length) : STATUS_OK;
	if (!any)
		puts("No finding can be mended by a line of " CONFIG_FILE ".");
	else if (!status && !change_only_list)
		puts("'timershield unisolate' undoes this, timershield.service does it at boot while the file has these lines.");
	print_rest(&inspection->findings);
	return status;
}

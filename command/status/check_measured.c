// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the last "timershield measure" found. */
#include "finding.h"
#include "lib/file.h"
#include "lib/task.h"

/* Has the strings "date" and "summary": a sentence with the figures. */
#define MEASURE_FILE "/var/lib/timershield/measure.json"

/* The string that KEY has, as it stands in the text; NULL if there is none. */
static char *string_of(const char *text, const char *key)
{
	autofree char *quoted = format("\"%s\": \"", key);
	char *value = NULL;
	const char *at = strstr(text, quoted), *end;

	if (at) {
		at += strlen(quoted);
		end = strchr(at, '"');
		if (end)
			value = format("%.*s", (int)(end - at), at);
	}
	if (value)
		make_printable(value);
	return value;
}

static void add_measured(struct findings *findings, const char *text)
{
	autofree char *date = string_of(text, "date"), *summary = string_of(text, "summary");

	if (date && summary)
		finding_add(findings, FINDING_NOTE, "measured", "", "Measured %s: %s", date,
			    summary);
	else
		finding_unknown(findings, "measured", "What was measured", MEASURE_FILE, -EBADMSG);
}

void check_measured(struct inspection *inspection)
{
	autotext struct text text = { 0 };
	int ret = file_read(MEASURE_FILE, &text);

	if (ret == -ENOENT)
		finding_add(&inspection->findings, FINDING_UNKNOWN, "measured",
			    "timershield measure",
			    "How exact this machine is has not been measured.");
	else if (ret)
		finding_unknown(&inspection->findings, "measured", "What was measured",
				MEASURE_FILE, ret);
	else
		add_measured(&inspection->findings, text.s);
}

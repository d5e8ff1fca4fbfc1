// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: what the last "timershield measure" found. */
#include "finding.h"
#include "lib/file.h"
#include "lib/task.h"

/* Has the strings "date" and "summary": a sentence with the figures. */
#define MEASURE_FILE "/var/lib/timershield/measure.json"

/* The string that KEY, with quotes and colon, has, as it stands in the file; NULL if there is none. */
static char *string_of(const char *key)
{
	char *value = file_find(MEASURE_FILE, key), *end = value ? strchr(value, '"') : NULL;

	if (!end) {
		free(value);
		return NULL;
	}
	*end = '\0';
	make_printable(value);
	return value;
}

void check_measured(struct inspection *inspection)
{
	autofree char *date = string_of("\"date\": \""), *summary = string_of("\"summary\": \"");
	autotext struct text text = { 0 };
	int ret = file_read(MEASURE_FILE, &text);

	if (ret == -ENOENT)
		finding_add(&inspection->findings, FINDING_UNKNOWN, "measured",
			    "timershield measure",
			    "How exact this machine is has not been measured.");
	else if (ret || !date || !summary)
		finding_unknown(&inspection->findings, "measured", "What was measured",
				MEASURE_FILE, ret ? ret : -EBADMSG);
	else
		finding_add(&inspection->findings, FINDING_NOTE, "measured", "", "Measured %s: %s",
			    date, summary);
}

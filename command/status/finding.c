// SPDX-License-Identifier: GPL-2.0-or-later
#include "finding.h"

const char *severity_name(enum severity severity)
{
	static const char * const names[] = {
		[FINDING_BAD] = "bad",
		[FINDING_WARNING] = "warning",
		[FINDING_UNKNOWN] = "unknown",
		[FINDING_NOTE] = "note",
		[FINDING_GOOD] = "good",
	};

	return names[severity];
}

void finding_add(struct findings *findings, enum severity severity, const char *id,
		 const char *mend, const char *format, ...)
{
	struct text text = { 0 };
	va_list args;

	va_start(args, format);
	text_add_list(&text, format, args);
	va_end(args);
	*append(findings->items, findings->count) = (struct finding){
		.severity = severity,
		.id = id,
		.text = text.s,
		.mend = copy(mend),
	};
}

void finding_unknown(struct findings *findings, const char *id, const char *what,
		     const char *path, int error)
{
	bool denied = error == -EACCES || error == -EPERM;

	finding_add(findings, FINDING_UNKNOWN, id,
		    denied && geteuid() ? "run timershield as root" : "",
		    "%s is unknown: %s: %s.", what, path, strerror(-error));
}

/* Stable: findings of one severity stay in the order of the checks. */
void findings_sort(struct findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct finding moved = findings->items[i];
		size_t at = i;

		for (; at && findings->items[at - 1].severity > moved.severity; at--)
			findings->items[at] = findings->items[at - 1];
		findings->items[at] = moved;
	}
}

void findings_free(struct findings *findings)
{
	while (findings->count) {
		struct finding *finding = &findings->items[--findings->count];

		free(finding->text);
		free(finding->mend);
	}
	free(findings->items);
	findings->items = NULL;
}

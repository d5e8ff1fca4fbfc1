// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame_print.h"

#include "lib/output.h"
#include "cause.h"
#include "source.h"

/* What was the matter with the victim comes before what the CPU did. */
static int by_start(const void *a, const void *b)
{
	const struct segment *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->end > other->end ? -1 : one->end < other->end;
}

/* What of the segments is in the episode, in its order; how many there are. */
static unsigned int sort_parts(const struct episode *episode, struct segment *parts)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < episode->count && i < EPISODE_SEGMENTS; i++) {
		struct segment *part = &parts[count];

		*part = episode->segments[i];
		if (part->start < episode->start)
			part->start = episode->start;
		if (part->end > episode->end)
			part->end = episode->end;
		count += part->start < part->end;
	}
	if (count)
		qsort(parts, count, sizeof(*parts), by_start);
	return count;
}

static char *part_text(const struct segment *part)
{
	return part->cause.victim && part->cause.kind == CAUSE_SLACK ? copy("its timer was due") :
	       cause_text(&part->cause, &part->who);
}

void timeline_print(const struct episode *episode, unsigned int cpu)
{
	struct segment parts[EPISODE_SEGMENTS];
	unsigned int count = sort_parts(episode, parts);

	printf("The worst episode: %.1f us on CPU %u\n  %10s %9s\n", microseconds(episode->length),
	       cpu, "at us", "for us");
	for (unsigned int i = 0; i < count; i++) {
		autofree char *text = NULL;

		if (i == EPISODE_SEGMENTS / 2 && episode->count > EPISODE_SEGMENTS)
			printf("  ... (%u parts)\n", episode->count - EPISODE_SEGMENTS);
		text = part_text(&parts[i]);
		printf("  %10.1f %9.1f  %s%s\n", microseconds(parts[i].start - episode->start),
		       microseconds(parts[i].end - parts[i].start), text,
		       parts[i].cause.kind == CAUSE_TASK && parts[i].cause.id == episode->victim ?
		       " itself" : "");
	}
}

void timeline_print_json(const struct episode *episode, unsigned int cpu)
{
	struct segment parts[EPISODE_SEGMENTS];
	unsigned int count = sort_parts(episode, parts);

	json_open("worst_episode", '{');
	json_number("cpu", cpu);
	json_number("length_ns", episode->length);
	json_number("start_ns", episode->start);
	json_open("parts", '[');
	for (unsigned int i = 0; i < count; i++) {
		autofree char *text = part_text(&parts[i]);

		json_open(NULL, '{');
		json_number("at_ns", parts[i].start - episode->start);
		json_number("ns", parts[i].end - parts[i].start);
		json_string("what", text);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

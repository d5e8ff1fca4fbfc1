// SPDX-License-Identifier: GPL-2.0-or-later
#include "timeline.h"

#include "lib/message.h"
#include "lib/output.h"
#include "cause.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of a segment that is in the episode; 0 if none is. */
static u64 part_of(const struct segment *segment, const struct episode *episode, u64 *start)
{
	u64 end = segment->end < episode->end ? segment->end : episode->end;

	*start = segment->start > episode->start ? segment->start : episode->start;
	return end > *start ? end - *start : 0;
}

/* What was the matter with the victim comes before what the CPU did. */
static int by_start(const void *a, const void *b)
{
	const struct segment *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->end > other->end ? -1 : one->end < other->end;
}

/* The parts in their order; how many there are. */
static unsigned int sort_parts(const struct episode *episode, struct segment *parts)
{
	unsigned int count = episode->count < EPISODE_SEGMENTS ? episode->count : EPISODE_SEGMENTS;

	memcpy(parts, episode->segments, count * sizeof(*parts));
	if (count)
		qsort(parts, count, sizeof(*parts), by_start);
	return count;
}

static char *part_text(const struct segment *part)
{
	return part->cause.victim && part->cause.kind == CAUSE_SLACK ? copy("its timer was due") :
	       cause_text(&part->cause, &part->who);
}

static void print_segment(const struct segment *segment, u64 start, u64 length,
			  const struct episode *episode)
{
	autofree char *text = part_text(segment);

	printf("  %10.1f %9.1f  %s%s\n", microseconds(start - episode->start),
	       microseconds(length), text,
	       segment->cause.kind == CAUSE_TASK && segment->cause.id == episode->victim ?
	       " itself" : "");
}

void timeline_print(const struct episode *episode, unsigned int cpu)
{
	struct segment parts[EPISODE_SEGMENTS];
	unsigned int count = sort_parts(episode, parts);
	u64 start, length;

	printf("The worst episode: %.1f us on CPU %u\n  %10s %9s\n", microseconds(episode->length),
	       cpu, "at us", "for us");
	for (unsigned int i = 0; i < count; i++) {
		if (i == EPISODE_SEGMENTS / 2 && episode->count > EPISODE_SEGMENTS)
			printf("  ... (%u parts)\n", episode->count - EPISODE_SEGMENTS);
		length = part_of(&parts[i], episode, &start);
		if (length)
			print_segment(&parts[i], start, length, episode);
	}
}

void timeline_print_json(const struct episode *episode, unsigned int cpu)
{
	struct segment parts[EPISODE_SEGMENTS];
	unsigned int count = sort_parts(episode, parts);
	u64 start, length;

	json_open("worst_episode", '{');
	json_number("cpu", cpu);
	json_number("length_ns", episode->length);
	json_number("start_ns", episode->start);
	json_open("parts", '[');
	for (unsigned int i = 0; i < count; i++) {
		const struct segment *segment = &parts[i];
		autofree char *text = part_text(segment);

		length = part_of(segment, episode, &start);
		if (!length)
			continue;
		json_open(NULL, '{');
		json_number("at_ns", start - episode->start);
		json_number("ns", length);
		json_string("what", text);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

static void write_event(FILE *file, const char *name, const char *kind, u64 start, u64 length,
			unsigned int cpu)
{
	fputs(",\n{\"name\":", file);
	json_quote(file, name);
	fprintf(file, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%llu.%03u,"
		"\"dur\":%llu.%03u}", kind, cpu, (unsigned long long)(start / 1000),
		(unsigned int)(start % 1000), (unsigned long long)(length / 1000),
		(unsigned int)(length % 1000));
}

int timeline_write(FILE *file, const struct episode *episode, unsigned int cpu)
{
	struct segment parts[EPISODE_SEGMENTS];
	unsigned int count = sort_parts(episode, parts);
	u64 start, length;

	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
		"\"args\":{\"name\":\"timershield blame\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,"
		"\"args\":{\"name\":\"CPU %u\"}}", cpu, cpu);
	if (episode->length)
		write_event(file, "episode", "episode", episode->start, episode->length, cpu);
	for (unsigned int i = 0; i < count; i++) {
		const struct segment *segment = &parts[i];
		autofree char *text = part_text(segment);

		length = part_of(segment, episode, &start);
		if (!length)
			continue;
		write_event(file, text, cause_kind(segment->cause.kind), start, length, cpu);
	}
	fputs("\n]}\n", file);
	return fclose(file) ? failed(-errno, "--trace: %s", strerror(errno)) : 0;
}

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

static void print_segment(const struct segment *segment, u64 start, u64 length,
			  const struct episode *episode)
{
	autofree char *text = cause_text(&segment->cause, &segment->who);

	printf("  %10.1f %9.1f  %s%s\n", microseconds(start - episode->start),
	       microseconds(length), text,
	       segment->cause.kind == CAUSE_TASK && segment->cause.id == episode->victim ?
	       " itself" : "");
}

void timeline_print(const struct episode *episode, unsigned int cpu)
{
	u64 start, length;

	printf("The worst episode: %.1f us on CPU %u\n  %10s %9s\n", microseconds(episode->length),
	       cpu, "at us", "for us");
	if (episode->count == EPISODE_SEGMENTS)
		printf("  ... (only the last %u parts are kept)\n", EPISODE_SEGMENTS);
	for (unsigned int i = episode->count; i--; ) {
		length = part_of(&episode->segments[i], episode, &start);
		if (length)
			print_segment(&episode->segments[i], start, length, episode);
	}
}

void timeline_print_json(const struct episode *episode, unsigned int cpu)
{
	u64 start, length;

	json_open("worst_episode", '{');
	json_number("cpu", cpu);
	json_number("length_ns", episode->length);
	json_number("start_ns", episode->start);
	json_open("parts", '[');
	for (unsigned int i = episode->count; i--; ) {
		const struct segment *segment = &episode->segments[i];
		autofree char *text = cause_text(&segment->cause, &segment->who);

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
	u64 start, length;

	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
		"\"args\":{\"name\":\"timershield blame\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,"
		"\"args\":{\"name\":\"CPU %u\"}}", cpu, cpu);
	if (episode->length)
		write_event(file, "episode", "episode", episode->start, episode->length, cpu);
	for (unsigned int i = episode->count; i--; ) {
		const struct segment *segment = &episode->segments[i];
		autofree char *text = cause_text(&segment->cause, &segment->who);

		length = part_of(segment, episode, &start);
		if (!length)
			continue;
		write_event(file, text, cause_kind(segment->cause.kind), start, length, cpu);
	}
	fputs("\n]}\n", file);
	return fclose(file) ? failed(-errno, "--trace: %s", strerror(errno)) : 0;
}

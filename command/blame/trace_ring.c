// SPDX-License-Identifier: GPL-2.0-or-later
/* The format is that of events/header_page and events/header_event in tracefs. */
#include "trace_ring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HEADER 16
#define COMMIT_LENGTH 0xfffffu
#define LOST (1u << 31)
#define LOST_STORED (1u << 30)

enum { MAX_TYPE_DATA = 28, TYPE_PADDING, TYPE_EXTEND, TYPE_STAMP };

static u32 word_at(const struct trace_ring *ring, size_t at)
{
	u32 word = 0;

	if (at + sizeof(word) <= sizeof(ring->page))
		memcpy(&word, ring->page + at, sizeof(word));
	return word;
}

/* 0, 1 if there is no page, or -errno. */
static int read_page(struct trace_ring *ring)
{
	ssize_t length = read(ring->fd, ring->page, sizeof(ring->page));
	u64 count = 1;
	u32 commit;

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (length < 0)
		return -errno;
	if (length < HEADER)
		return 1;
	memcpy(&ring->time, ring->page, sizeof(ring->time));
	commit = word_at(ring, 8);
	ring->at = HEADER;
	ring->end = HEADER + (commit & COMMIT_LENGTH);
	if (ring->end > (size_t)length)
		ring->end = (size_t)length;
	if (commit & LOST) {
		if (commit & LOST_STORED && ring->end + sizeof(count) <= (size_t)length)
			memcpy(&count, ring->page + ring->end, sizeof(count));
		ring->lost += count;
		ring->gap = true;
	}
	return 0;
}

/* Takes the entry at ring->at; it is an event, or only says what time it is. */
static void take_entry(struct trace_ring *ring)
{
	u32 head = word_at(ring, ring->at), type = head & 31, delta = head >> 5;
	u32 next = word_at(ring, ring->at + 4);

	switch (type) {
	case TYPE_PADDING:
		ring->at = delta ? ring->at + 4 + next : ring->end;
		ring->time += delta;
		return;
	case TYPE_EXTEND:
		ring->time += ((u64)next << 27) + delta;
		ring->at += 8;
		return;
	case TYPE_STAMP:
		ring->time = (ring->time & 0x1full << 59) | ((u64)next << 27) | delta;
		ring->at += 8;
		return;
	case 0:
		ring->event = ring->page + ring->at + 8;
		ring->at += 4 + ((next + 3) & ~3u);
		break;
	default:
		ring->event = ring->page + ring->at + 4;
		ring->at += 4 + type * 4;
	}
	ring->time += delta;
	ring->ready = true;
}

int trace_ring_next(struct trace_ring *ring)
{
	int ret = 0;

	ring->ready = false;
	while (!ret && !ring->ready) {
		if (ring->at < ring->end)
			take_entry(ring);
		else
			ret = read_page(ring);
	}
	return ret < 0 ? ret : 0;
}

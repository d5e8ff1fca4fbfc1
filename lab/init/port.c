// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "port.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define HEADER 20

static int port_fd = -1;
static uint32_t sequence;

static uint32_t crc32_update(uint32_t crc, const uint8_t *data, size_t length)
{
	static uint32_t table[256];

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int bit = 0; bit < 8; bit++)
				c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
			table[i] = c;
		}
	}
	crc = ~crc;
	while (length--)
		crc = table[(crc ^ *data++) & 0xff] ^ (crc >> 8);
	return ~crc;
}

int port_open(const char *path)
{
	struct termios mode;

	port_fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (port_fd < 0)
		return -errno;
	if (tcgetattr(port_fd, &mode) == 0) {
		cfmakeraw(&mode);
		cfsetspeed(&mode, B115200);
		if (tcsetattr(port_fd, TCSANOW, &mode))
			return -errno;
	}
	return 0;
}

static void write_all(const uint8_t *data, size_t length)
{
	while (length) {
		ssize_t n = write(port_fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			perror("init: result port");
			exit(1);
		}
		data += n;
		length -= n;
	}
}

static void send_frame(enum port_type type, unsigned int command,
		       const void *data, size_t length)
{
	uint8_t frame[HEADER + PORT_MAX];
	uint32_t word;
	uint16_t half;

	word = htole32(PORT_MAGIC);
	memcpy(frame, &word, 4);
	half = htole16(type);
	memcpy(frame + 4, &half, 2);
	half = htole16(command);
	memcpy(frame + 6, &half, 2);
	word = htole32(sequence++);
	memcpy(frame + 8, &word, 4);
	word = htole32(length);
	memcpy(frame + 12, &word, 4);
	if (length)
		memcpy(frame + HEADER, data, length);
	word = crc32_update(0, frame, 16);
	word = htole32(crc32_update(word, frame + HEADER, length));
	memcpy(frame + 16, &word, 4);
	write_all(frame, HEADER + length);
}

void port_send(enum port_type type, unsigned int command, const void *data,
	       size_t length)
{
	const uint8_t *next = data;

	do {
		size_t part = length < PORT_MAX ? length : PORT_MAX;

		send_frame(type, command, next, part);
		next += part;
		length -= part;
	} while (length);
}

void port_drain(void)
{
	if (isatty(port_fd))
		tcdrain(port_fd);
}

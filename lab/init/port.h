/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one-way port by which results leave a guest: a stream of frames, each
 *
 *	u32 magic     PORT_MAGIC
 *	u16 type      enum port_type
 *	u16 command   which command it belongs to, PORT_NO_COMMAND if none
 *	u32 sequence  counts frames from 0
 *	u32 length    bytes of payload
 *	u32 crc       CRC-32 (IEEE 802.3) of the 16 bytes above and the payload
 *	u8  payload[length]
 *
 * all little-endian. The host reads it in lab/boot/protocol.py; docs/lab.md has the
 * payloads.
 */
#ifndef LAB_PORT_H
#define LAB_PORT_H

#include <stddef.h>
#include <stdint.h>

#define PORT_MAGIC	0x4c425354u	/* "TSBL" */
#define PORT_VERSION	1
#define PORT_MAX	4096
#define PORT_NO_COMMAND	0xffffu

enum port_type {
	PORT_HELLO = 1,		/* version, a space, uname */
	PORT_BEGIN = 2,		/* the command line */
	PORT_OUTPUT = 3,	/* what it wrote to stdout or stderr */
	PORT_EXIT = 4,		/* s32 wait status or PORT_TIMED_OUT, u64 ns it took */
	PORT_FILE = 5,		/* name of a result file */
	PORT_DATA = 6,		/* contents of the file named last */
	PORT_TAINT = 7,		/* u64 /proc/sys/kernel/tainted, sent when it changed */
	PORT_END = 8,		/* all commands were run */
	PORT_LOG = 9,		/* a part of the kernel's log, which comes before the end */
};

#define PORT_TIMED_OUT	(-1)

/*
 * port_open() - open @path for frames; raw mode if it is a terminal
 *
 * Return: 0 or -errno.
 */
int port_open(const char *path);

/*
 * port_send() - send one frame, or several if @length is above PORT_MAX
 *
 * Not thread-safe. Exits the process if the port fails: without it there is
 * nobody to tell.
 */
void port_send(enum port_type type, unsigned int command, const void *data,
	       size_t length);

/* port_drain() - wait until everything sent has left the machine */
void port_drain(void);

#endif

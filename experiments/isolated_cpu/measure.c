// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interrupt: /dev/rtc0's periodic one, as the article has it, or a timerfd
 * where there is none. (Linux serves the former by a high-resolution timer of the
 * CPU that switches it on, so that both are one interrupt of that CPU's timer.)
 */
#define _GNU_SOURCE
#include "isolated.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtc.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct source {
	int fd;
	bool rtc;
};

static int open_source(struct source *source)
{
	source->fd = open("/dev/rtc0", O_RDONLY | O_CLOEXEC);
	source->rtc = source->fd >= 0 && !ioctl(source->fd, RTC_IRQP_SET, RATE);
	if (source->rtc)
		return 0;
	if (source->fd >= 0)
		close(source->fd);
	source->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return source->fd < 0 ? -errno : 0;
}

static int switch_on(const struct source *source)
{
	static const struct itimerspec periodic = {
		.it_value.tv_nsec = PERIOD_NS,
		.it_interval.tv_nsec = PERIOD_NS,
	};
	int ret;

	if (source->rtc)
		ret = ioctl(source->fd, RTC_PIE_ON);
	else
		ret = timerfd_settime(source->fd, 0, &periodic, NULL);
	return ret ? -errno : 0;
}

/* How many interrupts there were since the last call; waits for one. 0: failed. */
static uint32_t read_interrupts(const struct source *source)
{
	unsigned long data;
	uint64_t count;

	if (source->rtc)
		return read(source->fd, &data, sizeof(data)) == sizeof(data) ? data >> 8 : 0;
	return read(source->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

int measure(struct run *run)
{
	struct source source;
	uint32_t index = 0;
	int ret;

	ret = open_source(&source);
	if (ret)
		return ret;
	run->start_ns = clock_ns();
	ret = switch_on(&source);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < run->samples; i++) {
		uint32_t count = read_interrupts(&source);

		if (!count)
			return -EIO;
		index += count;
		run->sample[i] = (struct sample){ .woke_ns = clock_ns(), .index = index };
	}
	close(source.fd);
	return 0;
}

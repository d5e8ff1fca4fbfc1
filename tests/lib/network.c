// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "network.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void network_set_up(const char *device)
{
	int socket_fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { .ifr_flags = IFF_UP };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	ioctl(socket_fd, SIOCSIFFLAGS, &request);
	close(socket_fd);
}

int network_open_polled(void)
{
	struct ifreq request = {
		.ifr_name = NETWORK_POLLED, .ifr_flags = IFF_TAP | IFF_NAPI | IFF_NO_PI,
	};
	int module = open("/lab/modules/tun.ko", O_RDONLY | O_CLOEXEC), fd;

	syscall(SYS_finit_module, module, "", 0);
	close(module);
	mkdir("/dev/net", 0755);
	mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200));
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !ioctl(fd, TUNSETIFF, &request)) {
		network_set_up(request.ifr_name);
		return fd;
	}
	return -1;
}

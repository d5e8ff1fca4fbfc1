/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the kernel's network configuration, rtnetlink(7). */
#ifndef LAB_AOI_NETLINK_H
#define LAB_AOI_NETLINK_H

#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_ROOM 1024

struct netlink_message {
	struct nlmsghdr header;
	char body[NETLINK_ROOM];
};

/* netlink_begin() - a request of @type whose fixed part is @fixed */
void netlink_begin(struct netlink_message *message, int type, int flags, const void *fixed,
		   size_t size);

/* netlink_put() - append an attribute; netlink_raw() - bytes without a header */
void netlink_put(struct netlink_message *message, int type, const void *data, size_t size);
void netlink_raw(struct netlink_message *message, const void *data, size_t size);

/* netlink_nest() - begin an attribute that consists of attributes, and end it */
struct rtattr *netlink_nest(struct netlink_message *message, int type);
void netlink_nest_end(struct netlink_message *message, struct rtattr *nest);

/* netlink_talk() - send the request from this thread's network namespace; 0 or -errno */
int netlink_talk(struct netlink_message *message);

#endif

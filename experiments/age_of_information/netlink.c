// SPDX-License-Identifier: GPL-2.0-or-later
#include "netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char *end_of(struct netlink_message *message)
{
	return (char *)message + NLMSG_ALIGN(message->header.nlmsg_len);
}

/* Requests are made of constants: one that does not fit is a mistake in the program. */
static void grow(struct netlink_message *message, size_t size)
{
	size_t length = NLMSG_ALIGN(message->header.nlmsg_len) + size;

	if (length > sizeof(*message))
		abort();
	message->header.nlmsg_len = length;
}

void netlink_begin(struct netlink_message *message, int type, int flags, const void *fixed,
		   size_t size)
{
	memset(message, 0, sizeof(*message));
	message->header.nlmsg_type = type;
	message->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message->header.nlmsg_len = NLMSG_LENGTH(0);
	netlink_raw(message, fixed, size);
}

void netlink_raw(struct netlink_message *message, const void *data, size_t size)
{
	char *to = end_of(message);

	grow(message, size);
	memcpy(to, data, size);
}

void netlink_put(struct netlink_message *message, int type, const void *data, size_t size)
{
	struct rtattr *attribute = netlink_nest(message, type);

	if (size)
		netlink_raw(message, data, size);
	netlink_nest_end(message, attribute);
}

struct rtattr *netlink_nest(struct netlink_message *message, int type)
{
	struct rtattr *nest = (struct rtattr *)end_of(message);

	grow(message, RTA_LENGTH(0));
	nest->rta_type = type;
	return nest;
}

void netlink_nest_end(struct netlink_message *message, struct rtattr *nest)
{
	nest->rta_len = (char *)message + message->header.nlmsg_len - (char *)nest;
}

int netlink_talk(struct netlink_message *message)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[NETLINK_ROOM];
	} answer;
	int fd, ret = 0;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (send(fd, message, message->header.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		ret = -errno;
	else if (answer.header.nlmsg_type == NLMSG_ERROR)
		ret = answer.error.error;
	close(fd);
	return ret;
}

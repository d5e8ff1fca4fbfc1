// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "uring.h"
#include "task.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map(const struct uring *ring, size_t size, u64 offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
		    offset);
}

int uring_open(struct uring *ring)
{
	struct io_uring_params params = { 0 };
	char *sq, *cq;

	ring->never = 0;
	ring->fd = syscall(SYS_io_uring_setup, 2, &params);
	if (ring->fd < 0)
		return -errno;
	sq = map(ring, params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		 IORING_OFF_SQ_RING);
	cq = map(ring, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		 IORING_OFF_CQ_RING);
	ring->sqes = map(ring, params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring->sqes == MAP_FAILED) {
		close(ring->fd);
		return -ENOMEM;
	}
	ring->sq_tail = (unsigned int *)(sq + params.sq_off.tail);
	ring->sq_array = (unsigned int *)(sq + params.sq_off.array);
	ring->sq_mask = *(unsigned int *)(sq + params.sq_off.ring_mask);
	ring->cq_head = (unsigned int *)(cq + params.cq_off.head);
	ring->cq_tail = (unsigned int *)(cq + params.cq_off.tail);
	ring->cq_mask = *(unsigned int *)(cq + params.cq_off.ring_mask);
	ring->cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
	return 0;
}

static void uring_close(struct uring *ring)
{
	close(ring->fd);
}

static struct io_uring_sqe *next_request(struct uring *ring, unsigned int number)
{
	unsigned int slot = (*ring->sq_tail + number) & ring->sq_mask;

	memset(&ring->sqes[slot], 0, sizeof(ring->sqes[slot]));
	ring->sq_array[slot] = slot;
	return &ring->sqes[slot];
}

static int submit(struct uring *ring, int count)
{
	int ret;

	__atomic_store_n(ring->sq_tail, *ring->sq_tail + count, __ATOMIC_RELEASE);
	ret = syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0);
	return ret == count ? 0 : ret < 0 ? -errno : -EBADMSG;
}

static struct __kernel_timespec to_kernel_timespec(u64 ns)
{
	return (struct __kernel_timespec){ .tv_sec = ns / SEC, .tv_nsec = ns % SEC };
}

static void be_timeout(struct io_uring_sqe *sqe, const struct __kernel_timespec *time)
{
	sqe->fd = -1;
	sqe->addr = (u64)(uintptr_t)time;
	sqe->len = 1;
	sqe->timeout_flags = IORING_TIMEOUT_ABS;
}

int uring_arm(struct uring *ring, u64 expiry)
{
	struct __kernel_timespec time = to_kernel_timespec(expiry);
	struct io_uring_sqe *sqe = next_request(ring, 0);

	sqe->opcode = IORING_OP_TIMEOUT;
	be_timeout(sqe, &time);
	return submit(ring, 1);
}

int uring_arm_link(struct uring *ring, u64 expiry)
{
	struct __kernel_timespec time = to_kernel_timespec(expiry);
	struct io_uring_sqe *sqe = next_request(ring, 0);

	if (!ring->never)
		ring->never = eventfd(0, EFD_CLOEXEC);
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = ring->never;
	sqe->poll32_events = POLLIN;
	sqe->flags = IOSQE_IO_LINK;
	sqe = next_request(ring, 1);
	sqe->opcode = IORING_OP_LINK_TIMEOUT;
	be_timeout(sqe, &time);
	return submit(ring, 2);
}

int uring_wait(struct uring *ring, u64 duration)
{
	struct __kernel_timespec time = to_kernel_timespec(duration);
	struct io_uring_getevents_arg arg = { .ts = (u64)(uintptr_t)&time };

	return syscall(SYS_io_uring_enter, ring->fd, 0, 1,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg)) < 0 ?
	       -errno : 0;
}

int uring_await(struct uring *ring)
{
	unsigned int head = *ring->cq_head;
	int result;

	while (__atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) == head)
		if (syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL,
			    0) < 0 && errno != EINTR)
			return -errno;
	result = ring->cqes[head & ring->cq_mask].res;
	__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
	return result == -ETIME ? 0 : result ? result : -EBADMSG;
}

static int wait_uring(const struct api *api, u64 expiry, u64 *due)
{
	struct uring ring;
	int ret = uring_open(&ring);

	if (ret)
		return ret;
	*due = expiry;
	ret = uring_arm(&ring, expiry);
	if (!ret)
		ret = uring_await(&ring);
	uring_close(&ring);
	return ret;
}

const struct api uring_api = {
	"io_uring", .wait = wait_uring, .clock = CLOCK_MONOTONIC,
};

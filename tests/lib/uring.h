/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring's timeouts, by its system calls alone. */
#ifndef TESTS_URING_H
#define TESTS_URING_H

#include "api.h"

struct uring {
	int fd;
	unsigned int *sq_tail, *sq_array, sq_mask;
	unsigned int *cq_head, *cq_tail, cq_mask;
	int never;		/* a file that is never ready; 0: not open yet */
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

/* A ring for one request, or two that are linked, at a time; 0 or -errno (-ENOSYS: no io_uring). */
int uring_open(struct uring *ring);

/* Arms a timeout for EXPIRY on CLOCK_MONOTONIC; 0 or -errno. */
int uring_arm(struct uring *ring, u64 expiry);

/* The same, for the end of a request that waits for something that never comes. */
int uring_arm_link(struct uring *ring, u64 expiry);

/* Waits for a completion in the system call, for DURATION at most; 0 or -errno (-ETIME). */
int uring_wait(struct uring *ring, u64 duration);

/* Waits until it ends: 0 if by its expiry, else -errno. */
int uring_await(struct uring *ring);

/* Like the entries of apis[], but not one of them. */
extern const struct api uring_api;

#endif

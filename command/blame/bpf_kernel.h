/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF program reads of the kernel's structures; libbpf relocates each access. */
#ifndef TIMERSHIELD_BPF_KERNEL_H
#define TIMERSHIELD_BPF_KERNEL_H

typedef unsigned char __u8, u8;
typedef unsigned short __u16, u16;
typedef unsigned int __u32, u32;
typedef unsigned long long __u64, u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32, s32;
typedef long long __s64, s64;
typedef _Bool bool;
typedef __u16 __be16;
typedef __u32 __be32, __wsum;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
};

enum { BPF_ANY, BPF_NOEXIST };
enum { SENT_BY_TIMER = -2, SENT_BY_KERNEL = 0x80 };
enum { SIGNAL_ALRM = 14, SIGNAL_VTALRM = 26, SIGNAL_PROF = 27 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_dl_entity;
struct mm_struct;

struct rt_rq {
	int rt_throttled;
};

struct rq {
	struct rt_rq rt;
	u64 clock;
	struct sched_dl_entity *dl_server;
};

struct cfs_rq {
	int throttle_count;
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct sched_rt_entity {
	struct rt_rq *rt_rq;
};

struct sched_info {
	u64 last_queued;
};

struct task_struct {
	int pid, tgid, prio, wake_cpu;
	struct mm_struct *mm;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_info sched_info;
	bool frozen : 1;		/* of its cgroup */
	unsigned int policy, flags;
	bool throttled;			/* since 6.18: dequeued, for its quota is used up */
	char comm[16];
};

struct timerqueue_node {
	s64 expires;
};

struct hrtimer_clock_base {
	s64 offset;			/* to CLOCK_MONOTONIC */
};

struct hrtimer {
	struct timerqueue_node node;
	s64 _softexpires;
	struct hrtimer_clock_base *base;
	void *function;
	u8 is_soft;
};

struct hw_perf_event {
	struct hrtimer hrtimer;
};

struct perf_event {
	struct hw_perf_event hw;
	struct task_struct *owner;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

struct net_device {
	char name[16];
	int ifindex;
};

struct napi_struct {
	struct net_device *dev;
};

struct kernel_siginfo {
	int si_code;
	union {
		struct {
			int _pid;
		} _kill;
	} _sifields;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct __call_single_data {
	void *func;
};

struct pt_regs {
	unsigned long unused;
};

struct pt_regs___x86 {
	unsigned long dx, si, di, orig_ax;
};

struct pt_regs___arm64 {
	u64 regs[3];
	int syscallno;
};

#pragma clang attribute pop

#endif

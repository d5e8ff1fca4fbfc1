// SPDX-License-Identifier: GPL-2.0-or-later
/* blame's source in the kernel: tracepoints call the accounting in engine.bpf.c. */
#include "bpf_kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "blame_types.h"

char LICENSE[] SEC("license") = "GPL";

struct blame_config config;
struct blame_lost lost;

#define STORE(name, map_type, key_type, value_type, entries)		\
	struct {							\
		__uint(type, map_type);					\
		__uint(max_entries, entries);				\
		__type(key, key_type);					\
		__type(value, value_type);				\
	} name SEC(".maps")

STORE(rows, BPF_MAP_TYPE_HASH, struct cause, struct row, MAX_ROWS);
STORE(victims, BPF_MAP_TYPE_HASH, u32, struct victim, MAX_VICTIMS);
STORE(targets, BPF_MAP_TYPE_HASH, u32, u32, MAX_TARGETS);
STORE(armed, BPF_MAP_TYPE_LRU_HASH, u64, struct armed, MAX_ARMED);
STORE(cpus, BPF_MAP_TYPE_ARRAY, u32, struct cpu, 1);	/* set to the number of CPUs */
STORE(jobs_of, BPF_MAP_TYPE_HASH, u32, struct jobs, MAX_VICTIMS);
STORE(links, BPF_MAP_TYPE_ARRAY, u32, struct link, MAX_LINKS);
STORE(works, BPF_MAP_TYPE_LRU_HASH, u32, u64, MAX_WORKS);

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, MAX_STACKS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH * sizeof(u64));
} stacks SEC(".maps");

#define LOOKUP(store, key) bpf_map_lookup_elem(&store, key)
#define INSERT(store, key, value) bpf_map_update_elem(&store, key, value, BPF_NOEXIST)
#define PUT(store, key, value) bpf_map_update_elem(&store, key, value, BPF_ANY)
#define REMOVE(store, key) bpf_map_delete_elem(&store, key)
#define ADD(counter, number) __sync_fetch_and_add(&(counter), number)
#define LOOP(count, function, argument) bpf_loop(count, function, argument, 0)
#define SUBPROGRAM __attribute__((noinline))

static struct cpu *FIND_CPU(u32 number)
{
	return bpf_map_lookup_elem(&cpus, &number);
}

static struct link *LINK(u32 tid)
{
	u32 place = tid & (MAX_LINKS - 1);

	return bpf_map_lookup_elem(&links, &place);
}

static u32 TAKE_STACK(void *context)
{
	s64 number = bpf_get_stackid(context, &stacks, 0);

	return number < 0 ? 0 : number + 1;
}

static u32 is_realtime_throttled(struct task_struct *task)
{
	u32 throttled = 0;

	if (!bpf_core_field_exists(((struct rt_rq *)0)->rt_throttled))
		return 0;
	if (bpf_core_field_exists(task->rt.rt_rq))
		throttled = BPF_CORE_READ(task, rt.rt_rq, rt_throttled);
	if (!throttled && bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		throttled = BPF_CORE_READ(task, se.cfs_rq, rq, rt.rt_throttled);
	return throttled ? THROTTLE_RT : 0;
}

/*
 * A task_struct that has gone reads as something, or not at all. Since 6.18 a task runs on until
 * it leaves the kernel, or waits for its turn to do so, though its group's quota is used up.
 */
static u32 has_no_quota(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	return bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) &&
	       BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

static u32 WHY_THROTTLED(const struct victim *victim)
{
	struct task_struct *task = (struct task_struct *)victim->task;

	if (!task || victim->priority < 0)
		return 0;
	if (victim->priority < 100)
		return is_realtime_throttled(task);
	return has_no_quota(task) ? THROTTLE_QUOTA : 0;
}

static inline __attribute__((always_inline)) u32 is_served(u64 address)
{
	struct task_struct *task = (struct task_struct *)address;

	return bpf_core_field_exists(((struct rq *)0)->dl_server) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->rq) &&
	       BPF_CORE_READ(task, se.cfs_rq, rq, dl_server);
}

#define IS_SERVED(task) is_served(task)

#include "engine.bpf.c"

inline_always void read_task(struct who *who, struct task_struct *task)
{
	who->tid = task->pid;
	who->tgid = task->tgid;
	who->priority = task->prio;
	who->policy = task->policy;
	bpf_probe_read_kernel(who->comm, sizeof(who->comm), &task->comm);
}

inline_always struct cpu *this_cpu(void)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = config.on ? FIND_CPU(number) : 0;

	if (!cpu)
		return 0;
	cpu->events++;
	if (!cpu->depth)		/* it may change while the task runs */
		cpu->frames[0].who.priority = bpf_get_current_task_btf()->prio;
	if (is_to_learn(cpu)) {
		struct task_struct *task = bpf_get_current_task_btf();
		struct who who;

		read_task(&who, task);
		learn_task(cpu, number, &who, task->flags, (u64)task);
	}
	return cpu;
}

/* Two programs, for the beginning of something and for its end, with the event's arguments. */
#define FRAME(entry, exit, kind, cause, id, arguments...)			\
SEC("tp_btf/" #entry)								\
int BPF_PROG(entry, ##arguments)						\
{										\
	struct cpu *cpu = this_cpu();						\
										\
	if (cpu)								\
		push(cpu, bpf_ktime_get_ns(), kind, cause, id);			\
	return 0;								\
}										\
SEC("tp_btf/" #exit)								\
int BPF_PROG(exit, ##arguments)							\
{										\
	struct cpu *cpu = this_cpu();						\
										\
	if (cpu) {								\
		before_pop(cpu);						\
		pop(cpu, bpf_ktime_get_ns(), kind);				\
	}									\
	return 0;								\
}

#define VECTOR(name, id)							\
	FRAME(name##_entry, name##_exit, FRAME_VECTOR,				\
	      (id) == IPI_TIMER ? CAUSE_TIMER_IRQ : CAUSE_IPI, id)

VECTOR(local_timer, IPI_TIMER)
VECTOR(reschedule, IPI_RESCHEDULE)
VECTOR(call_function, IPI_CALL)
VECTOR(call_function_single, IPI_CALL_SINGLE)
VECTOR(irq_work, IPI_IRQ_WORK)
VECTOR(x86_platform_ipi, IPI_PLATFORM)
VECTOR(thermal_apic, IPI_THERMAL)
VECTOR(threshold_apic, IPI_THRESHOLD)
VECTOR(deferred_error_apic, IPI_DEFERRED_ERROR)
VECTOR(error_apic, IPI_ERROR)
VECTOR(spurious_apic, IPI_SPURIOUS)
VECTOR(ipi, IPI_OTHER)				/* arm64 */

FRAME(irq_handler_entry, irq_handler_exit, FRAME_IRQ, CAUSE_IRQ, irq, int irq)
FRAME(softirq_entry, softirq_exit, FRAME_SOFTIRQ, CAUSE_SOFTIRQ, vector, unsigned int vector)

/*
 * The page faults of victims alone. Perf counts each when it begins, and when it was served. One
 * that cannot be served ends with a signal.
 */
SEC("perf_event")
int fault_entry(void *context)
{
	struct cpu *cpu = this_cpu();
	struct victim *victim;

	if (!cpu)
		return 0;
	pop(cpu, bpf_ktime_get_ns(), FRAME_FAULT);
	victim = LOOKUP(victims, &cpu->victim);
	if (victim && !cpu->depth)
		push(cpu, bpf_ktime_get_ns(), FRAME_FAULT, CAUSE_FAULT, !!victim->due);
	return 0;
}

SEC("perf_event")
int fault_exit(void *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		pop(cpu, bpf_ktime_get_ns(), FRAME_FAULT);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int vector)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		on_raise(cpu, vector);
	return 0;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(napi_poll, struct napi_struct *napi)
{
	struct cpu *cpu = this_cpu();
	struct net_device *device = napi->dev;
	struct who who = { 0 };
	u32 id = NO_DEVICE;

	if (!cpu)
		return 0;
	if (device) {
		id = device->ifindex;
		bpf_probe_read_kernel(who.comm, sizeof(who.comm), &device->name);
	}
	on_poll(cpu, bpf_ktime_get_ns(), &who, id);
	return 0;
}

/* Whoever asked for the samples owns their timer; 0: the kernel, or it has ended. */
inline_always void own_sampling_timer(struct cpu *cpu, struct hrtimer *timer)
{
	struct perf_event *event = 0;
	struct task_struct *owner;
	struct who who = { 0 };

	if (!bpf_core_field_exists(event->hw.hrtimer))
		return;
	event = (void *)timer - bpf_core_field_offset(event->hw.hrtimer);
	owner = BPF_CORE_READ(event, owner);
	if (!owner)
		return;
	who.tid = BPF_CORE_READ(owner, pid);
	who.tgid = BPF_CORE_READ(owner, tgid);
	who.priority = BPF_CORE_READ(owner, prio);
	who.policy = BPF_CORE_READ(owner, policy);
	bpf_probe_read_kernel(who.comm, sizeof(who.comm), &owner->comm);
	own_frame(cpu, &who, OWNER_SIGNALLED, 0);
}

inline_always int expire(struct hrtimer *timer)
{
	struct cpu *cpu = this_cpu();
	struct frame *frame;

	if (!cpu)
		return 0;
	on_timer(cpu, bpf_ktime_get_ns(), (u64)timer, (u64)timer->function,
		 timer->_softexpires - timer->base->offset,
		 timer->node.expires - timer->_softexpires);
	frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	if (frame->cause.how == HOW_PERF << HOW_SHIFT)
		own_sampling_timer(cpu, timer);
	return 0;
}

/* The first of two programs that see this takes it, the other one forgets that. */
inline_always int expire_once(struct hrtimer *timer)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = FIND_CPU(number);

	if (!cpu)
		return 0;
	if (cpu->expired == (u64)timer) {
		cpu->expired = 0;
		return 0;
	}
	cpu->expired = (u64)timer;
	return expire(timer);
}

/*
 * Soft timers, of which PREEMPT_RT has many, expire with interrupts enabled. The kernel runs no
 * program that is running already: one alone would miss timers that expire meanwhile. Of two,
 * which run one after the other, it runs at least one. Other kernels have few, and get one program.
 */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_expire_entry, struct hrtimer *timer)
{
	if (!config.realtime_kernel)
		return expire(timer);
	return timer->is_soft ? 0 : expire_once(timer);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(soft_expire_entry, struct hrtimer *timer)
{
	return timer->is_soft ? expire(timer) : expire_once(timer);
}

/* Needed where the clock event device's interrupt has no event of its own. */
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_expire_exit, struct hrtimer *timer)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		pop(cpu, bpf_ktime_get_ns(), FRAME_TIMER);
	return 0;
}

/* The current task arms a timer, or queues a call. */
inline_always int arm(void *what)
{
	struct armed by = { 0 };
	u64 key = (u64)what;

	if (!config.on)
		return 0;
	read_task(&by.who, bpf_get_current_task_btf());
	PUT(armed, &key, &by);
	return 0;
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(hrtimer_start, struct hrtimer *timer)
{
	u32 how = how_armed((u64)timer->function);

	return how && how != HOW_SLEEP ? arm(timer) : 0;
}

/*
 * Interrupts are enabled here, and on 7.3 preemption is, too: the same may happen while a program
 * runs. Of two programs the kernel runs at least one, as with soft timers.
 */
#define TWICE(event, call, arguments...)					\
SEC("tp_btf/" #event)								\
int BPF_PROG(event, ##arguments)						\
{										\
	return call;								\
}										\
SEC("tp_btf/" #event)								\
int BPF_PROG(event##_again, ##arguments)					\
{										\
	return call;								\
}

TWICE(csd_queue_cpu, arm(descriptor), unsigned int number, unsigned long callsite, void *function,
      void *descriptor)

SEC("tp_btf/csd_function_entry")
int BPF_PROG(csd_function_entry, void *function, struct __call_single_data *descriptor)
{
	struct cpu *cpu = this_cpu();

	/* a program may not read FUNCTION */
	if (cpu)
		on_call(cpu, bpf_ktime_get_ns(), (u64)BPF_CORE_READ(descriptor, func),
			(u64)descriptor);
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_expire_entry, struct timer_list *timer)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		on_wheel(cpu, bpf_ktime_get_ns(), (u64)timer->function);
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(workqueue_queue_work, int number, void *workqueue, struct work_struct *work)
{
	struct cpu *cpu = this_cpu();

	if (cpu && cpu->depth)
		on_work_queued(cpu, (u64)work->func);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(workqueue_execute_start, struct work_struct *work)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		on_work(cpu, bpf_ktime_get_ns(), (u32)bpf_get_current_pid_tgid(),
			(u64)work->func);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(workqueue_execute_end, struct work_struct *work)
{
	struct cpu *cpu = this_cpu();

	if (cpu)
		on_work(cpu, bpf_ktime_get_ns(), (u32)bpf_get_current_pid_tgid(), 0);
	return 0;
}

inline_always u32 system_call_of(struct task_struct *task)
{
	struct pt_regs *regs;

	if (task->flags & IS_KTHREAD)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		return (u32)((struct pt_regs___x86 *)regs)->orig_ax + 1;
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno))
		return ((struct pt_regs___arm64 *)regs)->syscallno + 1;
	return 0;
}

inline_always u32 how_task_sleeps(struct task_struct *task, u32 state, u64 *call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct pt_regs___arm64 *arm64 = (struct pt_regs___arm64 *)regs;
	struct pt_regs___x86 *x86 = (struct pt_regs___x86 *)regs;
	u32 operation = 0, value = 0;

	*call = state & STATE_DEAD ? 0 : system_call_of(task);
	/* those that are stopped or traced, or wait in vfork(), count as frozen, too */
	if (!(state & (STATE_STOPPED | STATE_TRACED | STATE_DEEP)) &&
	    bpf_core_field_exists(task->frozen) &&
	    BPF_CORE_READ_BITFIELD_PROBED(task, frozen))
		return SLEEP_FROZEN << HOW_SHIFT;
	if (bpf_core_field_exists(x86->orig_ax)) {
		*call |= x86->di << 32;
		operation = x86->si;
		value = x86->dx;
	} else if (bpf_core_field_exists(arm64->syscallno)) {
		*call |= arm64->regs[0] << 32;
		operation = arm64->regs[1];
		value = arm64->regs[2];
	}
	return how_it_sleeps(state, system_call_of(task), operation, value);
}

/* When a task that is picked began to wait for that. */
inline_always u64 ready_since(struct task_struct *task, u64 now)
{
	u64 queued;

	if (!bpf_core_field_exists(task->sched_info.last_queued) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		return 0;
	queued = task->sched_info.last_queued;
	return queued ? now - (BPF_CORE_READ(task, se.cfs_rq, rq, clock) - queued) : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	struct who who, previous = { .tid = prev->pid };
	struct cpu *cpu = this_cpu();
	u32 sleep = 0;
	u64 now;

	if (!cpu)
		return 0;
	if (cpu->victim == previous.tid) {
		read_task(&previous, prev);
		if (!preempt && state)
			sleep = how_task_sleeps(prev, state, &cpu->call);
	}
	if ((preempt || !state) && prev->prio >= 100 && has_no_quota(prev))
		on_quota_used(cpu, previous.tid);
	read_task(&who, next);
	now = bpf_ktime_get_ns();
	on_switch(cpu, ctx, bpf_get_smp_processor_id(), now, &previous, preempt || !state, &who,
		  next->flags, (u64)next, ready_since(next, now), sleep);
	return 0;
}

inline_always int wakeup(void *context, struct task_struct *task, int queued)
{
	struct cpu *cpu = this_cpu();
	struct frame *frame;
	struct who who;
	u64 now;

	if (!cpu)
		return 0;
	frame = &cpu->frames[cpu->depth & (MAX_DEPTH - 1)];
	read_task(&who, task);
	if (!queued && cpu->depth && frame->cause.kind == CAUSE_TIMER &&
	    frame->owner < OWNER_WOKEN)
		own_frame(cpu, &who, OWNER_WOKEN, system_call_of(task));
	if (config.victims_are == VICTIMS_CPUS)
		return 0;
	now = bpf_ktime_get_ns();
	on_wakeup(cpu, context, now, &who, task->flags, queued);
	if (!queued)
		link_to_waker(cpu, who.tid, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	return wakeup(ctx, task, 0);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	return wakeup(ctx, task, 1);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	struct who who;

	read_task(&who, task);
	if (config.on)
		on_new_task(bpf_ktime_get_ns(), &who, task->flags, (u64)task,
			    bpf_core_field_exists(task->wake_cpu) ? task->wake_cpu : 0);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *task, int cpu)
{
	if (config.on)
		on_migrate(bpf_ktime_get_ns(), task->pid, cpu);
	return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(signal_generate, int number, void *info, struct task_struct *task)
{
	struct cpu *cpu = this_cpu();
	struct who who;

	if (cpu)
		pop(cpu, bpf_ktime_get_ns(), FRAME_FAULT);
	if (!cpu || !cpu->depth)
		return 0;
	read_task(&who, task);
	own_frame(cpu, &who, OWNER_SIGNALLED, 0);
	return 0;
}

/* To a handler, of what runs. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(signal_deliver, int number, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct cpu *cpu = this_cpu();
	u32 how = SIGNALLED;
	int code;

	if (!cpu || !cpu->victim || cpu->depth || (u64)action->sa.sa_handler <= 1)
		return 0;
	code = BPF_CORE_READ(info, si_code);
	if (code == SENT_BY_TIMER)
		how = SIGNALLED_BY_TIMER;
	else if (code == SENT_BY_KERNEL &&
		 (number == SIGNAL_ALRM || number == SIGNAL_VTALRM || number == SIGNAL_PROF))
		how = SIGNALLED_BY_ITIMER;
	else if (code <= 0 && BPF_CORE_READ(info, _sifields._kill._pid) ==
		 (int)(bpf_get_current_pid_tgid() >> 32))
		how = SIGNALLED_BY_ITSELF;
	on_signal(cpu, bpf_ktime_get_ns(), number, how);
	return 0;
}

/* Where a handler ends: rt_sigreturn(). */
SEC("kprobe")
int signal_return(void *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu && cpu->victim && !cpu->depth)
		end_handler(cpu, bpf_ktime_get_ns());
	return 0;
}

/* Functions of timershield_job.h, in the victim. */
SEC("uprobe")
int job_begins(void *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu && cpu->victim)
		on_job(cpu, 0);
	return 0;
}

SEC("uprobe")
int job_is_late(void *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu && cpu->victim)
		on_job(cpu, 1);
	return 0;
}

inline_always int on_fork(struct task_struct *parent, struct task_struct *child)
{
	u32 key = parent->pid, group = parent->tgid, new = child->pid, one = 1;
	struct victim *victim = LOOKUP(victims, &key);

	if (victim && parent->mm != child->mm)
		victim->forked = 1;
	if (config.on && (LOOKUP(targets, &key) || LOOKUP(targets, &group)) &&
	    PUT(targets, &new, &one))
		ADD(lost.targets, 1);
	return 0;
}

TWICE(sched_process_fork, on_fork(parent, child), struct task_struct *parent,
      struct task_struct *child)

/* From now on its number may be another task's. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(sched_process_free, struct task_struct *task)
{
	u32 key = task->pid;

	REMOVE(targets, &key);
	return 0;
}

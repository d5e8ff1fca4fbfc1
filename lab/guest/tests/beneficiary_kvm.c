// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule R4 for KVM: the timer of a virtual CPU ranks with the task that runs it, and
 * follows that task while the virtual CPU is halted.
 *
 * The level's test fails on stock, where there are none. With a timer that keeps
 * the level of who has armed it, the other one is 5 ms late.
 */
#define _GNU_SOURCE
#include "lib/situation.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where things are in the guest's memory, which is one segment in real mode */
#define MEMORY 0x10000
#define CODE 0x1000
#define HANDLER 0x2000
#define STACK 0x8000
#define VECTOR 0x40
#define PORT 0x10

/* Registers of the local APIC */
#define APIC_SPIV 0xf0
#define APIC_LVTT 0x320
#define APIC_TMICT 0x380
#define APIC_TMCCT 0x390
#define APIC_TDCR 0x3e0
#define APIC_ENABLED 0x1ff
#define APIC_DIVIDE_BY_1 0xb

struct vcpu {
	int fd;
	struct kvm_run *run;
};

static int kvm_ioctl(int fd, unsigned long request, void *argument, const char *name)
{
	int ret = ioctl(fd, request, argument);

	require(ret >= 0, "%s: %s", name, strerror(errno));
	return ret;
}

#define KVM(fd, request, argument) kvm_ioctl(fd, request, (void *)(argument), #request)

static void *map(int fd, size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	require(memory != MAP_FAILED, "mmap: %s", strerror(errno));
	return memory;
}

/* Halts with interrupts enabled; the timer's interrupt writes to PORT, which ends KVM_RUN. */
static void load_program(unsigned char *memory)
{
	static const unsigned char code[] = { 0xfb, 0xf4, 0xeb, 0xfc };	/* sti; hlt; jmp */
	static const unsigned char handler[] = { 0xe6, PORT, 0xcf };	/* out; iret */
	static const unsigned short vector[] = { HANDLER, 0 };

	memcpy(memory + CODE, code, sizeof(code));
	memcpy(memory + HANDLER, handler, sizeof(handler));
	memcpy(memory + 4 * VECTOR, vector, sizeof(vector));
}

static void start_at_code(struct vcpu *vcpu)
{
	struct kvm_regs regs = { .rip = CODE, .rsp = STACK, .rflags = 2 };
	struct kvm_sregs sregs;

	KVM(vcpu->fd, KVM_GET_SREGS, &sregs);
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	KVM(vcpu->fd, KVM_SET_SREGS, &sregs);
	KVM(vcpu->fd, KVM_SET_REGS, &regs);
}

static struct vcpu vcpu_new(void)
{
	int vm, kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	struct vcpu vcpu;
	unsigned char *memory;

	require(kvm >= 0, "/dev/kvm: %s", strerror(errno));
	vm = KVM(kvm, KVM_CREATE_VM, 0);
	KVM(vm, KVM_SET_TSS_ADDR, 0xfffbd000);
	KVM(vm, KVM_CREATE_IRQCHIP, 0);
	memory = map(-1, MEMORY, MAP_SHARED | MAP_ANONYMOUS);
	load_program(memory);
	KVM(vm, KVM_SET_USER_MEMORY_REGION, (&(struct kvm_userspace_memory_region){
		.memory_size = MEMORY, .userspace_addr = (unsigned long)memory }));
	vcpu.fd = KVM(vm, KVM_CREATE_VCPU, 0);
	vcpu.run = map(vcpu.fd, KVM(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), MAP_SHARED);
	start_at_code(&vcpu);
	return vcpu;
}

static void apic_write(struct kvm_lapic_state *apic, unsigned int offset, unsigned int value)
{
	memcpy(apic->regs + offset, &value, sizeof(value));
}

/* One shot; the APIC's clock ticks once a nanosecond. */
static void vcpu_arm(struct vcpu *vcpu, u64 delay)
{
	struct kvm_lapic_state apic;

	KVM(vcpu->fd, KVM_GET_LAPIC, &apic);
	apic_write(&apic, APIC_SPIV, APIC_ENABLED);
	apic_write(&apic, APIC_LVTT, VECTOR);
	apic_write(&apic, APIC_TDCR, APIC_DIVIDE_BY_1);
	apic_write(&apic, APIC_TMICT, delay);
	apic_write(&apic, APIC_TMCCT, delay);
	KVM(vcpu->fd, KVM_SET_LAPIC, &apic);
}

static void arm_and_pause(void *argument)
{
	struct vcpu vcpu = vcpu_new();

	vcpu_arm(&vcpu, 3 * SEC);
	pause();
}

static void ranks_with_its_task(void)
{
	static const struct policy policies[] = { OTHER, FIFO(33) };

	pin(test_cpu);
	become(FIFO(99));
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		pid_t pid = spawn(policies[i], test_cpu, arm_and_pause, NULL);

		await_sleep(pid);
		expect_level("apic_timer_fn", 0, policy_level(policies[i]), "armed");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void run_vcpu(void *argument)
{
	struct situation *s = argument;
	struct vcpu vcpu = vcpu_new();

	/* The delay counts from within the call, so the timer is not early. */
	vcpu_arm(&vcpu, s->expiry - now());
	KVM(vcpu.fd, KVM_RUN, 0);
	s->woke = now();
	require(vcpu.run->exit_reason == KVM_EXIT_IO && vcpu.run->io.port == PORT,
		"KVM_RUN ended with reason %u", vcpu.run->exit_reason);
}

static u64 raised_while_halted(void *argument)
{
	struct situation *s = situation_new();
	pid_t pid = spawn(OTHER, test_cpu, run_vcpu, s);

	await_sleep(pid);
	require(!set_policy(pid, ABOVE), "the task of the virtual CPU cannot be raised");
	return situation_lateness(s);
}

static void follows_its_task_while_halted(void)
{
	compare(raised_while_halted, NULL, TOLERANCE);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(ranks_with_its_task),
		TEST(follows_its_task_while_halted),
	};

	return run_tests(argc, argv, tests, ARRAY_SIZE(tests), 0);
}

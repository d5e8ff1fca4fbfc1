// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"
#include "message.h"
#include "mlock.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_FLAGS (MCL_CURRENT | MCL_FUTURE)

#if defined(__x86_64__)
#define SUPPORTED true
#define registers user_regs_struct
static const unsigned char call_instruction[] = { 0x0f, 0x05 };	/* syscall */

static unsigned long program_counter(const struct registers *registers)
{
	return registers->rip;
}

static void prepare_call(struct registers *registers)
{
	registers->orig_rax = (unsigned long)-1;
	registers->rax = SYS_mlockall;
	registers->rdi = LOCK_FLAGS;
}

static long result_of_call(const struct registers *registers)
{
	return (long)registers->rax;
}
#elif defined(__aarch64__)
#define SUPPORTED true
#define registers user_regs_struct
static const unsigned char call_instruction[] = { 0x01, 0x00, 0x00, 0xd4 };	/* svc #0 */

static unsigned long program_counter(const struct registers *registers)
{
	return registers->pc;
}

static void prepare_call(struct registers *registers)
{
	registers->regs[8] = SYS_mlockall;
	registers->regs[0] = LOCK_FLAGS;
}

static long result_of_call(const struct registers *registers)
{
	return (long)registers->regs[0];
}
#else
#define SUPPORTED false
struct registers {
	long none;
};

static const unsigned char call_instruction[1];

static unsigned long program_counter(const struct registers *registers)
{
	return (unsigned long)registers->none;
}

static void prepare_call(struct registers *registers)
{
	registers->none = 0;
}

static long result_of_call(const struct registers *registers)
{
	return registers->none - ENOSYS;
}
#endif

bool mlock_supported(void)
{
	return SUPPORTED;
}

static int registers_do(long request, pid_t pid, struct registers *registers)
{
	struct iovec area = { .iov_base = registers, .iov_len = sizeof(*registers) };

	return ptrace(request, pid, (void *)(long)NT_PRSTATUS, &area) ? -errno : 0;
}

/* Until the program stops; -ECHILD if it ends instead. */
static int wait_for_stop(pid_t pid, int *status)
{
	while (waitpid(pid, status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(*status) ? 0 : -ECHILD;
}

/* The word at the program counter becomes a system call for the length of one step. */
static int make_call(pid_t pid)
{
	struct registers before, during;
	unsigned long word, changed;
	int status, ret;
	void *at;

	ret = registers_do(PTRACE_GETREGSET, pid, &before);
	if (ret)
		return ret;
	during = before;
	at = (void *)program_counter(&before);
	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
	if (errno)
		return -errno;
	changed = word;
	memcpy(&changed, call_instruction, sizeof(call_instruction));
	prepare_call(&during);
	if (ptrace(PTRACE_POKETEXT, pid, at, (void *)changed))
		return -errno;
	ret = registers_do(PTRACE_SETREGSET, pid, &during);
	if (!ret && ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		ret = -errno;
	if (!ret)
		ret = wait_for_stop(pid, &status);
	if (!ret)
		ret = registers_do(PTRACE_GETREGSET, pid, &during);
	if (!ret)
		ret = (int)result_of_call(&during);
	if (ptrace(PTRACE_POKETEXT, pid, at, (void *)word))
		return -errno;
	return ret ? ret : registers_do(PTRACE_SETREGSET, pid, &before);
}

/* Signals that come before the exec() are passed on. */
static int lock_after_exec(pid_t pid)
{
	int status, ret;

	for (;;) {
		ret = wait_for_stop(pid, &status);
		if (ret)
			return ret;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			break;
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status)))
			return -errno;
	}
	/* The event comes inside exec(); one step further is the first instruction. */
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		return -errno;
	ret = wait_for_stop(pid, &status);
	return ret ? ret : make_call(pid);
}

/* What an error of ptrace() means here. */
static const char *why_not_traced(int error)
{
	long long scope = 0;

	file_read_number("/proc/sys/kernel/yama/ptrace_scope", &scope);
	if (error == -EPERM && scope > 1)
		return "kernel.yama.ptrace_scope forbids tracing";
	if (error == -EPERM)
		return "tracing is not permitted: a debugger traces it already, or a seccomp filter, as in containers, forbids it";
	return strerror(-error);
}

static const char *why_not_locked(int error)
{
	if (error == -ENOMEM || error == -EAGAIN)
		return "there is not enough memory, or the limit is too low (ulimit -l)";
	if (error == -EPERM)
		return "not permitted (run as root, or raise ulimit -l)";
	if (error == -ECHILD || error == -ESRCH)
		return "it ended first";
	return strerror(-error);
}

static void trace(pid_t pid, int ready)
{
	const int options = PTRACE_O_TRACEEXEC;
	int ret = ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)options) ? -errno : 0;

	if (write(ready, &ret, sizeof(ret)) != sizeof(ret) || ret)
		_exit(STATUS_FAILED);
	close(ready);
	ret = lock_after_exec(pid);
	if (ret == -ECHILD)
		_exit(STATUS_FAILED);
	if (ret) {
		failed(ret, "--mlock (experimental): cannot lock the program's memory: %s",
		       why_not_locked(ret));
		kill(pid, SIGKILL);
	}
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	_exit(STATUS_OK);
}

static int lift_limit(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	return setrlimit(RLIMIT_MEMLOCK, &unlimited) && errno != EPERM ? -errno : 0;
}

/* Started twice, so that the program does not find a child that it never started. */
static pid_t start_tracer(int *ready)
{
	const pid_t program = getpid();
	pid_t pid = fork();

	if (!pid) {
		close(ready[0]);
		pid = fork();
		if (!pid)
			trace(program, ready[1]);
		_exit(pid < 0);
	}
	return pid;
}

int mlock_next_program(void)
{
	int ready[2], status, ret = lift_limit();
	pid_t pid;

	if (!ret && pipe(ready))
		ret = -errno;
	if (ret)
		return failed(ret, "--mlock (experimental): %s", strerror(-ret));
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid = start_tracer(ready);
	close(ready[1]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		ret = -EAGAIN;
	else if (read(ready[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -EIO;
	close(ready[0]);
	prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	return ret ? failed(ret, "--mlock (experimental): cannot trace the program: %s",
			    why_not_traced(ret)) : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include "lib/file.h"
#include "lib/message.h"
#include "lib/task.h"
#include "lib/unseen.h"
#include "source.h"
#include "episode.h"
#include "task_info.h"
#include "symbols.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define FIRST_PID_NAMESPACE 0xeffffffcu	/* PROC_PID_INIT_INO */

static const struct {
	const char *function;
	enum how how;
} owned[OWNED_FUNCTIONS] = {
	{ "hrtimer_wakeup", HOW_SLEEP }, { "timerfd_tmrproc", HOW_TIMERFD },
	{ "posix_timer_fn", HOW_POSIX }, { "it_real_fn", HOW_ITIMER },
	{ "alarmtimer_fired", HOW_ALARM }, { "io_timeout_fn", HOW_IO_URING },
	{ "io_link_timeout_fn", HOW_IO_URING }, { "io_cqring_timer_wakeup", HOW_IO_URING },
	{ "io_cqring_min_timer_wakeup", HOW_IO_URING },
	/* KVM's, of x86 and of arm64 */
	{ "apic_timer_fn", HOW_GUEST }, { "pit_timer_fn", HOW_GUEST },
	{ "stimer_timer_callback", HOW_GUEST }, { "kvm_hrtimer_expire", HOW_GUEST },
	{ "kvm_bg_timer_expire", HOW_GUEST },
	{ "process_timeout", HOW_TIMEOUT }, { "perf_swevent_hrtimer", HOW_PERF },
};

volatile sig_atomic_t session_interrupted;

static void on_signal(int number)
{
	session_interrupted = 1;
}

void session_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	/* a second Ctrl-C must not cut off what is being printed */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void fill(struct blame_config *config, const struct cpus *cpus)
{
	static const u32 locks[] = { SYS_flock, SYS_fcntl, SYS_semop, SYS_semtimedop };
	static const u32 writes[] = { SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg };

	config->self = (u32)getpid();
	for (size_t i = 0; i < OWNED_FUNCTIONS && owned[i].function; i++) {
		config->owned[i] = symbol_address(owned[i].function);
		config->owned_how[i] = owned[i].how;
	}
	config->realtime_kernel = file_has("/proc/version", "PREEMPT_RT");
	config->futex = SYS_futex + 1;
	for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
		config->locks[i] = locks[i] + 1;
		config->writes[i] = writes[i] + 1;
	}
	config->cpu_limited = !!cpus;
	for (unsigned int i = 0; cpus && i < 64 * ARRAY_SIZE(config->cpus); i++)
		if (cpus_has(cpus, i))
			config->cpus[i / 64] |= 1ull << i % 64;
}

/* The kernel's events number tasks as its first PID namespace does, /proc as ours. */
static int check_namespace(void)
{
	struct stat own;

	if (stat("/proc/self/ns/pid", &own) || own.st_ino == FIRST_PID_NAMESPACE)
		return 0;
	return failed(-EOPNOTSUPP, "this is a container: processes have other numbers here than in "
		      "the kernel's events; run blame outside, or give the container the host's "
		      "PID namespace (--pid=host)");
}

int session_start(struct session *session, const struct cpus *cpus)
{
	autotext struct text why = { 0 };
	int ret = check_namespace();

	if (ret)
		return ret;
	ret = symbols_read(&why);
	if (ret)
		return failed(ret, "%s", why.s);
	fill(&session->config, cpus);
	session->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	ret = source_start(&session->config, &why);
	if (ret)
		return failed(ret, "%s", why.s);
	calibrate(&session->config, cpus);
	ret = source_reset(&session->config);
	if (ret) {
		source_stop();
		return failed(ret, "BPF: %s", strerror(-ret));
	}
	return 0;
}

void session_go(struct session *session)
{
	session->nmis = unseen_nmis();
	unseen_smis(0, &session->smis);
	free(session->steal);
	session->steal = unseen_steal(session->cpus);
	session->config.started = clock_ns();
	session->config.on = 1;
	source_configure(&session->config);
}

int session_add(struct session *session, pid_t pid)
{
	autotasks struct tasks threads = { 0 };
	int ret = tasks_read_threads(&threads, pid);
	struct task task;

	if (ret == -ESRCH) {		/* a thread that is no process */
		ret = task_read(&task, pid, pid);
		if (!ret)
			ret = source_add_target((u32)pid);
	}
	tasks_for_each(thread, &threads) {
		if (!ret)
			ret = source_add_target((u32)thread->tid);
		task_info_note(&(struct who){ .tid = (u32)thread->tid });
	}
	return ret ? failed(ret, "process %d: %s", pid, strerror(-ret)) : 0;
}

int session_update(struct session *session)
{
	static u64 noted;
	struct blame_figures figures = { 0 };
	int ret;

	if (clock_ns() - noted < 1000000000)
		return 0;
	noted = clock_ns();
	ret = source_read(&figures);
	for (size_t i = 0; i < figures.row_count; i++)
		if (figures.rows[i].row.who.tid)
			task_info_note(&figures.rows[i].row.who);
	task_info_look_again();
	for (size_t i = 0; i < figures.victim_count; i++)
		task_info_of(&figures.victims[i].victim.who);	/* it may move to another cgroup */
	blame_figures_free(&figures);
	return ret;
}

void session_halt(struct session *session)
{
	session->config.on = 0;
	source_configure(&session->config);
}

int session_report(struct session *session, struct report *report)
{
	u64 *steal = unseen_steal(session->cpus);
	struct blame_figures figures = { 0 };
	unsigned long long smis = 0;
	int ret;

	*report = (struct report){
		.until = clock_ns(),
		.realtime = session->config.realtime,
		.over = session->config.over,
		.interrupt_overhead = session->config.interrupt_overhead,
		.switch_overhead = session->config.switch_overhead,
	};
	report->elapsed = report->until - session->config.started;
	report->smis_known = !unseen_smis(0, &smis);
	report->smis = smis - session->smis;
	report->nmis = unseen_nmis() - session->nmis;
	for (unsigned int i = 0; i < session->cpus; i++)
		steal[i] -= steal[i] < session->steal[i] ? steal[i] : session->steal[i];
	ret = source_read(&figures);
	if (ret)
		failed(ret, "BPF: %s", strerror(-ret));
	else
		report_make(report, &figures, session->threads, steal, session->cpus);
	blame_figures_free(&figures);
	free(steal);
	return ret;
}

struct episode *session_worst(struct session *session, unsigned int *cpu)
{
	struct episode *found = zeroed(1, sizeof(*found));
	struct cpu *one = zeroed(1, sizeof(*one));

	for (unsigned int i = 0; i < session->cpus; i++) {
		if (source_read_cpu(i, one))
			continue;
		keep_episode(one, session->config.over);
		if (one->episode.length <= found->length)
			continue;
		*found = one->episode;
		*cpu = i;
	}
	free(one);
	return found;
}

void session_stop(struct session *session)
{
	source_stop();
	free(session->steal);
	session->steal = NULL;
}

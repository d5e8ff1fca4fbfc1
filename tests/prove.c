// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "timershield prove": its verdicts on kernels of which the effect of these loads is known,
 * its loop's count of interruptions against the kernel's tracepoints, and that nothing is
 * left, however it ends.
 */
#define _GNU_SOURCE
#include "lib/blame.h"
#include "lib/command.h"
#include "lib/shield.h"
#include "lib/task.h"
#include "lib/timers.h"
#include "lib/window.h"
#include "file.h"
#include "loop/control_loop.h"
#include "loop/loads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUP "/sys/fs/cgroup/timershield-prove"
#define STATE "/run/timershield/prove"
#define SHELL "/bin/sh"
#define TIMERFDS 1000
#define JOBS 100

struct expected {
	const char *load, *shield, *stock, *shield_rt, *stock_rt;
};

/*
 * On PREEMPT_RT timers of ordinary tasks expire in a thread: there is nothing to gain.
 */
static const struct expected expected[] = {
	{ "nothing", "does not help", "", "does not help", "" },
	{ "timerfds", "helps", "could help", "does not help", "would not help" },
	{ "threads", "helps", "could help", "does not help", "would not help" },
	{ "synchronized", "helps", "could help", "helps", "could help" },
	{ "hogs", "does not help", "would not help", "does not help", "would not help" },
};

static const char *wanted_verdict(const struct expected *load)
{
	/* Its tasks are real-time ones: only levels mask their timers. */
	if (shield_present() && !shield_has_levels() && !strcmp(load->load, "synchronized"))
		return "does not help";
	if (shield_present())
		return kernel_is_rt() ? load->shield_rt : load->shield;
	return kernel_is_rt() ? load->stock_rt : load->stock;
}

/* A load's part of the JSON. */
static const char *part_of(const char *json, const char *load)
{
	const char *part;
	char key[64];

	snprintf(key, sizeof(key), "\"load\": \"%s\"", load);
	part = strstr(json, key);
	require(part, "there is no load '%s' in %.500s", load, json);
	return part;
}

static void check_load(const char *json, const struct expected *load)
{
	const char *part = part_of(json, load->load), *verdict = strstr(part, "\"verdict\": ");
	const char *wanted = wanted_verdict(load);
	char text[64];

	snprintf(text, sizeof(text), "\"verdict\": %s%s%s", *wanted ? "\"" : "",
		 *wanted ? wanted : "null", *wanted ? "\"" : "");
	check(verdict && !strncmp(verdict, text, strlen(text)), "%s: %.40s, not %s; %.*s", load->load,
	      verdict ? verdict : "no verdict", text,
	      verdict ? (int)(verdict - part) : 0, part);
	note("%s: p50 %.0f ns, %.0f interruptions in %.0f jobs; %.*s", load->load,
	     blame_number(part, "p50_ns"), blame_number(part, "interruptions"),
	     blame_number(part, "jobs"), verdict ? (int)strcspn(verdict, "\n") : 0,
	     verdict ? verdict : "");
}

/* Where it says that it could not tell: for longer, as it advises. A wrong verdict is no such case. */
static const struct command_result *prove_once_or_twice(void)
{
	const struct command_result *result = timershield("prove -s 3 --json");

	if (!strstr(result->out, "\"verdict\": \"could not tell\""))
		return result;
	note("it could not tell: once more, for longer");
	return timershield("prove -s 9 --json");
}

TEST(verdicts_are_right)
{
	const struct command_result *result = prove_once_or_twice();
	const char *whole;

	check_status(result, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		check_load(result->out, &expected[i]);
	whole = shield_present() ? "\n  \"verdict\": \"helps\"" : "\n  \"verdict\": \"could help\"";
	check(strstr(result->out, whole), "the whole is not '%s'", whole);
	check(blame_number(result->out, "threshold_ns") > blame_number(result->out, "round_ns"),
	      "no threshold above a round");
}

static void check_page(const char *path)
{
	static char page[1 << 20];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(file, page, sizeof(page) - 1);
	size_t figures = 0;

	close(file);
	check(length > 0 && strstr(page, "</html>"), "no whole page of %zd bytes", length);
	for (const char *at = page; (at = strstr(at, "<figure>")); at++)
		figures++;
	check(figures == ARRAY_SIZE(expected), "%zu figures", figures);
	check(!strstr(page, "http"), "the page refers to something else");
	check(!strstr(page, "nan") && !strstr(page, "inf\""), "a figure has no number");
}

/* The loads' processes that live. */
static unsigned int count_loads(void)
{
	DIR *proc = opendir("/proc");
	unsigned int count = 0;
	struct dirent *entry;

	require(proc, "/proc: %s", strerror(errno));
	while ((entry = readdir(proc))) {
		char path[300], name[32] = "";

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (file_read(path, name, sizeof(name)) > 0 && !strcmp(name, "prove-load\n") &&
		    process_state(atoi(entry->d_name)) != 'Z')
			count++;
	}
	closedir(proc);
	return count;
}

static void await_loads(bool there)
{
	u64 limit = now() + 30 * SEC * slowness();

	while ((count_loads() > 0) != there) {
		require(now() < limit, there ? "no load starts" : "a load goes on");
		sleep_for(10 * MSEC);
	}
}

static void check_nothing_left(int before)
{
	check(!count_loads(), "%u processes are left", count_loads());
	check(access(GROUP, F_OK), GROUP " is left");
	check(access(STATE, F_OK), STATE " is left");
	check(shield_get() == before, "the switch is %d, not %d as before", shield_get(), before);
}

TEST(puts_the_switch_back)
{
	for (int on = 0; on <= 1; on++) {
		int before;

		shield_set(on);
		before = shield_get();
		check_status(timershield("prove -s 1 --report /tmp/page.html"), 0);
		check_nothing_left(before);
		check_page("/tmp/page.html");
	}
}

/* Once the first load runs, a while later. */
static void end_by(int signal, u64 later)
{
	int before = shield_get(), status;
	pid_t pid = timershield_start("prove -s 3");

	await_loads(true);
	sleep_for(later);
	kill(pid, signal);
	require(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %#x after signal %d", status,
	      signal);
	check_nothing_left(before);
}

TEST(interrupted_leaves_nothing)
{
	end_by(SIGINT, 0);
	end_by(SIGTERM, 500 * MSEC);
	end_by(SIGHUP, 1500 * MSEC);
}

/* The next one puts back first of all, so that it need not go on. */
static void start_and_interrupt(void)
{
	pid_t pid = timershield_start("prove -s 1");

	sleep_for(300 * MSEC * slowness());
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
}

/*
 * From its start on, when it writes down what it changes, to turns with the shield on. Its loads
 * end with it; the next start puts back the rest.
 */
TEST(killed_at_any_time)
{
	int before = shield_get();

	for (u64 later = MSEC / 2; later < 4 * SEC; later *= 2) {
		pid_t pid = timershield_start("prove -s 3");

		sleep_for(later);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		await_loads(false);
		check(later < SEC || !access(STATE, F_OK), "it left no " STATE);
		start_and_interrupt();
		check_nothing_left(before);
	}
}

/* Periods of 1, 2, ... us. */
static void serve_timerfds(void)
{
	int epoll = epoll_create1(0);

	for (unsigned int i = 1; i <= TIMERFDS; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		timerfd_arm(fd, now() + i * USEC, i * USEC);
	}
	for (;;) {
		struct epoll_event event;
		u64 expirations;

		if (epoll_wait(epoll, &event, 1, -1) == 1 &&
		    read(event.data.fd, &expirations, sizeof(expirations)) < 0)
			continue;
	}
}

/* One job after another, each next to the tracepoints. */
static void count_both(struct control_loop *loop, u64 *own, u64 *truth)
{
	u64 due = (u64)loads_zero(200 * MSEC);

	for (int i = 0; i < JOBS; i++, due += 20 * MSEC) {
		struct window window;
		struct job job = { 0 };

		sleep_until(due);
		window_open(&window);
		control_loop_work(loop, &job);
		window_close(&window);
		window_read(&window);
		*own += job.interruptions;
		*truth += window.interrupts;
		window_prepare();
	}
}

TEST(counts_what_interrupts)
{
	struct control_loop loop = { .cpu = 0 };
	u64 own = 0, truth = 0;

	shield_set(false);
	window_prepare();
	require(!control_loop_enter(&loop), "FIFO 99: %s", strerror(errno));
	require(!control_loop_calibrate(&loop), "calibration");
	control_loop_leave();
	STARTED(OTHER) serve_timerfds();
	sleep_for(200 * MSEC);
	require(!control_loop_enter(&loop), "FIFO 99: %s", strerror(errno));
	count_both(&loop, &own, &truth);
	control_loop_leave();
	note("a round takes %llu ns, the threshold is %llu ns; %llu interruptions, %llu timer interrupts",
	     (u64)loop.round, (u64)loop.threshold, own, truth);
	if (kernel_is_rt())
		skip("on PREEMPT_RT such timers hardly interrupt");
	require(truth > 10 * JOBS, "only %llu timer interrupts", truth);
	check(own * 100 >= truth * 99 && own * 100 <= truth * 101,
	      "%llu interruptions, but %llu timer interrupts", own, truth);
}

/* The guest has no shell and no kmod: this program stands in, and loads the lab's module. */
static void install_modprobe(void)
{
	struct utsname system;
	char path[200];

	uname(&system);
	mkdir("/lib", 0755);
	mkdir("/lib/modules", 0755);
	snprintf(path, sizeof(path), "/lib/modules/%s", system.release);
	mkdir(path, 0755);
	strcat(path, "/modules.dep");
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	require(!file_write(path, "extra/timershield.ko:\n"), "%s", path);
	require(!symlink("/bin/prove", SHELL) || errno == EEXIST, SHELL);
}

TEST(loads_and_unloads_the_module)
{
	const struct command_result *result;

	if (!shield_is_module())
		skip("it is not a module here");
	install_modprobe();
	shield_load(false);
	result = timershield("prove -s 1 --json");
	check_status(result, 0);
	check(strstr(result->out, "--load"), "it does not say how to load the module");
	check(!shield_present(), "it loaded the module");
	check_status(timershield("prove -s 1 --load"), 0);
	check_nothing_left(-ENOENT);
	shield_load(true);
}

/* In the other mode it does not help next to these. */
TEST(levels_for_fifo_tasks)
{
	const struct command_result *result;
	int before = shield_get();

	result = timershield("prove -s 3 --json --levels --progress --next-to=sleepers:n=100,sync");
	check_status(result, 0);
	check(strstr(result->out, "\n  \"verdict\": \"helps\""), "it does not help: %.2000s", result->out);
	check(strstr(result->err, "2 of 2, next to sleepers:n=100,sync: shield on\n"),
	      "no progress: %.500s", result->err);
	check_nothing_left(before);
}

TEST(needs_root)
{
	check_status(timershield_as_nobody("prove"), 3);
	check_nothing_left(shield_get());
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "modprobe timershield")) {
		shield_load(true);
		return 0;
	}
	set_test_timeout(600);
	return run_tests(argc, argv, 0);
}

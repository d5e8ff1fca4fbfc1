// SPDX-License-Identifier: GPL-2.0-or-later
/* Status: clocks, and how finely they and timers work. */
#include "finding.h"
#include "lib/file.h"
#include "lib/kernel.h"

#include <math.h>
#include <sys/timex.h>
#include <time.h>

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/"
#define TIMER_LIST "/proc/timer_list"
#define STEERED_PPM 100

static bool is_any_of(const char *name, const char * const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The kernel trusts a TSC with these flags without comparing it with another clock. */
static bool is_compared(void)
{
	static const char * const flags[] = { " constant_tsc", " nonstop_tsc", " tsc_adjust" };
	autofree char *tsc = kernel_parameter("tsc");
	size_t has = 0;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		has += file_has("/proc/cpuinfo", flags[i]);
	return has < ARRAY_SIZE(flags) && !file_has("/proc/cpuinfo", " tsc_reliable") &&
	       !(tsc && (!strcmp(tsc, "reliable") || !strcmp(tsc, "nowatchdog")));
}

static void add_source(struct findings *findings, const char *name, const char *available)
{
	static const char * const fast[] = { "tsc", "tsc-early", "arch_sys_counter", "kvm-clock",
					     "riscv_clocksource", "timebase", "tod",
					     "xen", "hyperv_clocksource_tsc_page" };
	static const char * const coarse[] = { "jiffies", "refined-jiffies" };
	const char *mend = has_word(available, "tsc") ?
			   "echo tsc >" CLOCK_SOURCE "current_clocksource" :
			   "if this machine's TSC is sound: boot with tsc=reliable";

	if (is_any_of(name, fast, ARRAY_SIZE(fast)))
		finding_add(findings, FINDING_GOOD, "clocksource", "",
			    "The clock source, %s, is read without leaving the CPU.", name);
	else if (is_any_of(name, coarse, ARRAY_SIZE(coarse)))
		finding_add(findings, FINDING_BAD, "clocksource", mend,
			    "The clock source is %s: the clock advances with each tick only, by milliseconds.",
			    name);
	else
		finding_add(findings, FINDING_BAD, "clocksource", mend,
			    "The clock source is %s: each reading of the clock takes about a microsecond, and the tasks' system calls with it.",
			    name);
	if (!strcmp(name, "tsc") && is_compared())
		finding_add(findings, FINDING_NOTE, "clock_watchdog",
			    "if this machine's TSC is sound: boot with tsc=nowatchdog",
			    "The kernel compares the TSC with another clock twice a second, on one CPU after the other.");
}

void check_clock_source(struct inspection *inspection)
{
	autotext struct text now = { 0 }, available = { 0 };
	int ret = file_read_line(CLOCK_SOURCE "current_clocksource", &now);

	file_read_line(CLOCK_SOURCE "available_clocksource", &available);
	if (ret)
		finding_unknown(&inspection->findings, "clocksource",
				"What a reading of the clock costs",
				CLOCK_SOURCE "current_clocksource", ret);
	else
		add_source(&inspection->findings, now.s, available.s);
}

/* NTP and PTP steer it: by a frequency, by the length of a tick, and by what is left of an offset. */
void check_steering(struct inspection *inspection)
{
	struct timex clock = { 0 };
	double ppm;

	if (adjtimex(&clock) < 0)
		return;
	ppm = (double)clock.freq / 65536 + ((double)clock.tick * sysconf(_SC_CLK_TCK) - 1e6) +
	      ldexp((double)clock.offset, -2 - (int)clock.constant) /
	      (clock.status & STA_NANO ? 1e3 : 1);
	if (fabs(ppm) > STEERED_PPM)
		finding_add(&inspection->findings, FINDING_NOTE, "clock_steered",
			    "wait until the time is set, or set it at once ('chronyc makestep'); see what steers it: chronyc tracking",
			    "The clock is steered: CLOCK_MONOTONIC runs %.0f ppm %s, and so do the periods of timers.",
			    fabs(ppm), ppm > 0 ? "fast" : "slow");
}

/* ns; timers are either this fine or as coarse as the tick. */
static int read_resolution(long long *resolution)
{
	autotext struct text text = { 0 };
	struct timespec time;
	const char *at;
	int ret = 0;

	if (!*file_root() && !clock_getres(CLOCK_MONOTONIC, &time)) {
		*resolution = time.tv_sec * 1000000000ll + time.tv_nsec;
		return 0;
	}
	ret = file_read(TIMER_LIST, &text);
	at = ret ? NULL : strstr(text.s, ".resolution:");
	if (!ret && !at)
		ret = -EBADMSG;
	if (!ret)
		*resolution = atoll(at + strlen(".resolution:"));
	return ret;
}

void check_resolution(struct inspection *inspection)
{
	long long resolution;
	int ret = read_resolution(&resolution);

	if (ret)
		finding_unknown(&inspection->findings, "resolution", "How exactly timers expire",
				TIMER_LIST, ret);
	else if (resolution > 1)
		finding_add(&inspection->findings, FINDING_BAD, "resolution",
			    "boot without highres=off and nohz=off, with CONFIG_HIGH_RES_TIMERS and a sound clock source",
			    "High-resolution timers are off: timers expire with a tick, every %.3g ms.",
			    (double)resolution / 1000000);
	else
		finding_add(&inspection->findings, FINDING_GOOD, "resolution", "",
			    "High-resolution timers are on.");
}

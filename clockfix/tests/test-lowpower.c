// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test-lowpower.c - umwait and WFET as the library writes them
 *
 * On a CPU that has them they are executed. On another one they are illegal instructions: a
 * handler then does what the CPU would, by the operands that it finds in the registers. So
 * encoding, operands and what is built on them are tested anywhere; what only such a CPU shows
 * is how quickly it comes back.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#include <clockfix.h>
#include <platform.h>

#include "check.h"

#define MS 1000000

static _Atomic uint32_t word;
static volatile sig_atomic_t emulated;
static volatile uint64_t deadline;
static uint64_t ticks_per_ms;

/* Low power until the counter reaches @until or the word changes. */
static void emulate_wait(const _Atomic uint32_t *monitored, uint32_t armed, uint64_t until)
{
	deadline = until;
	emulated++;
	while ((int64_t)(cpu_counter() - until) < 0 && atomic_load(monitored) == armed)
		;
}

#if defined(__x86_64__)

static const _Atomic uint32_t *monitored;
static uint32_t armed;

static bool emulate(ucontext_t *context)
{
	static const unsigned char umonitor_rax[] = { 0xf3, 0x0f, 0xae, 0xf0 };
	static const unsigned char umwait_ecx[] = { 0xf2, 0x0f, 0xae, 0xf1 };
	greg_t *regs = context->uc_mcontext.gregs;
	const void *at = (const void *)regs[REG_RIP];

	if (!memcmp(at, umonitor_rax, 4)) {
		monitored = (const _Atomic uint32_t *)regs[REG_RAX];
		armed = atomic_load(monitored);
	} else if (!memcmp(at, umwait_ecx, 4)) {
		/* state C0.1; the other bits are reserved */
		if ((uint32_t)regs[REG_RCX] != 1 || !monitored)
			return false;
		emulate_wait(monitored, armed,
			     (uint64_t)regs[REG_RDX] << 32 | (uint32_t)regs[REG_RAX]);
		monitored = NULL;
	} else {
		return false;
	}
	regs[REG_RIP] += 4;
	return true;
}

#elif defined(__aarch64__)

static bool emulate(ucontext_t *context)
{
	uint32_t wfet_x0 = 0xd5031000, insn;

	memcpy(&insn, (const void *)context->uc_mcontext.pc, sizeof(insn));
	if (insn != wfet_x0)
		return false;
	/* what has armed the monitor has read the word just before */
	emulate_wait(&word, 0, context->uc_mcontext.regs[0]);
	context->uc_mcontext.pc += 4;
	return true;
}

#endif

static void on_illegal(int sig, siginfo_t *info, void *context)
{
	(void)info;
	if (!emulate(context))
		signal(sig, SIG_DFL);
}

/* For the library: this CPU has them. The clock has the last word whatever the counter is. */
bool __wrap_cpu_low_power(void);
bool __wrap_cpu_low_power(void)
{
	return true;
}

bool __wrap_cpu_counter_sound(void);
bool __wrap_cpu_counter_sound(void)
{
	return true;
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO };
	uint64_t begin;
	int64_t start;

	sigaction(SIGILL, &action, NULL);
	atomic_store(&word, 0);
	emulated = 0;
	begin = cpu_counter();
	start = pf_mono();
	while (pf_mono() < start + MS)
		;
	ticks_per_ms = cpu_counter() - begin;
}

static void a_word_that_differs_ends_it_at_once(void)
{
	uint64_t begin;

	setup();
	atomic_store(&word, 1);
	begin = cpu_counter();
	cpu_low_power_wait((const void *)&word, 0, begin + 1000 * ticks_per_ms);
	CHECK(cpu_counter() - begin < 500 * ticks_per_ms);
	CHECK_EQ(emulated, 0);
}

static void it_ends_at_the_deadline(void)
{
	setup();
	for (int i = 0; i < 20; i++) {
		uint64_t begin = cpu_counter(), until = begin + ticks_per_ms;

		cpu_low_power_wait((const void *)&word, 0, until);
		CHECK(cpu_counter() - begin < 500 * ticks_per_ms);
		/* a CPU may come back early */
		if (emulated) {
			CHECK_EQ(deadline, until);
			CHECK_EQ(emulated, i + 1);
			CHECK((int64_t)(cpu_counter() - until) >= 0);
		}
	}
	printf("# %s\n", emulated ? "emulated" : "executed");
}

static void *store(void *arg)
{
	(void)arg;
	pf_sleep(pf_mono() + 20 * MS);
	atomic_store(&word, 7);
	return NULL;
}

static void a_store_ends_it(void)
{
	uint64_t begin, until;
	pthread_t thread;

	setup();
	pthread_create(&thread, NULL, store, NULL);
	begin = cpu_counter();
	until = begin + 5000 * ticks_per_ms;
	while (!atomic_load(&word) && (int64_t)(cpu_counter() - until) < 0)
		cpu_low_power_wait((const void *)&word, 0, until);
	CHECK(cpu_counter() - begin < 2500 * ticks_per_ms);
	pthread_join(thread, NULL);
	CHECK_EQ(atomic_load(&word), 7);
}

/* a sleeper polls in its own thread, where the handler can be */
static void a_sleeper_waits_with_it(void)
{
	struct clockfix_sleeper *sleeper;
	struct clockfix_options options;
	int early = 0;

	setup();
	clockfix_options_init(&options);
	options.estimator = CLOCKFIX_ESTIMATOR_FIXED;
	options.fixed_margin = 300000;
	CHECK_EQ(clockfix_sleeper_create(&sleeper, &options), 0);
	for (int i = 0; i < 200; i++) {
		int64_t instant = pf_mono() + 200000 + i * 1000;

		CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, instant), 0);
		early += pf_mono() < instant;
	}
	CHECK_EQ(early, 0);
	/* in pieces of 5 us, as the clock is read again after each */
	printf("# waited with it %d times\n", (int)emulated);
	if (emulated)
		CHECK(emulated >= 200);
	clockfix_sleeper_destroy(sleeper);

	emulated = 0;
	options.flags = CLOCKFIX_NO_LOW_POWER;
	CHECK_EQ(clockfix_sleeper_create(&sleeper, &options), 0);
	CHECK_EQ(clockfix_sleep_until(sleeper, CLOCK_MONOTONIC, pf_mono() + 200000), 0);
	CHECK_EQ(emulated, 0);
	clockfix_sleeper_destroy(sleeper);
}

CHECK_MAIN(TEST(a_word_that_differs_ends_it_at_once), TEST(it_ends_at_the_deadline),
	   TEST(a_store_ends_it), TEST(a_sleeper_waits_with_it))

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job each millisecond in the task of the highest priority, next to periodic
 * timers or sleeping tasks of lower ones: the loads posix-500 and threads-200
 * of response-time, on FreeRTOS. Prints one line a job.
 *
 * LOAD_TIMERS, LOAD_TASKS: how many.
 */
#include "board.h"

#include "FreeRTOS.h"
#include "task.h"
#include "timers.h"

#include <stdio.h>

#define SYSTICK_LOAD (*(volatile uint32_t *)0xe000e014)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xe000e018)
#define CYCLE_NS (1000000000u / BOARD_HZ)
#define PERIOD_TICKS (configTICK_RATE_HZ / 1000)
#define PERIOD_CYCLES (BOARD_HZ / 1000)
#define WORK_NS 300000
#define CALIBRATION_ROUNDS 500
#define CALIBRATION_JOBS 100	/* without a load: when is a job released? */
#define JOBS 1000
#define LOAD_PRIORITY 1
#define LOADS (LOAD_TIMERS + LOAD_TASKS)

struct job {
	uint32_t latency, response, interruptions, stolen;	/* cycles */
};

static struct job jobs[JOBS];
static uint32_t served, longest_round, rounds;
static volatile uint32_t sink;

static uint32_t round_of_work(uint32_t x)
{
	for (int i = 0; i < 96; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

static __attribute__((noinline)) void work(uint32_t count, struct job *job)
{
	uint32_t before = board_cycles(), x = before;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t now;

		x = round_of_work(x);
		now = board_cycles();
		if (now - before > longest_round) {
			job->interruptions++;
			job->stolen += now - before - longest_round;
		}
		before = now;
	}
	sink = x;
}

/* The longest of rounds that nothing interrupts, and how many make a job. */
static void calibrate(void)
{
	struct job job = { 0 };
	uint32_t start;

	taskENTER_CRITICAL();
	for (longest_round = 1; ; longest_round++) {
		job.interruptions = 0;
		start = board_cycles();
		work(CALIBRATION_ROUNDS, &job);
		if (!job.interruptions)
			break;
	}
	rounds = (uint64_t)CALIBRATION_ROUNDS * (WORK_NS / CYCLE_NS) / (board_cycles() - start);
	taskEXIT_CRITICAL();
}

/* evenly from 1 to 10 ms, as on Linux, but in whole ticks */
static TickType_t period(int i)
{
	return PERIOD_TICKS + 9 * PERIOD_TICKS * i / (LOADS ? LOADS : 1);
}

static void expired(TimerHandle_t timer)
{
	(void)timer;
	served++;
}

static void sleeper(void *argument)
{
	TickType_t last = xTaskGetTickCount();

	for (;;) {
		vTaskDelayUntil(&last, period((int)(intptr_t)argument));
		served++;
	}
}

static void start_load(void)
{
	for (int i = 0; i < LOAD_TIMERS; i++) {
		TimerHandle_t timer = xTimerCreate("", period(i), pdTRUE, NULL, expired);

		/* the timers' task has a lower priority: it takes commands while this one waits */
		if (!timer || xTimerStart(timer, portMAX_DELAY) != pdPASS)
			board_exit(false);
	}
	for (int i = 0; i < LOAD_TASKS; i++)
		if (xTaskCreate(sleeper, "", configMINIMAL_STACK_SIZE, (void *)(intptr_t)i,
				LOAD_PRIORITY, NULL) != pdPASS)
			board_exit(false);
}

static void print_results(void)
{
	char line[80];

	board_print("latency_ns,response_ns,interruptions,stolen_ns\n");
	for (int i = 0; i < JOBS; i++) {
		snprintf(line, sizeof(line), "%lu,%lu,%lu,%lu\n",
			 (unsigned long)jobs[i].latency * CYCLE_NS,
			 (unsigned long)jobs[i].response * CYCLE_NS,
			 (unsigned long)jobs[i].interruptions,
			 (unsigned long)jobs[i].stolen * CYCLE_NS);
		board_print(line);
	}
	snprintf(line, sizeof(line), "served,%lu\n", (unsigned long)served);
	board_print(line);
}

static void loop(void *argument)
{
	uint32_t base = 0, due;
	TickType_t last;

	(void)argument;
	calibrate();
	last = xTaskGetTickCount();
	for (int i = 0; i < CALIBRATION_JOBS; i++) {
		vTaskDelayUntil(&last, PERIOD_TICKS);
		/* how far into its tick this job has got: nothing else is there to delay it */
		base = board_cycles() - (SYSTICK_LOAD - SYSTICK_VALUE);
	}
	start_load();
	due = base + (xTaskGetTickCount() - last) / PERIOD_TICKS * PERIOD_CYCLES;
	last += (xTaskGetTickCount() - last) / PERIOD_TICKS * PERIOD_TICKS;
	served = 0;
	for (int i = 0; i < JOBS; i++) {
		vTaskDelayUntil(&last, PERIOD_TICKS);
		due += PERIOD_CYCLES;
		jobs[i].latency = board_cycles() - due;
		work(rounds, &jobs[i]);
		jobs[i].response = board_cycles() - due;
	}
	print_results();
	board_exit(true);
}

int main(void)
{
	if (xTaskCreate(loop, "loop", 1024, NULL, configMAX_PRIORITIES - 1, NULL) == pdPASS)
		vTaskStartScheduler();
	board_exit(false);
}

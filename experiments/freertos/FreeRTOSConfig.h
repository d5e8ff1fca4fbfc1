/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FreeRTOS as the measured program needs it: preemptive, ten ticks a millisecond. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ			25000000ul	/* of mps2-an386, SysTick's too */
#define configTICK_RATE_HZ			10000
#define configUSE_PREEMPTION			1
#define configUSE_TIME_SLICING			1
#define configUSE_IDLE_HOOK			0
#define configUSE_TICK_HOOK			0
#define configUSE_16_BIT_TICKS			0
#define configMAX_PRIORITIES			32
#define configMINIMAL_STACK_SIZE		128
#define configTOTAL_HEAP_SIZE			(2 * 1024 * 1024)
#define configMAX_TASK_NAME_LEN			8
#define configUSE_MUTEXES			1
#define configUSE_TIMERS			1
#define configTIMER_TASK_PRIORITY		2		/* far below the loop */
#define configTIMER_QUEUE_LENGTH		16
#define configTIMER_TASK_STACK_DEPTH		512

#define INCLUDE_vTaskDelay			1
#define INCLUDE_vTaskDelayUntil			1

#define configPRIO_BITS				4
#define configKERNEL_INTERRUPT_PRIORITY		(15 << (8 - configPRIO_BITS))
#define configMAX_SYSCALL_INTERRUPT_PRIORITY	(5 << (8 - configPRIO_BITS))

/* what the port calls its handlers, and board.c its vectors */
#define vPortSVCHandler				on_svc
#define xPortPendSVHandler			on_pendsv
#define xPortSysTickHandler			on_tick

#endif

/* SPDX-License-Identifier: MIT */
/*
 * For "timershield blame", which else has to find that out: a thread calls the first function when
 * one of its jobs begins, and the second one when this job is late. Nothing else happens.
 */
#ifndef TIMERSHIELD_JOB_H
#define TIMERSHIELD_JOB_H

#ifdef __cplusplus
extern "C"
#endif
__attribute__((weak, noinline)) void timershield_job_begins(void) { __asm__ volatile(""); }

#ifdef __cplusplus
extern "C"
#endif
__attribute__((weak, noinline)) void timershield_job_is_late(void) { __asm__ volatile(""); }

#endif

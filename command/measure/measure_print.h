/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a loop measured, on standard output and in a file. */
#ifndef TIMERSHIELD_MEASURE_PRINT_H
#define TIMERSHIELD_MEASURE_PRINT_H

#include "blame/report.h"
#include "loop.h"

/* REPORT: what was to blame for the worst wake-ups; of no losers if that is not known. */
void measure_print_text(const struct loop *loops, unsigned int count, unsigned int worst,
			const struct report *report);
void measure_json(const struct loop *loops, unsigned int count, unsigned int worst,
		  const struct report *report);
void measure_csv(const struct loop *loop);

/* Saves what "timershield status" quotes. */
void measure_save(const struct loop *loop);

#endif

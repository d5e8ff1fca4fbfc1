/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a timerfd in ways that wait for other things, too. */
#ifndef TESTS_POLLED_H
#define TESTS_POLLED_H

#include "api.h"

/* Like the entries of apis[], but not among them. */
extern const struct api polled_apis[];
extern const unsigned int polled_api_count;

#endif

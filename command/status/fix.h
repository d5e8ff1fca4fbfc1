/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TIMERSHIELD_FIX_H
#define TIMERSHIELD_FIX_H

#include "finding.h"

/*
 * Adds to the configuration what mends the findings, and applies it; or only lists both. Neither
 * is done if one of them fails. The exit status.
 */
int fix(const struct inspection *inspection);

#endif

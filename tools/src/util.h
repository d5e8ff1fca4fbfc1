/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TIMERSHIELD_UTIL_H
#define TIMERSHIELD_UTIL_H

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define __printf(string, first) __attribute__((format(printf, string, first)))

#endif

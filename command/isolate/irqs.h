/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts by their names in /proc/interrupts. */
#ifndef TIMERSHIELD_IRQS_H
#define TIMERSHIELD_IRQS_H

#include <stdbool.h>

#define IRQS_MAX 256

struct irqs {
	unsigned int numbers[IRQS_MAX], count;
};

/*
 * Adds the interrupt of this number, or those that are called NAME, NAME-1, NAME:rx and the like.
 * 0, or -errno after a message.
 */
int irqs_find(const char *name, struct irqs *irqs);

bool irqs_have(const struct irqs *irqs, unsigned int number);

#endif

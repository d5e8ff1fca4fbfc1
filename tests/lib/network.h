/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network devices of tests. */
#ifndef TESTS_NETWORK_H
#define TESTS_NETWORK_H

#define NETWORK_POLLED "polled0"

void network_set_up(const char *device);

/* NETWORK_POLLED, which is polled, as a network card is, for what is written to this file; or -1. */
int network_open_polled(void);

#endif

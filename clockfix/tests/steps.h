/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * steps.h - make each sequentially consistent access to shared memory a step
 *
 * Included before all else when the library's sources are compiled for test-interleave. All that
 * the worker and submitters say to each other is said by such accesses; between two of them a
 * thread is alone with itself. So trying all orders of steps tries all interleavings.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdatomic.h>

/* Another thread may go on here. */
void step(void);

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak

#define atomic_load(p) (step(), atomic_load_explicit(p, memory_order_seq_cst))
#define atomic_store(p, v) (step(), atomic_store_explicit(p, v, memory_order_seq_cst))
#define atomic_exchange(p, v) (step(), atomic_exchange_explicit(p, v, memory_order_seq_cst))
#define atomic_fetch_add(p, v) (step(), atomic_fetch_add_explicit(p, v, memory_order_seq_cst))
#define atomic_compare_exchange_strong(p, e, d) \
	(step(), atomic_compare_exchange_strong_explicit(p, e, d, memory_order_seq_cst, \
							 memory_order_seq_cst))
#define atomic_compare_exchange_weak(p, e, d) atomic_compare_exchange_strong(p, e, d)

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* What linux/rbtree.h asks of RCU; nothing here is read without the lock */
#ifndef _TESTS_LINUX_RCUPDATE_H
#define _TESTS_LINUX_RCUPDATE_H

#include <linux/compiler.h>

#define rcu_dereference_raw(_p)		READ_ONCE(_p)
#define rcu_assign_pointer(_p, _v)	WRITE_ONCE(_p, _v)

#endif /* _TESTS_LINUX_RCUPDATE_H */

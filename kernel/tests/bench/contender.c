// SPDX-License-Identifier: GPL-2.0-only
/* The contenders, in the order of the tables */

#include <linux/kernel.h>

#include "contender.h"

const struct contender *const contenders[] = {
	&stock_contender,
	&shieldqueue_contender,
	&nearlevels_contender,
	&textbook_contender,
	&segmenttree_contender,
	&flatarray_contender,
	&minaugmented_contender,
};

const size_t nr_contenders = ARRAY_SIZE(contenders);

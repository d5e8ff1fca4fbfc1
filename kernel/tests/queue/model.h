/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plainest queue there is, for comparison: an array in the order of expiry
 * and, among equal expiries, of arrival. Every answer is a search through it.
 */
#ifndef MODEL_H
#define MODEL_H

#include <linux/hrtimer_types.h>
#include <linux/types.h>

#define MODEL_MAX	512

struct model {
	struct hrtimer *timer[MODEL_MAX];
	unsigned int count;
};

void model_add(struct model *model, struct hrtimer *timer);
void model_del(struct model *model, struct hrtimer *timer);
struct hrtimer *model_first(const struct model *model, u8 threshold);
struct hrtimer *model_next(const struct model *model,
			   const struct hrtimer *timer, u8 threshold);
struct hrtimer *model_highest(const struct model *model, ktime_t now,
			      u8 threshold);

#endif /* MODEL_H */

// SPDX-License-Identifier: GPL-2.0-only

#include <string.h>

#include "model.h"

static unsigned int position_of(const struct model *model,
				const struct hrtimer *timer)
{
	unsigned int i = 0;

	while (i < model->count && model->timer[i] != timer)
		i++;
	return i;
}

void model_add(struct model *model, struct hrtimer *timer)
{
	unsigned int i = model->count++;

	for (; i && model->timer[i - 1]->node.expires > timer->node.expires; i--)
		model->timer[i] = model->timer[i - 1];
	model->timer[i] = timer;
}

void model_del(struct model *model, struct hrtimer *timer)
{
	unsigned int i = position_of(model, timer);

	memmove(&model->timer[i], &model->timer[i + 1],
		(model->count - i - 1) * sizeof(model->timer[0]));
	model->count--;
}

static struct hrtimer *first_from(const struct model *model, unsigned int i,
				  u8 threshold)
{
	for (; i < model->count; i++) {
		if (model->timer[i]->level >= threshold)
			return model->timer[i];
	}
	return NULL;
}

struct hrtimer *model_first(const struct model *model, u8 threshold)
{
	return first_from(model, 0, threshold);
}

struct hrtimer *model_next(const struct model *model,
			   const struct hrtimer *timer, u8 threshold)
{
	return first_from(model, position_of(model, timer) + 1, threshold);
}

struct hrtimer *model_highest(const struct model *model, ktime_t now,
			      u8 threshold)
{
	struct hrtimer *highest = NULL;

	for (unsigned int i = 0; i < model->count; i++) {
		struct hrtimer *timer = model->timer[i];

		if (timer->node.expires > now)
			break;
		if (timer->level < threshold)
			continue;
		if (!highest || timer->level > highest->level)
			highest = timer;
	}
	return highest;
}

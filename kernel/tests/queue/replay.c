// SPDX-License-Identifier: GPL-2.0-only

#include <string.h>

#include <linux/kernel.h>
#include <linux/shieldqueue.h>

#include "invariants.h"
#include "replay.h"

/* What the queue has no business with */
#define POISON	0xa5

struct replay {
	struct timerqueue_head head;
	struct model model;
	struct hrtimer timer[MODEL_MAX];
	unsigned int timers;
	u8 spread_of_expiries;
	u8 spread_of_levels;
};

/* One operation's bytes */
struct operation {
	u8 what;
	struct hrtimer *timer;
	ktime_t expires;
	u8 level;
};

static const unsigned int sizes[REPLAY_SIZES] = { 1, 2, 8, 32, 64, MODEL_MAX };

static ktime_t expiry_from(const struct replay *r, u8 byte)
{
	switch (byte) {
	case 255:
		return INT64_MAX;	/* KTIME_MAX */
	case 254:
		return INT64_MIN;
	case 253:
		return -1;
	}
	switch (r->spread_of_expiries % 4) {
	case 0:
		return 1000;
	case 1:
		return byte % 4;
	case 2:
		return byte;
	default:
		return (ktime_t)byte << 48 | byte;
	}
}

static u8 level_from(const struct replay *r, u8 byte)
{
	switch (r->spread_of_levels % 4) {
	case 0:
		return byte;
	case 1:
		return byte % 3;
	case 2:
		return byte % 16 ? 1 : 255;
	default:
		return 50;
	}
}

static bool is_queued(struct hrtimer *timer)
{
	return timerqueue_node_queued(&timer->node);
}

static void add(struct replay *r, struct hrtimer *timer, ktime_t expires,
		u8 level)
{
	bool earliest;

	timer->node.expires = expires;
	timer->_softexpires = expires;
	timer->level = level;
	earliest = shieldqueue_add(&r->head, timer);
	model_add(&r->model, timer);
	expect(earliest == (r->model.timer[0] == timer));
}

static void del(struct replay *r, struct hrtimer *timer)
{
	u8 level = timer->level;
	bool more = shieldqueue_del(&r->head, timer);

	model_del(&r->model, timer);
	expect(more == !!r->model.count);
	expect(!is_queued(timer));
	expect(timer->level == level);
}

static void check_all_next(struct replay *r, u8 threshold)
{
	struct hrtimer *timer = shieldqueue_first(&r->head, threshold);
	struct hrtimer *expected = model_first(&r->model, threshold);

	while (expected) {
		expect(timer == expected);
		timer = shieldqueue_next(timer, threshold);
		expected = model_next(&r->model, expected, threshold);
	}
	expect(!timer);
}

static void serve(struct replay *r, ktime_t now, u8 threshold)
{
	struct hrtimer *timer;
	int before = 256;

	while ((timer = shieldqueue_highest(&r->head, now, threshold))) {
		expect(timer == model_highest(&r->model, now, threshold));
		expect(timer->level <= before);
		before = timer->level;
		del(r, timer);
		check_queue(&r->head, &r->model);
	}
	expect(!model_highest(&r->model, now, threshold));
}

/* What happens when the shield is switched off, used, and switched on again */
static void use_as_timerqueue(struct replay *r, const struct operation *op)
{
	bool earliest;

	for (unsigned int i = 0; i < r->timers; i += 1 + op->level % 7) {
		struct hrtimer *timer = &r->timer[i];

		if (is_queued(timer)) {
			timerqueue_del(&r->head, &timer->node);
			model_del(&r->model, timer);
			continue;
		}
		timer->node.expires = expiry_from(r, i * 37 + op->level);
		timer->_softexpires = timer->node.expires;
		timer->level = level_from(r, i * 11 + op->level);
		earliest = timerqueue_add(&r->head, &timer->node);
		model_add(&r->model, timer);
		expect(earliest == (r->model.timer[0] == timer));
	}
	shieldqueue_rebuild(&r->head);
}

static void operate(struct replay *r, const struct operation *op)
{
	struct hrtimer *timer = op->timer;

	switch (op->what % 16) {
	case 0 ... 5:
		if (!is_queued(timer))
			add(r, timer, op->expires, op->level);
		else
			del(r, timer);
		break;
	case 6 ... 7:
		if (is_queued(timer))
			del(r, timer);
		add(r, timer, op->expires, op->level);
		break;
	case 8 ... 10:
		if (is_queued(timer)) {
			shieldqueue_set_level(&r->head, timer, op->level);
			expect(timer->level == op->level);
		}
		break;
	case 11:
		if (r->model.count)
			del(r, r->model.timer[0]);
		break;
	case 12:
		if (is_queued(timer))
			expect(shieldqueue_next(timer, op->level) ==
			       model_next(&r->model, timer, op->level));
		break;
	case 13:
		check_all_next(r, op->level);
		break;
	case 14:
		serve(r, op->expires, op->level);
		break;
	case 15:
		use_as_timerqueue(r, op);
		break;
	}
}

static void check(struct replay *r, const struct operation *op)
{
	check_queue(&r->head, &r->model);
	check_answers(&r->head, &r->model, op->expires, 0);
	check_answers(&r->head, &r->model, op->expires, op->level);
	check_answers(&r->head, &r->model, INT64_MAX, 255);
	check_answers(&r->head, &r->model, op->expires, op->level + 1);
	expect(op->timer->owner == (POISON & 0x7f) && op->timer->owner_level == POISON);
	expect(op->timer->state == POISON && op->timer->is_hard == POISON);
	expect(!is_queued(op->timer) ||
	       op->timer->_softexpires == op->timer->node.expires);
}

void replay(const u8 *data, size_t size)
{
	static struct replay r;

	if (size < REPLAY_HEADER)
		return;
	timerqueue_init_head(&r.head);
	r.model.count = 0;
	r.timers = sizes[data[0] % REPLAY_SIZES];
	r.spread_of_expiries = data[1];
	r.spread_of_levels = data[2];
	memset(r.timer, POISON, r.timers * sizeof(r.timer[0]));
	for (unsigned int i = 0; i < r.timers; i++)
		timerqueue_init(&r.timer[i].node);

	for (size_t i = REPLAY_HEADER; i + REPLAY_OPERATION <= size;
	     i += REPLAY_OPERATION) {
		struct operation op = {
			.what = data[i],
			.timer = &r.timer[(data[i] / 16 << 8 | data[i + 1]) % r.timers],
			.expires = expiry_from(&r, data[i + 2]),
			.level = level_from(&r, data[i + 3]),
		};

		operate(&r, &op);
		check(&r, &op);
	}
}

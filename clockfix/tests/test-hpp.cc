// SPDX-License-Identifier: LGPL-2.1-or-later
// test-hpp.cc - the C++ header
#include <clockfix.hpp>

#include <stdexcept>
#include <thread>
#include <type_traits>

#include "check.h"

using namespace std::chrono_literals;
namespace cf = clockfixpp;

static_assert(!std::is_copy_constructible_v<cf::timer>);
static_assert(std::is_nothrow_move_constructible_v<cf::sleeper>);

// Counts how many of it are alive.
struct canary {
	explicit canary(std::atomic<int> &alive) : alive(&alive) { alive++; }
	canary(const canary &other) : alive(other.alive) { (*alive)++; }
	~canary() { (*alive)--; }

	std::atomic<int> *alive;
};

template<typename Call> static int error_of(Call call)
{
	try {
		call();
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

static void in_order()
{
	std::vector<int> seen;
	cf::timer timer;
	cf::time_point start = cf::now() + 20ms;

	for (int k : {3, 1, 2, 0})
		timer.at(start + k * 1ms, [&seen, start, k](const cf::run &run) {
			CHECK_EQ(run.instant().count(), (start + k * 1ms).time_since_epoch().count());
			CHECK(cf::now() >= start + k * 1ms);
			seen.push_back(k);
		});
	timer.close();
	CHECK(seen == std::vector<int>({0, 1, 2, 3}));
	CHECK_EQ(error_of([&] { timer.after(1ms, [](const cf::run &) {}); }), EINVAL);
}

static void periodic()
{
	cf::timer timer;
	cf::duration start(clockfix_now(CLOCK_TAI) + 1000000);
	std::uint64_t count = 0;

	timer.add({start, 500us, 100, CLOCK_TAI, CLOCKFIX_MISSED_CATCH_UP},
		  [&](const cf::run &run) {
			  CHECK_EQ(run.index(), count++);
			  CHECK(clockfix_now(CLOCK_TAI) >= run.instant().count());
		  });
	timer.drain();
	CHECK_EQ(count, 100);
	CHECK_EQ(timer.stats().jobs, 100);
	CHECK_EQ(timer.capabilities().timer_slack, 0);
}

static void skipped_at_the_end()
{
	cf::timer timer;
	int count = 0;

	timer.add({cf::now().time_since_epoch(), 2ms, 5}, [&](const cf::run &run) {
		CHECK(run.index() < 5);
		count++;
		std::this_thread::sleep_for(20ms);
	});
	timer.drain();
	CHECK(count < 5);
}

static void cancelled_jobs_are_destroyed()
{
	std::atomic<int> alive(0);
	{
		cf::timer timer;

		for (int i = 0; i < 100; i++) {
			cf::job job = timer.after(1h, [c = canary(alive)](const cf::run &) {});

			CHECK(timer.cancel(job) == cf::cancelled::pending);
			CHECK(timer.cancel(job) == cf::cancelled::over);
			CHECK(timer.cancel_wait(job) == cf::cancelled::over);
		}
		timer.after(0ms, [](const cf::run &) {});
		CHECK_EQ(alive.load(), 0);
		timer.after(1h, [c = canary(alive)](const cf::run &) {});
	}
	CHECK_EQ(alive.load(), 0);
}

static void cancelled_in_progress()
{
	std::atomic<int> phase(0);
	cf::timer timer;
	cf::job job = timer.every(1ms, [&](const cf::run &) {
		phase = 1;
		while (phase == 1)
			;
		phase = 3;
	});

	while (phase != 1)
		;
	CHECK(timer.cancel(job) == cf::cancelled::running);
	phase = 2;
	timer.drain();
	CHECK_EQ(phase.load(), 3);
}

static void nothing_starts_after_cancel()
{
	std::atomic<int> alive(0);
	cf::timer timer;

	for (int k = 0; k < 2000; k++) {
		auto cancelled = std::make_shared<std::atomic<bool>>(false);
		cf::time_point start = cf::now() + 30us;
		cf::job job = timer.add({start.time_since_epoch(), 30us},
					[cancelled, c = canary(alive)](const cf::run &) {
						CHECK(!*cancelled);
					});

		while (cf::now() < start - 2us + std::chrono::nanoseconds(k * 7 % 4000))
			;
		if (timer.cancel(job) != cf::cancelled::running)
			*cancelled = true;
	}
	timer.drain();
	timer.after(0ms, [](const cf::run &) {});
	CHECK_EQ(alive.load(), 0);
}

static void jobs_add_jobs()
{
	std::atomic<int> runs(0), others(0);
	cf::timer timer;

	timer.every(200us, [&](const cf::run &run) {
		timer.after(50us, [&](const cf::run &) { others++; });
		CHECK_EQ(error_of([&] { timer.drain(); }), EDEADLK);
		if (++runs == 10)
			run.stop();
	});
	timer.drain();
	CHECK_EQ(runs.load(), 10);
	CHECK_EQ(others.load(), 10);
}

static void exceptions()
{
	cf::timer timer;
	int runs = 0, caught = 0;

	timer.every(1ms, [&](const cf::run &) {
		runs++;
		throw std::runtime_error("expected");
	});
	try {
		timer.drain();
	} catch (const std::runtime_error &) {
		caught++;
	}
	CHECK_EQ(runs, 1);
	timer.after(0ms, [](const cf::run &) { throw 1; });
	try {
		timer.close();
	} catch (int) {
		caught++;
	}
	CHECK_EQ(caught, 2);
}

static void reschedule_and_adjust()
{
	cf::timer timer;
	std::vector<cf::duration> seen;
	cf::job job = timer.after(1h, [&](const cf::run &run) { seen.push_back(run.instant()); });
	cf::duration start = (cf::now() + 1ms).time_since_epoch();

	CHECK(timer.reschedule(job, start));
	timer.drain();
	CHECK(!timer.reschedule(job, start));
	CHECK(seen == std::vector<cf::duration>({start}));
	seen.clear();
	timer.add({start, 2ms, 4, CLOCK_MONOTONIC, CLOCKFIX_MISSED_CATCH_UP},
		  [&](const cf::run &run) {
			  if (run.index() == 0)
				  run.adjust(500us);
			  if (run.index() == 1)
				  run.adjust(0us, 3ms);
			  seen.push_back(run.instant());
		  });
	timer.drain();
	CHECK(seen == std::vector<cf::duration>({start, start + 2500us, start + 5500us,
						 start + 8500us}));
}

static void many_threads()
{
	std::atomic<int> alive(0), runs(0);
	cf::timer timer;
	std::vector<std::thread> threads;

	for (int seed = 0; seed < 4; seed++)
		threads.emplace_back([&, seed] {
			for (unsigned int k = 0; k < 2000; k++) {
				cf::duration start = cf::now().time_since_epoch() +
						     std::chrono::microseconds((seed * 7 + k * 13) % 100);
				cf::schedule when{start, 20us, k % 5 + 1, CLOCK_MONOTONIC,
						  CLOCKFIX_MISSED_CATCH_UP};
				cf::job job = timer.add(when, [&, c = canary(alive)](const cf::run &) {
					runs++;
				});

				if (k % 3 == 0)
					timer.cancel(job);
				else if (k % 7 == 0)
					timer.cancel_wait(job);
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	timer.drain();
	timer.after(0ms, [](const cf::run &) {});
	CHECK_EQ(alive.load(), 0);
	CHECK(runs > 0);
}

static void errors()
{
	cf::timer one, other;
	cf::job job = one.after(1h, [](const cf::run &) {});
	cf::options options;

	CHECK_EQ(error_of([&] { other.cancel(job); }), EINVAL);
	CHECK_EQ(error_of([&] { other.cancel_wait(job); }), EINVAL);
	CHECK_EQ(error_of([&] { other.reschedule(job, 1ns); }), EINVAL);
	CHECK_EQ(error_of([&] { one.every(0ms, [](const cf::run &) {}); }), EINVAL);
	CHECK_EQ(error_of([&] { one.every(-1ms, [](const cf::run &) {}); }), EINVAL);
	CHECK_EQ(error_of([&] { one.after(0ms, nullptr); }), EINVAL);
	CHECK_EQ(error_of([&] { one.add({1ns, 0ns, 2}, [](const cf::run &) {}); }), EINVAL);
	options.poll_share = 101;
	CHECK_EQ(error_of([&] { cf::timer wrong(options); }), EINVAL);
	CHECK_EQ(error_of([&] { cf::sleeper wrong(options); }), EINVAL);
}

static void sleeper()
{
	cf::sleeper sleeper;

	for (int i = 0; i < 100; i++) {
		cf::time_point instant = cf::now() + std::chrono::microseconds(i * 10);

		CHECK(sleeper.sleep_until(instant));
		CHECK(cf::now() >= instant);
	}
	cf::sleeper moved = std::move(sleeper);
	cf::time_point start = cf::now();
	moved.sleep_for(2ms);
	CHECK(cf::now() - start >= 2ms);
	CHECK_EQ(error_of([&] { moved.sleep_until(4711, 1ms); }), EINVAL);
}

CHECK_MAIN(TEST(in_order), TEST(periodic), TEST(skipped_at_the_end),
	   TEST(cancelled_jobs_are_destroyed), TEST(cancelled_in_progress),
	   TEST(nothing_starts_after_cancel), TEST(jobs_add_jobs), TEST(exceptions),
	   TEST(reschedule_and_adjust), TEST(many_threads), TEST(errors), TEST(sleeper))

// SPDX-License-Identifier: LGPL-2.1-or-later
// test-hpp.cc - the C++ header: what it adds to the library
#include <clockfix.hpp>

#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

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

static void jobs_are_told_what_the_library_says()
{
	std::vector<std::uint64_t> seen;
	cf::timer timer;
	cf::time_point start = cf::now() + 20ms;

	timer.at(start - 1ms, [&](const cf::run &run) {
		CHECK(run.instant() == start - 1ms);
		CHECK(run.started() >= run.instant());
	});
	timer.add({start, 2ms, 4}, [&](const cf::run &run) {
		CHECK(run.index() < 4 && run.instant() == start + run.index() * 2ms);
		seen.push_back(run.index());
	});
	timer.drain();
	CHECK_EQ(timer.stats().jobs, seen.size() + 1);
	timer.close();
	CHECK_EQ(error_of([&] { timer.at(cf::now(), [](const cf::run &) {}); }), EINVAL);
}

static void errors_are_exceptions()
{
	cf::options options;
	cf::timer timer;
	int deadlock = 0;

	options.late_ppm = 1000001;
	CHECK_EQ(error_of([&] { cf::timer refused(options); }), EINVAL);
	CHECK_EQ(error_of([&] { timer.every(0ms, [](const cf::run &) {}); }), EINVAL);
	timer.at(cf::now(), [&](const cf::run &) {
		deadlock = error_of([&] { timer.drain(); });
	});
	timer.drain();
	CHECK_EQ(deadlock, EDEADLK);
}

static void callables_are_destroyed()
{
	std::atomic<int> alive(0), runs(0);
	{
		cf::timer timer;

		for (int i = 0; i < 100; i++) {
			cf::job job = timer.at(cf::now() + 1h, [c = canary(alive)](const cf::run &) {});

			CHECK(timer.cancel(job) == cf::cancelled::pending);
			CHECK(timer.cancel(job) == cf::cancelled::over);
			CHECK(timer.cancel_wait(job) == cf::cancelled::over);
		}
		timer.at(cf::now(), [c = canary(alive)](const cf::run &) {});
		timer.add({cf::now(), 1ms, 3}, [c = canary(alive)](const cf::run &) {});
		timer.every(1ms, [&, c = canary(alive)](const cf::run &run) {
			if (++runs == 3)
				run.stop();
		});
		timer.drain();
		CHECK_EQ(runs.load(), 3);
		CHECK_EQ(alive.load(), 0);
		timer.at(cf::now() + 1h, [c = canary(alive)](const cf::run &) {});
		CHECK_EQ(alive.load(), 1);
	}
	CHECK_EQ(alive.load(), 0);
}

static void a_job_drops_its_timer()
{
	std::atomic<int> alive(0);
	auto timer = std::make_shared<cf::timer>();
	std::atomic<bool> go(false);

	timer->at(cf::now() + 1h, [c = canary(alive)](const cf::run &) {});
	timer->at(cf::now(), [&, timer, c = canary(alive)](const cf::run &run) mutable {
		while (!go)
			;
		timer.reset();
		// nor does it run what comes now
		run.at(run.instant(), [c = canary(alive)](const cf::run &) { CHECK(false); });
	});
	timer.reset();
	go = true;
	while (alive)
		std::this_thread::sleep_for(1ms);
}

static void timers_and_callables_move()
{
	std::atomic<int> runs(0);
	std::vector<cf::timer> timers;

	for (int i = 0; i < 3; i++) {
		timers.emplace_back();
		timers.back().every(std::chrono::duration<double>(0.001),
				    [&, owned = std::make_unique<int>(i)](const cf::run &run) {
			runs += *owned < 3;
			run.stop();
		});
	}
	timers[0] = std::move(timers[1]);
	timers[0].drain();
	timers[2].drain();
	CHECK(runs >= 2);
}

static void running_jobs_are_waited_for()
{
	std::atomic<bool> started(false), waited_for(false), ended(false);
	cf::timer timer;
	cf::job job = timer.at(cf::now(), [&](const cf::run &) {
		started = true;
		while (!waited_for)
			;
		std::this_thread::sleep_for(100ms);
		ended = true;
	});

	while (!started)
		;
	waited_for = true;
	CHECK(timer.cancel_wait(job) == cf::cancelled::running);
	CHECK(ended);
}

template<class Clock> static void one_call_sleeps_by()
{
	auto instant = Clock::now() + 1500us;
	std::chrono::time_point<Clock, std::chrono::duration<double>> soon = Clock::now() + 1ms;

	clockfix::sleep_until(soon);
	CHECK(Clock::now() >= soon);
	clockfix::sleep_until(instant);
	CHECK(Clock::now() >= instant);
}

static void one_call_sleeps()
{
	one_call_sleeps_by<std::chrono::steady_clock>();
	one_call_sleeps_by<std::chrono::system_clock>();
	one_call_sleeps_by<clockfix::tai_clock>();
	CHECK_EQ(error_of([&] { clockfix::sleep_until(cf::time_point(-1ns)); }), EINVAL);
}

static void sleepers_sleep()
{
	cf::sleeper sleeper;
	cf::time_point instant = cf::now() + 5ms;

	CHECK(sleeper.sleep_until(instant));
	CHECK(cf::now() >= instant);
	sleeper.arm(cf::now() + 1h);
	CHECK(sleeper.descriptor() >= 0);
	CHECK_EQ(error_of([&] { sleeper.finish(); }), EAGAIN);
	instant = cf::now() + 5ms;
	sleeper.arm(instant);
	while (error_of([&] { sleeper.finish(); }) == EAGAIN)
		;
	CHECK(cf::now() >= instant);
	auto today = std::chrono::system_clock::now() + 5ms;
	CHECK(sleeper.sleep_until(today));
	CHECK(std::chrono::system_clock::now() >= today);
	cf::sleeper moved = std::move(sleeper);
	CHECK_EQ(error_of([&] { moved.sleep_until(9999, 1ns); }), EINVAL);
}

CHECK_MAIN(TEST(jobs_are_told_what_the_library_says), TEST(errors_are_exceptions),
	   TEST(callables_are_destroyed), TEST(a_job_drops_its_timer),
	   TEST(timers_and_callables_move), TEST(running_jobs_are_waited_for),
	   TEST(one_call_sleeps), TEST(sleepers_sleep))

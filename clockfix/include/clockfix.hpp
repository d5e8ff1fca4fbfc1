// SPDX-License-Identifier: LGPL-2.1-or-later
//
// clockfix.hpp - call a function object at an exact time; C++17
//
//	clockfix::sleep_until(std::chrono::steady_clock::now() + 1ms);
//
//	clockfixpp::timer timer;
//	auto job = timer.every(1ms, [](const clockfixpp::run &run) { step(run.index()); });
//	...
//	timer.cancel(job);
//
// clockfix.h describes what the library does. Here objects own timers and sleepers, times are
// those of <chrono> (std::chrono::steady_clock is CLOCK_MONOTONIC), and errors are exceptions of
// type std::system_error. (The namespace can't have the name of C's struct clockfix.)
//
// A callable must not throw: that ends the program. It is destroyed when its job is over: by who
// cancels it, else by a thread that schedules, drains or ends the timer; the timer's own thread does
// so only if one of its jobs schedules or cancels others.
//
#ifndef CLOCKFIX_HPP
#define CLOCKFIX_HPP

#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

#include <time.h>

#include <clockfix.h>

// C's opaque type, of which C++ makes no objects; here it is a place for what needs none.
struct clockfix {
	clockfix() = delete;
	~clockfix() = delete;

	// CLOCK_TAI, which has no leap seconds; counts from 1970
	struct tai_clock {
		using duration = std::chrono::nanoseconds;
		using rep = duration::rep;
		using period = duration::period;
		using time_point = std::chrono::time_point<tai_clock>;
		static constexpr bool is_steady = false;
		static time_point now() { return time_point(duration(clockfix_now(CLOCK_TAI))); }
	};

	// Return at an instant of steady_clock, system_clock or tai_clock; a signal's handler does not
	// end it.
	template<class Clock, class Length>
	static void sleep_until(std::chrono::time_point<Clock, Length> instant)
	{
		int ret;

		do
			ret = clockfix_sleep_until(nullptr, id_of<Clock>(), nanoseconds(instant).count());
		while (ret == -EINTR);
		if (ret < 0)
			throw std::system_error(-ret, std::generic_category(), "clockfix_sleep_until");
	}

	template<class Clock> static constexpr clockid_t id_of()
	{
		constexpr bool steady = std::is_same_v<Clock, std::chrono::steady_clock>;
		constexpr bool system = std::is_same_v<Clock, std::chrono::system_clock>;

		static_assert(steady || system || std::is_same_v<Clock, tai_clock>,
			      "of steady_clock, system_clock and tai_clock");
		return steady ? CLOCK_MONOTONIC : system ? CLOCK_REALTIME : CLOCK_TAI;
	}

	// not less: it would be early
	template<class Clock, class Length>
	static std::chrono::nanoseconds nanoseconds(std::chrono::time_point<Clock, Length> instant)
	{
		return std::chrono::ceil<std::chrono::nanoseconds>(instant.time_since_epoch());
	}
};

namespace clockfixpp {

using duration = std::chrono::nanoseconds;
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

inline time_point now()
{
	return time_point(duration(clockfix_now(CLOCK_MONOTONIC)));
}

inline int checked(int ret, const char *what)
{
	if (ret < 0)
		throw std::system_error(-ret, std::generic_category(), what);
	return ret;
}

// struct clockfix_options with its defaults
struct options : ::clockfix_options {
	options() { clockfix_options_init(this); }
};

// A job runs once at start, or at start + k * period.
struct schedule {
	time_point start;
	duration period = duration::zero();
	std::uint64_t runs = 0;		// k is less than that; 0: no limit
};

// A job's handle, for the timer that it came from; 0: no job.
using job = ::clockfix_job;

// What cancel() found: running is also said of a job that starts within 5 us.
enum class cancelled { pending, running, over };

class run;

// What a timer and a run can do with the timer's jobs.
class jobs {
public:
	// call: void(const run &), moved; called by the timer's thread.
	template<class Call> job at(time_point instant, Call &&call) const
	{
		return add(schedule{instant}, std::forward<Call>(call));
	}

	template<class Rep, class Period, class Call>
	job every(std::chrono::duration<Rep, Period> period, Call &&call) const
	{
		duration length = std::chrono::duration_cast<duration>(period);

		if (length == duration::zero())
			checked(-EINVAL, "clockfix_schedule");
		return add(schedule{now() + length, length}, std::forward<Call>(call));
	}

	// A job of a timer that is being closed gets a job that is over.
	template<class Call> job add(const schedule &when, Call &&call) const
	{
		using callable = std::decay_t<Call>;
		std::unique_ptr<callable> state(new callable(std::forward<Call>(call)));
		::clockfix_spec spec;
		job result = 0;

		clockfix_spec_init(&spec);
		spec.start = when.start.time_since_epoch().count();
		spec.period = when.period.count();
		spec.runs = when.runs;
		spec.fn = run_call<callable>;
		spec.arg = state.get();
		spec.release = release_call<callable>;
		int ret = clockfix_schedule(timer_, &spec, &result);

		if (ret == -ECANCELED)
			return result;
		checked(ret, "clockfix_schedule");
		state.release();
		return result;
	}

	// A job that was running runs for the last time.
	cancelled cancel(job job) const { return cancel_by(clockfix_cancel, job); }

protected:
	explicit jobs(::clockfix *timer = nullptr) : timer_(timer) {}

	cancelled cancel_by(int (*by)(::clockfix *, ::clockfix_job), job job) const
	{
		int ret = by(timer_, job);

		if (ret == -ENOENT)
			return cancelled::over;
		if (ret == -EINPROGRESS)
			return cancelled::running;
		return checked(ret, "clockfix_cancel") ? cancelled::running : cancelled::pending;
	}

	::clockfix *timer_;

private:
	template<class Call> static void run_call(void *arg, const ::clockfix_run *raw) noexcept;

	template<class Call> static void release_call(void *arg) noexcept
	{
		delete static_cast<Call *>(arg);
	}
};

// What a callable is told; valid during the call only. It may schedule and cancel jobs as well.
class run : public jobs {
public:
	explicit run(const ::clockfix_run &raw) : jobs(raw.timer), raw_(raw) {}

	time_point instant() const { return time_point(duration(raw_.instant)); }
	time_point started() const { return time_point(duration(raw_.started)); }
	std::uint64_t index() const { return raw_.index; }
	std::uint64_t missed() const { return raw_.missed; }

	// no further run of a periodic job
	void stop() const
	{
		clockfix_cancel(raw_.timer, raw_.job);
	}

private:
	const ::clockfix_run &raw_;
};

template<class Call> void jobs::run_call(void *arg, const ::clockfix_run *raw) noexcept
{
	const run told(*raw);

	(*static_cast<Call *>(arg))(told);
}

// A timer can be moved; what has been moved from can only be destroyed or assigned to.
class timer : public jobs {
public:
	explicit timer(const options &options = {})
	{
		checked(clockfix_create(&timer_, &options), "clockfix_create");
	}

	timer(timer &&other) noexcept : jobs(std::exchange(other.timer_, nullptr)) {}

	timer &operator=(timer &&other) noexcept
	{
		std::swap(timer_, other.timer_);
		return *this;
	}

	// Waits for a run in progress, unless it is one of its own jobs that destroys it; pending
	// jobs do not run.
	~timer() { clockfix_destroy(timer_, CLOCKFIX_DROP_PENDING); }

	// Wait until all that is pending has run, periodic jobs not again, and end the timer.
	void close()
	{
		checked(clockfix_destroy(timer_, 0), "clockfix_destroy");
		timer_ = nullptr;
	}

	// As cancel(), and wait for the end of a run in progress. Not in a job.
	cancelled cancel_wait(job job) const
	{
		return cancel_by(clockfix_cancel_wait, job);
	}

	// Wait until no job is pending or running.
	void drain() const { checked(clockfix_drain(timer_), "clockfix_drain"); }

	::clockfix_stats stats() const
	{
		::clockfix_stats stats;

		stats.size = sizeof(stats);
		checked(clockfix_stats_read(timer_, &stats), "clockfix_stats_read");
		return stats;
	}
};

// Waits in the thread that calls it, as exactly as a timer.
class sleeper {
public:
	explicit sleeper(const options &options = {})
	{
		::clockfix_sleeper *made;

		checked(clockfix_sleeper_create(&made, &options), "clockfix_sleeper_create");
		sleeper_.reset(made);
	}

	// False: a signal's handler ran, and the instant has not come.
	template<class Clock, class Length>
	bool sleep_until(std::chrono::time_point<Clock, Length> instant)
	{
		return sleep_until(::clockfix::id_of<Clock>(), ::clockfix::nanoseconds(instant));
	}

	bool sleep_until(clockid_t clock, duration instant)
	{
		int ret = clockfix_sleep_until(sleeper_.get(), clock, instant.count());

		if (ret != -EINTR)
			checked(ret, "clockfix_sleep_until");
		return !ret;
	}

	// For event loops: readable shortly before the instant of arm(); then finish() waits for the
	// rest, and says the same as sleep_until().
	int descriptor() { return checked(clockfix_sleeper_fd(sleeper_.get()), "clockfix_sleeper_fd"); }

	void arm(time_point instant)
	{
		checked(clockfix_sleeper_arm(sleeper_.get(), instant.time_since_epoch().count()),
			"clockfix_sleeper_arm");
	}

	bool finish()
	{
		int ret = clockfix_sleeper_finish(sleeper_.get());

		if (ret != -EINTR)
			checked(ret, "clockfix_sleeper_finish");
		return !ret;
	}

private:
	struct deleter {
		void operator()(::clockfix_sleeper *sleeper) const { clockfix_sleeper_destroy(sleeper); }
	};

	std::unique_ptr<::clockfix_sleeper, deleter> sleeper_;
};

} // namespace clockfixpp

#endif // CLOCKFIX_HPP

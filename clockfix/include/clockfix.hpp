// SPDX-License-Identifier: LGPL-2.1-or-later
//
// clockfix.hpp - call a function object at an exact time; C++17
//
//	clockfixpp::timer timer;
//	auto job = timer.every(1ms, [](const clockfixpp::run &run) { step(run.index()); });
//	...
//	timer.cancel(job);
//
// clockfix.h describes what the library does. Here objects own timers and sleepers, times are
// those of <chrono> (std::chrono::steady_clock is CLOCK_MONOTONIC), and errors are exceptions of
// type std::system_error. (The namespace can't have the name of struct clockfix.)
//
// A callable must not throw: that ends the program. It is destroyed by a thread that schedules
// others, or with its timer; never by the timer's thread, unless a job schedules or cancels
// others; if it was cancelled during a run, with its timer.
//
#ifndef CLOCKFIX_HPP
#define CLOCKFIX_HPP

#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <time.h>

#include <clockfix.h>

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

// What a callable is told; valid during the call only.
class run {
public:
	time_point instant() const { return time_point(duration(raw_.instant)); }
	time_point started() const { return time_point(duration(raw_.started)); }
	std::uint64_t index() const { return raw_.index; }
	std::uint64_t missed() const { return raw_.missed; }

	// no further run of a periodic job
	void stop() const { stopped_ = true; }

	// Move the next instant of a periodic job and all after it; period 0: leave the period.
	// A rehearsal changes nothing.
	void adjust(duration shift, duration period = duration::zero()) const
	{
		if (!raw_.started)
			return;
		checked(clockfix_adjust(raw_.timer, raw_.job, shift.count(), period.count()),
			"clockfix_adjust");
	}

private:
	friend class timer;
	explicit run(const ::clockfix_run &raw) : raw_(raw) {}

	const ::clockfix_run &raw_;
	mutable bool stopped_ = false;
};

using callable = std::function<void(const run &)>;

// A job runs once at start, or at start + k * period.
struct schedule {
	time_point start;
	duration period = duration::zero();
	std::uint64_t runs = 0;		// k is less than that; 0: no limit
	int missed = CLOCKFIX_MISSED_SKIP;
};

class timer;

// What the library points to until the job is over. Meanwhile the timer owns it.
struct job_state {
	const timer *owner;
	callable call;
	bool periodic;
	std::uint64_t runs;
	std::atomic<bool> over{false};	// the last that the timer's thread does with it
};

// A job's handle; that it goes out of scope leaves the job alone.
class job {
	friend class timer;
	std::weak_ptr<job_state> state_;
	::clockfix_job handle_ = 0;
};

// What cancel() found: running is also said of a job that starts within 5 us.
enum class cancelled { pending, running, over };

class timer {
public:
	explicit timer(const options &options = {})
	{
		checked(clockfix_create(&timer_, &options), "clockfix_create");
	}

	timer(const timer &) = delete;
	timer &operator=(const timer &) = delete;

	// Waits for a run in progress; pending jobs do not run. Not in one of its own jobs.
	~timer()
	{
		if (timer_ && clockfix_destroy(timer_, CLOCKFIX_DROP_PENDING))
			std::terminate();
	}

	// Wait until all that is pending has run, periodic jobs not again, and end the timer.
	void close()
	{
		checked(clockfix_destroy(timer_, 0), "clockfix_destroy");
		timer_ = nullptr;
	}

	job at(time_point instant, callable call)
	{
		return add(schedule{instant}, std::move(call));
	}

	job every(duration period, callable call)
	{
		if (period == duration::zero())
			checked(-EINVAL, "clockfix_schedule");
		return add(schedule{now() + period, period}, std::move(call));
	}

	// May be called by a job; that takes a mutex and allocates.
	job add(const schedule &when, callable call)
	{
		std::shared_ptr<job_state> state(new job_state{
			this, std::move(call), when.period != duration::zero(), when.runs});
		::clockfix_spec spec;
		job result;

		if (!state->call || (when.runs && when.period == duration::zero()))
			checked(-EINVAL, "clockfix_schedule");
		clockfix_spec_init(&spec);
		spec.missed = when.missed;
		spec.start = when.start.time_since_epoch().count();
		spec.period = when.period.count();
		spec.fn = trampoline;
		spec.arg = state.get();
		keep(state);
		int ret = clockfix_schedule(timer_, &spec, &result.handle_);
		if (ret)
			state->over = true;
		checked(ret, "clockfix_schedule");
		result.state_ = state;
		return result;
	}

	// A job that was running runs for the last time. A job of another timer is an error.
	cancelled cancel(const job &job) { return cancel_by(clockfix_cancel, job); }

	// The same, and wait for the end of a run in progress. Not in a job.
	cancelled cancel_wait(const job &job) { return cancel_by(clockfix_cancel_wait, job); }

	// Move a pending job, in one step. False: it is over, or running.
	bool reschedule(job &job, time_point instant)
	{
		if (!own(job, "clockfix_reschedule"))
			return false;
		int ret = clockfix_reschedule(timer_, &job.handle_,
					      instant.time_since_epoch().count());

		if (ret == -ENOENT || ret == -EINPROGRESS)
			return false;
		checked(ret, "clockfix_reschedule");
		return true;
	}

	// Wait until no job is pending or running.
	void drain() { checked(clockfix_drain(timer_), "clockfix_drain"); }

	::clockfix_stats stats() const
	{
		::clockfix_stats stats;

		stats.size = sizeof(stats);
		checked(clockfix_stats_read(timer_, &stats), "clockfix_stats_read");
		return stats;
	}

private:
	static void trampoline(void *arg, const ::clockfix_run *raw) noexcept
	{
		auto state = static_cast<job_state *>(arg);
		run told(*raw);

		// the last instants may have been missed: it is stopped here, not by the library
		if (!state->runs || raw->index < state->runs)
			state->call(told);
		if (!raw->started)
			return;
		if (state->runs && raw->index + 1 >= state->runs)
			told.stop();
		if (state->periodic && told.stopped_)
			clockfix_cancel(raw->timer, raw->job);
		if (!state->periodic || told.stopped_)
			state->over = true;
	}

	// A job's state, unless it is over. Two timers may have handles that are equal.
	std::shared_ptr<job_state> own(const job &job, const char *what) const
	{
		auto state = job.state_.lock();

		if (state && state->owner != this)
			checked(-EINVAL, what);
		return state;
	}

	cancelled cancel_by(int (*by)(::clockfix *, ::clockfix_job), const job &job)
	{
		auto state = own(job, "clockfix_cancel");
		int ret = state ? by(timer_, job.handle_) : -ENOENT;

		if (ret == -ENOENT)
			return cancelled::over;
		if (ret == -EINPROGRESS)
			return cancelled::running;
		checked(ret, "clockfix_cancel");
		state->over = true;
		return ret ? cancelled::running : cancelled::pending;
	}

	// Keep a state, and destroy two others if they are over: not under the mutex.
	void keep(const std::shared_ptr<job_state> &state)
	{
		std::list<std::shared_ptr<job_state>> gone;
		std::lock_guard<std::mutex> guard(mutex_);

		states_.push_back(state);
		for (int i = 0; i < 2; i++) {
			auto &to = states_.front()->over ? gone : states_;
			to.splice(to.end(), states_, states_.begin());
		}
	}

	::clockfix *timer_ = nullptr;
	std::mutex mutex_;	// of what follows
	std::list<std::shared_ptr<job_state>> states_;
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
	bool sleep_until(time_point instant)
	{
		return sleep_until(CLOCK_MONOTONIC, instant.time_since_epoch());
	}

	bool sleep_until(clockid_t clock, duration instant)
	{
		int ret = clockfix_sleep_until(sleeper_.get(), clock, instant.count());

		if (ret != -EINTR)
			checked(ret, "clockfix_sleep_until");
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

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// clockfix.hpp - run a callable at exactly its instant; C++17
//
//	clockfixpp::timer timer;
//	auto job = timer.every(1ms, [](const clockfixpp::run &run) { step(run.index()); });
//	...
//	timer.cancel(job);
//
// clockfix.h says what the library does. Here objects own timers and sleepers, durations and
// instants are those of <chrono> (std::chrono::steady_clock is CLOCK_MONOTONIC), and errors are
// exceptions of type std::system_error. (The namespace can't be called as struct clockfix is.)
//
// A callable is destroyed by a thread that schedules, or with its timer, never by the timer's
// thread. What it throws ends its job; drain() or close() throws that again.
//
#ifndef CLOCKFIX_HPP
#define CLOCKFIX_HPP

#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <time.h>

#include <clockfix.h>

namespace clockfixpp {

using duration = std::chrono::nanoseconds;
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

inline time_point now()
{
	return time_point(duration(clockfix_now(CLOCK_MONOTONIC)));
}

namespace detail {

inline int checked(int ret, const char *what)
{
	if (ret < 0)
		throw std::system_error(-ret, std::generic_category(), what);
	return ret;
}

} // namespace detail

// struct clockfix_options with its defaults
struct options : ::clockfix_options {
	options()
	{
		clockfix_options_init(this);
	}
};

class timer;

// What a callable is told; valid during the call only.
class run {
public:
	// by the job's clock
	duration instant() const { return duration(raw_.instant); }
	// CLOCK_MONOTONIC when waiting ended
	time_point started() const { return time_point(duration(raw_.started)); }
	std::uint64_t index() const { return raw_.index; }
	std::uint64_t missed() const { return raw_.missed; }

	// no further run of a periodic job
	void stop() const { stopped_ = true; }

	// Move the next instant of a periodic job and all after it; period 0: leave the period.
	void adjust(duration shift, duration period = duration::zero()) const
	{
		detail::checked(clockfix_adjust(raw_.timer, raw_.job, shift.count(),
						period.count()), "clockfix_adjust");
	}

private:
	friend class timer;
	explicit run(const ::clockfix_run &raw) : raw_(raw) {}

	const ::clockfix_run &raw_;
	mutable bool stopped_ = false;
};

using callable = std::function<void(const run &)>;

// When a job runs: once at start, or at start + k * period.
struct schedule {
	duration start;
	duration period = duration::zero();
	std::uint64_t runs = 0;		// k is less than that; 0: no limit
	clockid_t clock = CLOCK_MONOTONIC;
	::clockfix_missed missed = CLOCKFIX_MISSED_SKIP;
};

namespace detail {

// What the library holds a pointer to until the job is over. Meanwhile the timer owns it.
struct state {
	enum : unsigned int { running = 1, cancelled = 2, over = 4 };

	timer *owner;
	callable call;
	bool periodic;
	std::uint64_t runs;
	std::atomic<unsigned int> status{0};
	state *next = nullptr;
};

} // namespace detail

// A job's handle; that it goes out of scope leaves the job alone.
class job {
	friend class timer;
	std::weak_ptr<detail::state> state_;
	::clockfix_job handle_ = 0;
};

enum class cancelled { pending, running, over };

class timer {
public:
	explicit timer(const options &options = {})
	{
		detail::checked(clockfix_create(&timer_, &options), "clockfix_create");
	}

	timer(const timer &) = delete;
	timer &operator=(const timer &) = delete;

	// Waits for a run in progress; what is pending does not run. Not in one of its own jobs.
	~timer()
	{
		if (timer_ && clockfix_destroy(timer_, CLOCKFIX_DROP_PENDING))
			std::terminate();
	}

	// Wait until all that is pending has run, periodic jobs not again, and end the timer.
	void close()
	{
		if (!timer_)
			return;
		detail::checked(clockfix_destroy(timer_, 0), "clockfix_destroy");
		timer_ = nullptr;
		rethrow();
	}

	job at(time_point instant, callable call)
	{
		return add(schedule{instant.time_since_epoch()}, std::move(call));
	}

	job after(duration delay, callable call)
	{
		return at(now() + delay, std::move(call));
	}

	job every(duration period, callable call)
	{
		// 0 would be once
		if (period == duration::zero())
			detail::checked(-EINVAL, "clockfix_schedule");
		return add(schedule{(now() + period).time_since_epoch(), period}, std::move(call));
	}

	// May be called by a job; that takes a mutex and allocates.
	job add(const schedule &when, callable call)
	{
		::clockfix_spec spec;
		job result;

		if (!call || (when.runs && when.period == duration::zero()))
			detail::checked(-EINVAL, "clockfix_schedule");
		auto state = std::make_shared<detail::state>();
		state->owner = this;
		state->call = std::move(call);
		state->periodic = when.period != duration::zero();
		state->runs = when.runs;
		result.state_ = state;
		clockfix_spec_init(&spec);
		spec.clock = when.clock;
		spec.missed = when.missed;
		spec.start = when.start.count();
		spec.period = when.period.count();
		spec.fn = trampoline;
		spec.arg = state.get();
		sweep();
		{
			std::lock_guard<std::mutex> guard(mutex_);
			states_[state.get()] = state;
		}
		int ret = clockfix_schedule(timer_, &spec, &result.handle_);
		if (ret) {
			std::lock_guard<std::mutex> guard(mutex_);
			states_.erase(state.get());
		}
		detail::checked(ret, "clockfix_schedule");
		return result;
	}

	// The callable does not start (again) after this has returned.
	cancelled cancel(const job &job)
	{
		auto state = state_of(job);
		if (!state)
			return cancelled::over;
		int ret = clockfix_cancel(timer_, job.handle_);
		if (ret == -ENOENT)
			return cancelled::over;
		if (ret == -EINPROGRESS) {
			if (state->status.fetch_or(detail::state::cancelled) &
			    detail::state::running)
				return cancelled::running;	// its run finishes it
			// on its way to the callable, or from there: some microseconds
			clockfix_cancel_wait(timer_, job.handle_);
		} else {
			detail::checked(ret, "clockfix_cancel");
		}
		finish(state.get());
		return cancelled::pending;
	}

	// The same, and wait for the end of a run in progress. Not in a job.
	cancelled cancel_wait(const job &job)
	{
		auto state = state_of(job);
		if (!state)
			return cancelled::over;
		int ret = clockfix_cancel_wait(timer_, job.handle_);
		if (ret == -ENOENT)
			return cancelled::over;
		detail::checked(ret, "clockfix_cancel_wait");
		finish(state.get());
		return ret ? cancelled::running : cancelled::pending;
	}

	// Move a pending job, in one step; instant is by its clock. False: it is over, or running.
	bool reschedule(job &job, duration instant)
	{
		if (!state_of(job))
			return false;
		int ret = clockfix_reschedule(timer_, &job.handle_, instant.count());
		if (ret == -ENOENT || ret == -EINPROGRESS)
			return false;
		detail::checked(ret, "clockfix_reschedule");
		return true;
	}

	// Wait until no job is pending or running.
	void drain()
	{
		detail::checked(clockfix_drain(timer_), "clockfix_drain");
		rethrow();
	}

	::clockfix_stats stats() const
	{
		::clockfix_stats stats;

		stats.size = sizeof(stats);
		detail::checked(clockfix_stats_read(timer_, &stats), "clockfix_stats_read");
		return stats;
	}

	::clockfix_capabilities capabilities() const
	{
		::clockfix_capabilities found;

		found.size = sizeof(found);
		detail::checked(clockfix_capabilities_read(timer_, &found),
				"clockfix_capabilities_read");
		return found;
	}

private:
	static void trampoline(void *arg, const ::clockfix_run *raw)
	{
		auto state = static_cast<detail::state *>(arg);
		timer *owner = state->owner;	// outlives its thread, which this is

		if (run_once(*owner, *state, *raw))
			owner->finish(state);
	}

	// true: there will be no other run
	static bool run_once(timer &owner, detail::state &state, const ::clockfix_run &raw)
	{
		unsigned int before = state.status.fetch_or(detail::state::running);
		// instants at the end may have been skipped
		bool beyond = state.runs && raw.index >= state.runs;
		bool last = !state.periodic || beyond || raw.index + 1 == state.runs;
		run told(raw);

		if (!(before & detail::state::cancelled) && !beyond) {
			try {
				state.call(told);
				last |= told.stopped_;
			} catch (...) {
				owner.keep(std::current_exception());
				last = true;
			}
		}
		if (last && state.periodic)
			clockfix_cancel(raw.timer, raw.job);
		before = state.status.fetch_and(~static_cast<unsigned int>(detail::state::running));
		return last || before & detail::state::cancelled;
	}

	std::shared_ptr<detail::state> state_of(const job &job) const
	{
		auto state = job.state_.lock();

		if (state && state->owner != this)
			detail::checked(-EINVAL, "a job of another timer");
		return state;
	}

	// Give it up for destruction, once; takes no lock.
	void finish(detail::state *state)
	{
		if (state->status.fetch_or(detail::state::over) & detail::state::over)
			return;
		state->next = over_.load();
		while (!over_.compare_exchange_weak(state->next, state))
			;
	}

	// Destroy what is over, callables not under the mutex.
	void sweep()
	{
		std::vector<std::shared_ptr<detail::state>> gone;
		detail::state *state = over_.exchange(nullptr);

		if (!state)
			return;
		std::lock_guard<std::mutex> guard(mutex_);
		while (state) {
			auto found = states_.find(state);

			state = state->next;
			gone.push_back(std::move(found->second));
			states_.erase(found);
		}
	}

	void keep(std::exception_ptr error)
	{
		std::lock_guard<std::mutex> guard(mutex_);

		if (!error_)
			error_ = error;
	}

	void rethrow()
	{
		std::unique_lock<std::mutex> guard(mutex_);
		std::exception_ptr error = std::exchange(error_, nullptr);

		guard.unlock();
		if (error)
			std::rethrow_exception(error);
	}

	::clockfix *timer_ = nullptr;
	std::mutex mutex_;	// of the next two
	std::unordered_map<detail::state *, std::shared_ptr<detail::state>> states_;
	std::exception_ptr error_;
	std::atomic<detail::state *> over_{nullptr};
};

// Waits in the thread that calls it, as exactly as a timer.
class sleeper {
public:
	explicit sleeper(const options &options = {})
	{
		::clockfix_sleeper *made;

		detail::checked(clockfix_sleeper_create(&made, &options),
				"clockfix_sleeper_create");
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
			detail::checked(ret, "clockfix_sleep_until");
		return !ret;
	}

	void sleep_for(duration length)
	{
		time_point instant = now() + length;

		while (!sleep_until(instant))
			;
	}

private:
	struct deleter {
		void operator()(::clockfix_sleeper *sleeper) const
		{
			clockfix_sleeper_destroy(sleeper);
		}
	};

	std::unique_ptr<::clockfix_sleeper, deleter> sleeper_;
};

} // namespace clockfixpp

#endif // CLOCKFIX_HPP

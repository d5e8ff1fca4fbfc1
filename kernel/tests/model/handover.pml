/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How CPUs hand over masked timers: see docs/hand-over.md. check.py runs this
 * with small sets of CPUs, timers and operations, and explores all orders.
 *
 * A CPU is a process whose events (a change of its threshold, the timer
 * interrupt, irq_works, arming) follow one another, as they run with interrupts
 * disabled. One step is what no other CPU can see a part of: it ends where a
 * lock is taken or dropped, and between a store and a load that a barrier
 * divides. A store that no barrier follows stays in the CPU's store buffer: the
 * thresholds, offers, and what is known of a task (its level, its timer) reach
 * the others late and in any order. Dropping a lock makes visible, to who takes
 * it next, what was stored before.
 *
 * Timers expire at the time 1 or 2.
 */
#ifndef N
#define N 2			/* CPUs */
#endif
#ifndef T
#define T 1			/* timers */
#endif
#ifndef OPS
#define OPS 3			/* operations, in all */
#endif
#ifndef TOP
#define TOP 2			/* the highest threshold; timers' levels are 1 to TOP - 1 */
#endif
#ifndef SPREAD
#define SPREAD 0		/* one timer on each CPU, instead of all on CPU 0 */
#endif
/* ALLOWED: where the task of timer 1 may run, a mask */
/* THRESHOLDS: those at the beginning, a digit each, the last one is CPU 0's */
#ifndef ASKED
#define ASKED 0			/* CPUs that have been asked already, a mask */
#endif
#ifndef OFFERED
#define OFFERED 0		/* CPU 0 has offered timers already */
#endif
#ifndef CHANGES
#define CHANGES 65535		/* bit 4 * c + lev: that of CPU c to lev is tried */
#endif
#ifndef START
#define START 2			/* the time at the beginning: all has expired */
#endif
#ifndef SWITCH
#define SWITCH 1		/* thresholds change */
#endif
#ifndef ARM
#define ARM 0			/* timers are armed again, on any CPU, and cancelled */
#endif
#ifndef LEVEL
#define LEVEL 0			/* the level of a sleeping task changes */
#endif
#ifndef HOTPLUG
#define HOTPLUG 0		/* CPUs go offline */
#endif
#ifndef BARRED
#define BARRED 0		/* tasks may not run everywhere */
#endif

#define NONE	255
#define MIGRATION_BASE 254
#define NEVER	9
#define CRITICAL 9
#define ALL	((1 << N) - 1)

/* Defects that are to be noticed: the environment variable MUTATION names one */
#define NO_BARRIER_IN_OFFER 1		/* hrtimer_shield_offer() */
#define NO_BARRIER_IN_FELL 2		/* timershield_fell() */
#define NO_BARRIER_IN_REOFFER 3		/* hrtimer_shield_take_from() */
#define NO_BARRIER_IN_ADD 4		/* hrtimer_shield_add() */
#define NO_BARRIER_IN_LEVEL_CHANGED 5	/* timershield_level_changed() */
#define NO_ASK 6			/* an offer waits for a threshold to fall */
#define NO_LOOK_IN_FELL 7		/* an offer waits for its CPU to ask */
#define NO_FELL_IN_RELEASE 8		/* a task that blocks with masked timers */
#define NO_REOFFER 9			/* what is left is not offered again */
#define REOFFER_UNLOCKED 10		/* it is, but after the lock was dropped */
#define NO_ASK_FOR_LOW 11		/* nobody is asked for what ranks too low here */
#define NO_ASK_FOR_BARRED 12		/* nor for what may not run here */
#define NO_OFFER_IN_ARM 13		/* a timer that is masked when it is armed */
#define NO_OFFER_WHEN_RAISED 14		/* a masked timer whose level rises */
#define NO_MIGRATION_BASE 15		/* a timer in hand-over keeps its base */
#define TAKE_RUNNING 16			/* a timer whose callback runs is taken */
#define PINNED_ELSEWHERE 17		/* a task that may run on one CPU only, not this one */
#define NO_PASSING_ON 18		/* a CPU on its way down keeps a question to itself */
#define OFFER_HIDES_OTHERS 19		/* nobody is asked if as high a level is on offer */
c_decl {
\#include <stdlib.h>
}
byte mutation;

/* What the scheduler and the shield know of CPUs */
byte own_threshold[N];		/* as the CPU itself reads it */
byte threshold[N];		/* as others do */
bool offers[N];			/* timershield_offers */
byte offer_level[N];
bool takes[N];			/* irq_works, pending */
bool looks[N];
byte lock[N];			/* who holds it */
byte expires_next[N];
byte next_level[N];
bool masked_first[N];
byte running[N];		/* the timer whose callback runs */
bool resting[N];		/* not within an event */
bool is_active[N];
bool online[N];

/* Store buffers, besides own_threshold. An offer is for any CPU's timers. */
byte buffered_offer[N];		/* the CPU whose bit is set */
byte buffered_offer_level[N];
byte buffered_known[N];		/* timers, a mask */
byte buffered_prio[N];		/* the timer whose task's level changes ... */
byte buffered_prio_level;	/* ... to this */

/* What is visible to who takes the lock next: 1: threshold, 2: offer, 4: timers */
byte released[N];
byte releaser[N];

byte base[T];
bool queued[T];			/* in the queue of its base */
bool armed[T];			/* to be served once */
byte level[T];
byte prio[T];			/* the level of its task */
byte expires[T];
byte allowed[T];		/* CPUs */
bool known[T];			/* task->timershield_timer */

byte clock = START;
byte ops = OPS;
bool lost, overlooked, left_behind;

hidden byte i, j, best, low_threshold;

/* Store buffers */

inline drain_threshold(who) { threshold[who] = own_threshold[who] }

inline drain_offer(who)
{
	if
	:: buffered_offer[who] != NONE ->
		offers[buffered_offer[who]] = true;
		offer_level[buffered_offer[who]] = buffered_offer_level[who];
		buffered_offer[who] = NONE; buffered_offer_level[who] = 0
	:: else
	fi
}

inline drain_known(who)
{
	for (i : 0 .. T - 1) {
		known[i] = known[i] || (buffered_known[who] >> i & 1)
	}
	buffered_known[who] = 0
}

inline drain_prio(who)
{
	if
	:: buffered_prio[who] != NONE ->
		prio[buffered_prio[who]] = buffered_prio_level;
		buffered_prio[who] = NONE
	:: else
	fi
}

inline smp_mb(who)
{
	drain_threshold(who); drain_offer(who); drain_known(who); drain_prio(who)
}

inline smp_mb_unless(who, defect)
{
	if
	:: mutation != defect -> smp_mb(who)
	:: else
	fi
}

inline offer(who, whose, its_level)
{
	drain_offer(who);
	buffered_offer[who] = whose; buffered_offer_level[who] = its_level
}

/* hrtimer_shield_raise_offer(). @wish: 0 if nobody is to be asked */
inline raise_offer(who, whose, wish)
{
	if
	:: wish && !(offers[whose] && offer_level[whose] >= wish) -> offer(who, whose, wish)
	:: else -> wish = (mutation == OFFER_HIDES_OTHERS -> 0 : wish)
	fi
}

/* The barrier that follows if something was offered */
inline offer_mb(who)
{
	if
	:: buffered_offer[who] != NONE -> smp_mb_unless(who, NO_BARRIER_IN_OFFER)
	:: else
	fi
}

/* Locks */

inline acquire(who, what)
{
	d_step {
		lock[what] == NONE ->
		lock[what] = who;
		if :: released[what] & 1 -> drain_threshold(releaser[what]) :: else fi;
		if :: released[what] & 2 -> drain_offer(releaser[what]) :: else fi;
		if :: released[what] & 4 -> drain_known(releaser[what]) :: else fi;
		released[what] = 0; releaser[what] = 0
	}
}

inline release(who, what)
{
	released[what] = (own_threshold[who] != threshold[who]) +
		      (buffered_offer[who] != NONE -> 2 : 0) +
		      (buffered_known[who] -> 4 : 0);
	releaser[what] = (released[what] -> who : 0);
	lock[what] = NONE
}

/* lock_hrtimer_base() */
inline lock_base(who, timer, its_base)
{
	do
	:: atomic { base[timer] != MIGRATION_BASE -> its_base = base[timer] };
	   acquire(who, its_base);
	   if
	   :: atomic { base[timer] == its_base -> break }
	   :: d_step { base[timer] != its_base -> release(who, its_base) }
	   fi
	od;
	skip
}

/* Within a step, with the lock of the base */

#define masked_by(t, thr)	(level[t] < (thr))
#define is_on(t, c)		(queued[t] && base[t] == (c))
/* hrtimer_movable(): the task may run on another CPU than the timer's */
#define movable(t, c)	((allowed[t] & (ALL - (1 << (c)))) && \
			 !(mutation == PINNED_ELSEWHERE && !(allowed[t] & (allowed[t] - 1))))

/*
 * hrtimer_update_next_event(), hrtimer_shield_offer(). @wanted: the highest level
 * that CPUs are to be asked for then, 0: none.
 */
inline update_next_event(c, wanted)
{
	expires_next[c] = NEVER; next_level[c] = CRITICAL; masked_first[c] = false;
	for (i : 0 .. T - 1) {
		if
		:: is_on(i, c) && masked_by(i, own_threshold[c]) -> masked_first[c] = true
		:: is_on(i, c) && !masked_by(i, own_threshold[c]) && expires[i] < expires_next[c] ->
			expires_next[c] = expires[i]; next_level[c] = level[i]
		:: else
		fi
	}
	wanted = 0;
	for (i : 0 .. T - 1) {
		if
		:: is_on(i, c) && masked_by(i, own_threshold[c]) && movable(i, c) &&
		   expires[i] < expires_next[c] && level[i] > wanted -> wanted = level[i]
		:: else
		fi
	}
	raise_offer(c, c, wanted)
}

/* hrtimer_shield_ask() */
inline ask(cpus, but, its_level)
{
	best = NONE; low_threshold = its_level;
	for (j : 0 .. N - 1) {
		if
		:: j != but && ((cpus) >> j & 1) && is_active[j] && threshold[j] < low_threshold ->
			best = j; low_threshold = threshold[j]
		:: else
		fi
	}
	if
	:: best != NONE -> takes[best] = true
	:: else
	fi
	best = 0; low_threshold = 0
}

/* The second half of an offer of one's own timers, then the lock is dropped */
inline ask_and_unlock(c, wanted)
{
	if
	:: d_step { wanted ->
		offer_mb(c);
		for (i : 0 .. T - 1) {
			if
			:: is_on(i, c) && masked_by(i, own_threshold[c]) && movable(i, c) &&
			   expires[i] < expires_next[c] && mutation != NO_ASK ->
				ask(allowed[i], c, level[i])
			:: else
			fi
		}
		wanted = 0;
		release(c, c)
	   }
	:: d_step { !wanted -> release(c, c) }
	fi
}

/* Events */

/* timershield_fell() */
inline fell(c)
{
	d_step {
		smp_mb_unless(c, NO_BARRIER_IN_FELL);
		for (i : 0 .. N - 1) {
			if
			:: i != c && offers[i] && offer_level[i] > own_threshold[c] &&
			   mutation != NO_LOOK_IN_FELL -> takes[c] = true
			:: else
			fi
		}
		i = 0
	}
}

/*
 * timershield_switch(), or timershield_release() before it. What is read
 * without the lock is changed by others only where it does not matter here.
 */
inline change_threshold(c, lev, old, wanted)
{
	old = own_threshold[c];
	if
	:: atomic { (lev > old -> lev <= next_level[c] : !masked_first[c]) -> own_threshold[c] = lev };
	   if
	   :: lev < old -> fell(c)
	   :: else
	   fi
	:: else ->
		acquire(c, c);
		d_step {
			own_threshold[c] = lev;
			offers[c] = false;
			update_next_event(c, wanted)
		}
		ask_and_unlock(c, wanted);
		if
		:: lev < old && mutation != NO_FELL_IN_RELEASE -> fell(c)
		:: else
		fi
	fi
}

/* hrtimer_interrupt() */
inline interrupt(c, t, wanted)
{
	acquire(c, c);
	do
	:: d_step {
		expires_next[c] = NEVER;
		t = NONE;
		for (i : 0 .. T - 1) {
			if
			:: is_on(i, c) && !masked_by(i, own_threshold[c]) &&
			   expires[i] <= clock && t == NONE -> t = i
			:: is_on(i, c) && !masked_by(i, own_threshold[c]) &&
			   expires[i] <= clock && t != NONE && level[i] > level[t] -> t = i
			:: else
			fi
		}
	   };
	   if
	   :: t == NONE -> break
	   :: else
	   fi;
	   d_step {
		assert(armed[t] && expires[t] <= clock);	/* not twice, not early */
		assert(level[t] >= own_threshold[c]);		/* not masked */
		for (i : 0 .. N - 1) {
			assert(running[i] != t)
		}
		armed[t] = false; queued[t] = false; known[t] = false;
		running[c] = t;
		release(c, c)
	   };
	   acquire(c, c);
	   running[c] = NONE
	od;
	t = 0;
	d_step { update_next_event(c, wanted) };
	ask_and_unlock(c, wanted)
}

/* hrtimer_shield_look_work() */
inline look(c, wanted)
{
	acquire(c, c);
	d_step { update_next_event(c, wanted) };
	ask_and_unlock(c, wanted)
}

/* hrtimer_shield_remove(), and what is left is offered anew */
inline remove(c, from, taken, barred, low)
{
	taken = 0; barred = 0; low = 0;
	for (i : 0 .. T - 1) {
		if
		:: is_on(i, from) && expires[i] < expires_next[from] &&
		   masked_by(i, threshold[from]) && movable(i, from) &&
		   (running[from] != i || mutation == TAKE_RUNNING) ->
			if
			:: !(allowed[i] >> c & 1) ->
				barred = barred | (1 << i)
			:: (allowed[i] >> c & 1) && level[i] > own_threshold[c] ->
				taken = taken | (1 << i);
				queued[i] = false; known[i] = false;
				if
				:: mutation != NO_MIGRATION_BASE -> base[i] = MIGRATION_BASE
				:: else
				fi
			:: else -> low = low | (1 << i)
			fi
		:: else
		fi
	}
}

inline offer_rest(c, from, barred, low)
{
	best = 0;
	for (i : 0 .. T - 1) {
		best = (((barred | low) >> i & 1) && level[i] > best -> level[i] : best)
	}
	if
	:: best && mutation != NO_REOFFER -> offer(c, from, best)
	:: else
	fi;
	best = 0
}

/* hrtimer_shield_take_from() */
inline take_from(c, from, taken, barred, low, wanted)
{
	acquire(c, from);
	d_step {
		offers[from] = false;
		remove(c, from, taken, barred, low);
		if
		:: mutation != REOFFER_UNLOCKED -> offer_rest(c, from, barred, low)
		:: else
		fi;
		release(c, from)
	};
	if
	:: mutation == REOFFER_UNLOCKED -> d_step { offer_rest(c, from, barred, low) }
	:: else
	fi;
	if
	:: taken ->
		acquire(c, c);
		/* hrtimer_shield_add() */
		d_step {
			for (i : 0 .. T - 1) {
				if
				:: taken >> i & 1 ->
					base[i] = c; queued[i] = true;
					level[i] = prio[i];
					buffered_known[c] = buffered_known[c] | (1 << i)
				:: else
				fi
			}
		};
		d_step {
			smp_mb_unless(c, NO_BARRIER_IN_ADD);
			for (i : 0 .. T - 1) {
				if
				:: taken >> i & 1 -> level[i] = prio[i]
				:: else
				fi
			}
			taken = 0;
			update_next_event(c, wanted)
		};
		ask_and_unlock(c, wanted)
	:: else
	fi;
	d_step {
		smp_mb_unless(c, NO_BARRIER_IN_REOFFER);
		for (i : 0 .. T - 1) {
			if
			:: (barred >> i & 1) && mutation != NO_ASK_FOR_BARRED ->
				ask(allowed[i], from, level[i])
			:: (low >> i & 1) && mutation != NO_ASK_FOR_LOW ->
				ask(allowed[i], from, level[i])
			:: else
			fi
		}
		barred = 0; low = 0
	}
}

/* hrtimer_shield_take() */
inline take(c, from, taken, barred, low, wanted)
{
	from = 0;
	do
	:: from == N -> from = 0; break
	:: from < N && from != c && offers[from] && is_active[c] ->
		take_from(c, from, taken, barred, low, wanted); from++
	:: from < N && from != c && offers[from] && !is_active[c] ->
		/* On its way down: another one is to look at them. */
		if
		:: mutation != NO_PASSING_ON -> d_step { ask(ALL, from, offer_level[from]) }
		:: else
		fi;
		from++
	:: else -> from++
	od
}

/* hrtimer_start_range_ns(), which prefers the CPU @to */
inline arm(c, t, to, when, b, wanted)
{
	lock_base(c, t, b);
	d_step {
		queued[t] = false; known[t] = false;
		armed[t] = true; expires[t] = when;
		if
		:: running[b] == t -> to = b
		:: running[b] != t && to != b ->
			base[t] = MIGRATION_BASE;
			release(c, b)
		:: else
		fi
	};
	if
	:: to != b -> acquire(c, to)
	:: else
	fi;
	if
	:: to != c && running[to] != t && (level[t] < threshold[to] || expires[t] < expires_next[to]) ->
		/* hrtimer_suitable_target() says no */
		d_step { base[t] = MIGRATION_BASE; release(c, to); to = c };
		acquire(c, c)
	:: else
	fi;
	d_step {
		base[t] = to; queued[t] = true; known[t] = true; level[t] = prio[t];
		wanted = 0;
		if
		:: to == c && masked_by(t, own_threshold[c]) ->
			masked_first[c] = true;
			if
			:: mutation != NO_OFFER_IN_ARM -> update_next_event(c, wanted)
			:: else
			fi
		:: to == c && !masked_by(t, own_threshold[c]) && expires[t] < expires_next[c] ->
			expires_next[c] = expires[t]; next_level[c] = level[t]
		:: else
		fi;
		if
		:: to != c -> release(c, to)
		:: else
		fi
	};
	if
	:: to == c -> ask_and_unlock(c, wanted)
	:: else
	fi
}

/* hrtimer_try_to_cancel() */
inline cancel(c, t, b)
{
	lock_base(c, t, b);
	d_step {
		if
		:: running[b] != t && queued[t] ->
			queued[t] = false; known[t] = false; armed[t] = false
		:: else
		fi;
		release(c, b)
	}
}

/* timershield_level_changed(), timershield_update(), hrtimer_shield_set_level() */
inline change_level(c, t, lev, old, b, wanted)
{
	atomic { buffered_prio[c] = t; buffered_prio_level = lev };
	d_step {
		smp_mb_unless(c, NO_BARRIER_IN_LEVEL_CHANGED);
		old = known[t]
	};
	if
	:: old ->
		d_step { smp_mb(c) };
		lock_base(c, t, b);
		d_step {
			wanted = 0;
			old = level[t];
			if
			:: queued[t] -> level[t] = prio[t]
			:: else
			fi;
			if
			:: queued[t] && b == c -> update_next_event(c, wanted)
			:: queued[t] && b != c && !masked_by(t, threshold[b]) ->
				looks[b] = looks[b] || expires[t] < expires_next[b]
			:: queued[t] && b != c && masked_by(t, threshold[b]) ->
				masked_first[b] = true;
				if
				:: level[t] > old && mutation != NO_OFFER_WHEN_RAISED ->
					wanted = level[t];
					raise_offer(c, b, wanted)
				:: else
				fi
			:: else
			fi;
			if
			:: b != c -> release(c, b)
			:: else
			fi
		};
		if
		:: b == c -> ask_and_unlock(c, wanted)
		:: b != c && wanted ->
			d_step { offer_mb(c); ask(allowed[t], b, wanted); wanted = 0 }
		:: else
		fi
	:: else
	fi;
	old = 0
}

/* hrtimers_cpu_dying(): all other CPUs have stopped, no irq_work is pending */
inline go_offline(who, heir)
{
	d_step {
		for (i : 0 .. T - 1) {
			if
			:: is_on(i, who) -> base[i] = heir; level[i] = prio[i]
			:: else
			fi
		}
		looks[heir] = true;
		online[who] = false; offers[who] = false; takes[who] = false; looks[who] = false;
		expires_next[who] = NEVER; masked_first[who] = false
	}
}

#define no_event(c)	(resting[c] && !takes[c] && !looks[c] && \
			 !(online[c] && expires_next[c] <= clock))
#define is_drained(c)	(own_threshold[c] == threshold[c] && buffered_offer[c] == NONE && \
			 !buffered_known[c] && buffered_prio[c] == NONE)
#if N == 2
#define on_all_cpus(what) (what(0) && what(1))
#elif N == 3
#define on_all_cpus(what) (what(0) && what(1) && what(2))
#else
#define on_all_cpus(what) (what(0) && what(1) && what(2) && what(3))
#endif
#define rests(c)	resting[c]
#define has_no_buffer(c) (buffered_offer[c] == NONE && !buffered_known[c] && \
			  buffered_prio[c] == NONE)

#define operation	ops && online[c] -> ops--; resting[c] = false

proctype cpu(byte c)
{
	byte lev, old, t, b, to, taken, barred, low;
	byte wanted;
end:
	do
	:: atomic { SWITCH && operation; select(lev : 0 .. TOP);
		    if
		    :: CHANGES >> (4 * c + lev) & 1
		    :: else -> lev = own_threshold[c]
		    fi };
	   change_threshold(c, lev, old, wanted);
	   d_step { lev = 0; old = 0; resting[c] = true }
	:: atomic { online[c] && expires_next[c] <= clock -> resting[c] = false };
	   interrupt(c, t, wanted);
	   d_step { t = 0; resting[c] = true }
	:: d_step { takes[c] && online[c] -> takes[c] = false; resting[c] = false; smp_mb(c) };
	   take(c, b, taken, barred, low, wanted);
	   resting[c] = true
	:: d_step { looks[c] && online[c] -> looks[c] = false; resting[c] = false; smp_mb(c) };
	   look(c, wanted);
	   resting[c] = true
#if ARM
	:: atomic { operation; select(t : 0 .. T - 1); select(to : 0 .. N - 1); select(lev : 1 .. 2) };
	   if
	   :: online[to] -> arm(c, t, to, lev, b, wanted)
	   :: else
	   fi;
	   d_step { t = 0; to = 0; b = 0; lev = 0; resting[c] = true }
	:: atomic { operation; select(t : 0 .. T - 1) };
	   cancel(c, t, b);
	   d_step { t = 0; b = 0; resting[c] = true }
#endif
#if LEVEL
	:: atomic { buffered_prio[0] == NONE && buffered_prio[1] == NONE && operation;
		    select(t : 0 .. T - 1); lev = TOP - prio[t] };
	   change_level(c, t, lev, old, b, wanted);
	   d_step { t = 0; b = 0; lev = 0; resting[c] = true }
#endif
#if HOTPLUG
	:: atomic { c != 0 && is_active[c] && ops -> ops--; is_active[c] = false }
	:: atomic { !is_active[c] && online[c] && !takes[c] && !looks[c] &&
		    on_all_cpus(rests) && on_all_cpus(is_drained) -> go_offline(c, 0) }
#endif
	od
}

/* Store buffers drain at any time. */
proctype memory(byte c)
{
end:
	do
	:: own_threshold[c] != threshold[c] -> drain_threshold(c)
	:: d_step { !has_no_buffer(c) -> drain_offer(c); drain_known(c); drain_prio(c) }
	od
}

#if START < 2
active proctype time()
{
	do
	:: clock < 2 -> clock++
	:: clock == 2 -> break
	od
}
#endif

/* What holds whenever nothing is under way */

#define quiet		(on_all_cpus(no_event) && on_all_cpus(is_drained))
#define expired(t)	(armed[t] && expires[t] <= clock)
#define is_lost(t)	(expired(t) && (base[t] >= N || !queued[t] || \
			 !masked_by(t, (base[t] < N -> threshold[base[t]] : 0))))
#define lower(t, c)	(base[t] != c && is_active[c] && (allowed[t] >> c & 1) && \
			 threshold[c] < level[t])
#define is_overlooked(t) (expired(t) && queued[t] && (lower(t, 0) || lower(t, 1) || \
			  (N > 2 && lower(t, (N > 2 -> 2 : 0))) || \
			  (N > 3 && lower(t, (N > 3 -> 3 : 0)))))
#define is_left_behind(t) (queued[t] && level[t] != prio[t])

active proctype monitor()
{
end:
	if
	:: atomic { quiet && (is_lost(0) || is_lost(T - 1)) -> lost = true; assert(!lost) }
	:: atomic { quiet && (is_overlooked(0) || is_overlooked(T - 1)) ->
		    overlooked = true; assert(!overlooked) }
	:: atomic { quiet && (is_left_behind(0) || is_left_behind(T - 1)) ->
		    left_behind = true; assert(!left_behind) }
	fi
}

/* All timers are on CPU 0, which has not looked at them yet. */
init
{
	byte c, x;
#ifdef THRESHOLDS
	int thresholds = THRESHOLDS;
#endif
	atomic {
		c_code { now.mutation = getenv("MUTATION") ? atoi(getenv("MUTATION")) : 0; }
		for (c : 0 .. N - 1) {
#ifdef THRESHOLDS
			x = thresholds % 10;
			thresholds = thresholds / 10;
#else
			select(x : 0 .. TOP);
#endif
			own_threshold[c] = x; threshold[c] = x;
			takes[c] = ASKED >> c & 1;
			lock[c] = NONE; running[c] = NONE; expires_next[c] = NEVER;
			next_level[c] = CRITICAL; resting[c] = true; is_active[c] = true;
			online[c] = true; buffered_offer[c] = NONE; buffered_prio[c] = NONE
		}
		looks[0] = true;
		looks[1] = SPREAD;
		offers[0] = OFFERED;
		offer_level[0] = (OFFERED -> TOP - 1 : 0);
		for (c : 0 .. T - 1) {
#if SPREAD || T == 1
			select(x : 1 .. TOP - 1);
#else
			x = c + 1;
#endif
			level[c] = x; prio[c] = x;
			base[c] = (SPREAD -> c : 0);
			queued[c] = true; armed[c] = true; known[c] = true;
#if START < 2
			select(x : 1 .. 2);
			expires[c] = x;
#else
			expires[c] = 1;
#endif
			allowed[c] = ALL;
#ifdef ALLOWED
			allowed[c] = (c -> ALLOWED : ALL);
#endif
#if BARRED
			select(x : 1 .. ALL);
			allowed[c] = x;
#endif
		}
		for (c : 0 .. N - 1) {
			run cpu(c);
			run memory(c)
		}
		c = 0; x = 0
	}
}

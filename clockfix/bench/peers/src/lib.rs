// SPDX-License-Identifier: LGPL-2.1-or-later
//! Waits of other projects, for what is left until an instant, in ns.

use std::time::Duration;

extern "C" {
    #[link_name = "SDL_DelayPrecise_REAL"] // behind SDL's own table of functions
    fn SDL_DelayPrecise(ns: u64);
}

fn nanoseconds(left: i64) -> u64 {
    left.max(0) as u64
}

/// spin_sleep as it comes.
#[no_mangle]
pub extern "C" fn peer_spin_sleep(left: i64) {
    spin_sleep::sleep(Duration::from_nanos(nanoseconds(left)));
}

/// SDL, by CLOCK_MONOTONIC_RAW.
#[no_mangle]
pub extern "C" fn peer_sdl(left: i64) {
    unsafe { SDL_DelayPrecise(nanoseconds(left)) }
}

/// What SDL's clock asks of the rest of SDL when it is first read: no hint is set.
mod rest_of_sdl {
    use std::ffi::{c_char, c_int, c_void};

    type Callback = extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char);

    #[no_mangle]
    extern "C" fn SDL_AddHintCallback_REAL(_: *const c_char, _: Callback, _: *mut c_void) -> bool {
        true
    }

    #[no_mangle]
    extern "C" fn SDL_atoi_REAL(_: *const c_char) -> c_int {
        0
    }

    #[no_mangle]
    extern "C" fn SDL_CalculateGCD(a: c_int, b: c_int) -> c_int {
        if b == 0 { a } else { SDL_CalculateGCD(b, a % b) }
    }
}

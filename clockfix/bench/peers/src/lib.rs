// SPDX-License-Identifier: LGPL-2.1-or-later
//! What another project has: a wait for what is left until an instant, in ns.

/// spin_sleep as it comes.
#[no_mangle]
pub extern "C" fn peer_spin_sleep(left: i64) {
    spin_sleep::sleep(std::time::Duration::from_nanos(left.max(0) as u64));
}

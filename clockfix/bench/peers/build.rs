// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compiles SDL's timer, and nothing else of SDL; the linker drops what SDL_DelayPrecise() does
//! not call.

use std::process::Command;

fn run(program: &str, args: &[String]) {
    let status = Command::new(program).args(args).status();
    assert!(status.map_or(false, |s| s.success()), "{program} {args:?} failed");
}

fn main() {
    let sdl = sdl3_src::SOURCE_DIR;
    let out = std::env::var("OUT_DIR").unwrap();
    let mut objects = vec!["crs".to_string(), format!("{out}/libsdl_delay.a")];

    for source in ["timer/SDL_timer", "timer/unix/SDL_systimer"] {
        let object = format!("{out}/{}.o", source.replace('/', "-"));
        let flags = "-O2 -fPIC -ffunction-sections -fdata-sections -D_GNU_SOURCE \
                     -DHAVE_NANOSLEEP=1 -DHAVE_CLOCK_GETTIME=1 -DSDL_TIMER_UNIX=1 -c -o";
        let mut args: Vec<String> = flags.split_whitespace().map(String::from).collect();
        args.extend([object.clone(), format!("{sdl}/src/{source}.c")]);
        args.extend(["include/build_config", "include", "src"].map(|d| format!("-I{sdl}/{d}")));
        run("cc", &args);
        objects.push(object);
    }
    run("ar", &objects);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=sdl_delay");
}

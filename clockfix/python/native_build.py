# SPDX-License-Identifier: LGPL-2.1-or-later
"""The extension module clockfix._native: libclockfix itself, and what Python calls of it."""

import os
import shlex
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
FLAGS = shlex.split(os.environ.get("CLOCKFIX_CFLAGS", ""))
"""For instance a sanitizer's."""

OPTIONS = """
    uint32_t flags; int32_t cpu; int32_t policy; int32_t priority; int32_t cpu_latency_us;
    int32_t source; uint32_t late_ppm; uint32_t cpu_ppm; uint32_t max_jobs; uint32_t job_reserve;
    char name[16];
"""

ffi = FFI()
ffi.cdef(f"""
    struct clockfix;
    struct clockfix_sleeper;
    typedef uint64_t clockfix_job;
    struct clockfix_options {{ {OPTIONS} ...; }};
    struct clockfix_histogram {{ uint64_t count; int64_t sum; int64_t max; ...; }};
    struct clockfix_stats {{
        size_t size; uint64_t jobs; uint64_t cancelled; uint64_t pending; uint64_t sleeps;
        uint64_t missed; uint64_t late; uint64_t counter_faults; int64_t prediction;
        int64_t polled; int64_t longest_job; int64_t late_ppm; int64_t cpu_ppm; int64_t limit;
        struct clockfix_histogram lateness; struct clockfix_histogram oversleep;
        struct clockfix_histogram polling; ...;
    }};
    struct clockfix_capabilities {{
        size_t size; int32_t counter; uint64_t counter_hz; int32_t affinity;
        int32_t scheduling; int32_t memory; int32_t cpu_latency; int32_t timer_slack; ...;
    }};
    #define CLOCKFIX_LOCK_MEMORY ...
    #define CLOCKFIX_STRICT ...
    #define CLOCKFIX_DROP_PENDING ...
    #define CLOCKFIX_NOT_ASKED ...

    void clockfix_options_init(struct clockfix_options *);
    int clockfix_create(struct clockfix **, const struct clockfix_options *);
    int clockfix_destroy(struct clockfix *, unsigned int);
    int64_t clockfix_now(int);
    int clockfix_reschedule(struct clockfix *, clockfix_job *, int64_t);
    int clockfix_adjust(struct clockfix *, clockfix_job, int64_t shift, int64_t period);
    int clockfix_cancel(struct clockfix *, clockfix_job);
    int clockfix_cancel_wait(struct clockfix *, clockfix_job);
    int clockfix_sleeper_create(struct clockfix_sleeper **, const struct clockfix_options *);
    void clockfix_sleeper_destroy(struct clockfix_sleeper *);
    int clockfix_sleep_until(struct clockfix_sleeper *, int, int64_t);
    int clockfix_sleeper_fd(struct clockfix_sleeper *);
    int clockfix_sleeper_arm(struct clockfix_sleeper *, int, int64_t);
    int clockfix_sleeper_finish(struct clockfix_sleeper *);
    int64_t clockfix_histogram_quantile(const struct clockfix_histogram *, double);
    int clockfix_stats_read(struct clockfix *, struct clockfix_stats *);
    int clockfix_sleeper_stats_read(struct clockfix_sleeper *, struct clockfix_stats *);
    int clockfix_capabilities_read(struct clockfix *, struct clockfix_capabilities *);

    int native_begin(struct clockfix *, int64_t lead);
    int native_schedule(struct clockfix *, int64_t start, int64_t period, int missed,
                        int64_t lead, uintptr_t key, clockfix_job *);

    extern "Python" void native_attach(void);
    extern "Python" void native_run(uintptr_t key, clockfix_job job, int64_t instant,
                                    int64_t started, uint64_t index, uint64_t missed);
""")
ffi.set_source(
    "clockfix._native",
    '#include "glue.h"',
    sources=[
        str(path.relative_to(HERE))
        for place in ("native/src", "native/src/linux")
        for path in sorted((HERE / place).glob("*.c"))
    ],
    depends=[
        str(path.relative_to(HERE))
        for path in (HERE / "native/glue.h", *(HERE / "native/include").glob("*.h"))
    ],
    include_dirs=["native", "native/include", "native/src", "native/src/linux"],
    define_macros=[("_GNU_SOURCE", None)],
    extra_compile_args=["-std=gnu11", "-fvisibility=hidden", *FLAGS],
    extra_link_args=["-pthread", *FLAGS],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)

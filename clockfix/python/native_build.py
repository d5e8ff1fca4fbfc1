# SPDX-License-Identifier: LGPL-2.1-or-later
"""The extension module clockfix._native: libclockfix itself, and what Python calls of it."""

import os
import re
import shlex
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
FLAGS = shlex.split(os.environ.get("CLOCKFIX_CFLAGS", ""))
"""For instance a sanitizer's."""


def declarations() -> str:
    """What clockfix.h declares, without what cffi does not read; the C compiler has the numbers."""
    text = (HERE / "native/include/clockfix.h").read_text()
    text = text.partition('extern "C" {\n#endif\n')[2].rpartition("#ifdef")[0]
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#define (\w+).*", r"#define \1 ...", text)
    return text.replace("[CLOCKFIX_HISTOGRAM_BUCKETS]", "[...]")


ffi = FFI()
ffi.cdef(f"""
    typedef int... clockid_t;
    {declarations()}
""")
ffi.set_source(
    "clockfix._native",
    "#include <clockfix.h>",
    sources=[
        str(path.relative_to(HERE))
        for place in ("native/src", "native/src/linux")
        for path in sorted((HERE / place).glob("*.c"))
    ],
    depends=[
        str(path.relative_to(HERE))
        for path in (HERE / "native/include").glob("*.h")
    ],
    include_dirs=["native/include", "native/src", "native/src/linux"],
    define_macros=[("_GNU_SOURCE", None)],
    extra_compile_args=["-std=gnu11", "-fvisibility=hidden", *FLAGS],
    extra_link_args=["-pthread", *FLAGS],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The extension module, and the license, which setuptools before 77 takes as SPDX here only."""

from setuptools import setup

setup(
    license="LGPL-2.1-or-later",
    cffi_modules=["native_build.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

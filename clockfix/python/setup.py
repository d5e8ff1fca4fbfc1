# SPDX-License-Identifier: LGPL-2.1-or-later
"""The extension module; all else is in pyproject.toml."""

from setuptools import setup

setup(
    cffi_modules=["native_build.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

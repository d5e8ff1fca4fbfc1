# SPDX-License-Identifier: LGPL-2.1-or-later
SUMMARY = "Runs jobs at exactly their instant"
DESCRIPTION = "libclockfix learns how late the system wakes a thread, wakes it earlier by that \
               much, and polls the clock for the rest."
SECTION = "libs"
LICENSE = "LGPL-2.1-or-later"
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/LGPL-2.1-or-later;md5=2a4f4fd2128ea2f65047ee63fbca9f68"

FILESEXTRAPATHS:prepend := "${THISDIR}/../../../../../:"
SRC_URI = "file://clockfix"

S = "${UNPACKDIR}/clockfix"

inherit meson pkgconfig

PACKAGES =+ "${PN}-bench"
FILES:${PN}-bench = "${bindir}/clockfix-bench ${datadir}/clockfix"
RDEPENDS:${PN}-bench = "python3-core"

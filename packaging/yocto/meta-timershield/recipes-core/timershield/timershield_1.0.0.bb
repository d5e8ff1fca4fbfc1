# SPDX-License-Identifier: GPL-2.0-or-later
SUMMARY = "Exact timing for the task that matters"
DESCRIPTION = "Shows what a machine has and lacks for exact timing, keeps other tasks and \
               interrupts off CPUs, and switches the kernel's shield against lower-ranking timers."
SECTION = "base"
LICENSE = "GPL-2.0-or-later"
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/GPL-2.0-or-later;md5=fed54355545ffd980b814dab4a3b312c"

FILESEXTRAPATHS:prepend := "${THISDIR}/../../../../../:"
SRC_URI = "file://tools"

S = "${UNPACKDIR}/tools"

inherit meson bash-completion systemd

EXTRA_OEMESON = "-Dbpf=disabled -Dsystemdunitdir=${systemd_system_unitdir}"

SYSTEMD_SERVICE:${PN} = "timershield.service"

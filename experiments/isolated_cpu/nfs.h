/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ISOLATED_CPU_NFS_H
#define ISOLATED_CPU_NFS_H

/* Exports sources and mounts them at /nfs, if they are not there yet. 0 or -errno. */
int nfs_mount(void);

/* Compiles them there, several at a time, for as long as it lives. */
void nfs_compile(void);

#endif

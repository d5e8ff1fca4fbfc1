/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_SYSTEM_H
#define LAB_SYSTEM_H

/* system_mount() - mount what programs expect; exits if /proc or /dev fail */
void system_mount(void);

/*
 * system_prepare() - bring up the loopback interface, lift limits, and switch
 * off real-time throttling, whose own timer would disturb what is measured
 */
void system_prepare(void);

/* system_open_port() - the result port, in raw mode if it is a terminal; or -1 */
int system_open_port(void);

/* system_write() - write the line @value to the file @path; 0 or -errno */
int system_write(const char *path, const char *value);

/* system_restart() - end the machine's run; does not return */
void system_restart(void) __attribute__((noreturn));

#endif

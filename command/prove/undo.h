/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What prove changes, and how it was before, in /run/timershield/prove: written before
 * anything is changed, so that the next start can put back what one that was killed left.
 */
#ifndef TIMERSHIELD_UNDO_H
#define TIMERSHIELD_UNDO_H

#include <stdbool.h>

#define UNDO_FILE "/run/timershield/prove"

struct undo {
	int before, now;	/* the switch as it was and as we set it; -1: none */
	int last;		/* as it is until we have set it so */
	bool load;		/* the module is ours to unload */
	char *group;		/* the loads' cgroup, or NULL */
};

/*
 * Puts back what a killed one left, if anything, with a note. The caller holds the
 * journal's lock. 0, or -errno after a message.
 */
int undo_leftovers(void);

/* Saves *UNDO, and makes the group. 0, or -errno after a message. */
int undo_begin(const struct undo *undo);

/* Sets the shield's mode, unless somebody else has meanwhile (-EBUSY). 0, or -errno after a message. */
int undo_switch(struct undo *undo, int mode);

/* Puts everything back. 0, or -errno after a message; what is left is then still recorded. */
int undo_all(const struct undo *undo);

/* The file's text, and back: 0 or -EBADMSG. The caller frees the text, and the group. */
char *undo_text(const struct undo *undo, const char *boot);
int undo_parse(struct undo *undo, const char *text, const char *boot);

#endif

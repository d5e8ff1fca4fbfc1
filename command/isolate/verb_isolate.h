/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TIMERSHIELD_VERB_ISOLATE_H
#define TIMERSHIELD_VERB_ISOLATE_H

#include "config.h"

/* Does what CONFIG, which it completes, says, and no more, or lists it; prints that. The exit status. */
int isolate_by_config(struct config *config);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SIM_TREE_SOUND_H
#define SIM_TREE_SOUND_H

#include "tree.h"

/* Is all as it should be? @count: slots it should hold. */
bool tree_sound(const struct tree *tree, uint32_t count);

#endif

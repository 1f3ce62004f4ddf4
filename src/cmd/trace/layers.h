/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layers.h: images with different code at the same addresses, for QEMU's plugin
 * (trace/functions.h). */
#ifndef US_CMD_LAYERS_H
#define US_CMD_LAYERS_H

#include "cmd/record/images.h"

/* Choose the images' layers, which go into their biases and places.  Sets i->layers. */
void us_layers_choose(struct us_images *i);
/* Were they chosen in the same way for the plugin, which got this number with its
 * functions?  -EINVAL: no. */
US_MUST_CHECK int us_layers_check(const struct us_images *i, uint64_t layers,
				  struct us_err *e);

#endif

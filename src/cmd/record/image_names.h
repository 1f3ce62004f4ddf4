/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_names.h: the functions of the images that were sampled, for a report to which
 * an image is no longer there, or was built again. */
#ifndef US_CMD_RECORD_IMAGE_NAMES_H
#define US_CMD_RECORD_IMAGE_NAMES_H

#include "cmd/record/images.h"

/* Write them, once all samples were written.  The writer asks nobody for names
 * afterwards. */
US_MUST_CHECK int us_images_write_names(const struct us_images *i, struct us_writer *w,
					struct us_err *e);

#endif

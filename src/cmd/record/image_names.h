/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_names.h: the functions of the images that were sampled, counted or traced, for
 * a report to which an image is no longer there, or was built again. */
#ifndef US_CMD_RECORD_IMAGE_NAMES_H
#define US_CMD_RECORD_IMAGE_NAMES_H

#include "cmd/record/images.h"

/* Write them, once all samples were written.  The writer asks nobody for names
 * afterwards. */
US_MUST_CHECK int us_images_write_names(const struct us_images *i, struct us_writer *w,
					struct us_err *e);

/* The same step by step: where the images are, what was seen, then write. */
struct us_image_names;
/* i must outlive *ret. */
US_MUST_CHECK int us_image_names_new(const struct us_images *i,
				     struct us_image_names **ret, struct us_err *e);
void us_image_names_free(struct us_image_names *n); /* accepts NULL */
/* Image (an index) is in the guest with this bias; number: of its module in the
 * recording.  At most US_MAX_PLACES. */
void us_image_names_place(struct us_image_names *n, size_t image, uint64_t bias,
			  uint32_t number);
/* An address in some function of the guest. */
void us_image_names_see(struct us_image_names *n, us_gva pc);
/* Write the functions that were seen, those of an image by the number of its first
 * place. */
US_MUST_CHECK int us_image_names_write(const struct us_image_names *n,
				       struct us_writer *w, struct us_err *e);

#endif

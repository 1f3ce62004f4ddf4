/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: see functions.h. */
#include "cmd/trace/functions.h"

#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

static bool name(void *ctx, us_gva pc, struct us_named *ret)
{
	const char *frame = us_profile_plugin_frame(pc);
	(void)ctx;
	if (!frame)
		return false;
	*ret = (struct us_named){ pc, 1, frame, US_MODULE_PLUGIN };
	return true;
}

void us_functions_name(struct us_writer *w)
{
	us_writer_name_by(w, &(struct us_namer){ name, NULL });
}

void us_functions_judge(const struct us_backend *b, struct us_images *i)
{
	int same = b->ops->runs_images ? b->ops->runs_images(b) : 0;
	if (same)
		us_images_judge(i, same > 0 ? US_MATCH_YES : US_MATCH_NO);
}

void us_functions_tell_slide(const struct us_backend *b, char *ret, size_t size)
{
	uint64_t slide = b->ops->slide ? b->ops->slide(b) : 0;
	ret[0] = '\0';
	if (slide)
		snprintf(
			ret, size,
			"the image's code ran %#" PRIx64
			" above where it was linked, without names: start QEMU with -s "
			"and record its PID, which finds the image; or, if it is there "
			"each time, next time -e ELF@%#" PRIx64 " -e ELF",
			slide, slide);
}

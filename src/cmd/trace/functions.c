/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: see functions.h. */
#include "cmd/trace/functions.h"

#include "profile/profile.h"
#include "vmm/plugin_counts.h"

static bool name(void *ctx, us_gva pc, struct us_named *ret)
{
	static const char *const names[US_N_COUNTS_SPECIAL] = {
		[US_COUNTS_UNNAMED] = US_FRAME_UNNAMED,
		[US_COUNTS_INTERRUPTS] = US_FRAME_INTERRUPTS,
		[US_COUNTS_FULL] = US_FRAME_FULL,
	};
	(void)ctx;
	if (pc >= US_N_COUNTS_SPECIAL || !names[pc])
		return false;
	*ret = (struct us_named){ pc, 1, names[pc], "[plugin]" };
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_names.c: see plugin_names.h. */
#include "cmd/trace/plugin_names.h"

#include "cmd/record/image_names.h"

static void see_counted(const struct us_counts *c, struct us_image_names *names)
{
	unsigned n_vcpu = us_counts_sums_of(c).n_vcpu;
	for (unsigned i = 0; i < n_vcpu; i++) {
		uint32_t n;
		const struct us_counts_node *v = us_counts_nodes(c, i, &n);
		for (uint32_t k = 0; k < n; k++)
			if (v[k].address >= US_N_COUNTS_SPECIAL)
				us_image_names_see(names, v[k].address);
	}
}

static void see_traced(const struct us_events_file *f, struct us_image_names *names)
{
	size_t n;
	const uint64_t *address = us_events_functions(f, &n);
	for (size_t k = 0; k < n; k++)
		us_image_names_see(names, address[k]);
}

int us_plugin_names_write(const struct us_plugin_run *r, const struct us_counts *c,
			  const struct us_events_file *traced, struct us_writer *w,
			  struct us_err *e)
{
	struct us_image_names *names;
	if (us_counts_match(c) == US_MATCH_NO)
		return 0;
	int rc = us_image_names_new(&r->images, &names, e);
	if (!names)
		return rc;
	for (size_t i = 0; i < r->images.n; i++)
		if (!r->images.v[i].unproven)
			us_image_names_place(names, i, r->images.v[i].bias,
					     us_plugin_run_module(i));
	see_counted(c, names);
	if (traced)
		see_traced(traced, names);
	rc = us_image_names_write(names, w, e);
	us_image_names_free(names);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block.c: see block.h. */
#include "trace/plugin/block.h"

uint64_t us_block_address(const struct us_block *b, uint64_t gva)
{
	return b->of.other ? US_NO_LAYER : us_layer_address(gva, b->of.layer);
}

/* NULL: not known before the target is translated, as programs may have different code
 * at that address. */
static struct us_track_function *target_of(const struct us_block *b, uint64_t gva)
{
	struct us_points *ps = &us_plugin.points;
	uint64_t at = us_block_address(b, gva);
	if (us_functions_find(&ps->functions, at))
		return us_points_called(ps, at);
	return us_points_any_at(ps, gva) ? NULL : us_points_called(ps, gva);
}

struct us_point *us_block_point(const struct us_block *b, uint64_t target)
{
	struct us_points *ps = &us_plugin.points;
	struct us_point like = { .pc = b->pc, .rest = (uint32_t)(b->n - b->i) };
	like.site.in = us_points_function_at(ps, us_block_address(b, b->pc));
	like.site.alternate = b->flow.alternate;
	like.site.by_stack = b->flow.by_stack;
	like.bytes = b->flow.link_bytes;
	if (target)
		like.site.target = target_of(b, target);
	/* Programs have no end of code without names: where it is makes no difference.
	 */
	if (like.site.in == &us_track_unnamed &&
	    (!like.site.target || like.site.target == &us_track_unnamed))
		like.pc = 0;
	return us_points_intern(ps, &like);
}

bool us_begins_at(uint64_t address)
{
	const struct us_function_range *r = us_functions_find(
		&us_plugin.points.functions, address);
	return r && us_plugin_begins(us_plugin.arch, r, address);
}

bool us_block_begins(const struct us_block *b, uint64_t gva)
{
	return us_begins_at(us_block_address(b, gva));
}

bool us_may_begin(uint64_t gva)
{
	for (unsigned k = 0; k == 0 || k < us_plugin.points.functions.n_layer; k++)
		if (us_begins_at(us_layer_address(gva, k)))
			return true;
	return false;
}

/* The functions that the current instruction and gva are in; NULL: in none. */
static const struct us_function_range *
find_both(const struct us_block *b, uint64_t gva,
	  const struct us_function_range **ret_to)
{
	const struct us_functions *f = &us_plugin.points.functions;
	*ret_to = us_functions_find(f, us_block_address(b, gva));
	return us_functions_find(f, us_block_address(b, b->pc));
}

bool us_is_in_other(const struct us_block *b, uint64_t gva)
{
	const struct us_function_range *to, *from = find_both(b, gva, &to);
	return from && to && from->entry != to->entry &&
	       us_block_address(b, gva) != to->entry;
}

/* "call 1f; 1: pop": the code reads its own address, or pushes an address for a return
 * to jump to. */
bool us_is_no_call(const struct us_block *b, uint64_t target)
{
	const struct us_function_range *to, *from = find_both(b, target, &to);
	return from && to && from->entry == to->entry &&
	       us_block_address(b, target) != to->entry;
}

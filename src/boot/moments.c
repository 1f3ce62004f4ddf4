/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moments.c: when a boot passes the points of its plan; see booting.h. */
#include "boot/booting.h"

#include "base/clock.h"

void us_booting_hold(struct us_booting *b, uint64_t from_ns, uint64_t to_ns)
{
	if (b->n_hold == US_BOOTING_HOLDS)
		return;
	b->hold[b->n_hold].at_ns = from_ns;
	b->hold[b->n_hold++].ns = to_ns - from_ns;
}

uint64_t us_booting_stood_until(const struct us_booting *b, uint64_t t_ns)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < b->n_hold; i++) {
		uint64_t at = b->hold[i].at_ns;
		if (at < t_ns)
			sum += t_ns - at < b->hold[i].ns ? t_ns - at : b->hold[i].ns;
	}
	return sum;
}

/* So that exits are counted for the right phase. */
static void tell_phase(struct us_booting *b, enum us_boot_kind kind)
{
	volatile struct us_boot_seen *s = NULL;
	if (b->how->events)
		s = us_boot_events_seen(b->how->events);
	if (s && (kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL))
		s->phase = US_EXITS_KERNEL;
	else if (s && kind == US_BOOT_SECTOR && s->phase < US_EXITS_LOADER)
		s->phase = US_EXITS_LOADER;
}

/* No loader begins behind the kernel's entry: a kernel or a program uses its address.
 */
static bool is_late_sector(const struct us_booting *b, size_t point, uint64_t wall)
{
	if (b->plan->point[point].kind != US_BOOT_SECTOR)
		return false;
	for (size_t i = point + 1; i < b->plan->n; i++) {
		enum us_boot_kind kind = b->plan->point[i].kind;
		if ((kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL) &&
		    b->run->at[i].seen && b->run->at[i].clock_ns < wall)
			return true;
	}
	return false;
}

void us_booting_pass(struct us_booting *b, size_t point, const struct us_boot_moment *m)
{
	uint64_t wall = m->wall_ns;
	uint64_t end = b->run->end_clock_ns;
	/* SIZE_MAX: not in this plan.  A vCPU that is being ended is idle, too. */
	if (point >= b->plan->n || wall < b->start_ns || (end && wall > end))
		return;
	struct us_boot_moment *to = &b->run->at[point];
	if (to->seen || is_late_sector(b, point, wall))
		return;
	*to = *m;
	to->seen = true;
	to->wall_ns = wall - b->start_ns - us_booting_stood_until(b, wall);
	to->clock_ns = wall;
	if (b->file && m->way == US_BOOT_BY_OUTPUT && point > 0)
		us_booting_watch_mark(b, point, wall);
	if (b->how->passed)
		b->how->passed(b->how->passed_ctx, point);
	tell_phase(b, b->plan->point[point].kind);
}

uint64_t us_booting_cpu_now(const struct us_booting *b)
{
	struct timespec t;
	if (clock_gettime(b->cpu, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

void us_booting_pass_point(struct us_booting *b, size_t point, uint64_t wall_ns,
			   enum us_boot_way way)
{
	if (point < b->plan->n && !b->run->at[point].seen)
		us_booting_pass(
			b, point,
			&(struct us_boot_moment){ .wall_ns = wall_ns,
						  .cpu_ns = us_booting_cpu_now(b),
						  .way = way });
}

void us_booting_pass_now(struct us_booting *b, enum us_boot_kind kind, uint64_t wall_ns,
			 enum us_boot_way way)
{
	us_booting_pass_point(b, us_boot_point_of(b->plan, kind), wall_ns, way);
}

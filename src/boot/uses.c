/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uses.c: see uses.h. */
#include "boot/uses.h"

#include "boot/plan.h"

#include <string.h>

_Static_assert(US_BOOT_MAX_POINT == US_MAX_BOOT_POINT, "each point has a place");

void us_boot_uses_read(const struct us_boot_file *f, struct us_boot_uses *ret)
{
	uint32_t n = __atomic_load_n(&f->n_use, __ATOMIC_ACQUIRE);
	ret->n = n < US_MAX_USE ? n : US_MAX_USE;
	memcpy(ret->use, f->use, ret->n * sizeof(*ret->use));
	for (size_t i = 0; i < ret->n; i++)
		ret->use[i].device[sizeof(ret->use[i].device) - 1] = '\0';
}

static void add(struct us_boot_used *to, const struct us_boot_use *use, uint64_t n)
{
	size_t i = US_BOOT_USES_MOST;
	to->n += n;
	for (; i > 0 && to->most[i - 1].n < n; i--)
		if (i < US_BOOT_USES_MOST)
			to->most[i] = to->most[i - 1];
	if (i == US_BOOT_USES_MOST)
		return;
	to->most[i].use = use;
	to->most[i].n = n;
}

/* All pages of a device count as one. */
static bool is_same(const struct us_boot_use *a, const struct us_boot_use *b)
{
	return a == b || (a->device[0] && !strcmp(a->device, b->device));
}

/* Its lowest page that was accessed, with the accesses to all its pages; NULL: they
 * were counted with an earlier page. */
static const struct us_boot_use *join(const struct us_boot_uses *u, size_t i,
				      size_t point, uint64_t *ret_n)
{
	const struct us_boot_use *lowest = &u->use[i];
	*ret_n = 0;
	for (size_t k = 0; k < u->n; k++) {
		const struct us_boot_use *x = &u->use[k];
		if (!x->n[point] || !is_same(x, &u->use[i]))
			continue;
		if (k < i)
			return NULL;
		*ret_n += x->n[point];
		if (x->address < lowest->address)
			lowest = x;
	}
	return lowest;
}

void us_boot_uses_since(const struct us_boot_uses *u, size_t point,
			struct us_boot_used ret[static US_N_USED])
{
	memset(ret, 0, US_N_USED * sizeof(*ret));
	for (size_t i = 0; i < u->n && point < US_MAX_BOOT_POINT; i++) {
		uint64_t n;
		const struct us_boot_use *x = u->use[i].n[point] ? join(u, i, point, &n)
								 : NULL;
		if (x)
			add(&ret[x->device[0] ? US_USED_MEMORY : US_USED_PORTS], x, n);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_names.c: the functions that a recording names of an image whose file is gone,
 * or was built again. */
#include "profile/profile_priv.h"

#include "base/vec.h"
#include "symbol/made_elf.h"

#include <errno.h>
#include <stdlib.h>

struct symbols {
	struct us_made_symbol *v;
	size_t n, cap;
};

/* Of recordings with one layout, only the first keeps its modules. */
static bool has_modules_of(const struct us_profile *p,
			   const struct us_profile_module *r, size_t recording)
{
	return r->recording != US_PROFILE_ANY_RECORDING &&
	       p->recording[r->recording].layout == p->recording[recording].layout;
}

static bool is_of(const struct us_profile *p, const struct us_module *m,
		  const struct us_profile_program_name *name)
{
	for (size_t i = 0; i < p->modules.n; i++) {
		const struct us_profile_module *r = &p->modules.v[i];
		if (has_modules_of(p, r, name->recording) &&
		    r->m.number == name->n.file)
			return us_module_same_image(&r->m, m);
	}
	return false;
}

/* The names of one module follow each other. */
static int take(const struct us_profile *p, const struct us_module *m,
		struct symbols *ret)
{
	const struct us_profile_program_name *last = NULL;
	bool of = false;
	for (size_t k = 0; k < p->image_names.n; k++) {
		const struct us_profile_program_name *n = &p->image_names.v[k];
		if (!last || last->recording != n->recording ||
		    last->n.file != n->n.file)
			of = is_of(p, m, n);
		last = n;
		if (!of || !n->n.size || n->n.address > UINT64_MAX - n->n.size)
			continue;
		struct us_made_symbol *slot = us_vec_push(ret);
		if (!slot)
			return -ENOMEM;
		*slot = (struct us_made_symbol){ .address = n->n.address,
						 .size = n->n.size,
						 .name = n->n.name };
	}
	return 0;
}

int us_profile_image_of_names(const struct us_profile *p, const struct us_module *m,
			      struct us_elf_image **ret)
{
	struct symbols all = { 0 };
	struct us_err e;
	*ret = NULL;
	int rc = take(p, m, &all);
	uint64_t start = UINT64_MAX, end = 0;
	all.n = all.v ? us_made_symbols_sort(all.v, all.n) : 0;
	for (size_t k = 0; k < all.n; k++) {
		uint64_t last = all.v[k].address + all.v[k].size;
		start = all.v[k].address < start ? all.v[k].address : start;
		end = last > end ? last : end;
	}
	if (rc == 0 && all.n)
		rc = us_made_elf_open(m->path, all.v, all.n, start, end, ret, &e);
	free(all.v);
	return rc == -ENOMEM ? rc : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/first.c: see cmd/boot/first.h. */
#include "cmd/boot/first.h"

#include "boot/first.h"

#include <stdio.h>
#include <string.h>

static bool on_called(void *ctx, uint64_t to, bool jump)
{
	const struct us_boot_call c = { .to = to, .jump = jump };
	return us_boot_first_offer(ctx, &c);
}

/* The points of a boot that searches for the function: only the entry and then the
 * function, so that the boot ends there. */
static int plan_search(struct us_boot_variant *v, struct us_boot_plan *p,
		       struct us_err *e)
{
	const struct us_boot_known none = { .name = "first call" };
	const struct us_boot_names names = { .symbols = v->run.images.symbols,
					     .kernel = us_boot_variant_kernel(v, NULL),
					     .first = &none };
	int r = us_boot_plan_make(p, NULL, 0, &names, v->way, e);
	size_t n = 0;
	for (size_t i = 0; r == 0 && i < p->n; i++) {
		enum us_boot_kind kind = p->point[i].kind;
		p->point[i].wanted = kind == US_BOOT_ENTRY;
		if (kind == US_BOOT_LAUNCH || kind == US_BOOT_ENTRY ||
		    kind == US_BOOT_SYMBOL)
			p->point[n++] = p->point[i];
	}
	p->n = n;
	return r;
}

static int search(struct us_boot_variant *v, struct us_boot_first *f, struct us_err *e)
{
	struct us_boot_plan plan;
	int r = plan_search(v, &plan, e);
	if (r < 0)
		return r;
	r = us_boot_variant_boot_to_search(v, &plan, on_called, f, e);
	us_boot_plan_fini(&plan);
	return r;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool has_entry(const struct us_boot_first *f)
{
	uint64_t entry[US_BOOT_MAX_ENTRY];
	return us_boot_entries(us_elf_image_file(f->kernel), entry);
}

/* Where the guest has an image that may be anywhere is not known, so that what it calls
 * has no name: its code tells.  *seen: the guest called it. */
static int find(struct us_boot_variant *v, struct us_boot_first *f, bool *seen,
		struct us_err *e)
{
	bool plugin = v->way & US_BOOT_BY_PLUGIN;
	bool moves = us_boot_is_anywhere(us_elf_image_file(f->kernel));
	int r = plugin && has_entry(f) ? search(v, f, e) : 0;
	*seen = plugin && has_entry(f) && (f->n_address || !moves);
	if (r == 0 && !*seen)
		us_boot_first_follow(f);
	return r;
}

static void tell(struct us_boot_variant *v, const struct us_boot_first *f, bool seen,
		 const char *name)
{
	if (f->n_address)
		snprintf(v->first, sizeof(v->first),
			 "%.100s: the first function that %.100s calls after its "
			 "entry, %s",
			 f->name, name,
			 seen ? "seen in an earlier boot" : "as its code says");
	else if (!has_entry(f))
		snprintf(
			v->first, sizeof(v->first),
			"%.100s has no function with a usual name, and no entry point: "
			"--until names a function",
			name);
	else
		snprintf(v->first, sizeof(v->first),
			 "%.100s has no function with a usual name, and %s after its "
			 "entry: --until names one",
			 name, seen ? "calls none" : "its code calls none");
}

int us_boot_first_find(struct us_boot_variant *v, struct us_boot_known *ret,
		       struct us_err *e)
{
	static struct us_boot_first f; /* static: it holds the name */
	struct us_symbols *symbols = v->run.images.symbols;
	uint64_t bias;
	const struct us_elf_image *kernel = us_boot_variant_kernel(v, &bias);
	bool seen = false;
	int r = 0;
	*ret = (struct us_boot_known){ 0 };
	if (!kernel || us_boot_has_usual(symbols))
		return 0;
	us_boot_first_init(&f, symbols, kernel, bias);
	const char *name = base_name(us_elf_image_path(f.kernel));
	if (!us_boot_first_can(&f)) {
		snprintf(v->first, sizeof(v->first),
			 "%.100s has no symbols: only its entry point is known (-e ELF "
			 "names another image, --symbols DIR)",
			 name);
		return 0;
	}
	r = find(v, &f, &seen, e);
	ret->name = f.name;
	memcpy(ret->address, f.address, sizeof(f.address));
	ret->n_address = f.n_address;
	tell(v, &f, seen, name);
	return r;
}

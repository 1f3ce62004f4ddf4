/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c: see plan.h. */
#include "boot/plan.h"

#include "base/nearest.h"
#include "boot/entry_path.h"
#include "boot/linux_file.h"
#include "guest/layer.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define IDLE	    "first-idle"
#define PAGE	    4096
#define BOOT_SECTOR 0x7c00 /* a PC's firmware loads it there, and jumps to it */

/* Usual names of the first function in C or another language; the first one that exists
 * counts. */
static const char *const usual[] = { "KernelMain",   "kernel_main", "kmain",
				     "start_kernel", "main",	    "rust_main",
				     "start_rust",   "PascalMain" };
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

/* Drop the last point. */
static void drop(struct us_boot_plan *p)
{
	p->n--;
	if (p->point[p->n].kind == US_BOOT_TEXT)
		regfree(&p->point[p->n].text);
}

/* In a full plan this reuses the last point; us_boot_plan_make() then fails at the end.
 */
static struct us_boot_point *add(struct us_boot_plan *p, enum us_boot_kind kind,
				 const char *name)
{
	if (p->n == US_BOOT_MAX_POINT) {
		p->full = true;
		drop(p);
	}
	struct us_boot_point *x = &p->point[p->n++];
	*x = (struct us_boot_point){ .kind = kind };
	snprintf(x->name, sizeof(x->name), "%s", name);
	return x;
}

/* ---- Functions by their names ---- */

struct search {
	const char *name;
	bool any_case;
	struct us_boot_point *point; /* gets the addresses */
	struct us_nearest near;
	char best[US_BOOT_NAME];	  /* the nearest, copied */
	const struct us_elf_image *image; /* of the first one */
	uint64_t bias;
};

/* "_kernel_main", "kernel::kernel_main", "KERNELMAIN" */
static bool is_usual(const char *usual_name, const char *name)
{
	const char *colon = strrchr(name, ':');
	if (colon)
		name = colon + 1;
	while (*name == '_')
		name++;
	return !strcasecmp(usual_name, name);
}

static bool is_it(void *ctx, const char *name, bool any_case)
{
	const struct search *s = ctx;
	if (s->any_case)
		return is_usual(s->name, name);
	return any_case ? !strcasecmp(s->name, name) : !strcmp(s->name, name);
}

static void try_name(void *ctx, const char *name)
{
	struct search *s = ctx;
	us_nearest_keep(&s->near, name, s->best, sizeof(s->best));
}

static bool code_of(const struct us_elf_image *i, uint64_t linked,
		    uint8_t ret[static US_WATCH_CODE])
{
	size_t n = 0;
	const uint8_t *code = us_boot_code_at(us_elf_image_file(i), linked, &n);
	if (!code || n < US_WATCH_CODE)
		return false;
	memcpy(ret, code, US_WATCH_CODE);
	return true;
}

static void add_address(struct us_boot_point *x, uint64_t address,
			const struct us_elf_image *i, uint64_t bias)
{
	size_t k = x->n_address;
	if (k == US_BOOT_MAX_ENTRY)
		return;
	x->address[k] = us_layer_gva(address);
	x->has_expected[k] = code_of(i, address - bias, x->expected[k]);
	x->n_address++;
}

static void look_at(void *ctx, const struct us_function *f)
{
	struct search *s = ctx;
	char text[US_DEMANGLED_MAX];
	const char *name = us_demangle(f->raw, US_NAME_SHORT, text, sizeof(text));
	struct us_boot_point *x = s->point;
	if (us_name_is(f->raw, is_it, s)) {
		add_address(x, f->start, f->image, f->bias);
		if (!s->image) {
			s->image = f->image;
			s->bias = f->bias;
		}
		return;
	}
	try_name(s, name ? name : f->raw);
}

/* ---- What may be anywhere ---- */

struct alike {
	const struct us_elf_image *image;
	const struct us_boot_point *point;
	bool found; /* another function is the same, as far as compared */
};

static void look_for_alike(void *ctx, const struct us_function *f)
{
	struct alike *a = ctx;
	uint8_t code[US_WATCH_CODE];
	uint64_t far = f->start - a->point->address[0];
	if (f->image == a->image && far && !(far & (PAGE - 1)) &&
	    code_of(f->image, f->start - f->bias, code) &&
	    !memcmp(code, a->point->code, sizeof(code)))
		a->found = true;
}

/* For a kernel that is loaded at any address: recognize the function by its offset in a
 * page and its code, if no other function of the image has both. */
static void let_be_anywhere(struct us_boot_point *x, const struct us_elf_image *i,
			    uint64_t bias, const struct us_symbols *s)
{
	struct alike alike = { .image = i, .point = x };
	if (x->n_address != 1 || !us_boot_is_anywhere(us_elf_image_file(i)) ||
	    !code_of(i, x->address[0] - bias, x->code))
		return;
	us_symbols_each_function(s, look_for_alike, &alike);
	x->anywhere = !alike.found;
}

/* A Linux kernel that moves passes the point at another address: its code identifies
 * it.  Functions of modules do not move with the kernel. */
static void let_move(struct us_boot_point *x, const struct us_boot_linux *l)
{
	if (l && x->n_address == 1 && us_boot_linux_moves(l) &&
	    us_boot_linux_code(l, x->address[0], x->code, sizeof(x->code)))
		x->period = US_BOOT_LINUX_STEP;
}

/* Linux names its functions itself, in the compressed kernel in its image. */
static bool find_in_linux(struct us_boot_point *x, const struct us_boot_names *n)
{
	const struct us_boot_linux *l = n->linux_kernel;
	uint64_t address = l ? us_boot_linux_function(l, x->name) : 0;
	if (!x->n_address && address)
		x->address[x->n_address++] = address;
	let_move(x, l);
	return x->n_address;
}

static int add_symbol(struct us_boot_plan *p, const char *name,
		      const struct us_boot_names *n, struct us_err *e)
{
	struct us_boot_point *x = add(p, US_BOOT_SYMBOL, name);
	struct search search = { .name = name,
				 .point = x,
				 .near = us_nearest_to(name) };
	char question[128];
	us_symbols_each_function(n->symbols, look_at, &search);
	x->wanted = true;
	if (search.image)
		let_be_anywhere(x, search.image, search.bias, n->symbols);
	if (find_in_linux(x, n))
		return 0;
	if (n->linux_kernel)
		us_boot_linux_each(n->linux_kernel, try_name, &search);
	if (n->no_image && *n->no_image)
		us_fail(e, -EINVAL, "--until %s: %s", name, n->no_image);
	else
		us_fail(e, -EINVAL, "--until %s: the images have no such function%s",
			name,
			us_nearest_question(&search.near, question, sizeof(question)));
	us_hint(e, "-e ELF names an image; serial:REGEX and first-idle need none");
	return -EINVAL;
}

/* Finds the point's addresses by its usual name.  Returns the first image that has such
 * a function, or NULL. */
static const struct us_elf_image *find_usual(struct us_boot_point *x,
					     const struct us_symbols *s)
{
	struct search search = { .name = x->name,
				 .any_case = true,
				 .point = x,
				 .near = us_nearest_to(x->name) };
	us_symbols_each_function(s, look_at, &search);
	if (search.image)
		let_be_anywhere(x, search.image, search.bias, s);
	return search.image;
}

static const struct us_elf_image *image_with_usual(const struct us_symbols *s)
{
	const struct us_elf_image *image = NULL;
	for (size_t i = 0; !image && i < N_USUAL; i++) {
		struct us_boot_point x = { .kind = US_BOOT_SYMBOL };
		snprintf(x.name, sizeof(x.name), "%s", usual[i]);
		image = find_usual(&x, s);
	}
	return image;
}

bool us_boot_has_usual(const struct us_symbols *s)
{
	return image_with_usual(s);
}

static bool is_function(const char *until)
{
	return strcmp(until, IDLE) != 0 &&
	       strncmp(until, US_BOOT_TEXT_IS, strlen(US_BOOT_TEXT_IS)) != 0;
}

const struct us_elf_image *us_boot_image_with(const struct us_symbols *s,
					      const char *const *until, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct us_boot_point x = { .kind = US_BOOT_SYMBOL };
		struct search search = { .name = until[i],
					 .point = &x,
					 .near = us_nearest_to(until[i]) };
		if (is_function(until[i]))
			us_symbols_each_function(s, look_at, &search);
		if (search.image)
			return search.image;
	}
	return image_with_usual(s);
}

/* Finding none is not an error: then only the kernel's entry remains. */
static void add_usual(struct us_boot_plan *p, const struct us_boot_names *n)
{
	const struct us_boot_known *first = n->first;
	struct us_boot_point *x;
	for (size_t i = 0; i < N_USUAL; i++) {
		x = add(p, US_BOOT_SYMBOL, usual[i]);
		x->wanted = true;
		find_usual(x, n->symbols);
		if (find_in_linux(x, n))
			return;
		p->n--;
	}
	if (!first)
		return;
	x = add(p, US_BOOT_SYMBOL, first->name);
	x->wanted = true;
	memcpy(x->address, first->address, sizeof(x->address));
	x->n_address = first->n_address;
	if (n->kernel)
		let_be_anywhere(x, n->kernel, 0, n->symbols);
}

/* ---- The others ---- */

static int add_text(struct us_boot_plan *p, const char *until, struct us_err *e)
{
	struct us_boot_point *x = add(p, US_BOOT_TEXT, until);
	char why[128];
	int r = regcomp(&x->text, until + strlen(US_BOOT_TEXT_IS),
			REG_EXTENDED | REG_NOSUB);
	x->wanted = true;
	if (!r)
		return 0;
	regerror(r, &x->text, why, sizeof(why));
	p->n--; /* there is nothing to free */
	return us_fail(e, -EINVAL, "--until %s: %s", until, why);
}

static void add_entry(struct us_boot_plan *p, const struct us_boot_names *n)
{
	struct us_boot_point *x;
	uint64_t entry[US_BOOT_MAX_ENTRY];
	size_t n_entry = 0;
	if (n->is_pc) {
		x = add(p, US_BOOT_SECTOR, "boot sector");
		x->address[x->n_address++] = BOOT_SECTOR;
	}
	x = add(p, US_BOOT_ENTRY, "kernel entry");
	if (n->linux_kernel) {
		x->address[x->n_address++] = us_boot_linux_entry(n->linux_kernel);
		x->n_paged = us_boot_linux_efi(n->linux_kernel, x->paged);
	} else if (n->kernel) {
		n_entry = us_boot_entries(us_elf_image_file(n->kernel), entry);
	}
	for (size_t k = 0; k < n_entry; k++)
		add_address(x, entry[k], n->kernel, 0);
	if (!x->n_address)
		p->n--;
	else if (n->kernel && !n->linux_kernel)
		let_be_anywhere(x, n->kernel, 0, n->symbols);
}

bool us_boot_is_seen(const struct us_boot_point *p, unsigned ways)
{
	enum {
		PLUGIN = US_BOOT_BY_PLUGIN,
		BREAKPOINTS = US_BOOT_BY_BREAKPOINTS,
		EVENTS = US_BOOT_BY_EVENTS,
		SAMPLES = US_BOOT_BY_SAMPLES,
		TRACE = US_BOOT_BY_TRACE,
		LOG = US_BOOT_BY_LOG
	};
	static const unsigned by[] = {
		[US_BOOT_VM] = EVENTS,
		[US_BOOT_VCPU] = PLUGIN | BREAKPOINTS | EVENTS,
		[US_BOOT_START] = PLUGIN | BREAKPOINTS | LOG | EVENTS,
		[US_BOOT_SECTOR] = PLUGIN | BREAKPOINTS | LOG,
		[US_BOOT_ENTRY] = PLUGIN | BREAKPOINTS | LOG | SAMPLES,
		[US_BOOT_SYMBOL] = PLUGIN | BREAKPOINTS | LOG | SAMPLES,
		[US_BOOT_PORT] = EVENTS,
		[US_BOOT_DEVICE] = EVENTS | TRACE,
		[US_BOOT_IDLE] = PLUGIN | EVENTS,
	};
	if (p->period) /* only the guest knows where it runs */
		return ways & PLUGIN;
	switch (p->kind) {
	case US_BOOT_LAUNCH:
	case US_BOOT_SERIAL:
	case US_BOOT_TEXT:
		return true;
	default:
		return by[p->kind] & ways;
	}
}

bool us_boot_is_output(enum us_boot_kind kind)
{
	return kind == US_BOOT_SERIAL || kind == US_BOOT_TEXT;
}

const char *us_boot_way_name(enum us_boot_way way)
{
	switch (way) {
	case US_BOOT_BY_BREAKPOINTS:
		return "breakpoint";
	case US_BOOT_BY_PLUGIN:
		return "plugin";
	case US_BOOT_BY_EVENTS:
		return "KVM";
	case US_BOOT_BY_SAMPLES:
		return "samples";
	case US_BOOT_BY_TRACE:
		return "QEMU's trace";
	case US_BOOT_BY_LOG:
		return "QEMU's log";
	default:
		return "output";
	}
}

/* Do not wait for a point that cannot be observed and was not requested. */
static int check_wanted(struct us_boot_plan *p, bool asked, unsigned ways,
			struct us_err *e)
{
	for (size_t i = 0; i < p->n; i++) {
		struct us_boot_point *x = &p->point[i];
		if (!x->wanted || us_boot_is_seen(x, ways))
			continue;
		if (asked)
			return us_fail(e, -ENOTSUP, "--until %s cannot be seen here",
				       x->name);
		x->wanted = false;
	}
	return 0;
}

/* If no point is wanted, choose the first one that can end a run. */
static void want_something(struct us_boot_plan *p, unsigned ways)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->point[i].wanted)
			return;
	for (size_t i = 0; i < p->n; i++) {
		enum us_boot_kind kind = p->point[i].kind;
		if ((kind == US_BOOT_ENTRY || kind == US_BOOT_SERIAL) &&
		    us_boot_is_seen(&p->point[i], ways)) {
			p->point[i].wanted = true;
			return;
		}
	}
}

/* In display order: functions before their effects. */
static int add_wanted(struct us_boot_plan *p, const char *const *until, size_t n,
		      const struct us_boot_names *names, unsigned ways,
		      struct us_err *e)
{
	bool idle = false;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		idle |= !strcmp(until[i], IDLE);
		if (is_function(until[i]))
			r = add_symbol(p, until[i], names, e);
	}
	if (r == 0 && !n)
		add_usual(p, names);
	if (r == 0 && ways & US_BOOT_BY_EVENTS)
		add(p, US_BOOT_PORT, "serial port written");
	if (r == 0)
		add(p, US_BOOT_SERIAL, "first serial byte");
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!strncmp(until[i], US_BOOT_TEXT_IS, strlen(US_BOOT_TEXT_IS)))
			r = add_text(p, until[i], e);
	if (r == 0)
		add(p, US_BOOT_DEVICE, "first device use");
	if (r == 0)
		add(p, US_BOOT_IDLE, "first idle")->wanted = idle;
	return r;
}

int us_boot_plan_make(struct us_boot_plan *p, const char *const *until, size_t n,
		      const struct us_boot_names *names, unsigned ways,
		      struct us_err *e)
{
	p->n = 0;
	p->full = false;
	p->asked = n > 0;
	add(p, US_BOOT_LAUNCH, "VMM launched");
	if (ways & US_BOOT_BY_EVENTS)
		add(p, US_BOOT_VM, "VM made");
	add(p, US_BOOT_VCPU, "vCPU made");
	add(p, US_BOOT_START, "first instruction");
	add_entry(p, names);
	int r = add_wanted(p, until, n, names, ways, e);
	if (r == 0 && p->full)
		r = us_fail(e, -E2BIG, "--until: at most %d points in all",
			    US_BOOT_MAX_POINT);
	if (r == 0)
		r = check_wanted(p, n > 0, ways, e);
	if (r < 0)
		us_boot_plan_fini(p);
	else
		want_something(p, ways);
	return r;
}

size_t us_boot_point_of(const struct us_boot_plan *p, enum us_boot_kind kind)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->point[i].kind == kind)
			return i;
	return SIZE_MAX;
}

size_t us_boot_goal(const struct us_boot_plan *p)
{
	size_t goal = 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->point[i].wanted)
			goal = i;
	return goal;
}

void us_boot_plan_fini(struct us_boot_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->point[i].kind == US_BOOT_TEXT)
			regfree(&p->point[i].text);
	p->n = 0;
}

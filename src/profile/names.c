/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/names.c: from addresses to functions, each looked up once. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/paths.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_INLINED 32
/* Linux, Documentation/arch/x86/x86_64/mm.rst: after the kernel's text. */
#define LINUX_MODULES 0xffffffffc0000000ULL

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* An unknown place is not a difference: link-time optimization loses files.  Nor is the
 * spelling of a path: units of different directories have one header's relative to
 * theirs, or whole. */
static bool same_place(const struct us_profile_func *a, const struct us_profile_func *b)
{
	return !a->decl_file || !b->decl_file ||
	       us_path_is_same(a->dir, a->decl_file, b->dir, b->decl_file);
}

/* A function that is inlined in one place and called in another is one function.  The
 * line that it begins at distinguishes namesakes; without lines, its number in its
 * image or in the guest's tables does, as its address differs between processes and
 * boots. Instances of one generic with the same name are one function. */
static bool same_func(const struct us_profile_func *a, const struct us_profile_func *b)
{
	return a->known == b->known && !strcmp(a->base, b->base) &&
	       same_text(a->module, b->module) && a->line == b->line &&
	       same_place(a, b) &&
	       (a->line || (a->namesake == b->namesake && same_text(a->raw, b->raw)));
}

static uint64_t hash_text(const char *text)
{
	return us_hash_bytes(text, strlen(text));
}

static uint64_t hash_func(const struct us_profile_func *f)
{
	uint64_t which = f->line ? f->line : f->namesake * 0x9e3779b97f4a7c15;
	return hash_text(f->base) + (f->module ? 3 * hash_text(f->module) : 0) +
	       us_hash_mix(which);
}

static bool grow_slots(struct us_profile *p)
{
	size_t n = p->func_slots ? p->func_slots * 2 : 256;
	uint32_t *slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	for (size_t f = 0; f < p->funcs.n; f++) {
		size_t i = hash_func(&p->funcs.v[f]) & (n - 1);
		while (slot[i])
			i = (i + 1) & (n - 1);
		slot[i] = (uint32_t)f + 1;
	}
	free(p->func_slot);
	p->func_slot = slot;
	p->func_slots = n;
	return true;
}

/* The index of a function that may be new. */
static uint32_t intern(struct us_profile *p, const struct us_profile_func *f)
{
	if (p->funcs.n * 2 >= p->func_slots && !grow_slots(p))
		return US_PROFILE_NONE;
	size_t i = hash_func(f) & (p->func_slots - 1);
	for (; p->func_slot[i]; i = (i + 1) & (p->func_slots - 1)) {
		struct us_profile_func *have = &p->funcs.v[p->func_slot[i] - 1];
		if (!same_func(have, f))
			continue;
		if (!have->start)
			have->start = f->start;
		have->inlined &= f->inlined;
		return p->func_slot[i] - 1;
	}
	struct us_profile_func *slot = us_vec_push(&p->funcs);
	if (!slot)
		return US_PROFILE_NONE;
	*slot = *f;
	p->func_slot[i] = (uint32_t)p->funcs.n;
	return (uint32_t)p->funcs.n - 1;
}

/* The name of a function that was just added is made up: the profile keeps a copy. */
static bool keep_name(struct us_profile *p, uint32_t index, const char *text)
{
	char *name = strdup(text), **slot = us_vec_push(&p->names);
	if (!name || !slot) {
		free(name);
		p->funcs.n = index;
		return false;
	}
	struct us_profile_func *f = &p->funcs.v[index];
	f->name = f->base = f->raw = *slot = name;
	return true;
}

uint32_t us_profile_special(struct us_profile *p, const char *name)
{
	struct us_profile_func f = { .name = name, .base = name, .raw = name };
	size_t before = p->funcs.n;
	uint32_t index = intern(p, &f);
	return index == US_PROFILE_NONE || p->funcs.n == before ||
			       keep_name(p, index, name)
		       ? index
		       : US_PROFILE_NONE;
}

static bool push_frame(struct us_profile *p, uint32_t func, uint32_t line,
		       const char *file)
{
	struct us_profile_frame *slot = us_vec_push(&p->frames);
	if (!slot || func == US_PROFILE_NONE)
		return false;
	*slot = (struct us_profile_frame){ func, line, file };
	return true;
}

static struct us_profile_func func_of(const struct us_frame *f)
{
	return (struct us_profile_func){
		.name = f->func,
		.base = f->func,
		.raw = f->raw,
		.file = f->decl_file && (f->decl_line || !f->file) ? f->decl_file
								   : f->file,
		/* The name of a source in a symbol table has no folder. */
		.dir = f->decl_line || f->file ? f->dir : NULL,
		.decl_file = f->decl_file,
		.module = f->module,
		.start = f->inlined ? 0 : f->start,
		.line = f->decl_line,
		.namesake = f->inlined ? 0 : f->namesake,
		.inlined = f->inlined,
		.known = true,
	};
}

const struct us_profile_func *us_profile_func_of(const struct us_profile *p,
						 const struct us_frame *frame)
{
	const struct us_profile_func f = func_of(frame);
	for (size_t i = 0; i < p->funcs.n; i++) {
		struct us_profile_func have = p->funcs.v[i];
		if (!f.line) /* that was replaced by the hottest one */
			have.line = 0;
		if (!have.inlined && same_func(&have, &f))
			return &p->funcs.v[i];
	}
	return NULL;
}

static bool push_known(struct us_profile *p, const struct us_frame *f)
{
	struct us_profile_func func = func_of(f);
	return push_frame(p, intern(p, &func), f->line, f->file);
}

static bool push_unknown(struct us_profile *p, us_gva pc, const char *module)
{
	us_gva start = pc & ~(us_gva)(US_UNKNOWN_CODE_BYTES - 1);
	char text[48];
	snprintf(text, sizeof(text), "0x%" PRIx64 "-0x%" PRIx64, start,
		 start + US_UNKNOWN_CODE_BYTES - 1);
	struct us_profile_func func = { .name = text,
					.base = text,
					.raw = text,
					.module = module,
					.start = start };
	size_t before = p->funcs.n;
	uint32_t index = intern(p, &func);
	if (index != US_PROFILE_NONE && p->funcs.n > before &&
	    !keep_name(p, index, text))
		return false;
	return push_frame(p, index, 0, NULL);
}

/* Code of a Linux guest that is in no image: its file, or its kind.  Low addresses
 * alone make no program: the firmware and the kernel's decompressor run there too. */
static const char *part_of(struct us_profile *p, uint32_t view, us_gva pc, bool user)
{
	const struct us_profile_mapping *m = us_profile_mapping_at(p, &p->views.v[view],
								   pc);
	const struct us_profile_program *of = m ? us_profile_program_of(p, m) : NULL;
	if (of)
		return of->f.path;
	if (!us_profile_fact(p, "linux"))
		return NULL;
	if (user)
		return US_MODULE_USER;
	return pc >= LINUX_MODULES ? US_MODULE_LOADED : NULL;
}

/* Which names apply: those of a layout, or of one of its kernels. */
static unsigned names_of(const struct us_profile *p, uint64_t t_ns)
{
	return p->kernels.n ? us_kernels_at(&p->kernels, t_ns)
			    : us_profile_layout_of(p, t_ns);
}

/* What stands for a pseudo function is no address, though an image may have code at
 * that number. */
static const char *pseudo_of(const struct us_profile *p, us_gva pc)
{
	const char *name = us_profile_plugin_frame(pc);
	const char *resolution = name ? us_profile_fact(p, "resolution") : NULL;
	return resolution && !strcmp(resolution, "function") ? name : NULL;
}

static bool push_pseudo(struct us_profile *p, us_gva pc, const char *name)
{
	struct us_profile_func func = { .name = name,
					.base = name,
					.raw = name,
					.module = US_MODULE_PLUGIN,
					.start = pc,
					.known = true };
	return push_frame(p, intern(p, &func), 0, NULL);
}

static bool push_frames(struct us_profile *p, uint32_t view, us_gva pc, bool is_return,
			bool user)
{
	struct us_frame f[MAX_INLINED];
	const char *pseudo = pseudo_of(p, pc);
	if (pseudo)
		return push_pseudo(p, pc, pseudo);
	us_naming_ask(p->naming, names_of(p, p->views.v[view].t_ns));
	size_t n = view ? us_symbols_lookup_at(p->symbols, &p->views.v[view], pc,
					       is_return, f, MAX_INLINED)
			: us_symbols_lookup(p->symbols, pc, is_return, f, MAX_INLINED);
	if (!n || !f[n - 1].func) /* inlined names may be missing: a dwz file is gone */
		return push_unknown(p, is_return ? pc - 1 : pc,
				    n ? f[0].module
				      : part_of(p, view, pc - is_return, user));
	for (size_t i = 0; i < n; i++)
		if (f[i].func && !push_known(p, &f[i]))
			return false;
	return true;
}

uint32_t us_profile_function_at(struct us_profile *p, us_gva address)
{
	struct us_frame f[MAX_INLINED];
	char text[24];
	size_t n = us_symbols_lookup(p->symbols, address, false, f, MAX_INLINED);
	if (n && f[n - 1].func) {
		f[n - 1].line = f[n - 1].decl_line;
		return push_known(p, &f[n - 1]) ? p->frames.v[p->frames.n - 1].func
						: US_PROFILE_NONE;
	}
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return us_profile_special(p, text);
}

/* A function of the host: only the recording names them. */
static bool push_host(struct us_profile *p, us_hva pc)
{
	struct us_symbol_name n;
	if (!us_naming_find_host(p->naming, pc, &n))
		return push_unknown(p, pc, US_MODULE_HOST);
	struct us_profile_func func = {
		.name = n.func,
		.base = n.func,
		.raw = n.func,
		.module = n.module,
		.start = n.start,
		.namesake = n.namesake + 1,
		.known = true,
	};
	return push_frame(p, intern(p, &func), 0, NULL);
}

/* Above all numbers of the guest's views. */
#define HOST_VIEW (1ULL << 32)
#define USER_CODE (1ULL << 33) /* the same address may be either ring's */

const struct us_profile_site *us_profile_site(struct us_profile *p, uint32_t node,
					      bool is_return)
{
	us_gva pc = p->trie.nodes.v[node].pc;
	bool host = p->trie.nodes.v[node].flags & US_PC_HOST;
	bool user = p->trie.nodes.v[node].flags & US_PC_USER;
	uint32_t view = host ? 0 : us_profile_view(p, node);
	uint64_t code = host ? HOST_VIEW : view | (user ? USER_CODE : 0);
	uint32_t *known = us_pair_map_at(&p->known_sites, pc, code << 1 | is_return);
	if (!known || view == US_PROFILE_NONE)
		return NULL;
	if (*known)
		return &p->sites.v[*known - 1];
	size_t first = p->frames.n;
	struct us_profile_site *site = us_vec_push(&p->sites);
	if (!site || !(host ? push_host(p, pc - is_return)
			    : push_frames(p, view, pc, is_return, user)))
		return NULL;
	site->first = (uint32_t)first;
	site->n = (uint32_t)(p->frames.n - first);
	*known = (uint32_t)p->sites.n;
	return site;
}

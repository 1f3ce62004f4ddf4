/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmlinux.c: see vmlinux.h. */
#include "linux/vmlinux.h"

#include "base/cleanup.h"
#include "symbol/dwarf_elf.h"
#include "symbol/dwarf_types.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST (96U << 20) /* bytes of names that are kept */
#define TRIES_MOST 4096	       /* places where the kernel may begin */
#define GRAIN	   (64U << 10) /* step for a kernel at any address */

/* All structs that are looked up in a kernel's types: in tasks_layout.c, who.c,
 * mappings_layout.c, page_cache.c, modules.c.  No kernel has all of them. */
static const char *const structs[] = {
	"task_struct",
	"signal_struct",
	"mm_struct",
	"thread_union",
	"inactive_task_frame",
	"kthread",
	"upid",
	"pid",
	"css_set",
	"cgroup_subsys_state",
	"cgroup",
	"kernfs_node",
	"pcpu_hot",
	"maple_range_64",
	"maple_arange_64",
	"vm_area_struct",
	"file",
	"dentry",
	"vfsmount",
	"mount",
	"address_space",
	"xa_node",
	"folio",
	"page",
	"module",
	"mod_kallsyms",
};

const char *us_vmlinux_name(const struct us_elf_image *i)
{
	const char *path = us_elf_image_path(i), *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* --- its symbols --- */

struct table {
	const struct us_elf_file *f;
	const uint8_t *entry;
	size_t n;
	const char *names;
	size_t names_size; /* up to and with the last NUL */
};

static bool find_table(const struct us_elf_file *f, struct table *ret)
{
	const struct us_elf_section *s = us_elf_file_section(f, ".symtab");
	if (!f->is64 || !s || s->type != SHT_SYMTAB || s->link >= f->n_section)
		return false;
	const struct us_elf_section *names = &f->section[s->link];
	if (names->type != SHT_STRTAB)
		return false;
	*ret = (struct table){ .f = f,
			       .entry = f->bytes + s->offset,
			       .n = s->size / sizeof(Elf64_Sym),
			       .names = (const char *)f->bytes + names->offset };
	const char *end = memrchr(ret->names, '\0', names->size);
	ret->names_size = end ? (size_t)(end - ret->names) + 1 : 0;
	return ret->n <= US_KALLSYMS_MOST && ret->names_size;
}

/* NULL: the symbol has no name of its own, or marks a place in code ("$x", ".L1"). */
static const char *name_of(const struct table *t, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	if (s->st_name >= t->names_size || s->st_shndx == SHN_UNDEF ||
	    type == STT_SECTION || type == STT_FILE)
		return NULL;
	const char *name = t->names + s->st_name;
	bool mark = !*name || *name == '$' || !strncmp(name, ".L", 2);
	return mark || strnlen(name, US_KALLSYMS_NAME_MAX + 1) > US_KALLSYMS_NAME_MAX
		       ? NULL
		       : name;
}

/* The letter that nm prints, as far as it is needed. */
static char letter_of(const struct table *t, const Elf64_Sym *s)
{
	bool global = ELF64_ST_BIND(s->st_info) != STB_LOCAL;
	if (s->st_shndx >= t->f->n_section || s->st_shndx >= SHN_LORESERVE)
		return global ? 'A' : 'a';
	if (t->f->section[s->st_shndx].flags & SHF_EXECINSTR)
		return global ? 'T' : 't';
	return global ? 'D' : 'd';
}

/* Of several symbols at one address, the one that names the code comes first. */
static int rank_of(const struct us_kallsym *s)
{
	return s->type == 'T' ? 0 : s->type == 't' ? 1 : 2;
}

static int by_address(const void *a, const void *b)
{
	const struct us_kallsym *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	return x->name < y->name ? -1 : x->name > y->name;
}

static int read_symbols(const struct table *t, struct us_kallsyms *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (t->names_size > NAMES_MOST)
		return -ENOENT;
	ret->v = calloc(t->n + 1, sizeof(*ret->v));
	ret->names = malloc(t->names_size);
	if (!ret->v || !ret->names) {
		us_kallsyms_fini(ret);
		return -ENOMEM;
	}
	memcpy(ret->names, t->names, t->names_size);
	ret->n_bytes = t->names_size;
	for (size_t k = 0; k < t->n; k++) {
		Elf64_Sym s;
		memcpy(&s, t->entry + k * sizeof(s), sizeof(s));
		if (name_of(t, &s))
			ret->v[ret->n++] = (struct us_kallsym){ s.st_value, s.st_name,
								letter_of(t, &s) };
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), by_address);
	return 0;
}

/* Symbols in per-CPU areas are not addresses. */
static void slide(struct us_kallsyms *k, uint64_t bias)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].addr >> 63)
			k->v[i].addr += bias;
}

/* --- which, and where --- */

static bool is_there(const struct us_vmlinux_search *w, const struct us_elf_image *i,
		     uint64_t bias)
{
	struct us_image_match m;
	size_t id;
	bool same = false;
	us_elf_image_build_id(i, &id);
	if (id && us_elf_image_build_id_at(i))
		return us_elf_image_is_build(i, bias, w->p, w->s);
	/* This compares all of the code, so it is not done for each possible place. */
	return w->text && us_elf_image_compare(i, bias, 0, w->p, w->s, &m, &same) &&
	       same;
}

/* Where the text is known: a table of functions alone may have only one of the two
 * names. */
static bool find_known(const struct us_vmlinux_search *w, const struct us_elf_image *i,
		       const struct us_kallsyms *k, uint64_t *ret)
{
	static const char *const names[] = { "_text", "_stext" };
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		us_gva text = us_kallsyms_address(k, names[n]);
		*ret = w->text - text;
		if (text && is_there(w, i, *ret))
			return true;
	}
	return false;
}

static bool find_bias(const struct us_vmlinux_search *w, const struct us_elf_image *i,
		      us_gva text, uint64_t *ret)
{
	const struct us_linux_place *p = w->place;
	uint64_t step = p->arch->arch == US_ARCH_X86_64 ? US_LINUX_MAP_STEP : GRAIN;
	uint64_t within = text % step; /* a header may precede the text */
	for (uint64_t k = 0; k < TRIES_MOST && k * step < p->size; k++) {
		*ret = p->start + k * step + within - text;
		if (is_there(w, i, *ret))
			return true;
	}
	return false;
}

/* -ENOENT: it is no kernel, or another one. */
static int try_file(const struct us_vmlinux_search *w, const struct us_elf_image *i,
		    struct us_vmlinux *ret)
{
	struct table t;
	if (!find_table(us_elf_image_file(i), &t) &&
	    !find_table(us_elf_image_dwarf(i), &t))
		return -ENOENT;
	int r = read_symbols(&t, &ret->symbols);
	if (r < 0)
		return r;
	us_gva text = us_kallsyms_address(&ret->symbols, "_text");
	bool kernel = text && us_kallsyms_address(&ret->symbols, "init_task");
	if (kernel && (w->text ? find_known(w, i, &ret->symbols, &ret->bias)
			       : find_bias(w, i, text, &ret->bias))) {
		ret->image = i;
		slide(&ret->symbols, ret->bias);
		return 0;
	}
	if (kernel)
		ret->another = us_vmlinux_name(i);
	us_kallsyms_fini(&ret->symbols);
	return -ENOENT;
}

int us_vmlinux_open(const struct us_vmlinux_search *w, struct us_vmlinux *ret)
{
	int r = -ENOENT;
	memset(ret, 0, sizeof(*ret));
	for (size_t k = 0; r == -ENOENT && k < w->n_file; k++)
		r = try_file(w, w->file[k], ret);
	return r;
}

void us_vmlinux_close(struct us_vmlinux *v)
{
	us_kallsyms_fini(&v->symbols);
	v->image = NULL;
}

/* --- its types --- */

int us_vmlinux_types(const struct us_vmlinux *v, struct us_btf *ret,
		     uint8_t **ret_bytes, const char **ret_why)
{
	const struct us_elf_file *f = us_elf_image_dwarf(v->image);
	struct us_dwarf_types t;
	int r = us_dwarf_types_read(f, structs, sizeof(structs) / sizeof(*structs), &t);
	*ret_bytes = NULL;
	if (r == 0)
		r = us_btf_open(t.bytes, t.size, ret);
	if (r == 0 && us_btf_struct(ret, "task_struct")) {
		*ret_bytes = t.bytes;
		return 0;
	}
	*ret_why = us_elf_file_changed(f)	? "was changed after it was opened"
		   : us_dwarf_elf_unreadable(f) ? "has debug information in an "
						  "unsupported compression format"
		   : r == 0 ? "has debug information without task_struct"
			    : "has no debug information (DWARF)";
	if (r == 0)
		us_btf_close(ret);
	free(t.bytes);
	return r == -ENOMEM ? r : -ENOENT;
}

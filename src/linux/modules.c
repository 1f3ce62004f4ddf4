/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modules.c: see modules.h. */
#include "linux/modules.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_SYMBOLS   65536U   /* of one module */
#define MAX_FUNCTIONS 1000000U /* of all */
#define MAX_NAMES     (64U << 20)
#define MAX_ORC	      (1U << 20)
#define NAME_PIECE    64U
#define INIT_PIECE    4U /* MOD_INIT_TEXT */

/* Where struct module has the members that are read; found once. */
struct layout {
	uint32_t list, name, name_size;
	struct place {
		uint32_t base, size, size_bytes; /* a word, and 4 bytes or 8 */
	} code, init;				 /* init.size_bytes 0: not known */
	bool symbols, orc;
	uint32_t kallsyms, symtab, n_symtab, strtab;
	uint32_t orc_n, orc_ip, orc_entry;
};

struct reader {
	const struct us_linux_arch *arch;
	const struct us_linux_memory *m;
	struct layout at;
	struct us_linux_modules *ret;
};

static bool read_at(struct reader *r, us_gva va, void *buf, size_t len)
{
	return va >> 63 && r->m->read(r->m->ctx, va, buf, len);
}

static bool read_word(struct reader *r, us_gva va, uint64_t *ret)
{
	return read_at(r, va, ret, sizeof(*ret));
}

static bool in_region(const struct reader *r, us_gva start, uint64_t size)
{
	const struct us_linux_arch *a = r->arch;
	return start >= a->modules_start && start < a->modules_end &&
	       size <= a->modules_end - start;
}

/* --- layout --- */

/* *ret: the offset of a member of that struct, plus base. */
static bool below(const struct us_btf *b, uint32_t type, const char *member,
		  uint32_t base, uint32_t *ret)
{
	struct us_btf_member m;
	if (!us_btf_member(b, type, member, &m))
		return false;
	*ret = base + m.offset;
	return true;
}

/* A piece of a module, of this type at this offset. */
static bool find_piece(const struct us_btf *b, uint32_t type, uint32_t offset,
		       const char *size_name, struct place *ret)
{
	struct us_btf_member size;
	if (!type || !us_btf_member(b, type, size_name, &size) ||
	    (size.size != 4 && size.size != 8) ||
	    !below(b, type, "base", offset, &ret->base))
		return false;
	ret->size = offset + size.offset;
	ret->size_bytes = size.size;
	return true;
}

/* Since 6.4, an array of pieces (enum mod_mem_type), the code first; before, two pieces
 * that begin with it. */
static bool find_code(const struct us_btf *b, uint32_t module, struct layout *l)
{
	struct us_btf_member m;
	uint32_t n;
	if (us_btf_member(b, module, "mem", &m)) {
		uint32_t type = us_btf_element(b, m.type, &n);
		uint32_t size = type ? us_btf_size(b, type) : 0;
		if (size && n > INIT_PIECE)
			(void)find_piece(b, type, m.offset + INIT_PIECE * size, "size",
					 &l->init);
		return find_piece(b, type, m.offset, "size", &l->code);
	}
	if (us_btf_member(b, module, "init_layout", &m))
		(void)find_piece(b, m.type, m.offset, "text_size", &l->init);
	return us_btf_member(b, module, "core_layout", &m) &&
	       find_piece(b, m.type, m.offset, "text_size", &l->code);
}

static bool find_layout(const struct us_btf *b, struct layout *l)
{
	struct us_btf_member m, arch;
	uint32_t module = us_btf_struct(b, "module");
	uint32_t kallsyms = us_btf_struct(b, "mod_kallsyms");
	if (!module || !us_btf_member(b, module, "name", &m))
		return false;
	l->name = m.offset;
	l->name_size = m.size < US_LINUX_MODULE_NAME ? m.size : US_LINUX_MODULE_NAME;
	if (!us_btf_member(b, module, "list", &m))
		return false;
	l->list = m.offset;
	if (!find_code(b, module, l))
		return false;
	l->symbols = us_btf_member(b, module, "kallsyms", &m) &&
		     below(b, kallsyms, "symtab", 0, &l->symtab) &&
		     below(b, kallsyms, "num_symtab", 0, &l->n_symtab) &&
		     below(b, kallsyms, "strtab", 0, &l->strtab);
	l->kallsyms = m.offset;
	l->orc = us_btf_member(b, module, "arch", &arch) &&
		 below(b, arch.type, "num_orcs", arch.offset, &l->orc_n) &&
		 below(b, arch.type, "orc_unwind_ip", arch.offset, &l->orc_ip) &&
		 below(b, arch.type, "orc_unwind", arch.offset, &l->orc_entry);
	return true;
}

/* --- symbols --- */

/* Append n bytes to the names; false: it does not fit. */
static bool append(struct us_linux_modules *m, const char *bytes, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		char *to = m->names.n < MAX_NAMES ? us_vec_push(&m->names) : NULL;
		if (!to)
			return false;
		*to = bytes[k];
	}
	return true;
}

/* Append the string at va; returns its offset, or UINT32_MAX.  The page behind its end
 * need not be mapped. */
static uint32_t read_name(struct reader *r, us_gva va)
{
	struct us_linux_modules *m = r->ret;
	size_t begin = m->names.n;
	char piece[NAME_PIECE];
	while (m->names.n - begin <= US_KALLSYMS_NAME_MAX) {
		size_t room = 4096 - va % 4096;
		size_t want = room < NAME_PIECE ? room : NAME_PIECE;
		if (!read_at(r, va, piece, want))
			break;
		size_t n = strnlen(piece, want);
		if (!append(m, piece, n < want ? n + 1 : n))
			break;
		if (n < want && m->names.n - begin > 1)
			return (uint32_t)begin;
		if (n < want)
			break;
		va += want;
	}
	m->names.n = begin;
	return UINT32_MAX;
}

/* Names that the compiler gives places within code, as the kernel's
 * is_mapping_symbol() knows them: they name no function, and split those they are in.
 */
static bool is_label(const char *name)
{
	return name[0] == '$' || !strncmp(name, ".L", 2) || !strncmp(name, "L0", 2);
}

static int by_start(const void *a, const void *b)
{
	const struct us_linux_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Set where each ends.  Of several at one address, keep the first, as the kernel
 * does. */
static void close_functions(struct us_linux_modules *m, struct us_linux_module *module)
{
	size_t n = m->functions.n - module->first, kept = 0;
	module->n = 0;
	if (!n)
		return;
	struct us_linux_function *f = m->functions.v + module->first;
	qsort(f, n, sizeof(*f), by_start);
	for (size_t k = 0; k < n; k++)
		if (!kept || f[kept - 1].start != f[k].start)
			f[kept++] = f[k];
	for (size_t k = 0; k < kept; k++)
		f[k].end = k + 1 < kept ? f[k + 1].start : module->end;
	module->n = kept;
	m->functions.n = module->first + kept;
}

static int read_symbols(struct reader *r, us_gva at, struct us_linux_module *module)
{
	uint64_t kallsyms, symtab, strtab;
	uint32_t n;
	struct us_linux_modules *m = r->ret;
	if (!r->at.symbols || !read_word(r, at + r->at.kallsyms, &kallsyms) ||
	    !read_word(r, kallsyms + r->at.symtab, &symtab) ||
	    !read_word(r, kallsyms + r->at.strtab, &strtab) ||
	    !read_at(r, kallsyms + r->at.n_symtab, &n, sizeof(n)) || n > MAX_SYMBOLS)
		return 0;
	for (uint32_t k = 0; k < n && m->functions.n < MAX_FUNCTIONS; k++) {
		Elf64_Sym s;
		if (!read_at(r, symtab + k * sizeof(s), &s, sizeof(s)))
			break;
		if (s.st_shndx == SHN_UNDEF || s.st_value < module->start ||
		    s.st_value >= module->end)
			continue;
		size_t begin = m->names.n;
		uint32_t name = read_name(r, strtab + s.st_name);
		if (name == UINT32_MAX)
			continue;
		if (is_label(m->names.v + name)) {
			m->names.n = begin;
			continue;
		}
		struct us_linux_function *f = us_vec_push(&m->functions);
		if (!f)
			return -ENOMEM;
		*f = (struct us_linux_function){ s.st_value, 0, name };
	}
	return 0;
}

/* --- ORC --- */

static void read_orc(struct reader *r, us_gva at, struct us_linux_module_orc *ret)
{
	uint64_t ip, entry;
	uint32_t n;
	if (!r->at.orc || !read_at(r, at + r->at.orc_n, &n, sizeof(n)) ||
	    !read_word(r, at + r->at.orc_ip, &ip) ||
	    !read_word(r, at + r->at.orc_entry, &entry) || !n || n > MAX_ORC)
		return;
	uint8_t *bytes = malloc((size_t)n * (4 + US_ORC_ENTRY));
	if (bytes && read_at(r, ip, bytes, 4 * (size_t)n) &&
	    read_at(r, entry, bytes + 4 * (size_t)n, US_ORC_ENTRY * (size_t)n)) {
		*ret = (struct us_linux_module_orc){ bytes, ip, n };
		return;
	}
	free(bytes);
}

/* --- the list --- */

/* Is it a name as the kernel writes them?  If not, this is not a module. */
static bool is_name(const char *name, size_t size)
{
	size_t n = strnlen(name, size);
	for (size_t k = 0; k < n; k++)
		if (name[k] <= ' ' || name[k] >= 0x7f || name[k] == '/')
			return false;
	return n && n < size;
}

static bool read_place(struct reader *r, us_gva at, const struct place *p,
		       us_gva *ret_start, us_gva *ret_end)
{
	uint64_t base, size = 0;
	if (!p->size_bytes || !read_word(r, at + p->base, &base) ||
	    !read_at(r, at + p->size, &size, p->size_bytes) || !size ||
	    !in_region(r, base, size))
		return false;
	*ret_start = base;
	*ret_end = base + size;
	return true;
}

static bool read_head(struct reader *r, us_gva at, struct us_linux_module *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!read_at(r, at + r->at.name, ret->name, r->at.name_size) ||
	    !is_name(ret->name, r->at.name_size) ||
	    !read_place(r, at, &r->at.code, &ret->start, &ret->end))
		return false;
	(void)read_place(r, at, &r->at.init, &ret->init_start, &ret->init_end);
	return true;
}

/* A list that changed while it was read, or that was forged, may be circular. */
static bool is_known(const struct us_linux_modules *m, us_gva start)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->v[k].start == start)
			return true;
	return false;
}

static int add_module(struct reader *r, us_gva at)
{
	struct us_linux_modules *m = r->ret;
	struct us_linux_module head;
	if (!read_head(r, at, &head) || is_known(m, head.start))
		return 0;
	struct us_linux_module *slot = us_vec_push(m);
	if (!slot)
		return -ENOMEM;
	head.first = m->functions.n;
	int ret = read_symbols(r, at, &head);
	close_functions(m, &head);
	*slot = head;
	slot->number = m->n - 1;
	read_orc(r, at, &m->orc[slot->number]);
	return ret;
}

static int walk(struct reader *r, us_gva head)
{
	struct us_linux_modules *m = r->ret;
	int ret = 0;
	if (!read_at(r, head, m->links, sizeof(m->links)))
		return -ENOENT;
	uint64_t at = m->links[0];
	m->head = head;
	for (size_t steps = 0; ret == 0 && at != head && steps < US_LINUX_MAX_MODULES;
	     steps++) {
		us_gva next = at;
		if (!in_region(r, at - r->at.list, 1))
			break;
		ret = add_module(r, at - r->at.list);
		if (!read_word(r, next, &at))
			break;
	}
	return ret;
}

static int module_by_start(const void *a, const void *b)
{
	const struct us_linux_module *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

int us_linux_modules_read(const struct us_btf *b, const struct us_kallsyms *k,
			  const struct us_linux_arch *arch,
			  const struct us_linux_memory *m, struct us_linux_modules *ret)
{
	struct reader r = { .arch = arch, .m = m, .ret = ret };
	us_gva head = us_kallsyms_address(k, "modules");
	memset(ret, 0, sizeof(*ret));
	if (!head || !find_layout(b, &r.at))
		return -ENOENT;
	ret->orc = calloc(US_LINUX_MAX_MODULES, sizeof(*ret->orc));
	int code = ret->orc ? walk(&r, head) : -ENOMEM;
	if (code < 0)
		us_linux_modules_fini(ret);
	else if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), module_by_start);
	return code;
}

void us_linux_modules_fini(struct us_linux_modules *m)
{
	for (size_t k = 0; m->orc && k < US_LINUX_MAX_MODULES; k++)
		free(m->orc[k].bytes);
	free(m->orc);
	free(m->v);
	free(m->functions.v);
	free(m->names.v);
	memset(m, 0, sizeof(*m));
}

const struct us_linux_module *us_linux_module_at(const struct us_linux_modules *m,
						 us_gva pc)
{
	size_t next = us_first_not(m->n, mid, m->v[mid].start <= pc);
	return next && pc < m->v[next - 1].end ? &m->v[next - 1] : NULL;
}

const struct us_linux_function *
us_linux_module_function(const struct us_linux_modules *m,
			 const struct us_linux_module *module, us_gva pc)
{
	const struct us_linux_function *f = m->functions.v + module->first;
	size_t next = us_first_not(module->n, mid, f[mid].start <= pc);
	return next ? &f[next - 1] : NULL;
}

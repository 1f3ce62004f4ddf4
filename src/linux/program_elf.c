/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_elf.c: see program_elf.h. */
#include "linux/program_elf.h"

#include "base/cleanup.h"
#include "linux/arch.h"
#include "linux/program_pages.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	     4096U
#define MOST_HEADERS 64U
#define MOST_NOTES   4096U
#define MOST_DYNAMIC 512U
#define MOST_BUCKETS 65536U
#define MOST_NAME    255U

/* Addresses are the program's. */
static bool read_at(const struct us_program_pages *r, us_gva va, void *buf, size_t len)
{
	return us_program_pages_read(r, va - r->f->slide, buf, len);
}

/* For headers, before the segments are known. */
static bool read_file(const struct us_program_pages *r, us_gva start, uint64_t offset,
		      void *buf, size_t len)
{
	us_gva va = start + offset;
	return (!(va >> 63) && us_paging_read(r->p, r->s, va, buf, len)) ||
	       (r->cache && us_page_cache_read(r->cache, offset, buf, len));
}

/* --- headers --- */

/* FNV-1a. */
static void add_to_mark(struct us_program_elf *f, const void *bytes, size_t n)
{
	for (size_t k = 0; k < n; k++)
		f->mark = (f->mark ^ ((const uint8_t *)bytes)[k]) * 0x100000001b3;
}

static void take_segment(struct us_program_elf *f, const Elf64_Phdr *h)
{
	if (h->p_type == PT_DYNAMIC) {
		f->dynamic = h->p_vaddr;
		f->dynamic_size = h->p_memsz;
	}
	if (h->p_type == PT_GNU_EH_FRAME) {
		f->frames = h->p_vaddr;
		f->frames_size = h->p_memsz;
	}
	if (h->p_type != PT_LOAD || f->n_segment == US_PROGRAM_SEGMENTS ||
	    h->p_vaddr > UINT64_MAX - h->p_memsz)
		return;
	f->segment[f->n_segment++] =
		(struct us_program_segment){ h->p_vaddr, h->p_memsz, h->p_offset,
					     h->p_flags & PF_X, h->p_flags & PF_W };
}

static Elf64_Phdr widen(const Elf32_Phdr *h)
{
	return (Elf64_Phdr){ .p_type = h->p_type,
			     .p_flags = h->p_flags,
			     .p_offset = h->p_offset,
			     .p_vaddr = h->p_vaddr,
			     .p_filesz = h->p_filesz,
			     .p_memsz = h->p_memsz };
}

static void take_note(struct us_program_elf *f, const uint32_t head[3],
		      const uint8_t *name, const uint8_t *contents)
{
	if (head[0] == 4 && head[2] == NT_GNU_BUILD_ID && !f->build_id_len &&
	    !memcmp(name, "GNU", 4) && head[1] && head[1] <= US_PROGRAM_BUILD_ID) {
		memcpy(f->build_id, contents, head[1]);
		f->build_id_len = (uint8_t)head[1];
	}
	/* Go's own build-id: cmd/internal/buildid/note.go */
	if (head[0] == 4 && head[2] == 4 && !memcmp(name, "Go\0", 4))
		f->go = true;
}

/* A list of notes.  Each has the sizes of its name and contents, its kind, the name and
 * the contents, both padded to a multiple of 4 (gABI, "Note Section"). */
static void take_notes(struct us_program_elf *f, const uint8_t *at, size_t size)
{
	while (size >= 12) {
		uint32_t head[3];
		memcpy(head, at, sizeof(head));
		if (head[0] > size || head[1] > size)
			return;
		size_t name = (head[0] + 3) & ~3U, all = 12 + name + head[1];
		if (all > size)
			return;
		take_note(f, head, at + 12, at + 12 + name);
		all = (all + 3) & ~(size_t)3;
		if (all > size)
			return;
		at += all;
		size -= all;
	}
}

static void read_notes(const struct us_program_pages *r, struct us_program_elf *f,
		       const Elf64_Phdr *h)
{
	uint8_t bytes[MOST_NOTES];
	size_t size = h->p_memsz < MOST_NOTES ? (size_t)h->p_memsz : MOST_NOTES;
	if (!read_at(r, h->p_vaddr + f->slide, bytes, size)) {
		f->whole = false;
		return;
	}
	add_to_mark(f, bytes, size);
	take_notes(f, bytes, size);
}

static bool read_header(const struct us_program_pages *r, us_gva start,
			struct us_program_elf *f, Elf64_Ehdr *ret)
{
	Elf32_Ehdr narrow;
	if (!read_file(r, start, 0, ret, sizeof(*ret)) ||
	    memcmp(ret->e_ident, ELFMAG, SELFMAG) ||
	    ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	f->is64 = ret->e_ident[EI_CLASS] == ELFCLASS64;
	f->machine = ret->e_machine;
	add_to_mark(f, ret, f->is64 ? sizeof(*ret) : sizeof(narrow));
	if (!f->is64) {
		memcpy(&narrow, ret, sizeof(narrow));
		ret->e_phoff = narrow.e_phoff;
		ret->e_phnum = narrow.e_phnum;
		ret->e_phentsize = narrow.e_phentsize;
	}
	return ret->e_phnum <= MOST_HEADERS && ret->e_phoff <= PAGE &&
	       ret->e_phentsize == (f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

static bool read_segments(const struct us_program_pages *r, us_gva start,
			  const Elf64_Ehdr *e, struct us_program_elf *f,
			  Elf64_Phdr *ret)
{
	for (unsigned k = 0; k < e->e_phnum; k++) {
		uint64_t at = e->e_phoff + (uint64_t)k * e->e_phentsize;
		Elf32_Phdr narrow;
		void *to = f->is64 ? (void *)&ret[k] : &narrow;
		if (!read_file(r, start, at, to, e->e_phentsize))
			return false;
		add_to_mark(f, to, e->e_phentsize);
		if (!f->is64)
			ret[k] = widen(&narrow);
		take_segment(f, &ret[k]);
	}
	return true;
}

/* Segments share a page of the file at their borders, so the kind of segment
 * decides. */
static bool find_slide(const struct us_program_elf *f, us_gva start, uint64_t offset,
		       bool code, uint64_t *ret)
{
	for (unsigned k = 0; k < f->n_segment; k++) {
		const struct us_program_segment *s = &f->segment[k];
		if ((code && !s->code) || offset < (s->offset & ~(f->page - 1)) ||
		    (offset > s->offset && offset - s->offset >= s->size))
			continue;
		*ret = start - (s->address - s->offset + offset);
		return true;
	}
	return false;
}

bool us_program_elf_slide(const struct us_program_elf *f, us_gva start, uint64_t offset,
			  uint64_t *ret)
{
	return find_slide(f, start, offset, true, ret);
}

bool us_program_elf_read(struct us_paging *p, const struct us_space *s, us_gva start,
			 struct us_page_cache *cache, struct us_program_elf *f)
{
	const struct us_program_pages r = { p, s, f, cache };
	Elf64_Ehdr e;
	Elf64_Phdr h[MOST_HEADERS];
	memset(f, 0, sizeof(*f));
	f->mark = 0xcbf29ce484222325;
	f->page = us_linux_page_size(s);
	if (!read_header(&r, start, f, &e) || !read_segments(&r, start, &e, f, h) ||
	    !find_slide(f, start, 0, false, &f->slide))
		return false;
	f->whole = true;
	for (unsigned k = 0; k < e.e_phnum; k++)
		if (h[k].p_type == PT_NOTE)
			read_notes(&r, f, &h[k]);
	return true;
}

/* --- dynamic symbols --- */

struct table {
	us_gva symbols, names, gnu_hash, hash;
	uint64_t names_size, n;
};

/* The loader adds the slide to some of these addresses, and not to others. */
static us_gva mapped(const struct us_program_elf *f, uint64_t at)
{
	for (unsigned k = 0; k < f->n_segment; k++)
		if (at - f->segment[k].address < f->segment[k].size)
			return at + f->slide;
	return at;
}

static bool read_dynamic(const struct us_program_pages *r, uint64_t k, Elf64_Dyn *ret)
{
	us_gva at = r->f->dynamic + r->f->slide;
	Elf32_Dyn narrow;
	if (r->f->is64)
		return read_at(r, at + k * sizeof(*ret), ret, sizeof(*ret));
	if (!read_at(r, at + k * sizeof(narrow), &narrow, sizeof(narrow)))
		return false;
	ret->d_tag = narrow.d_tag;
	ret->d_un.d_val = narrow.d_un.d_val;
	return true;
}

static void find_tables(const struct us_program_pages *r, struct table *t)
{
	size_t size = r->f->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t n = r->f->dynamic_size / size;
	Elf64_Dyn d;
	memset(t, 0, sizeof(*t));
	if (n > MOST_DYNAMIC)
		n = MOST_DYNAMIC;
	for (uint64_t k = 0; k < n && read_dynamic(r, k, &d) && d.d_tag; k++) {
		us_gva at = mapped(r->f, d.d_un.d_val);
		if (d.d_tag == DT_SYMTAB)
			t->symbols = at;
		else if (d.d_tag == DT_STRTAB)
			t->names = at;
		else if (d.d_tag == DT_STRSZ)
			t->names_size = d.d_un.d_val;
		else if (d.d_tag == DT_GNU_HASH)
			t->gnu_hash = at;
		else if (d.d_tag == DT_HASH)
			t->hash = at;
	}
}

/* The last symbol ends the chain of the highest number in a bucket.  Symbols before the
 * first number in any bucket are imported. */
static uint64_t count_gnu(const struct us_program_pages *r, us_gva at)
{
	uint32_t head[4], most = 0, word;
	if (!read_at(r, at, head, sizeof(head)) || head[0] > MOST_BUCKETS ||
	    head[2] > MOST_BUCKETS)
		return 0;
	us_gva bucket = at + 16 + (uint64_t)head[2] * (r->f->is64 ? 8 : 4);
	us_gva chain = bucket + 4ULL * head[0];
	for (uint32_t k = 0; k < head[0]; k++)
		if (read_at(r, bucket + 4ULL * k, &word, 4) && word > most)
			most = word;
	if (!most || most < head[1])
		return 0;
	for (; most < US_PROGRAM_MOST_SYMBOL; most++)
		if (!read_at(r, chain + 4ULL * (most - head[1]), &word, 4) || word & 1)
			break;
	return most + 1ULL;
}

static void count_symbols(const struct us_program_pages *r, struct table *t)
{
	uint32_t head[2];
	if (t->gnu_hash)
		t->n = count_gnu(r, t->gnu_hash);
	if (!t->n && t->hash && read_at(r, t->hash, head, sizeof(head)))
		t->n = head[1];
	if (t->n > US_PROGRAM_MOST_SYMBOL)
		t->n = US_PROGRAM_MOST_SYMBOL;
}

/* Read page by page.  Missing pages are zero, as are the bytes behind the end. */
static size_t read_pages(const struct us_program_pages *r, us_gva at, uint8_t *to,
			 size_t size)
{
	size_t missing = 0;
	for (size_t done = 0; done < size;) {
		size_t part = PAGE - (size_t)((at + done) % PAGE);
		if (part > size - done)
			part = size - done;
		if (!read_at(r, at + done, to + done, part)) {
			memset(to + done, 0, part);
			missing += part;
		}
		done += part;
	}
	return missing;
}

static Elf64_Sym symbol_at(const struct us_program_elf *f, const uint8_t *bytes,
			   size_t k)
{
	Elf64_Sym s;
	Elf32_Sym n;
	if (f->is64) {
		memcpy(&s, bytes + k * sizeof(s), sizeof(s));
		return s;
	}
	memcpy(&n, bytes + k * sizeof(n), sizeof(n));
	return (Elf64_Sym){ .st_name = n.st_name,
			    .st_info = n.st_info,
			    .st_shndx = n.st_shndx,
			    .st_value = n.st_value,
			    .st_size = n.st_size };
}

static bool is_code(const struct us_program_elf *f, uint64_t at)
{
	for (unsigned k = 0; k < f->n_segment; k++)
		if (f->segment[k].code &&
		    at - f->segment[k].address < f->segment[k].size)
			return true;
	return false;
}

static bool is_function(const struct us_program_elf *f, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       s->st_shndx != SHN_UNDEF && is_code(f, s->st_value);
}

static int visit_all(const struct us_program_elf *f, const struct table *t,
		     const uint8_t *symbols, const uint8_t *names,
		     int (*visit)(void *ctx, const struct us_program_symbol *sym),
		     void *ctx)
{
	int r = 0;
	for (size_t k = 0; r == 0 && k < t->n; k++) {
		Elf64_Sym s = symbol_at(f, symbols, k);
		if (!is_function(f, &s) || s.st_name >= t->names_size)
			continue;
		const char *name = (const char *)names + s.st_name;
		size_t len = strnlen(name, MOST_NAME + 1);
		if (len && len <= MOST_NAME)
			r = visit(ctx, &(struct us_program_symbol){ s.st_value,
								    s.st_size, name });
	}
	return r;
}

int us_program_elf_symbols(const struct us_program_pages *r,
			   int (*visit)(void *ctx, const struct us_program_symbol *sym),
			   void *ctx, size_t *ret_missing)
{
	const struct us_program_elf *f = r->f;
	struct table t;
	*ret_missing = 0;
	if (!f->dynamic)
		return -ENOENT;
	us_program_pages_learn(r);
	find_tables(r, &t);
	count_symbols(r, &t);
	if (t.names_size > US_PROGRAM_MOST_NAMES)
		t.names_size = US_PROGRAM_MOST_NAMES;
	if (!t.n || !t.symbols || !t.names || !t.names_size)
		return -ENOENT;
	size_t size = (size_t)t.n * (f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	_cleanup_free_ uint8_t *symbols = malloc(size);
	_cleanup_free_ uint8_t *names = malloc((size_t)t.names_size + 1);
	if (!symbols || !names)
		return -ENOMEM;
	*ret_missing = read_pages(r, t.symbols, symbols, size) +
		       read_pages(r, t.names, names, (size_t)t.names_size);
	names[t.names_size] = '\0';
	return visit_all(f, &t, symbols, names, visit, ctx);
}

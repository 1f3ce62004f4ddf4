/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_file.c: see elf_file.h. */
#include "symbol/elf_file.h"

#include "base/packed.h"
#include "base/search.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for any kernel with its DWARF; keeps sums of sizes far from wrapping. */
#define MAX_FILE (1ULL << 36)
/* What is read at once, whatever the tables say: some look for marks of their own near
 * the file's start, such as a Multiboot header. */
#define HEAD	  65536
#define MAX_NAMES (64U << 20) /* bytes of the sections' names */

/* The parts of the ELF header that lead to the tables. */
struct layout {
	uint64_t phoff, shoff;
	uint64_t phnum, shnum, shstrndx;
	size_t phentsize, shentsize;
};

static uint64_t page_up(uint64_t size)
{
	return (size + US_ELF_SPARE - 1) & ~(uint64_t)(US_ELF_SPARE - 1);
}

static bool inside(const struct us_elf_file *f, uint64_t offset, uint64_t len)
{
	return offset <= f->size && len <= f->size - offset;
}

static int lies(struct us_err *e, const char *what, uint64_t offset, uint64_t len,
		const struct us_elf_file *f)
{
	us_fail(e, -EBADMSG, "%s claims bytes 0x%llx to 0x%llx of a file of 0x%zx",
		what, (unsigned long long)offset, (unsigned long long)(offset + len),
		f->size);
	us_hint(e, "The file is cut or damaged: copy or build it again; readelf -hlS "
		   "shows what it claims.");
	return -EBADMSG;
}

/* What the user may have mistaken for the ELF file. */
static int not_elf(const struct us_elf_file *f, struct us_err *e)
{
	bool boot = f->size > 0x206 && !memcmp(f->bytes + 0x202, "HdrS", 4);
	us_fail(e, -ENOEXEC,
		boot ? "a compressed Linux kernel, not an ELF file"
		     : "not an ELF file");
	const char *unpacker = us_unpacker(f->bytes, f->size);
	if (unpacker)
		us_hint(e, "It is compressed: unpack it with %s -k first.", unpacker);
	else if (boot)
		us_hint(e, "Give the vmlinux that it was made from.");
	else
		us_hint(e, "Give the linked kernel with its symbols, or what nm prints "
			   "of it; `file` says what this is.");
	return -ENOEXEC;
}

/* Room for the file behind a spare page and before at least one page of zeros, so that
 * a reader that runs over the end by a little reads zeros. */
static int make_room(int fd, struct us_elf_file *f, struct us_err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return us_fail(e, -errno, "stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return us_fail(e, -ENOEXEC, "not a regular file");
	if (st.st_size < EI_NIDENT)
		return us_fail(e, -ENOEXEC, "not an ELF file: %lld bytes",
			       (long long)st.st_size);
	if ((uint64_t)st.st_size > MAX_FILE)
		return us_fail(e, -EFBIG, "larger than 64 GiB");
	f->size = (size_t)st.st_size;
	f->area_size = US_ELF_SPARE + page_up(f->size) + US_ELF_SPARE;
	void *area = mmap(NULL, f->area_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return us_fail(e, -errno, "map %zu bytes: %s", f->area_size,
			       strerror(errno));
	f->area = area;
	f->bytes = f->area + US_ELF_SPARE;
	return 0;
}

static int read_part(const struct us_elf_file *f, uint64_t offset, uint64_t size,
		     struct us_err *e)
{
	return us_elf_source_read(f->source, (struct us_elf_part){ offset, size }, e);
}

static int read_head(const struct us_elf_file *f, struct us_err *e)
{
	return read_part(f, 0, f->size < HEAD ? f->size : HEAD, e);
}

static int check_ident(struct us_elf_file *f, struct us_err *e)
{
	const uint8_t *id = f->bytes;
	if (memcmp(id, ELFMAG, SELFMAG) != 0)
		return not_elf(f, e);
	if (id[EI_CLASS] != ELFCLASS64 && id[EI_CLASS] != ELFCLASS32)
		return us_fail(e, -EBADMSG, "ELF class %u is neither 32 nor 64 bits",
			       id[EI_CLASS]);
	f->is64 = id[EI_CLASS] == ELFCLASS64;
	if (id[EI_DATA] == ELFDATA2MSB)
		return us_fail(e, -EINVAL,
			       "a big-endian ELF: such guests cannot be sampled");
	if (id[EI_DATA] != ELFDATA2LSB)
		return us_fail(e, -EBADMSG, "ELF byte order %u is unknown",
			       id[EI_DATA]);
	if (f->size < (f->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return us_fail(e, -EBADMSG, "the ELF header is cut: %zu bytes",
			       f->size);
	return 0;
}

static Elf64_Ehdr read_header(const struct us_elf_file *f)
{
	Elf64_Ehdr h;
	Elf32_Ehdr n;
	if (f->is64) {
		memcpy(&h, f->bytes, sizeof(h));
		return h;
	}
	memcpy(&n, f->bytes, sizeof(n));
	return (Elf64_Ehdr){
		.e_type = n.e_type,
		.e_machine = n.e_machine,
		.e_phoff = n.e_phoff,
		.e_shoff = n.e_shoff,
		.e_phentsize = n.e_phentsize,
		.e_phnum = n.e_phnum,
		.e_shentsize = n.e_shentsize,
		.e_shnum = n.e_shnum,
		.e_shstrndx = n.e_shstrndx,
	};
}

static Elf64_Shdr read_section(const struct us_elf_file *f, uint64_t at)
{
	Elf64_Shdr s;
	Elf32_Shdr n;
	if (f->is64) {
		memcpy(&s, f->bytes + at, sizeof(s));
		return s;
	}
	memcpy(&n, f->bytes + at, sizeof(n));
	return (Elf64_Shdr){
		.sh_name = n.sh_name,
		.sh_type = n.sh_type,
		.sh_flags = n.sh_flags,
		.sh_addr = n.sh_addr,
		.sh_offset = n.sh_offset,
		.sh_size = n.sh_size,
		.sh_link = n.sh_link,
		.sh_info = n.sh_info,
		.sh_entsize = n.sh_entsize,
	};
}

static Elf64_Phdr read_segment(const struct us_elf_file *f, uint64_t at)
{
	Elf64_Phdr p;
	Elf32_Phdr n;
	if (f->is64) {
		memcpy(&p, f->bytes + at, sizeof(p));
		return p;
	}
	memcpy(&n, f->bytes + at, sizeof(n));
	return (Elf64_Phdr){
		.p_type = n.p_type,
		.p_flags = n.p_flags,
		.p_offset = n.p_offset,
		.p_vaddr = n.p_vaddr,
		.p_paddr = n.p_paddr,
		.p_filesz = n.p_filesz,
		.p_memsz = n.p_memsz,
		.p_align = n.p_align,
	};
}

/* Counts too large for the header are in section 0 (gABI, e_shnum, e_phnum). */
static int read_extended_counts(const struct us_elf_file *f, struct layout *l,
				struct us_err *e)
{
	if (!inside(f, l->shoff, l->shentsize))
		return 0;
	int r = read_part(f, l->shoff, l->shentsize, e);
	if (r < 0)
		return r;
	Elf64_Shdr zero = read_section(f, l->shoff);
	if (!l->shnum)
		l->shnum = zero.sh_size;
	if (l->shstrndx == SHN_XINDEX)
		l->shstrndx = zero.sh_link;
	if (l->phnum == PN_XNUM)
		l->phnum = zero.sh_info;
	return 0;
}

static int check_layout(struct us_elf_file *f, struct layout *ret, struct us_err *e)
{
	Elf64_Ehdr h = read_header(f);
	struct layout l = {
		.phoff = h.e_phoff,
		.shoff = h.e_shoff,
		.phnum = h.e_phnum,
		.shnum = h.e_shnum,
		.shstrndx = h.e_shstrndx,
		.phentsize = f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr),
		.shentsize = f->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr),
	};
	if (!f->part && (h.e_type == ET_REL || h.e_type == ET_CORE)) {
		us_fail(e, -ENOEXEC, "%s, not a linked image",
			h.e_type == ET_REL ? "an object file" : "a core dump");
		us_hint(e, "Give the linked kernel that the guest runs.");
		return -ENOEXEC;
	}
	f->machine = h.e_machine;
	int r = l.shoff ? read_extended_counts(f, &l, e) : 0;
	if (r < 0)
		return r;
	if (!l.shoff)
		l.shnum = 0;
	if (!l.phoff)
		l.phnum = 0;
	if (l.phnum && h.e_phentsize != l.phentsize)
		return us_fail(e, -EBADMSG, "program headers of %u bytes, not %zu",
			       h.e_phentsize, l.phentsize);
	if (l.shnum && h.e_shentsize != l.shentsize)
		return us_fail(e, -EBADMSG, "section headers of %u bytes, not %zu",
			       h.e_shentsize, l.shentsize);
	/* The counts have at most 32 bits but sh_size of section 0. */
	if (l.shnum > f->size || !inside(f, l.shoff, l.shnum * l.shentsize))
		return lies(e, "the section header table", l.shoff,
			    l.shnum * l.shentsize, f);
	if (!inside(f, l.phoff, l.phnum * l.phentsize))
		return lies(e, "the program header table", l.phoff,
			    l.phnum * l.phentsize, f);
	*ret = l;
	r = read_part(f, l.shoff, l.shnum * l.shentsize, e);
	return r < 0 ? r : read_part(f, l.phoff, l.phnum * l.phentsize, e);
}

static bool is_good(const struct us_elf_file *f, const Elf64_Shdr *h)
{
	bool wraps = (h->sh_flags & SHF_ALLOC) && h->sh_addr + h->sh_size < h->sh_addr;
	return !wraps &&
	       (h->sh_type == SHT_NOBITS || inside(f, h->sh_offset, h->sh_size));
}

static struct us_elf_section take_section(const struct us_elf_file *f,
					  const Elf64_Shdr *h)
{
	if (h->sh_type == SHT_NULL) /* its other fields mean nothing */
		return (struct us_elf_section){ .name = "" };
	struct us_elf_section s = {
		.name = "",
		.type = h->sh_type,
		.link = h->sh_link,
		.flags = h->sh_flags,
		.addr = h->sh_addr,
		.size = h->sh_size,
		.entsize = h->sh_entsize,
		.offset = h->sh_type == SHT_NOBITS ? 0 : h->sh_offset,
		.bad = !is_good(f, h),
	};
	if (!s.bad)
		return s;
	/* Where code lies may be right, even if where its bytes are is not. */
	bool placed = (s.flags & SHF_ALLOC) && s.addr + s.size >= s.addr;
	s.type = SHT_NOBITS;
	s.offset = 0;
	s.flags = placed ? s.flags : 0;
	s.size = placed ? s.size : 0;
	return s;
}

/* A hostile name is not repeated. */
static bool is_plain(const char *name)
{
	size_t n = 0;
	while (name[n] > ' ' && name[n] < 0x7f)
		n++;
	return n && n < 32 && !name[n];
}

static void tell_damage(struct us_elf_file *f, const struct layout *l)
{
	size_t first = 0, n = 0;
	for (size_t i = f->n_section; i-- > 0;)
		if (f->section[i].bad) {
			first = i;
			n++;
		}
	if (!n)
		return;
	Elf64_Shdr h = read_section(f, l->shoff + first * l->shentsize);
	const char *name = f->section[first].name;
	char more[40] = "";
	if (n > 1)
		snprintf(more, sizeof(more), " (%zu more lie, too)", n - 1);
	snprintf(
		f->damage, sizeof(f->damage),
		"section %zu%s%.32s claims 0x%llx bytes at 0x%llx of a file of 0x%zx%s",
		first, is_plain(name) ? " " : "", is_plain(name) ? name : "",
		(unsigned long long)h.sh_size, (unsigned long long)h.sh_offset, f->size,
		more);
}

static int name_sections(struct us_elf_file *f, const struct layout *l,
			 struct us_err *e)
{
	if (l->shstrndx >= f->n_section)
		return 0;
	const struct us_elf_section *str = &f->section[l->shstrndx];
	const char *names = (const char *)f->bytes + str->offset;
	if (str->type != SHT_STRTAB || !str->size || str->size > MAX_NAMES)
		return 0;
	int r = read_part(f, str->offset, str->size, e);
	if (r < 0 || names[str->size - 1] != '\0')
		return r;
	for (size_t i = 0; i < f->n_section; i++) {
		Elf64_Shdr h = read_section(f, l->shoff + i * l->shentsize);
		if (h.sh_name < str->size)
			f->section[i].name = names + h.sh_name;
	}
	return 0;
}

static int read_sections(struct us_elf_file *f, const struct layout *l,
			 struct us_err *e)
{
	if (!l->shnum)
		return 0;
	f->section = calloc(l->shnum, sizeof(*f->section));
	if (!f->section)
		return us_fail(e, -ENOMEM, "no memory for %llu sections",
			       (unsigned long long)l->shnum);
	f->n_section = l->shnum;
	f->section[0].name = ""; /* means none, whatever it holds */
	for (size_t i = 1; i < f->n_section; i++) {
		Elf64_Shdr h = read_section(f, l->shoff + i * l->shentsize);
		f->section[i] = take_section(f, &h);
	}
	int r = name_sections(f, l, e);
	tell_damage(f, l);
	return r;
}

static bool is_code(const struct us_elf_section *s)
{
	return (s->flags & (SHF_ALLOC | SHF_EXECINSTR)) ==
		       (SHF_ALLOC | SHF_EXECINSTR) &&
	       s->size;
}

/* A .debug file keeps the headers of segments without their bytes. */
static bool is_debug_file(const struct us_elf_file *f)
{
	bool some = false;
	for (size_t i = 0; i < f->n_section; i++) {
		if (!is_code(&f->section[i]) || f->section[i].bad)
			continue;
		if (f->section[i].type != SHT_NOBITS)
			return false;
		some = true;
	}
	return some;
}

static int read_segments(struct us_elf_file *f, const struct layout *l,
			 struct us_err *e)
{
	if (!l->phnum)
		return 0;
	f->segment = calloc(l->phnum, sizeof(*f->segment));
	if (!f->segment)
		return us_fail(e, -ENOMEM, "no memory for %llu segments",
			       (unsigned long long)l->phnum);
	bool bare = is_debug_file(f);
	for (size_t i = 0; i < l->phnum; i++) {
		Elf64_Phdr h = read_segment(f, l->phoff + i * l->phentsize);
		struct us_elf_segment *s = &f->segment[f->n_segment++];
		char what[64];
		snprintf(what, sizeof(what), "segment %zu", i);
		*s = (struct us_elf_segment){ h.p_type,
					      h.p_flags,
					      h.p_vaddr,
					      h.p_memsz,
					      h.p_align,
					      h.p_offset,
					      bare ? 0 : h.p_filesz,
					      h.p_paddr };
		if (!inside(f, s->offset, s->filesz)) {
			/* A segment of zeros may have an offset behind the end. */
			if (s->type == PT_LOAD && s->filesz)
				return lies(e, what, s->offset, s->filesz, f);
			s->offset = s->filesz = 0;
		}
		if (s->type == PT_LOAD &&
		    (s->filesz > s->memsz || s->vaddr + s->memsz < s->vaddr))
			return us_fail(e, -EBADMSG, "%s: impossible size 0x%llx", what,
				       (unsigned long long)s->memsz);
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct us_elf_code *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Where the bytes of a section are that says it wrong: in a segment.  0: nowhere. */
static uint64_t offset_by_segment(const struct us_elf_file *f,
				  const struct us_elf_section *sec)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		uint64_t at = sec->addr - s->vaddr;
		if (s->type == PT_LOAD && sec->addr >= s->vaddr && at <= s->filesz &&
		    sec->size <= s->filesz - at)
			return s->offset + at;
	}
	return 0;
}

static struct us_elf_code code_of(const struct us_elf_file *f,
				  const struct us_elf_section *s)
{
	uint64_t offset = s->bad ? offset_by_segment(f, s) : s->offset;
	bool held = s->bad ? offset != 0 : s->type != SHT_NOBITS;
	return (struct us_elf_code){ s->addr, s->addr + s->size, offset,
				     held ? s->size : 0 };
}

static int collect_code(struct us_elf_file *f, struct us_err *e)
{
	f->code = calloc(f->n_section + f->n_segment + 1, sizeof(*f->code));
	if (!f->code)
		return us_fail(e, -ENOMEM, "no memory for the list of code");
	for (size_t i = 0; i < f->n_section; i++) {
		const struct us_elf_section *s = &f->section[i];
		if (is_code(s))
			f->code[f->n_code++] = code_of(f, s);
	}
	bool by_segments = f->n_code == 0;
	for (size_t i = 0; by_segments && i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type == PT_LOAD && (s->flags & PF_X) && s->memsz)
			f->code[f->n_code++] = (struct us_elf_code){
				s->vaddr, s->vaddr + s->memsz, s->offset, s->filesz
			};
	}
	qsort(f->code, f->n_code, sizeof(*f->code), by_start);
	return 0;
}

static int read_headers(struct us_elf_file *f, struct us_err *e)
{
	struct layout l = { 0 };
	int r = check_ident(f, e);
	if (r == 0)
		r = check_layout(f, &l, e);
	if (r == 0)
		r = read_sections(f, &l, e);
	if (r == 0)
		r = read_segments(f, &l, e);
	if (r == 0)
		r = collect_code(f, e);
	return r;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Debug information, and relocations that only a linker would use. */
static bool can_wait(const struct us_elf_section *s)
{
	return !(s->flags & SHF_ALLOC) &&
	       (starts(s->name, ".debug_") || starts(s->name, ".zdebug_") ||
		s->type == SHT_REL || s->type == SHT_RELA);
}

static bool has_bytes(const struct us_elf_section *s)
{
	return s->type != SHT_NOBITS && s->type != SHT_NULL && s->size;
}

static int read_contents(struct us_elf_file *f, bool notes, struct us_err *e)
{
	bool segments = !notes || !f->n_section;
	size_t n = 0, n_unread = 0;
	struct us_elf_part *p = calloc(f->n_section + f->n_segment + 1, sizeof(*p));
	if (!p)
		return us_fail(e, -ENOMEM, "no memory for the list of parts");
	for (size_t i = 0; i < f->n_section; i++) {
		struct us_elf_section *s = &f->section[i];
		s->unread = has_bytes(s) && (notes ? s->type != SHT_NOTE : can_wait(s));
		n_unread += s->unread;
		if (has_bytes(s) && !s->unread)
			p[n++] = (struct us_elf_part){ s->offset, s->size };
	}
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (segments || s->type == PT_NOTE)
			p[n++] = (struct us_elf_part){ s->offset, s->filesz };
	}
	int r = us_elf_source_read_all(f->source, p, n, e);
	free(p);
	if (r == 0 && !n_unread) {
		us_elf_source_free(f->source);
		f->source = NULL;
	}
	return r;
}

/* What to open. */
enum what { IMAGE, PART, NOTES };

static int open_file(const char *path, enum what what, struct us_elf_file *ret,
		     struct us_err *e)
{
	struct us_elf_file f = { .part = what == PART };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return us_fail(e, -errno, "read ELF file %s: %s", path,
			       strerror(errno));
	int r = make_room(fd, &f, e);
	if (r < 0)
		close(fd);
	else
		r = us_elf_source_new(fd, f.area + US_ELF_SPARE, f.size, &f.source, e);
	if (r == 0)
		r = read_head(&f, e);
	if (r == 0)
		r = read_headers(&f, e);
	if (r == 0)
		r = read_contents(&f, what == NOTES, e);
	if (r < 0) {
		us_elf_file_close(&f);
		us_wrap(e, "read ELF file %s", path);
		return r;
	}
	*ret = f;
	return 0;
}

int us_elf_file_open(const char *path, struct us_elf_file *ret, struct us_err *e)
{
	return open_file(path, IMAGE, ret, e);
}

int us_elf_file_open_part(const char *path, struct us_elf_file *ret, struct us_err *e)
{
	return open_file(path, PART, ret, e);
}

int us_elf_file_open_notes(const char *path, struct us_elf_file *ret, struct us_err *e)
{
	return open_file(path, NOTES, ret, e);
}

int us_elf_file_need(const struct us_elf_file *f, const struct us_elf_section *s)
{
	if (!s->unread)
		return 0;
	int r = read_part(f, s->offset, s->size, NULL);
	if (r == 0)
		f->section[s - f->section].unread = false;
	return r;
}

bool us_elf_file_changed(const struct us_elf_file *f)
{
	return f->source && atomic_load(&f->source->changed);
}

void us_elf_file_close(struct us_elf_file *f)
{
	us_elf_source_free(f->source);
	if (f->area)
		munmap(f->area, f->area_size);
	free(f->section);
	free(f->segment);
	free(f->code);
	memset(f, 0, sizeof(*f));
}

const struct us_elf_section *us_elf_file_section(const struct us_elf_file *f,
						 const char *name)
{
	for (size_t i = 0; i < f->n_section; i++)
		if (!strcmp(f->section[i].name, name))
			return &f->section[i];
	return NULL;
}

const struct us_elf_code *us_elf_file_code(const struct us_elf_file *f, uint64_t addr)
{
	size_t next = us_first_not(f->n_code, mid, f->code[mid].start <= addr);
	return next && addr < f->code[next - 1].end ? &f->code[next - 1] : NULL;
}

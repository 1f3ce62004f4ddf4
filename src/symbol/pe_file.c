/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pe_file.c: see pe_file.h. */
#include "symbol/pe_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "symbol/byte_cursor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Sizes of what the file has, in bytes. */
#define HEADER	      20
#define SECTION	      40
#define SYMBOL	      18
#define NAME	      8
#define MOST_SECTIONS 4096U
#define FRONT	      64U /* what precedes the PE file in the ELF file */

#define MZ_NEW_HEADER 0x3c
#define PE32	      0x10b
#define PE32_PLUS     0x20b

/* Of a section (IMAGE_SCN_*), a symbol (IMAGE_SYM_CLASS_*), its type. */
#define HAS_CODE       0x20U
#define IS_EXECUTED    0x20000000U
#define IS_WRITTEN     0x80000000U
#define CLASS_EXTERNAL 2
#define CLASS_STATIC   3
#define CLASS_LABEL    6

struct pe {
	const uint8_t *bytes;
	size_t size;
	uint16_t machine; /* as in ELF */
	bool is64;
	uint64_t base;
	uint64_t entry;	   /* 0: none; else less base */
	uint64_t sections; /* where their headers are */
	uint32_t n_section;
	uint64_t symbols, n_symbol;
	uint64_t strings,
		strings_size; /* COFF's string table, with its size in front */
};

struct section {
	char name[NAME + 1];
	uint32_t name_at; /* 0: name; else in the string table */
	uint32_t size, addr, filesz, offset, flags;
};

/* What the ELF file has in addition: symbols, sections and segments, as its class has
 * them. */
struct made {
	uint8_t *symbol, *section, *segment;
	size_t symbol_bytes, section_bytes, segment_bytes;
	size_t n_symbol; /* without the empty one */
	uint16_t n_segment;
	/* COFF's table, so that names in it keep their places; short names follow. */
	char *string;
	uint32_t n_string;
	bool has_dwarf;
};

/* ---- What the file says ---- */

static struct us_cursor at(const struct pe *p, uint64_t offset)
{
	struct us_cursor c = { p->bytes, p->bytes + p->size, false };
	us_cursor_take(&c, offset);
	return c;
}

static bool inside(const struct pe *p, uint64_t offset, uint64_t len)
{
	return offset <= p->size && len <= p->size - offset;
}

static uint16_t machine_of(uint16_t pe)
{
	static const struct {
		uint16_t pe, elf;
	} all[] = { { 0x8664, EM_X86_64 },
		    { 0x14c, EM_386 },
		    { 0xaa64, EM_AARCH64 },
		    { 0x5064, EM_RISCV } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].pe == pe)
			return all[i].elf;
	return EM_NONE;
}

bool us_pe_is_plain(const uint8_t *bytes, size_t n)
{
	if (n < US_PE_HEAD || memcmp(bytes, "MZ", 2) != 0)
		return false;
	return memcmp(bytes + 0x202, "HdrS", 4) != 0 && /* x86's bzImage */
	       memcmp(bytes + 0x38, "ARM\x64", 4) != 0 &&
	       memcmp(bytes + 0x38, "RSC\x05", 4) != 0 &&
	       memcmp(bytes + 4, "zimg", 4) != 0 &&	/* EFI zboot */
	       !memmem(bytes, US_PE_HEAD, ".linux", 6); /* systemd's boot stub */
}

static int read_header(struct pe *p, struct us_err *e)
{
	struct us_cursor c = at(p, MZ_NEW_HEADER);
	uint64_t header = us_cursor_fixed(&c, 4);
	c = at(p, header);
	if (us_cursor_fixed(&c, 4) != 0x4550) /* "PE", 0, 0 */
		return -ENOEXEC;
	uint16_t machine = (uint16_t)us_cursor_fixed(&c, 2);
	p->n_section = (uint32_t)us_cursor_fixed(&c, 2);
	us_cursor_take(&c, 4); /* the time */
	p->symbols = us_cursor_fixed(&c, 4);
	p->n_symbol = us_cursor_fixed(&c, 4);
	p->sections = header + 4 + HEADER + us_cursor_fixed(&c, 2);
	us_cursor_take(&c, 2); /* characteristics */
	uint64_t magic = us_cursor_fixed(&c, 2);
	p->is64 = magic == PE32_PLUS;
	us_cursor_take(&c, 14);
	p->entry = us_cursor_fixed(&c, 4);
	us_cursor_take(&c, p->is64 ? 4 : 8);
	p->base = us_cursor_fixed(&c, p->is64 ? 8 : 4);
	p->machine = machine_of(machine);
	if (c.bad || (magic != PE32 && magic != PE32_PLUS))
		return us_fail(e, -EBADMSG, "the PE header is cut or no image's");
	if (p->machine == EM_NONE)
		return us_fail(e, -EINVAL,
			       "a PE file for processor 0x%x: such guests "
			       "cannot be sampled",
			       machine);
	return 0;
}

/* The string table follows the symbols; it may be missing. */
static int check_tables(struct pe *p, struct us_err *e)
{
	if (p->n_section > MOST_SECTIONS ||
	    !inside(p, p->sections, p->n_section * (uint64_t)SECTION))
		return us_fail(e, -EBADMSG, "it claims %u sections, which it has not",
			       p->n_section);
	if (!p->symbols)
		p->n_symbol = 0;
	if (!inside(p, p->symbols, p->n_symbol * SYMBOL))
		return us_fail(e, -EBADMSG, "it claims %llu symbols, which it has not",
			       (unsigned long long)p->n_symbol);
	if (!p->symbols)
		return 0;
	p->strings = p->symbols + p->n_symbol * SYMBOL;
	struct us_cursor c = at(p, p->strings);
	p->strings_size = us_cursor_fixed(&c, 4);
	if (c.bad)
		p->strings_size = 0;
	if (!inside(p, p->strings, p->strings_size))
		return us_fail(e, -EBADMSG, "its string table is cut");
	return 0;
}

/* Only a string that ends. */
static const char *string_at(const struct pe *p, uint64_t offset)
{
	if (offset < 4 || offset >= p->strings_size)
		return NULL;
	const char *s = (const char *)p->bytes + p->strings + offset;
	return memchr(s, '\0', p->strings_size - offset) ? s : NULL;
}

/* Longer names are "/" and where they are in the string table, decimal. */
static uint32_t long_name(const struct pe *p, const char *name)
{
	uint32_t n = 0;
	for (const char *c = name + 1; *c; c++) {
		if (*c < '0' || *c > '9')
			return 0;
		n = 10 * n + (uint32_t)(*c - '0');
	}
	return name[0] == '/' && string_at(p, n) ? n : 0;
}

/* A section of a file may be padded, and one in memory be longer than in the file. */
static int read_section(const struct pe *p, uint32_t i, struct section *ret,
			struct us_err *e)
{
	struct us_cursor c = at(p, p->sections + i * (uint64_t)SECTION);
	*ret = (struct section){ 0 };
	memcpy(ret->name, c.at, NAME);
	us_cursor_take(&c, NAME);
	ret->name_at = long_name(p, ret->name);
	ret->size = (uint32_t)us_cursor_fixed(&c, 4);
	ret->addr = (uint32_t)us_cursor_fixed(&c, 4);
	ret->filesz = (uint32_t)us_cursor_fixed(&c, 4);
	ret->offset = (uint32_t)us_cursor_fixed(&c, 4);
	us_cursor_take(&c, 12); /* relocations, lines: of object files */
	ret->flags = (uint32_t)us_cursor_fixed(&c, 4);
	if (!ret->size)
		ret->size = ret->filesz;
	if (ret->filesz > ret->size)
		ret->filesz = ret->size;
	if (ret->filesz && !inside(p, ret->offset, ret->filesz))
		return us_fail(e, -EBADMSG, "section %u is cut", i + 1);
	return 0;
}

static bool is_function(uint16_t type)
{
	return (type & 0x30) == 0x20;
}

static bool is_code(const struct section *s)
{
	return s->flags & (HAS_CODE | IS_EXECUTED);
}

/* ---- The same as ELF ---- */

static void put_symbol(struct made *m, const struct pe *p, const Elf64_Sym *s)
{
	const Elf32_Sym n = { .st_name = s->st_name,
			      .st_value = (uint32_t)s->st_value,
			      .st_info = s->st_info,
			      .st_shndx = s->st_shndx };
	size_t size = p->is64 ? sizeof(*s) : sizeof(n);
	memcpy(m->symbol + m->symbol_bytes, p->is64 ? (const void *)s : &n, size);
	m->symbol_bytes += size;
}

static void put_section(struct made *m, const struct pe *p, const Elf64_Shdr *s)
{
	const Elf32_Shdr n = { .sh_name = s->sh_name,
			       .sh_type = s->sh_type,
			       .sh_flags = (uint32_t)s->sh_flags,
			       .sh_addr = (uint32_t)s->sh_addr,
			       .sh_offset = (uint32_t)s->sh_offset,
			       .sh_size = (uint32_t)s->sh_size,
			       .sh_link = s->sh_link,
			       .sh_entsize = (uint32_t)s->sh_entsize };
	size_t size = p->is64 ? sizeof(*s) : sizeof(n);
	memcpy(m->section + m->section_bytes, p->is64 ? (const void *)s : &n, size);
	m->section_bytes += size;
}

static void put_segment(struct made *m, const struct pe *p, const Elf64_Phdr *h)
{
	const Elf32_Phdr n = { .p_type = h->p_type,
			       .p_flags = h->p_flags,
			       .p_offset = (uint32_t)h->p_offset,
			       .p_vaddr = (uint32_t)h->p_vaddr,
			       .p_paddr = (uint32_t)h->p_paddr,
			       .p_filesz = (uint32_t)h->p_filesz,
			       .p_memsz = (uint32_t)h->p_memsz,
			       .p_align = (uint32_t)h->p_align };
	size_t size = p->is64 ? sizeof(*h) : sizeof(n);
	memcpy(m->segment + m->segment_bytes, p->is64 ? (const void *)h : &n, size);
	m->segment_bytes += size;
	m->n_segment++;
}

static uint32_t put_name(struct made *m, const char *name, size_t len)
{
	uint32_t to = m->n_string;
	memcpy(m->string + to, name, len); /* what follows is zero */
	m->n_string += (uint32_t)len + 1;
	return to;
}

/* C's functions have a _ in front on i386 alone. */
static uint32_t symbol_name(struct made *m, const struct pe *p, const uint8_t *symbol)
{
	struct us_cursor c = { symbol, symbol + NAME, false };
	uint32_t name;
	if (us_cursor_fixed(&c, 4)) {
		name = put_name(m, (const char *)symbol,
				strnlen((const char *)symbol, NAME));
	} else {
		name = (uint32_t)us_cursor_fixed(&c, 4);
		if (!string_at(p, name))
			return 0;
	}
	return name + (p->machine == EM_386 && m->string[name] == '_');
}

/* Functions, and labels of assembly; not what stands for a whole section. */
static bool is_wanted(uint16_t type, uint8_t kind, uint8_t n_aux)
{
	return is_function(type) || kind == CLASS_EXTERNAL || kind == CLASS_LABEL ||
	       (kind == CLASS_STATIC && !n_aux);
}

/* Returns how many more entries belong to the symbol. */
static uint8_t make_symbol(struct made *m, const struct pe *p, const struct section *s,
			   uint64_t i)
{
	const uint8_t *symbol = p->bytes + p->symbols + i * SYMBOL;
	struct us_cursor c = { symbol + NAME, symbol + SYMBOL, false };
	uint64_t value = us_cursor_fixed(&c, 4);
	uint16_t section = (uint16_t)us_cursor_fixed(&c, 2);
	uint16_t type = (uint16_t)us_cursor_fixed(&c, 2);
	uint8_t kind = us_cursor_u8(&c), n_aux = us_cursor_u8(&c);
	if (!section || section > p->n_section || !is_code(&s[section - 1]) ||
	    !is_wanted(type, kind, n_aux))
		return n_aux;
	Elf64_Sym sym = {
		.st_name = symbol_name(m, p, symbol),
		.st_info = ELF64_ST_INFO(kind == CLASS_EXTERNAL ? STB_GLOBAL
								: STB_LOCAL,
					 is_function(type) ? STT_FUNC : STT_NOTYPE),
		.st_shndx = section,
		.st_value = p->base + s[section - 1].addr + value,
	};
	put_symbol(m, p, &sym);
	m->n_symbol++;
	return n_aux;
}

static void make_symbols(struct made *m, const struct pe *p, const struct section *s)
{
	put_symbol(m, p, &(Elf64_Sym){ 0 });
	for (uint64_t i = 0; i < p->n_symbol; i++)
		i += make_symbol(m, p, s, i);
}

/* What is loaded of a section. */
static void make_segment(struct made *m, const struct pe *p, const struct section *s)
{
	put_segment(m, p,
		    &(Elf64_Phdr){
			    .p_type = PT_LOAD,
			    .p_flags = PF_R | (is_code(s) ? PF_X : 0) |
				       (s->flags & IS_WRITTEN ? PF_W : 0),
			    .p_offset = FRONT + (uint64_t)s->offset,
			    .p_vaddr = p->base + s->addr,
			    .p_paddr = p->base + s->addr,
			    .p_filesz = s->filesz,
			    .p_memsz = s->size,
			    .p_align = 1,
		    });
}

static void make_section(struct made *m, const struct pe *p, const struct section *s)
{
	const char *name = s->name_at ? string_at(p, s->name_at) : s->name;
	bool debug = !strncmp(name, ".debug_", 7);
	Elf64_Shdr h = {
		.sh_name = s->name_at ? s->name_at : put_name(m, name, strlen(name)),
		.sh_type = s->filesz ? SHT_PROGBITS : SHT_NOBITS,
		.sh_offset = FRONT + (uint64_t)s->offset,
		.sh_size = s->filesz ? s->filesz : s->size,
	};
	if (!debug) {
		h.sh_flags = SHF_ALLOC | (is_code(s) ? SHF_EXECINSTR : 0);
		h.sh_addr = p->base + s->addr;
		make_segment(m, p, s);
	}
	m->has_dwarf |= s->filesz && !strcmp(name, ".debug_info");
	put_section(m, p, &h);
}

static void make_sections(struct made *m, const struct pe *p, const struct section *s)
{
	put_section(m, p, &(Elf64_Shdr){ 0 });
	for (uint32_t i = 0; i < p->n_section; i++)
		make_section(m, p, &s[i]);
	Elf64_Shdr symbols = {
		.sh_name = put_name(m, ".symtab", 7),
		.sh_type = SHT_SYMTAB,
		.sh_offset = FRONT + p->size,
		.sh_size = m->symbol_bytes,
		.sh_link = p->n_section + 2,
		.sh_entsize = p->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym),
	};
	Elf64_Shdr strings = {
		.sh_name = put_name(m, ".strtab", 7),
		.sh_type = SHT_STRTAB,
		.sh_offset = symbols.sh_offset + symbols.sh_size,
		.sh_size = m->n_string,
	};
	put_section(m, p, &symbols);
	put_section(m, p, &strings);
}

static int make(struct made *m, const struct pe *p, struct us_err *e)
{
	size_t n = (size_t)p->n_symbol, all = n + p->n_section + 2;
	_cleanup_free_ struct section *s = calloc(p->n_section + 1, sizeof(*s));
	m->symbol = calloc(n + 1, sizeof(Elf64_Sym));
	m->section = calloc(p->n_section + 3, sizeof(Elf64_Shdr));
	m->segment = calloc(p->n_section + 1, sizeof(Elf64_Phdr));
	m->string = calloc(1, (size_t)p->strings_size + all * (NAME + 1) + 4);
	if (!s || !m->symbol || !m->section || !m->segment || !m->string)
		return us_fail(e, -ENOMEM, "no memory for its symbols");
	m->n_string = 4; /* the first four bytes are the size */
	if (p->strings_size > 4) {
		memcpy(m->string + 4, p->bytes + p->strings + 4, p->strings_size - 4);
		m->n_string = (uint32_t)p->strings_size + 1;
	}
	for (uint32_t i = 0; i < p->n_section; i++) {
		int r = read_section(p, i, &s[i], e);
		if (r < 0)
			return r;
	}
	make_symbols(m, p, s);
	make_sections(m, p, s);
	if (m->n_symbol || m->has_dwarf)
		return 0;
	us_fail(e, -ENODATA, "a PE/COFF file without symbols or DWARF");
	us_hint(e,
		"lld-link writes them with -debug:dwarf; or give what nm prints, and "
		"where the guest has it less the file's ImageBase: -e SYMBOLS@BIAS");
	return -ENODATA;
}

static int write_header(const struct pe *p, const struct made *m, int fd)
{
	uint16_t n = (uint16_t)(p->n_section + 3);
	uint64_t table = FRONT + p->size + m->symbol_bytes + m->n_string;
	uint64_t segments = table + m->section_bytes;
	uint64_t entry = p->entry ? p->base + p->entry : 0;
	uint8_t front[FRONT] = { 0 };
	Elf64_Ehdr h = { .e_type = ET_DYN,
			 .e_machine = p->machine,
			 .e_version = EV_CURRENT,
			 .e_entry = entry,
			 .e_phoff = m->n_segment ? segments : 0,
			 .e_shoff = table,
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = m->n_segment,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = n,
			 .e_shstrndx = (uint16_t)(n - 1) };
	Elf32_Ehdr small = { .e_type = ET_DYN,
			     .e_machine = p->machine,
			     .e_version = EV_CURRENT,
			     .e_entry = (uint32_t)entry,
			     .e_phoff = m->n_segment ? (uint32_t)segments : 0,
			     .e_shoff = (uint32_t)table,
			     .e_ehsize = sizeof(small),
			     .e_phentsize = sizeof(Elf32_Phdr),
			     .e_phnum = m->n_segment,
			     .e_shentsize = sizeof(Elf32_Shdr),
			     .e_shnum = n,
			     .e_shstrndx = (uint16_t)(n - 1) };
	if (p->is64)
		memcpy(front, &h, sizeof(h));
	else
		memcpy(front, &small, sizeof(small));
	memcpy(front, ELFMAG, SELFMAG);
	front[EI_CLASS] = p->is64 ? ELFCLASS64 : ELFCLASS32;
	front[EI_DATA] = ELFDATA2LSB;
	front[EI_VERSION] = EV_CURRENT;
	return us_write_all(fd, front, sizeof(front));
}

static int write_elf(const struct pe *p, const struct made *m, int fd)
{
	int r = write_header(p, m, fd);
	if (r == 0)
		r = us_write_all(fd, p->bytes, p->size);
	if (r == 0)
		r = us_write_all(fd, m->symbol, m->symbol_bytes);
	if (r == 0)
		r = us_write_all(fd, m->string, m->n_string);
	if (r == 0)
		r = us_write_all(fd, m->section, m->section_bytes);
	if (r == 0)
		r = us_write_all(fd, m->segment, m->segment_bytes);
	return r;
}

static int open_elf(const struct pe *p, const struct made *m, struct us_elf_file *ret,
		    struct us_err *e)
{
	char path[64];
	_cleanup_close_ int fd = memfd_create("pe", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : write_elf(p, m, fd);
	if (r < 0)
		return us_fail(e, r, "keep its symbols: %s", strerror(-r));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return us_elf_file_open(path, ret, e);
}

static int convert(struct pe *p, struct us_elf_file *ret, struct us_err *e)
{
	struct made m = { 0 };
	int r = read_header(p, e);
	if (r == 0)
		r = check_tables(p, e);
	if (r == 0)
		r = make(&m, p, e);
	if (r == 0)
		r = open_elf(p, &m, ret, e);
	free(m.symbol);
	free(m.section);
	free(m.segment);
	free(m.string);
	return r;
}

/* ---- The file ---- */

/* -ENOEXEC: it does not begin as one. */
static int read_bytes(int fd, size_t size, uint8_t **ret, struct us_err *e)
{
	uint8_t head[US_PE_HEAD];
	ssize_t n = us_read_full(fd, head, sizeof(head));
	if (n < (ssize_t)sizeof(head) || !us_pe_is_plain(head, sizeof(head)))
		return -ENOEXEC;
	if (size > US_PE_MOST)
		return us_fail(e, -EFBIG, "a PE file of more than %u MiB",
			       US_PE_MOST >> 20);
	*ret = calloc(1, size);
	if (!*ret)
		return us_fail(e, -ENOMEM, "no memory for it");
	if (size < sizeof(head))
		return -ENOEXEC;
	memcpy(*ret, head, sizeof(head));
	n = us_read_full(fd, *ret + sizeof(head), size - sizeof(head));
	return n < 0 ? us_fail(e, (int)n, "%s", strerror((int)-n)) : 0;
}

int us_pe_file_open(const char *path, struct us_elf_file *ret, struct us_err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct us_err why = { 0 };
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return us_fail(e, -errno, "read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	int r = read_bytes(fd, (size_t)st.st_size, &bytes, &why);
	struct pe p = { .bytes = bytes, .size = (size_t)st.st_size };
	if (r == 0)
		r = convert(&p, ret, &why);
	if (r == 0 || r == -ENOEXEC)
		return r;
	if (e)
		*e = why;
	us_wrap(e, "read %s", path);
	return r;
}

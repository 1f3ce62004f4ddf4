/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_records.c: see cfi_records.h. */
#include "symbol/cfi_records.h"

#include "base/search.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FDES (4U << 20)
#define MAX_CIES (1U << 18)

/* A record without its length. */
struct record {
	size_t offset;
	struct us_cursor body; /* from the CIE pointer */
	bool dwarf64;
};

/* --- pointers --- */

static bool read_value(struct us_cursor *c, uint8_t format, uint8_t size, uint64_t *ret)
{
	switch (format & 0x0f) {
	case 0x00: /* absptr */
		*ret = us_cursor_fixed(c, size);
		return true;
	case 0x01:
		*ret = us_cursor_uleb(c);
		return true;
	case 0x02:
	case 0x03:
	case 0x04:
		*ret = us_cursor_fixed(c, 1U << ((format & 0x0f) - 1));
		return true;
	case 0x09:
		*ret = (uint64_t)us_cursor_sleb(c);
		return true;
	case 0x0a:
	case 0x0b:
	case 0x0c:
		*ret = (uint64_t)us_cursor_signed(c, 1U << ((format & 0x07) - 1));
		return true;
	default:
		return false;
	}
}

static bool read_base(const struct us_cfi_section *s, const struct us_cursor *c,
		      uint8_t encoding, uint64_t *ret)
{
	*ret = 0;
	switch (encoding & 0x70) {
	case 0x00: /* absolute */
		return true;
	case 0x10: /* relative to itself */
		*ret = s->addr + (uint64_t)(c->at - s->bytes);
		return true;
	case 0x20:
		*ret = s->text_base;
		return true;
	case 0x30:
		*ret = s->data_base;
		return true;
	default: /* relative to the function, which makes no sense here */
		return false;
	}
}

static void align_pointer(const struct us_cfi_section *s, struct us_cursor *c,
			  uint8_t size)
{
	uint64_t at = s->addr + (uint64_t)(c->at - s->bytes);
	us_cursor_take(c, -at & (size - 1U));
}

bool us_cfi_pointer(const struct us_cfi_section *s, struct us_cursor *c,
		    uint8_t encoding, uint8_t pointer_size, uint64_t *ret)
{
	uint64_t base = 0, value;
	if (encoding == 0x50) { /* aligned */
		align_pointer(s, c, pointer_size);
		encoding = US_CFI_PE_ABSPTR;
	}
	/* An indirect pointer is in memory that is filled when the program runs. */
	if (encoding & 0x80 || !read_base(s, c, encoding, &base) ||
	    !read_value(c, encoding, pointer_size, &value))
		return false;
	value += base;
	*ret = pointer_size == 4 ? (uint32_t)value : value;
	return !c->bad;
}

/* --- CIEs --- */

/* Skips a pointer's bytes, whatever it points to. */
static void skip_pointer(const struct us_cfi_section *s, struct us_cursor *c,
			 const struct us_cfi_cie *cie)
{
	uint64_t value;
	uint8_t encoding = us_cursor_u8(c);
	if (encoding == US_CFI_PE_OMIT)
		return;
	if (encoding == 0x50)
		align_pointer(s, c, cie->pointer_size);
	if (!read_value(c, encoding == 0x50 ? 0 : encoding, cie->pointer_size, &value))
		us_cursor_spoil(c);
}

/* Reads the data that the letters after "z" announce.  An unknown letter ends this, as
 * the specification requires: the length is used to skip the rest. */
static void read_augmentation(const struct us_cfi_section *s, const char *letter,
			      struct us_cursor data, struct us_cfi_cie *cie)
{
	for (; *letter && !data.bad; letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = us_cursor_u8(&data);
			break;
		case 'P':
			skip_pointer(s, &data, cie);
			cie->lands = true;
			break;
		case 'L':
			us_cursor_u8(&data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: which key signs */
		case 'G': /* arm64: its frames are tagged */
			break;
		default:
			return;
		}
	}
	cie->usable &= !data.bad;
}

static void read_cie(const struct us_cfi_section *s, const struct record *r,
		     struct us_cfi_cie *ret)
{
	struct us_cursor c = r->body;
	*ret = (struct us_cfi_cie){ .offset = r->offset,
				    .pointer_size = s->pointer_size };
	us_cursor_fixed(&c, r->dwarf64 && !s->eh ? 8 : 4);
	uint8_t version = us_cursor_u8(&c);
	const char *letters = us_cursor_string(&c);
	if (!letters || !(version == 1 || version == 3 || version == 4))
		return;
	if (!strcmp(letters, "eh")) /* of gcc 2 */
		us_cursor_fixed(&c, s->pointer_size);
	if (version == 4) {
		ret->pointer_size = us_cursor_u8(&c);
		if (us_cursor_u8(&c) != 0) /* segment selectors */
			return;
	}
	ret->code_align = us_cursor_uleb(&c);
	ret->data_align = us_cursor_sleb(&c);
	ret->pc_column = version == 1 ? us_cursor_u8(&c) : us_cursor_uleb(&c);
	ret->usable = !*letters || *letters == 'z' || !strcmp(letters, "eh");
	ret->usable &= ret->pointer_size == 8 || ret->pointer_size == 4;
	if (*letters == 'z') {
		ret->augmented = true;
		struct us_cursor data = us_cursor_take(&c, us_cursor_uleb(&c));
		if (ret->usable)
			read_augmentation(s, letters + 1, data, ret);
	}
	ret->program = c.at;
	ret->end = c.end;
	ret->usable &= !c.bad;
}

static const struct us_cfi_cie *find_cie(const struct us_cfi_records *r,
					 uint64_t offset, size_t *last)
{
	if (*last < r->cies.n && r->cies.v[*last].offset == offset)
		return &r->cies.v[*last];
	size_t next = us_first_not(r->cies.n, mid, r->cies.v[mid].offset < offset);
	if (next == r->cies.n || r->cies.v[next].offset != offset)
		return NULL;
	*last = next;
	return &r->cies.v[next];
}

/* --- FDEs --- */

/* Where the CIE of this FDE is; *c moves behind the pointer to it. */
static uint64_t cie_offset(const struct us_cfi_section *s, const struct record *r,
			   struct us_cursor *c)
{
	size_t at = (size_t)(c->at - s->bytes);
	if (s->eh)
		return at - us_cursor_fixed(c, 4);
	return us_cursor_fixed(c, r->dwarf64 ? 8 : 4);
}

/* Reads the address range, and what follows.  False: it is not code. */
static bool read_range(const struct us_cfi_section *s, const struct us_cfi_cie *cie,
		       struct us_cursor c, struct us_cfi_fde *ret)
{
	uint64_t len;
	if (!us_cfi_pointer(s, &c, cie->encoding, cie->pointer_size, &ret->start) ||
	    !us_cfi_pointer(s, &c, cie->encoding & 0x0f, cie->pointer_size, &len))
		return false;
	const struct us_elf_code *code = us_elf_file_code(s->file, ret->start);
	if (!code || !len)
		return false;
	ret->end = len < code->end - ret->start ? ret->start + len : code->end;
	if (cie->augmented)
		us_cursor_take(&c, us_cursor_uleb(&c));
	ret->program = c.at;
	ret->program_end = c.end;
	return !c.bad;
}

/* Free Pascal's 8-byte pointer: the upper half is 0, and what follows makes sense. */
static bool is_wide_pointer(const struct us_cfi_section *s, const struct record *r,
			    const struct us_cfi_cie *cie, struct us_cursor *c)
{
	return !s->eh && !r->dwarf64 && cie->pointer_size == 8 &&
	       cie->encoding == US_CFI_PE_ABSPTR && us_cursor_fixed(c, 4) == 0 &&
	       !c->bad;
}

/* Go's linker writes .debug_frame itself, and its rules are right. */
static bool is_go(const struct us_elf_file *f)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab",
					     ".note.go.buildid" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (us_elf_file_section(f, names[i]))
			return true;
	return false;
}

/* Recognizes Free Pascal even if it fixes its pointers: beside it only Go counts the
 * stack of x86-64 in units of 4 bytes. */
static bool is_pascal_cie(const struct us_cfi_records *r, const struct us_cfi_cie *cie)
{
	const struct us_cfi_section *s = &r->section;
	return !s->eh && !r->go && s->file->machine == EM_X86_64 &&
	       cie->data_align == -4;
}

static int take_fde(struct us_cfi_records *r, const struct record *record,
		    size_t *last_cie, struct us_elf_cfi_stats *stats)
{
	const struct us_cfi_section *s = &r->section;
	struct us_cursor c = record->body;
	const struct us_cfi_cie *cie = find_cie(r, cie_offset(s, record, &c), last_cie);
	struct us_cfi_fde fde = { .number = (uint32_t)r->fdes.n };
	if (!cie || !cie->usable) {
		stats->n_bad++;
		return 0;
	}
	bool pascal = is_pascal_cie(r, cie);
	if (!read_range(s, cie, c, &fde)) {
		pascal = is_wide_pointer(s, record, cie, &c) &&
			 read_range(s, cie, c, &fde);
		if (!pascal) {
			stats->n_outside++;
			return 0;
		}
	}
	if (r->fdes.n == MAX_FDES) {
		stats->n_left_out++;
		return 0;
	}
	struct us_cfi_fde *new = us_vec_push(&r->fdes);
	if (!new)
		return -ENOMEM;
	fde.cie = (uint32_t)*last_cie;
	*new = fde;
	stats->n_fde++;
	stats->n_pascal += pascal;
	return 0;
}

/* --- all records --- */

/* The next record; false at the end, and where a length makes no sense. */
static bool next_record(const struct us_cfi_section *s, struct us_cursor *c,
			struct record *ret, struct us_elf_cfi_stats *stats)
{
	uint64_t len = 0;
	/* A length of 0 ends .eh_frame, but linkers leave some in the middle. */
	while (len == 0) {
		if (us_cursor_left(c) < 4)
			return false;
		ret->offset = (size_t)(c->at - s->bytes);
		len = us_cursor_fixed(c, 4);
	}
	ret->dwarf64 = len == 0xffffffff;
	if (ret->dwarf64)
		len = us_cursor_fixed(c, 8);
	ret->body = us_cursor_take(c, len);
	if (ret->body.bad)
		stats->n_bad++;
	return !ret->body.bad;
}

static bool is_cie(const struct us_cfi_section *s, const struct record *r)
{
	struct us_cursor c = r->body;
	bool wide = r->dwarf64 && !s->eh;
	uint64_t id = us_cursor_fixed(&c, wide ? 8 : 4);
	return !c.bad && id == (s->eh ? 0 : wide ? UINT64_MAX : UINT32_MAX);
}

static int take_cie(struct us_cfi_records *r, const struct record *record,
		    struct us_elf_cfi_stats *stats)
{
	if (r->cies.n == MAX_CIES) {
		stats->n_left_out++;
		return 0;
	}
	struct us_cfi_cie *cie = us_vec_push(&r->cies);
	if (!cie)
		return -ENOMEM;
	read_cie(&r->section, record, cie);
	stats->n_cie += cie->usable;
	stats->n_bad += !cie->usable;
	return 0;
}

/* An FDE may come before its CIE, so all CIEs are read first. */
static int read_all(struct us_cfi_records *r, bool cies, struct us_elf_cfi_stats *stats)
{
	const struct us_cfi_section *s = &r->section;
	struct us_elf_cfi_stats unused = { 0 };
	struct us_cursor c = { s->bytes, s->bytes + s->size, false };
	struct record record;
	size_t last_cie = 0;
	int ret = 0;
	while (ret == 0 && next_record(s, &c, &record, cies ? stats : &unused)) {
		if (is_cie(s, &record) != cies)
			continue;
		ret = cies ? take_cie(r, &record, stats)
			   : take_fde(r, &record, &last_cie, stats);
	}
	return ret;
}

static int by_start(const void *a, const void *b)
{
	const struct us_cfi_fde *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void sort_fdes(struct us_cfi_records *r)
{
	size_t i = 1;
	while (i < r->fdes.n && by_start(&r->fdes.v[i - 1], &r->fdes.v[i]) <= 0)
		i++;
	if (i < r->fdes.n)
		qsort(r->fdes.v, r->fdes.n, sizeof(*r->fdes.v), by_start);
}

int us_cfi_records_read(const struct us_cfi_section *s, struct us_cfi_records *ret,
			struct us_elf_cfi_stats *stats)
{
	*ret = (struct us_cfi_records){ .section = *s, .go = is_go(s->file) };
	int r = read_all(ret, true, stats);
	if (r == 0)
		r = read_all(ret, false, stats);
	if (r == 0)
		sort_fdes(ret);
	return r;
}

void us_cfi_records_fini(struct us_cfi_records *r)
{
	free(r->cies.v);
	free(r->fdes.v);
	memset(r, 0, sizeof(*r));
}

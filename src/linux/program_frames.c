/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_frames.c: see program_frames.h. */
#include "linux/program_frames.h"

#include "base/search.h"
#include "linux/program_pages.h"
#include "symbol/cfi_records.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	    4096U
#define HEADER	    32U	       /* bytes of the search table's header that are read */
#define RECORDS	    64U	       /* where the records begin in the buffer */
#define MOST_TABLE  (8U << 20) /* bytes of the search table */
#define TABLE_KIND  0x3b       /* pairs of 4 bytes each, relative to the table */
#define MOST_LOOKED 1024U      /* pages */
#define MOST_CIE    64U	       /* bytes of a CIE, a record that functions refer to */
#define MOST_CIES   4096U
#define NO_CIE	    UINT32_C(0x7fffffff) /* points before all records, to nothing */

struct frames {
	struct us_program_pages pages;
	const struct us_program_elf *f;
	uint64_t start;	 /* of the records: an address of the file */
	size_t size;	 /* of the records; the buffer also has RECORDS and a page */
	uint8_t *bytes;	 /* the header, and from RECORDS on the records */
	bool *here;	 /* for each page, from that of start on: was it read? */
	uint32_t *known; /* offsets of the records in the table; sorted */
	size_t n_known;
};

static size_t page_of(const struct frames *r, size_t offset)
{
	size_t in_page = (size_t)((r->start + r->f->slide) % PAGE);
	return (in_page + offset) / PAGE;
}

static bool is_here(const struct frames *r, size_t offset, size_t len)
{
	if (len > r->size || offset > r->size - len)
		return false;
	for (size_t k = page_of(r, offset); k <= page_of(r, offset + len - 1); k++)
		if (!r->here[k])
			return false;
	return true;
}

/* --- where the records are --- */

/* The bytes from there to the end of the segment. */
static size_t room_at(const struct us_program_elf *f, uint64_t address)
{
	const struct us_program_segment *s = us_program_segment_at(f, address);
	uint64_t left = s ? s->size - (address - s->address) : 0;
	return left < US_PROGRAM_MOST_FRAMES ? (size_t)left : US_PROGRAM_MOST_FRAMES;
}

/* *ret_table: where the pairs begin, in the header. */
static bool read_header(struct frames *r, uint8_t header[HEADER], size_t *ret_table,
			uint64_t *ret_n)
{
	const struct us_cfi_section s = { .bytes = header,
					  .size = HEADER,
					  .addr = r->f->frames,
					  .data_base = r->f->frames };
	uint8_t width = r->f->is64 ? 8 : 4;
	struct us_cursor c = { header + 4, header + HEADER, false };
	size_t len = r->f->frames_size < HEADER ? (size_t)r->f->frames_size : HEADER;
	memset(header, 0, HEADER);
	if (len < 8 || !us_program_pages_read(&r->pages, r->f->frames, header, len) ||
	    header[0] != 1 || !us_cfi_pointer(&s, &c, header[1], width, &r->start))
		return false;
	*ret_n = 0;
	if (header[2] != US_CFI_PE_OMIT && header[3] == TABLE_KIND &&
	    !us_cfi_pointer(&s, &c, header[2], width, ret_n))
		*ret_n = 0;
	*ret_table = (size_t)(c.at - header);
	r->size = room_at(r->f, r->start);
	return r->size != 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Note the offsets of the records in one piece of the table. */
static void take_pairs(struct frames *r, const uint8_t *pairs, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		int32_t to;
		memcpy(&to, pairs + 8 * k + 4, sizeof(to));
		uint64_t offset = r->f->frames + (uint64_t)(int64_t)to - r->start;
		if (!r->f->is64)
			offset = (uint32_t)offset;
		if (offset && offset < r->size)
			r->known[r->n_known++] = (uint32_t)offset;
	}
}

/* Read page by page; one pair may cross a border.  A page that is missing adds
 * nothing. */
static int read_table(struct frames *r, size_t table, uint64_t n)
{
	uint8_t piece[PAGE + 8];
	uint64_t at = r->f->frames + table;
	if (table > r->f->frames_size || n > (r->f->frames_size - table) / 8)
		n = table > r->f->frames_size ? 0 : (r->f->frames_size - table) / 8;
	if (n > MOST_TABLE / 8)
		n = MOST_TABLE / 8;
	r->known = malloc((size_t)n * sizeof(*r->known) + 1);
	if (!r->known)
		return -ENOMEM;
	while (n) {
		size_t some = us_program_pages_part(&r->pages, at, PAGE) / 8;
		some = some ? some : 1;
		if (some > n)
			some = (size_t)n;
		if (us_program_pages_read(&r->pages, at, piece, 8 * some))
			take_pairs(r, piece, some);
		at += 8 * some;
		n -= some;
	}
	if (r->n_known)
		qsort(r->known, r->n_known, sizeof(*r->known), by_value);
	return 0;
}

/* Programs can find nothing behind the last record of the table. */
static void cut(struct frames *r)
{
	uint32_t len;
	if (!r->n_known)
		return;
	size_t last = r->known[r->n_known - 1], left = r->size - last;
	if (us_program_pages_read(&r->pages, r->start + last, &len, sizeof(len)) &&
	    left > 4 && len <= left - 4)
		r->size = last + 4 + len;
	else
		r->size = last;
}

/* --- the records --- */

static int read_records(struct frames *r, const uint8_t header[HEADER],
			size_t *ret_missing)
{
	r->bytes = calloc(1, RECORDS + r->size + PAGE);
	r->here = calloc(r->size / PAGE + 2, sizeof(*r->here));
	if (!r->bytes || !r->here)
		return -ENOMEM;
	memcpy(r->bytes, header, HEADER);
	*ret_missing = 0;
	for (size_t done = 0; done < r->size;) {
		size_t part = us_program_pages_part(&r->pages, r->start + done,
						    r->size - done);
		uint8_t *to = r->bytes + RECORDS + done;
		bool ok = us_program_pages_read(&r->pages, r->start + done, to, part);
		if (!ok) {
			memset(to, 0, part);
			*ret_missing += part;
		}
		r->here[page_of(r, done)] = ok;
		done += part;
	}
	return 0;
}

/* Is there a complete record?  Then *ret_next is where the next one begins. */
static bool record_at(const struct frames *r, size_t at, size_t *ret_next)
{
	uint32_t len;
	if (!is_here(r, at, 4))
		return false;
	memcpy(&len, r->bytes + RECORDS + at, sizeof(len));
	if (len == UINT32_MAX || !len || len > r->size - at - 4 ||
	    !is_here(r, at + 4, len))
		return false;
	*ret_next = at + 4 + len;
	return true;
}

/* The first record of the table behind this place, with room for a record in
 * between. */
static size_t next_known(const struct frames *r, size_t at)
{
	size_t k = us_first_not(r->n_known, mid, r->known[mid] < at + 8), next;
	for (; k < r->n_known; k++)
		if (record_at(r, r->known[k], &next))
			return r->known[k];
	return r->size;
}

/* Fill each gap with a record that nobody can use, so that the records behind it are
 * found. */
static void mend(struct frames *r)
{
	const uint32_t none = NO_CIE;
	for (size_t at = 0, next; at < r->size; at = next) {
		if (record_at(r, at, &next))
			continue;
		next = next_known(r, at);
		if (next == r->size) {
			memset(r->bytes + RECORDS + at, 0, r->size - at);
			return;
		}
		uint32_t len = (uint32_t)(next - at - 4);
		memcpy(r->bytes + RECORDS + at, &len, sizeof(len));
		memcpy(r->bytes + RECORDS + at + 4, &none, sizeof(none));
	}
}

/* --- the records, without a search table --- */

static uint32_t word_at(const struct frames *r, size_t at)
{
	uint32_t word;
	memcpy(&word, r->bytes + RECORDS + at, sizeof(word));
	return word;
}

/* Is it a CIE of version 1 (RISC-V's compilers: 3), with the letters that compilers
 * write? */
static bool is_cie(const struct frames *r, size_t at)
{
	const uint8_t *bytes = r->bytes + RECORDS + at;
	size_t next;
	if (!record_at(r, at, &next) || next - at < 16 || next - at > MOST_CIE ||
	    word_at(r, at + 4) || (bytes[8] != 1 && bytes[8] != 3) || bytes[9] != 'z')
		return false;
	const char *letters = (const char *)bytes + 10;
	size_t n = strspn(letters, "RPLSBG");
	return n < 6 && !letters[n];
}

/* The offsets of all CIEs, sorted; *ret_n of them. */
static uint32_t *find_cies(const struct frames *r, size_t *ret_n)
{
	uint32_t *v = malloc(MOST_CIES * sizeof(*v));
	*ret_n = 0;
	for (size_t at = -r->start & 3; v && at + 16 < r->size; at += 4)
		if (is_cie(r, at) && *ret_n < MOST_CIES)
			v[(*ret_n)++] = (uint32_t)at;
	return v;
}

/* Is it a function's record, which refers to one of those CIEs? */
static bool is_fde(const struct frames *r, size_t at, const uint32_t *cie, size_t n)
{
	uint32_t back = word_at(r, at + 4);
	size_t next;
	if (!back || back > at + 4 || !record_at(r, at, &next) || next - at < 16)
		return false;
	uint32_t to = (uint32_t)(at + 4 - back);
	size_t k = us_first_not(n, mid, cie[mid] < to);
	return k < n && cie[k] == to;
}

/* *ret_at: the first CIE that is directly followed by a function's record.  All records
 * of functions together take the place of the table. */
static bool find_in_segment(struct frames *r, size_t *ret_at)
{
	size_t n, next;
	uint32_t *cie = find_cies(r, &n);
	bool found = false;
	for (size_t k = 0; k < n && !found; k++) {
		*ret_at = cie[k];
		found = record_at(r, cie[k], &next) && next + 16 < r->size &&
			is_fde(r, next, cie, n);
	}
	r->known = found ? malloc(r->size / 16 * sizeof(*r->known) + 1) : NULL;
	for (size_t at = *ret_at; r->known && at + 16 < r->size; at += 4)
		if (is_fde(r, at, cie, n) && r->n_known < r->size / 16)
			r->known[r->n_known++] = (uint32_t)(at - *ret_at);
	free(cie);
	return r->known;
}

static void forget(struct frames *r)
{
	free(r->bytes);
	free(r->here);
	free(r->known);
	r->bytes = NULL;
	r->here = NULL;
	r->known = NULL;
	r->n_known = 0;
}

/* Make a header that leads to the records. */
static void make_header(const struct frames *r, uint8_t header[HEADER])
{
	const uint8_t kinds[] = { 1, r->f->is64 ? 0x04 : 0x03, US_CFI_PE_OMIT,
				  US_CFI_PE_OMIT };
	memset(header, 0, HEADER);
	memcpy(header, kinds, sizeof(kinds));
	memcpy(header + sizeof(kinds), &r->start, sizeof(r->start));
}

static int search(struct frames *r, uint8_t header[HEADER], size_t *ret_missing)
{
	size_t missing = 0;
	for (unsigned k = 0; k < r->f->n_segment; k++) {
		const struct us_program_segment *s = &r->f->segment[k];
		size_t at = 0;
		r->start = s->address;
		r->size = s->written ? 0 : room_at(r->f, s->address);
		if (!r->size)
			continue;
		int e = read_records(r, header, ret_missing);
		if (e < 0)
			return e;
		missing += *ret_missing;
		if (!find_in_segment(r, &at)) {
			forget(r);
			continue;
		}
		r->start += at;
		r->size -= at;
		make_header(r, header);
		free(r->bytes);
		free(r->here);
		return read_records(r, header, ret_missing);
	}
	*ret_missing = missing;
	return -ENOENT;
}

/* --- as a file --- */

static int by_start(const void *a, const void *b)
{
	const struct us_elf_code *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t find_code(const struct us_program_elf *f,
			struct us_elf_code code[US_PROGRAM_SEGMENTS])
{
	size_t n = 0, kept = 0;
	for (unsigned k = 0; k < f->n_segment; k++)
		if (f->segment[k].code && f->segment[k].size)
			code[n++] = (struct us_elf_code){
				.start = f->segment[k].address,
				.end = f->segment[k].address + f->segment[k].size
			};
	if (n)
		qsort(code, n, sizeof(*code), by_start);
	for (size_t k = 0; k < n; k++)
		if (!kept || code[k].start >= code[kept - 1].end)
			code[kept++] = code[k];
	return kept;
}

/* Compile the records like those of a file without sections. */
static int compile(struct frames *r, struct us_cfi_table **ret)
{
	struct us_elf_code code[US_PROGRAM_SEGMENTS];
	struct us_elf_segment segment[] = {
		{ .type = PT_GNU_EH_FRAME,
		  .vaddr = r->f->frames, /* unused if search() made the header */
		  .filesz = HEADER },
		{ .type = PT_LOAD,
		  .vaddr = r->start,
		  .memsz = r->size,
		  .offset = RECORDS,
		  .filesz = r->size },
	};
	const struct us_elf_file f = { .bytes = r->bytes,
				       .size = RECORDS + r->size,
				       .is64 = r->f->is64,
				       .machine = r->f->machine,
				       .segment = segment,
				       .n_segment = 2,
				       .code = code,
				       .n_code = find_code(r->f, code) };
	struct us_elf_cfi_stats stats;
	struct us_cfi_table_info info;
	int e = us_elf_cfi_read(&f, NULL, ret, &stats, NULL);
	if (e < 0)
		return e;
	us_cfi_table_info(*ret, &info);
	if (info.start != info.end)
		return 0;
	us_cfi_table_free(*ret);
	*ret = NULL;
	return -ENOENT;
}

/* Find the records with the search table. */
static int look_up(struct frames *r, uint8_t header[HEADER], size_t *ret_missing)
{
	size_t table;
	uint64_t n;
	if (!r->f->frames || !read_header(r, header, &table, &n))
		return -ENOENT;
	int e = read_table(r, table, n);
	if (e == 0)
		cut(r);
	if (e == 0 && !r->size)
		e = -ENOENT;
	return e < 0 ? e : read_records(r, header, ret_missing);
}

int us_program_frames_read(struct us_paging *p, const struct us_space *s,
			   const struct us_program_elf *f, struct us_page_cache *cache,
			   struct us_cfi_table **ret, size_t *ret_missing)
{
	struct frames r = { .pages = { p, s, f, cache }, .f = f };
	uint8_t header[HEADER] = { 0 };
	*ret_missing = 0;
	us_program_pages_learn(&r.pages);
	int e = look_up(&r, header, ret_missing);
	if (e == -ENOENT) {
		forget(&r);
		e = search(&r, header, ret_missing);
	}
	if (e == 0) {
		mend(&r);
		e = compile(&r, ret);
	}
	forget(&r);
	return e;
}

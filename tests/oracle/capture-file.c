/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capture-file.c: see capture-file.h. */
#include "capture-file.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	 4096ULL
#define RAM_SIZE (32ULL << 20)
#define PRESENT	 3
#define RED_ZONE 128

struct replay {
	struct us_region region;
	struct us_mem mem;
	us_gpa next; /* page that is free */
	uint8_t *ram;
};

void saved_take(struct saved *ret, struct us_paging *p, const struct us_regs *regs)
{
	ret->regs = *regs;
	ret->base = (regs->sp - RED_ZONE) & ~7ULL;
	ret->len = 0;
	while (ret->len < CAPTURE_WINDOW) {
		us_gva at = ret->base + ret->len;
		uint32_t n = (uint32_t)(PAGE - at % PAGE);
		if (n > CAPTURE_WINDOW - ret->len)
			n = CAPTURE_WINDOW - ret->len;
		if (!us_paging_read(p, &regs->space, at, ret->bytes + ret->len, n))
			break;
		ret->len += n;
	}
}

int saved_write(FILE *f, const struct saved *s)
{
	return fwrite(s, sizeof(*s), 1, f) == 1 ? 0 : -1;
}

int saved_read(FILE *f, struct saved *ret)
{
	if (fread(ret, sizeof(*ret), 1, f) == 1 && ret->len <= CAPTURE_WINDOW)
		return 0;
	errno = EBADMSG;
	return -1;
}

/* --- the guest --- */

static us_gpa new_page(struct replay *r)
{
	us_gpa page = r->next;
	if (page + PAGE > RAM_SIZE)
		return 0;
	r->next += PAGE;
	return page;
}

/* The page's bytes; a page that is not there yet is made. NULL: full. */
static uint8_t *page_at(struct replay *r, us_gva va)
{
	us_gpa table = PAGE; /* the root */
	for (unsigned shift = 39;; shift -= 9) {
		uint64_t entry;
		uint8_t *at = r->ram + table + (va >> shift & 511) * 8;
		memcpy(&entry, at, 8);
		if (!entry) {
			us_gpa page = new_page(r);
			if (!page)
				return NULL;
			entry = page | PRESENT;
			memcpy(at, &entry, 8);
		}
		table = entry & ~(PAGE - 1);
		if (shift == 12)
			return r->ram + table;
	}
}

static bool put(struct replay *r, us_gva va, const uint8_t *from, uint64_t len)
{
	while (len) {
		uint64_t n = PAGE - va % PAGE;
		uint8_t *page = page_at(r, va);
		if (!page)
			return false;
		if (n > len)
			n = len;
		memcpy(page + va % PAGE, from, n);
		va += n;
		from += n;
		len -= n;
	}
	return true;
}

bool replay_load(struct replay *r, const struct saved *s, struct us_regs *ret)
{
	*ret = s->regs;
	ret->space = (struct us_space){ .root = PAGE, .mode = US_PAGING_X86_4 };
	return put(r, s->base, s->bytes, s->len);
}

struct us_mem *replay_mem(struct replay *r)
{
	return &r->mem;
}

/* The ELF is one that we have built: only what would crash is checked. */
static bool put_segments(struct replay *r, const uint8_t *file, uint64_t size)
{
	Elf64_Ehdr h;
	if (size < sizeof(h))
		return false;
	memcpy(&h, file, sizeof(h));
	for (unsigned i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;
		uint64_t at = h.e_phoff + i * sizeof(p);
		if (at > size || size - at < sizeof(p))
			return false;
		memcpy(&p, file + at, sizeof(p));
		if (p.p_type != PT_LOAD)
			continue;
		if (p.p_offset > size || size - p.p_offset < p.p_filesz ||
		    !put(r, p.p_vaddr, file + p.p_offset, p.p_filesz))
			return false;
	}
	return true;
}

static uint8_t *load(const char *path, uint64_t *ret_size)
{
	FILE *f = fopen(path, "rbe");
	long size = -1;
	uint8_t *bytes = NULL;
	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size > 0)
		bytes = malloc((size_t)size);
	if (bytes) {
		rewind(f);
		*ret_size = fread(bytes, 1, (size_t)size, f);
	}
	if (f)
		fclose(f);
	return bytes;
}

int replay_new(const char *elf, struct replay **ret, struct us_err *e)
{
	uint64_t size = 0;
	_cleanup_free_ uint8_t *file = load(elf, &size);
	struct replay *r = calloc(1, sizeof(*r));
	if (r)
		r->ram = calloc(1, RAM_SIZE);
	if (!file || !r || !r->ram) {
		replay_free(r);
		return us_fail(e, -EIO, "%s cannot be read", elf);
	}
	r->next = 2 * PAGE;
	r->region = (struct us_region){ .size = RAM_SIZE, .host = r->ram };
	r->mem.region = &r->region;
	r->mem.n_region = 1;
	us_mem_init(&r->mem);
	if (!put_segments(r, file, size)) {
		replay_free(r);
		return us_fail(e, -EBADMSG, "%s is of no use", elf);
	}
	*ret = r;
	return 0;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	free(r->ram);
	free(r);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile ELF file: opened, its symbols, lines and inlined calls looked up. */
#include "boot/entry.h"
#include "symbol/elf_file.h"
#include "symbol/image_find.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBES 24 /* a run of code */

static volatile size_t sink;

/* A string that is not terminated in the file would be found here. */
static void read_frames(const struct us_frame *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sink += f[i].func ? strlen(f[i].func) : 0;
		sink += f[i].file ? strlen(f[i].file) : 0;
		sink += strlen(f[i].module);
	}
}

static void add_up(void *ctx, us_gva pc)
{
	(void)ctx;
	sink += pc;
}

/* The way back, from a line with code and from one that may have none. */
static void find_lines(struct us_symbols *s, const struct us_frame *f)
{
	struct us_source_line near = { 0 };
	if (!f->file)
		return;
	us_symbols_each_address(s, f->file, f->line, add_up, NULL);
	us_symbols_around(s, f->file, f->decl_line + 1, add_up, NULL, &near);
	sink += near.line ? strlen(near.file) : 0;
}

static void look_up(struct us_symbols *s, us_gva pc)
{
	struct us_frame f[16] = { 0 };
	for (int is_return = 0; is_return < 2; is_return++)
		read_frames(f, us_symbols_lookup(s, pc, is_return, f, 16));
	find_lines(s, f);
}

static void look_everywhere(struct us_symbols *s, const struct us_elf_image *i)
{
	const struct us_elf_file *file = us_elf_image_file(i);
	us_gva *starts;
	size_t n;
	for (size_t k = 0; k < file->n_code && k < 8; k++) {
		const struct us_elf_code *c = &file->code[k];
		uint64_t step = (c->end - c->start) / PROBES + 1;
		for (uint64_t at = c->start; at < c->end && c->end - at > step;
		     at += step)
			look_up(s, at);
		look_up(s, c->end);
	}
	if (us_symbols_function_starts(s, &starts, &n) < 0)
		return;
	for (size_t k = 0; k < n && k < PROBES; k++)
		look_up(s, starts[k]);
	free(starts);
}

/* The guest's memory is the file itself, so that some of its text is equal. */
static void compare(const struct us_elf_image *i)
{
	const struct us_elf_file *file = us_elf_image_file(i);
	struct us_region r = { .start = 0, .size = file->size, .host = file->bytes };
	struct us_mem m = { .region = &r, .n_region = 1 };
	struct us_space space = { .mode = US_PAGING_OFF };
	static struct us_paging p;
	struct us_image_match match;
	bool same = false;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	uint64_t bias = file->n_code ? file->code[0].offset - file->code[0].start : 0;
	sink += us_elf_image_compare(i, bias, 0, &p, &space, &match, &same) + same;
}

/* Windows of the file, at another address: where were they? */
static void search(const struct us_elf_image *i)
{
	const struct us_elf_file *file = us_elf_image_file(i);
	struct us_find_window w[4];
	struct us_image_found f;
	size_t n = 0;
	for (size_t k = 0; k < file->n_code && n < 4; k++) {
		const struct us_elf_code *c = &file->code[k];
		if (c->filesz < US_FIND_WINDOW)
			continue;
		memcpy(w[n].bytes, file->bytes + c->offset, US_FIND_WINDOW);
		w[n].bytes[n] ^= 1;
		w[n++].start = c->start + (k % 2 ? 0x5000 : 0x5123);
	}
	sink += us_elf_image_search(i, w, n, false, &f);
	sink += us_elf_image_search(i, w, n, true, &f) + f.votes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[64];
	uint64_t entry[US_BOOT_MAX_ENTRY];
	struct us_elf_image *i;
	struct us_symbols *s;
	struct us_err e;
	if (fd < 0)
		fd = memfd_create("fuzz-elf", 0);
	if (ftruncate(fd, (off_t)size) < 0 ||
	    pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (us_elf_image_open(path, &i, &e) < 0)
		return 0;
	compare(i);
	us_boot_entries(us_elf_image_file(i), entry);
	search(i);
	if (us_symbols_new(&s, &e) < 0) {
		us_elf_image_close(i);
		return 0;
	}
	if (us_symbols_add(s, i, 0, &e) == 0)
		look_everywhere(s, i);
	us_symbols_free(s);
	return 0;
}

#include "mutate-section.h"

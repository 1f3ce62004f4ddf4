/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hostile guest says that its programs have mapped, and the ELF files there with
 * their call frame information: the input is all of its memory, again and again. */
#include "../unit/linux-mappings.h"

#include "linux/program_frames.h"
#include "linux/program_pages.h"

#include <string.h>

#define MOST 8192

struct input {
	const uint8_t *bytes;
	size_t size;
};

static volatile size_t sink;

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	const struct input *in = ctx;
	uint8_t *to = buf;
	for (size_t k = 0; k < len; k++)
		to[k] = in->bytes[(at + k) % in->size];
	return at % 65536 < 60000;
}

static int visit(void *ctx, const struct us_program_symbol *s)
{
	(void)ctx;
	sink += strlen(s->name) + s->size;
	return 0;
}

static void read_mappings(const struct us_linux_mappings_layout *l, struct us_paging *p,
			  const struct us_space *s)
{
	struct us_linux_mappings m;
	char path[US_LINUX_MAPPED_NAME];
	if (us_linux_mappings_read(l, p, s, TEST_MM, &m) < 0)
		return;
	for (size_t k = 0; k < m.n && k < 16; k++)
		if (us_linux_mapping_path(l, p, s, m.v[k].file, path))
			sink += strlen(path);
	us_linux_mappings_fini(&m);
}

static const struct us_page_cache_layout layout = {
	.mapping = 16, .head = 8, .slots = 8, .n_slot = 4, .index = 32, .page_size = 64
};

/* Of segments no larger than the input, for time's sake. */
static void read_rules(struct us_paging *p, const struct us_space *s,
		       struct us_program_elf *elf)
{
	struct us_page_cache cache;
	struct us_cfi_table_info info;
	struct us_cfi_table *t;
	struct us_cfi_row row;
	size_t missing;
	for (unsigned k = 0; k < elf->n_segment; k++)
		if (elf->segment[k].size > MOST)
			elf->segment[k].size = MOST;
	bool cached = us_page_cache_open(&cache, &layout, p, s, 1ULL << 63);
	if (us_program_frames_read(p, s, elf, cached ? &cache : NULL, &t, &missing) < 0)
		return;
	us_cfi_table_info(t, &info);
	for (uint64_t at = info.start; at < info.end && at - info.start < 64; at++)
		if (us_cfi_table_find(t, at, &row))
			sink += row.rule->n_saved;
	us_cfi_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_paging p;
	struct input in = { data, size };
	struct us_mem mem = { .read = read_guest, .ctx = &in };
	const struct us_space space = { .mode = US_PAGING_OFF };
	struct us_linux_mappings_layout list = test_mappings_layout;
	struct us_program_elf elf;
	struct us_page_cache cache;
	uint64_t slide;
	size_t missing;
	if (!size || size > MOST)
		return 0;
	us_mem_init(&mem);
	us_paging_init(&p, &mem);
	list.tree = false;
	read_mappings(&test_mappings_layout, &p, &space);
	read_mappings(&list, &p, &space);
	bool cached = us_page_cache_open(&cache, &layout, &p, &space, 1ULL << 63);
	struct us_program_pages pages = { &p, &space, &elf, cached ? &cache : NULL };
	if (cached)
		us_program_pages_learn_mapping(&p, &space, &cache, 0x400000, 0x440000,
					       1);
	if (!us_program_elf_read(&p, &space, 0x400000 / size * size, pages.cache, &elf))
		return 0;
	sink += us_program_elf_slide(&elf, 0x400000, 0x1000, &slide);
	sink += (size_t)us_program_elf_symbols(&pages, visit, NULL, &missing);
	read_rules(&p, &space, &elf);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hostile debug information of a kernel: its structs, as BTF, and what reads that. */
#include "linux/kernel_btf.h"
#include "symbol/dwarf_types.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile size_t sink;

static const char *const names[] = { "task_struct", "mm_struct", "page", "pid" };
static const char *const paths[] = { "comm", "thread.sp", "pgd", "index", "numbers" };
#define N_NAME (sizeof(names) / sizeof(names[0]))
#define N_PATH (sizeof(paths) / sizeof(paths[0]))

static void ask(const struct us_dwarf_types *t)
{
	struct us_btf b;
	if (us_btf_open(t->bytes, t->size, &b) < 0)
		abort(); /* it is our own */
	size_t n = 0;
	for (size_t k = 0; k < N_NAME; k++) {
		uint32_t type = us_btf_struct(&b, names[k]), n_element = 0;
		n += type != 0;
		sink += us_btf_size(&b, type);
		for (size_t p = 0; p < N_PATH; p++) {
			struct us_btf_member m;
			if (us_btf_path(&b, names[k], paths[p], &m))
				sink += us_btf_element(&b, m.type, &n_element) + m.size;
		}
	}
	if (n < t->n_found)
		abort();
	us_btf_close(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct us_dwarf_types t;
	struct us_elf_file f;
	char path[64];
	if (fd < 0)
		fd = memfd_create("fuzz-types", 0);
	if (ftruncate(fd, (off_t)size) < 0 ||
	    pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (us_elf_file_open(path, &f, NULL) < 0)
		return 0;
	if (us_dwarf_types_read(&f, names, N_NAME, &t) == 0)
		ask(&t);
	free(t.bytes);
	us_elf_file_close(&f);
	return 0;
}

#include "mutate-section.h"

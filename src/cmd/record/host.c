/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host.c: see host.h. */
#include "cmd/record/host.h"
#include "symbol/host_symbols.h"

#include "base/cleanup.h"
#include "symbol/elf_cfi.h"
#include "symbol/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES   128 /* files of the VMM mapped with code */
#define MAX_UNNAMED 4096
#define PIECE	    64 /* bytes, for code whose start is unknown */
#define NAME_SIZE   320
#define KERNEL_BIT  63
#define LEAST_VMM   24 /* of a stack's frames, if the kernel's do not fit */

/* This host: the processor of its programs, and the outermost function that the tick
 * itself adds to a kernel stack. */
#if defined(__aarch64__)
#define HOST_ARCH US_ARCH_AARCH64
#define HOST_ELF  EM_AARCH64
#define HOST_TOP  (1ULL << 48) /* for a program that does not ask for more */
static const char tick_entry[] = "el1h_64_irq";
#else
#define HOST_ARCH US_ARCH_X86_64
#define HOST_ELF  EM_X86_64
#define HOST_TOP  (1ULL << 47)
static const char tick_entry[] = "asm_sysvec_apic_timer_interrupt";
#endif

struct file {
	struct us_elf_image *elf;
	struct us_cfi_table *cfi;
	us_hva start, end; /* of its code in the VMM */
	uint64_t bias;
	const char *name; /* in the path of elf */
	bool *told;	  /* for each symbol: it was named before */
};

/* A function without a name. */
struct unnamed {
	us_hva start;
	uint64_t size; /* as far as it was seen */
};

struct us_host_stacks {
	pid_t pid;
	struct us_mem mem; /* reads the VMM's own addresses */
	struct us_region all;
	struct us_paging paging;
	struct us_unwinder *unwinder;
	struct us_cfi cfi;
	struct us_stack stack;
	struct file file[MAX_FILES];
	size_t n;
	struct us_host_symbols kernel;
	bool *kernel_told;
	us_hva tick_start, tick_end;
	struct unnamed unnamed[MAX_UNNAMED];
	size_t n_unnamed;
	char made_up[NAME_SIZE]; /* the last name made up for one */
};

/* --- the VMM's files --- */

/* The address, at bias 0, of this offset of the file. */
static bool linked_at(const struct us_elf_file *f, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		uint64_t first = s->offset & ~4095ULL;
		if (s->type != PT_LOAD || !(s->flags & PF_X) || offset < first ||
		    offset - first >= s->filesz + (s->offset - first))
			continue;
		*ret = s->vaddr - s->offset + offset;
		return true;
	}
	return false;
}

static int open_elf(pid_t pid, const char *path, struct us_elf_image **ret)
{
	char inside[4200];
	/* The VMM may have another root directory. */
	snprintf(inside, sizeof(inside), "/proc/%d/root%s", pid, path);
	int r = us_elf_image_open(inside, ret, NULL);
	return r < 0 ? us_elf_image_open(path, ret, NULL) : r;
}

static void drop_file(struct file *f)
{
	us_cfi_table_free(f->cfi);
	us_elf_image_close(f->elf);
	free(f->told);
	*f = (struct file){ 0 };
}

static int read_file(struct file *f, pid_t pid, const char *path, uint64_t offset,
		     const struct us_debug_dirs *dirs)
{
	size_t n;
	uint64_t addr;
	int r = open_elf(pid, path, &f->elf);
	if (r < 0)
		return r;
	/* Without debug information there are fewer names. */
	if (us_elf_image_find_debug(f->elf, dirs, NULL) == -ENOMEM)
		return -ENOMEM;
	const struct us_elf_file *elf = us_elf_image_file(f->elf);
	const struct us_elf_file *debug = us_elf_image_dwarf(f->elf);
	us_elf_image_symbols(f->elf, &n);
	f->told = calloc(n + 1, sizeof(*f->told));
	const char *slash = strrchr(us_elf_image_path(f->elf), '/');
	f->name = slash ? slash + 1 : us_elf_image_path(f->elf);
	if (!f->told || elf->machine != HOST_ELF || !linked_at(elf, offset, &addr))
		return -ENOENT;
	f->bias = f->start - addr;
	return us_elf_cfi_read(elf, debug == elf ? NULL : debug, &f->cfi, NULL, NULL);
}

/* A file that cannot be read has no names and no unwind rules. */
static void add_file(struct us_host_stacks *h, us_hva start, us_hva end,
		     uint64_t offset, const char *path,
		     const struct us_debug_dirs *dirs)
{
	if (h->n == MAX_FILES)
		return;
	struct file *f = &h->file[h->n];
	*f = (struct file){ .start = start, .end = end };
	if (read_file(f, h->pid, path, offset, dirs) < 0 ||
	    us_cfi_place(&h->cfi, f->cfi, f->bias, US_CFI_ANY_ROOT) < 0)
		drop_file(f);
	else
		h->n++;
}

static int read_maps(struct us_host_stacks *h, const struct us_debug_dirs *dirs,
		     struct us_err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", h->pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return us_fail(e, -errno, "read %s: %s", path, strerror(errno));
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, f) > 0) {
		unsigned long long start, end, offset;
		char rights[5];
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, rights,
			   &offset, &at) < 4 ||
		    !at || rights[2] != 'x' || line[at] != '/' ||
		    strlen(line + at) >= US_STORE_MAX_PATH)
			continue;
		add_file(h, start, end, offset, line + at, dirs);
	}
	fclose(f);
	return 0;
}

/* --- setup --- */

static int read_kernel(struct us_host_stacks *h, struct us_err *e)
{
	int r = us_host_symbols_read(&h->kernel, "/proc/kallsyms", e);
	if (r < 0)
		return r;
	const struct us_host_symbol *tick = us_host_symbols_named(&h->kernel,
								  tick_entry);
	h->tick_start = tick ? tick->start : 0;
	h->tick_end = tick ? tick->start + tick->size : 0;
	h->kernel_told = calloc(h->kernel.n, sizeof(*h->kernel_told));
	return h->kernel_told ? 0 : us_fail(e, -ENOMEM, "read names: out of memory");
}

int us_host_stacks_open(pid_t pid, const struct us_debug_dirs *dirs,
			struct us_host_stacks **ret, char *note, size_t size,
			struct us_err *e)
{
	struct us_err why = { 0 };
	struct us_host_stacks *h = calloc(1, sizeof(*h));
	if (!h)
		return us_fail(e, -ENOMEM, "prepare the host's symbols: out of memory");
	h->pid = pid;
	h->all = (struct us_region){ .start = 4096,
				     .size = HOST_TOP - 4096,
				     .hva = 4096 };
	h->mem = (struct us_mem){ .region = &h->all, .n_region = 1, .pid = pid };
	us_mem_init(&h->mem);
	us_paging_init(&h->paging, &h->mem);
	/* not_beside: next to these files are all the host's libraries. */
	const struct us_debug_dirs named = { dirs->dir, dirs->n, .not_beside = true };
	int r = read_maps(h, &named, e);
	if (!r && us_unwinder_new(HOST_ARCH, NULL, &h->cfi, &h->unwinder))
		r = us_fail(e, -ENOMEM, "prepare the host's symbols: out of memory");
	if (r < 0) {
		us_host_stacks_close(h);
		return r;
	}
	note[0] = '\0';
	if (read_kernel(h, &why) < 0)
		snprintf(note, size, "no names for the host's kernel: %s", why.msg);
	*ret = h;
	return 0;
}

void us_host_stacks_close(struct us_host_stacks *h)
{
	if (!h)
		return;
	us_unwinder_free(h->unwinder);
	for (size_t i = 0; i < h->n; i++)
		drop_file(&h->file[i]);
	us_host_symbols_fini(&h->kernel);
	free(h->kernel_told);
	free(h);
}

/* --- a sample --- */

/* How many of the kernel's frames belong to the tick's own interrupt. */
static unsigned of_tick(const struct us_host_stacks *h, const struct us_host_copy *c)
{
	for (unsigned i = 0; c->with_tick && i < c->n_kernel; i++)
		if (c->kernel[i] >= h->tick_start && c->kernel[i] < h->tick_end)
			return i + 1;
	return 0;
}

size_t us_host_stacks_take(struct us_host_stacks *h, struct us_host_copy *c,
			   us_hva pc[US_MAX_HOST_FRAMES])
{
	size_t n = 0;
	for (unsigned i = of_tick(h, c);
	     i < c->n_kernel && n < US_MAX_HOST_FRAMES - LEAST_VMM; i++)
		pc[n++] = c->kernel[i];
	us_paging_new_sample(&h->paging);
	h->paging.stack = &c->stack;
	us_unwind(h->unwinder, &h->paging, &c->regs, &h->stack);
	for (unsigned i = 0; i < h->stack.n && n < US_MAX_HOST_FRAMES; i++)
		pc[n++] = h->stack.pc[i];
	return n;
}

/* --- names --- */

static bool is_first(bool *told)
{
	bool first = !*told;
	*told = true;
	return first;
}

static bool name_kernel(struct us_host_stacks *h, us_hva pc, struct us_named *ret)
{
	const struct us_host_symbol *s = us_host_symbols_find(&h->kernel, pc);
	if (!s || !is_first(&h->kernel_told[s - h->kernel.v]))
		return false;
	*ret = (struct us_named){ .start = s->start,
				  .size = s->size,
				  .name = h->kernel.text + s->name,
				  .module = h->kernel.text + s->module };
	return true;
}

/* Call frame information gave the function's start; true if this extends its known
 * size. */
static bool sees_more(struct us_host_stacks *h, us_hva start, uint64_t size)
{
	for (size_t i = 0; i < h->n_unnamed; i++) {
		struct unnamed *u = &h->unnamed[i];
		if (u->start != start)
			continue;
		bool more = size > u->size;
		u->size = more ? size : u->size;
		return more;
	}
	if (h->n_unnamed == MAX_UNNAMED)
		return false;
	h->unnamed[h->n_unnamed++] = (struct unnamed){ start, size };
	return true;
}

/* "qemu-system-x86_64+0x34e140", for a stripped file. */
static bool name_by_place(struct us_host_stacks *h, const struct file *f, us_hva pc,
			  struct us_named *ret)
{
	struct us_cfi_row row;
	us_hva start = pc & ~(us_hva)(PIECE - 1);
	if (us_cfi_find(&h->cfi, US_CFI_ANY_ROOT, pc, &row) && row.start &&
	    row.start <= pc)
		start = row.start;
	if (!sees_more(h, start, pc - start + 1))
		return false;
	snprintf(h->made_up, sizeof(h->made_up), "%.255s+0x%llx", f->name,
		 (unsigned long long)(start - f->bias));
	*ret = (struct us_named){ .start = start,
				  .size = pc - start + 1,
				  .name = h->made_up,
				  .module = f->name };
	return true;
}

bool us_host_stacks_name(void *ctx, us_hva pc, struct us_named *ret)
{
	struct us_host_stacks *h = ctx;
	if (pc >> KERNEL_BIT)
		return name_kernel(h, pc, ret);
	for (size_t i = 0; i < h->n; i++) {
		struct file *f = &h->file[i];
		size_t n;
		if (pc < f->start || pc >= f->end)
			continue;
		const struct us_elf_symbol *s = us_elf_image_find(f->elf, pc - f->bias);
		if (!s)
			return name_by_place(h, f, pc, ret);
		if (!is_first(&f->told[s - us_elf_image_symbols(f->elf, &n)]))
			return false;
		*ret = (struct us_named){ .start = s->addr + f->bias,
					  .size = s->size,
					  .name = s->name,
					  .module = f->name };
		return true;
	}
	return false;
}

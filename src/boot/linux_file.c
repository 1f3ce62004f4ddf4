/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linux_file.c: see linux_file.h. */
#include "boot/linux_file.h"

#include "base/cleanup.h"
#include "boot/entry_path.h"
#include "linux/kallsyms.h"
#include "symbol/elf_file.h"
#include "symbol/payload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Documentation/arch/x86/boot.rst */
#define HEADER_END   0x264U
#define HEADER_MAGIC 0x202U
#define CODE32_START 0x214U
#define LOADED_HIGH  0x211U /* bit 0 */
#define RELOCATABLE  0x234U
#define INIT_SIZE    0x260U /* bytes of memory that it needs to decompress itself */
#define SETUP	     0x1f1U /* sectors of real-mode code behind the first; 0: 4 */
#define LOADFLAGS    0x236U
#define HANDOVER     0x264U /* offset in the rest; of 64-bit code 512 more */
#define HANDOVER_32  (1U << 2)
#define HANDOVER_64  (1U << 3)
#define SECTOR	     512U
/* "PE Format", Microsoft */
#define PE_OFFSET   0x3cU
#define PE_SECTIONS 6U /* all from its signature on */
#define PE_OPTIONAL 20U
#define PE_HEADER   24U
#define PE_ENTRY    40U
#define PE_SECTION  40U /* bytes of each */
#define PE_PAGE	    4096U

struct us_boot_linux {
	struct us_elf_file elf;
	struct us_kallsyms symbols;
	uint64_t entry;
	uint32_t size;
	bool moves;
	struct us_boot_linux_efi efi[US_BOOT_LINUX_EFI];
	size_t n_efi;
	char why[200];
};

static bool read_elf(void *ctx, us_gva va, void *buf, size_t len)
{
	const struct us_elf_file *f = ctx;
	size_t n;
	const uint8_t *p = us_boot_code_at(f, va, &n);
	if (!p)
		return false;
	memset(buf, 0, len);
	memcpy(buf, p, n < len ? n : len);
	return true;
}

/* Its loaded part in the upper half only: per-CPU data are linked at 0. */
static bool span(const struct us_elf_file *f, us_gva *ret_start, uint64_t *ret_size)
{
	us_gva start = UINT64_MAX, end = 0;
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type != PT_LOAD || s->vaddr < US_LINUX_MAP_START || !s->filesz)
			continue;
		start = s->vaddr < start ? s->vaddr : start;
		end = s->vaddr + s->filesz > end ? s->vaddr + s->filesz : end;
	}
	*ret_start = start;
	*ret_size = end - start;
	return start < end;
}

static int read_symbols(struct us_boot_linux *l, struct us_err *e)
{
	const struct us_linux_memory memory = { .read = read_elf, .ctx = &l->elf };
	struct us_linux_image image;
	us_gva start;
	uint64_t size;
	if (!span(&l->elf, &start, &size))
		return us_fail(e, -EBADMSG, "it contains no Linux kernel");
	int r = us_linux_image_init(&image, start, size, &memory);
	if (r < 0)
		return us_fail(e, r, "cannot load its kernel of %llu bytes",
			       (unsigned long long)size);
	r = us_kallsyms_read(&image, &l->symbols, e);
	us_linux_image_fini(&image);
	return r;
}

static int unpack(struct us_boot_linux *l, const uint8_t *bytes, size_t n,
		  struct us_err *e)
{
	char path[32];
	_cleanup_close_ int fd = us_payload_unpack(bytes, n);
	if (fd < 0)
		return us_fail(e, fd, "%s",
			       fd == -ENOTSUP || fd == -ENOENT
				       ? "it contains no kernel in a known format"
				       : strerror(-fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = us_elf_file_open(path, &l->elf, e);
	return r < 0 ? r : read_symbols(l, e);
}

static uint32_t number(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- Its EFI stub ---- */

static uint32_t number_at(const uint8_t *bytes, size_t n, uint64_t at, size_t size)
{
	uint32_t v = 0;
	if (at <= n && n - at >= size)
		memcpy(&v, bytes + at, size);
	return v;
}

/* offset: in memory, from a page's begin; file: where the code is. */
static void add_efi(struct us_boot_linux *l, const uint8_t *bytes, size_t n,
		    uint64_t offset, uint64_t file)
{
	struct us_boot_linux_efi *efi = &l->efi[l->n_efi];
	if (file > n || n - file < sizeof(efi->code) || l->n_efi == US_BOOT_LINUX_EFI)
		return;
	efi->offset = offset & (PE_PAGE - 1);
	memcpy(efi->code, bytes + file, sizeof(efi->code));
	l->n_efi++;
}

static void add_pe(struct us_boot_linux *l, const uint8_t *bytes, size_t n)
{
	uint64_t pe = number_at(bytes, n, PE_OFFSET, 4);
	uint32_t entry = number_at(bytes, n, pe + PE_ENTRY, 4);
	uint32_t sections = number_at(bytes, n, pe + PE_SECTIONS, 2);
	uint64_t at = pe + PE_HEADER + number_at(bytes, n, pe + PE_OPTIONAL, 2);
	if (number_at(bytes, n, pe, 4) != 0x4550 || !entry)
		return;
	for (uint32_t i = 0; i < sections; i++, at += PE_SECTION) {
		uint32_t start = number_at(bytes, n, at + 12, 4);
		if (entry - start < number_at(bytes, n, at + 16, 4)) {
			add_efi(l, bytes, n, entry,
				(uint64_t)entry - start +
					number_at(bytes, n, at + 20, 4));
			return;
		}
	}
}

/* Of a kernel of 64 bits not that for firmware of 32 bits: its code begins as that of
 * many. */
static void add_handover(struct us_boot_linux *l, const uint8_t *bytes, size_t n)
{
	uint32_t flags = number_at(bytes, n, LOADFLAGS, 2);
	uint64_t offset = number_at(bytes, n, HANDOVER, 4);
	uint64_t start = (bytes[SETUP] ? bytes[SETUP] : 4) * SECTOR + SECTOR;
	if (flags & HANDOVER_64)
		offset += SECTOR;
	if (offset && flags & (HANDOVER_32 | HANDOVER_64))
		add_efi(l, bytes, n, offset, start + offset);
}

static int read_image(struct us_boot_linux *l, const uint8_t *bytes, size_t n,
		      struct us_err *e)
{
	if (n < HEADER_END || memcmp(bytes + HEADER_MAGIC, "HdrS", 4) != 0 ||
	    !(bytes[LOADED_HIGH] & 1))
		return us_fail(e, -ENOENT, "not a boot image of Linux");
	l->entry = number(bytes + CODE32_START);
	l->size = number(bytes + INIT_SIZE);
	l->moves = l->moves && bytes[RELOCATABLE];
	add_pe(l, bytes, n);
	add_handover(l, bytes, n);
	if (unpack(l, bytes, n, e) < 0)
		snprintf(l->why, sizeof(l->why), "%.199s", e->msg);
	return 0;
}

int us_boot_linux_open(const char *path, bool moves, struct us_boot_linux **ret,
		       struct us_err *e)
{
	struct stat st;
	*ret = NULL;
	_cleanup_close_ int fd = open(path,
				      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < HEADER_END || (uint64_t)st.st_size > US_PAYLOAD_MOST)
		return us_fail(e, -ENOENT, "%s is not a boot image of Linux", path);
	size_t n = (size_t)st.st_size;
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return us_fail(e, -errno, "read %s: %s", path, strerror(errno));
	struct us_boot_linux *l = calloc(1, sizeof(*l));
	int r = l ? 0 : us_fail(e, -ENOMEM, "out of memory");
	if (l) {
		l->moves = moves;
		r = read_image(l, p, n, e);
	}
	munmap(p, n);
	if (r < 0) {
		us_boot_linux_close(l);
		return us_wrap(e, "%s", path);
	}
	*ret = l;
	return 0;
}

void us_boot_linux_close(struct us_boot_linux *l)
{
	if (!l)
		return;
	us_kallsyms_fini(&l->symbols);
	us_elf_file_close(&l->elf);
	free(l);
}

const char *us_boot_linux_why(const struct us_boot_linux *l)
{
	return l->why;
}

bool us_boot_linux_moves(const struct us_boot_linux *l)
{
	return l->moves;
}

uint64_t us_boot_linux_entry(const struct us_boot_linux *l)
{
	return l->entry;
}

size_t us_boot_linux_efi(const struct us_boot_linux *l,
			 struct us_boot_linux_efi ret[US_BOOT_LINUX_EFI])
{
	memcpy(ret, l->efi, sizeof(l->efi));
	return l->n_efi;
}

struct us_boot_code us_boot_linux_code_of(const struct us_boot_linux *l)
{
	struct us_boot_code c = { 0 };
	c.range[0].start = l->entry;
	c.range[0].end = l->entry + l->size;
	c.range[1].start = US_LINUX_MAP_START;
	c.range[1].end = US_LINUX_MAP_END;
	return c;
}

uint64_t us_boot_linux_function(const struct us_boot_linux *l, const char *name)
{
	const struct us_kallsym *s = us_kallsyms_named(&l->symbols, name);
	return s && us_kallsym_is_code(s) ? s->addr : 0;
}

void us_boot_linux_each(const struct us_boot_linux *l,
			void (*visit)(void *ctx, const char *name), void *ctx)
{
	for (size_t i = 0; i < l->symbols.n; i++)
		if (us_kallsym_is_code(&l->symbols.v[i]))
			visit(ctx, us_kallsym_name(&l->symbols, &l->symbols.v[i]));
}

bool us_boot_linux_code(const struct us_boot_linux *l, uint64_t address, uint8_t *ret,
			size_t n)
{
	size_t got;
	const uint8_t *p = us_boot_code_at(&l->elf, address, &got);
	if (!p || got < n)
		return false;
	memcpy(ret, p, n);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* beside.c: see beside.h. */
#include "symbol/beside.h"

#include "base/cleanup.h"
#include "symbol/beside_walk.h"
#include "symbol/build_id.h"
#include "symbol/payload.h"
#include "symbol/pe_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_IMAGE   (128U << 20) /* bytes that are read of one that is no ELF file */
#define MAX_WORK    (4ULL << 30) /* bytes searched in it, for all files together */
#define MAX_UNKNOWN 3U		 /* that the guest's memory is asked for */
#define LEAST_CODE  64U		 /* bytes; fewer show nothing */

/* The image that files are compared with. */
struct original {
	const struct us_elf_file *elf; /* NULL: raw bytes */
	struct us_build_id id;
	uint8_t *raw;
	size_t size;
	uint64_t work;		    /* left */
	struct us_elf_file payload; /* an ELF file that was in it, compressed */
};

enum verdict { NO_SYMBOLS, REFUSED, UNKNOWN, SAME_CODE, SAME_ID };

static bool is_table(const struct us_elf_section *s, const char *name)
{
	return s && s->type != SHT_NOBITS && s->size && !strcmp(s->name, name);
}

static bool has_dwarf(const struct us_elf_file *f)
{
	return is_table(us_elf_file_section(f, ".debug_info"), ".debug_info");
}

static bool has_symbols(const struct us_elf_file *f)
{
	for (size_t i = 0; i < f->n_section; i++)
		if (f->section[i].type == SHT_SYMTAB && f->section[i].size)
			return true;
	return false;
}

/* Does f have symbols or DWARF that the image lacks? */
static bool adds(const struct original *o, const struct us_elf_file *f)
{
	return (has_symbols(f) && (!o->elf || !has_symbols(o->elf))) ||
	       (has_dwarf(f) && (!o->elf || !has_dwarf(o->elf)));
}

static uint64_t held(const struct us_elf_code *c)
{
	return c->filesz < c->end - c->start ? c->filesz : c->end - c->start;
}

static uint64_t all_held(const struct us_elf_file *f)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < f->n_code; i++)
		sum += held(&f->code[i]);
	return sum;
}

/* All code of a in b, at the same addresses. */
static bool is_in(const struct us_elf_file *a, const struct us_elf_file *b)
{
	for (size_t i = 0; i < a->n_code; i++) {
		const struct us_elf_code *c = &a->code[i];
		const struct us_elf_code *at = us_elf_file_code(b, c->start);
		uint64_t from = at ? c->start - at->start : 0;
		if (!at || held(c) < c->end - c->start || held(at) < from ||
		    held(at) - from < held(c) ||
		    memcmp(a->bytes + c->offset, b->bytes + at->offset + from,
			   held(c)) != 0)
			return false;
	}
	return true;
}

/* One may list its code as sections, the other as the segments that contain them. */
static bool same_code(const struct us_elf_file *a, const struct us_elf_file *b)
{
	uint64_t x = all_held(a), y = all_held(b);
	return x >= LEAST_CODE && y >= LEAST_CODE && x / 2 <= y && y / 2 <= x &&
	       (is_in(a, b) || is_in(b, a));
}

/* A guest runs no uniscope, which may well lie near the image. */
static bool is_uniscope(const char *path)
{
	struct stat a, b;
	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* All code of f, run by run, anywhere in the raw bytes. */
static bool is_in_raw(struct original *o, const struct us_elf_file *f)
{
	for (size_t i = 0; i < f->n_code; i++) {
		const struct us_elf_code *c = &f->code[i];
		if (held(c) < c->end - c->start || o->work < o->size)
			return false;
		o->work -= o->size;
		if (!memmem(o->raw, o->size, f->bytes + c->offset, held(c)))
			return false;
	}
	return all_held(f) >= LEAST_CODE;
}

/* A multiboot image is a 32-bit file, even if its code is 64-bit. */
static bool is_for(uint16_t machine, uint16_t other)
{
	bool x86 = machine == EM_X86_64 || machine == EM_386;
	return machine == other || (x86 && (other == EM_X86_64 || other == EM_386));
}

static enum verdict judge(struct original *o, const struct us_elf_file *f)
{
	struct us_build_id id;
	us_build_id_read(f, &id);
	if (!adds(o, f))
		return NO_SYMBOLS;
	if (o->elf && !is_for(o->elf->machine, f->machine))
		return REFUSED;
	if (o->id.len && id.len) {
		bool same = o->id.len == id.len &&
			    !memcmp(o->id.bytes, id.bytes, id.len);
		return same ? SAME_ID : REFUSED;
	}
	if (o->elf)
		return same_code(o->elf, f) ? SAME_CODE : REFUSED;
	if (is_in_raw(o, f))
		return SAME_CODE;
	return us_pe_is_plain(o->raw, o->size) ? REFUSED : UNKNOWN;
}

static bool same_build(const char *path, const struct us_elf_file *f)
{
	struct us_elf_file other;
	struct us_err e;
	if (us_elf_file_open(path, &other, &e) < 0)
		return false;
	bool same = same_code(&other, f);
	us_elf_file_close(&other);
	return same;
}

/* Copies of one kernel count once, such as the one in the folder that an .iso is made
 * from. */
static bool have(const struct us_beside *b, const struct us_elf_file *f)
{
	for (size_t i = 0; i < b->n; i++)
		if (same_build(b->v[i].path, f))
			return true;
	return false;
}

static int take(struct us_beside *b, const char *path, enum us_beside_match match)
{
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	b->v[b->n++] = (struct us_beside_file){ copy, match };
	return 0;
}

static int add(struct us_beside *b, const struct us_near_file *near,
	       const struct us_elf_file *f, enum verdict v)
{
	static const enum us_beside_match match[] = { [UNKNOWN] = US_BESIDE_UNKNOWN,
						      [SAME_CODE] = US_BESIDE_CODE,
						      [SAME_ID] = US_BESIDE_BUILD_ID };
	size_t unknown = 0;
	for (size_t i = 0; i < b->n; i++)
		unknown += b->v[i].match == US_BESIDE_UNKNOWN;
	if (v == REFUSED && near->akin && !b->refused) {
		b->refused = strdup(near->path);
		return b->refused ? 0 : -ENOMEM;
	}
	if (v == NO_SYMBOLS || v == REFUSED ||
	    (v == UNKNOWN && unknown == MAX_UNKNOWN) || have(b, f))
		return 0;
	return take(b, near->path, match[v]);
}

/* Files that the image confirms come before those that it does not. */
static void sort(struct us_beside *b)
{
	for (size_t i = 1; i < b->n; i++)
		for (size_t k = i; k && b->v[k].match < b->v[k - 1].match &&
				   b->v[k].match != US_BESIDE_UNKNOWN &&
				   b->v[k - 1].match == US_BESIDE_UNKNOWN;
		     k--) {
			struct us_beside_file swap = b->v[k];
			b->v[k] = b->v[k - 1];
			b->v[k - 1] = swap;
		}
}

static int judge_all(struct original *o, const struct us_near_files *near,
		     struct us_beside *ret)
{
	size_t most = o->elf ? 1 : US_BESIDE_MOST;
	for (size_t i = 0; i < near->n && ret->n < most; i++) {
		struct us_elf_file f;
		struct us_err e;
		if (is_uniscope(near->v[i].path))
			continue;
		int r = us_elf_file_open(near->v[i].path, &f, &e);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		r = add(ret, &near->v[i], &f, judge(o, &f));
		us_elf_file_close(&f);
		if (r < 0)
			return r;
	}
	sort(ret);
	return ret->n ? 0 : -ENOENT;
}

/* The first part of the file, which is mostly all of it. */
static int read_raw(const char *path, struct original *o)
{
	struct stat st;
	_cleanup_close_ int fd = open(path,
				      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	size_t want = st.st_size < MAX_IMAGE ? (size_t)st.st_size : MAX_IMAGE;
	o->raw = malloc(want + 1);
	if (!o->raw)
		return -ENOMEM;
	while (o->size < want) {
		ssize_t n = pread(fd, o->raw + o->size, want - o->size, (off_t)o->size);
		if (n <= 0)
			break;
		o->size += (size_t)n;
	}
	return 0;
}

/* The compressed content of the image is what runs: an ELF file, as in bzImage, or raw
 * bytes. */
static int unpack(struct original *o)
{
	char path[64];
	struct us_err e;
	_cleanup_close_ int fd = us_payload_unpack(o->raw, o->size);
	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (us_elf_file_open(path, &o->payload, &e) == 0) {
		o->elf = &o->payload;
		us_build_id_read(o->elf, &o->id);
		return 0;
	}
	free(o->raw);
	o->raw = NULL;
	o->size = 0;
	return read_raw(path, o);
}

int us_beside_find(const char *image, const struct us_elf_file *f,
		   struct us_beside *ret)
{
	struct original o = { .elf = f, .work = MAX_WORK };
	struct us_near_files near;
	memset(ret, 0, sizeof(*ret));
	int r = us_near_files(image, &near);
	if (f)
		us_build_id_read(f, &o.id);
	if (r == 0 && near.n && !f)
		r = read_raw(image, &o);
	if (r == 0 && o.raw)
		r = unpack(&o);
	if (r == 0)
		r = judge_all(&o, &near, ret);
	us_near_files_fini(&near);
	us_elf_file_close(&o.payload);
	free(o.raw);
	return r;
}

void us_beside_fini(struct us_beside *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->v[i].path);
	free(b->refused);
	*b = (struct us_beside){ 0 };
}

const char *us_beside_match_name(enum us_beside_match m)
{
	static const char *const names[] = { [US_BESIDE_BUILD_ID] = "the same build-id",
					     [US_BESIDE_CODE] = "the same code",
					     [US_BESIDE_UNKNOWN] =
						     "nothing shows its build" };
	return names[m];
}

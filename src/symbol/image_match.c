/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_match.c: does the guest run this ELF?  Its text against the guest's memory. */
#include "symbol/build_id.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <elf.h>
#include <string.h>

#define PIECE	    128 /* bytes */
#define MAX_PIECES  64
#define CALLS_PIECE 256 /* bytes, for calls */
#define ENOUGH	    8
#define MAX_TRIES   (1U << 20) /* places looked at for a piece */
#define PAGE	    4096
#define NEAR	    (4 * PAGE) /* another build's note is at most so far away */
#define CHUNK	    1024       /* bytes, to search for it */
#define NOTE_HEAD   16	       /* bytes before the build-id: 4, length, 3, "GNU" */
#define LEAST_ID    8

/*
 * A function of Linux differs from its file in the 5 bytes of its ftrace call, in its
 * patched return and in each relocated address; code of another build agrees by
 * chance in about every tenth byte.  3/4 stands well clear of both.
 */
static bool mostly(size_t part, size_t whole)
{
	return part * 4 >= whole * 3;
}

/* A piece that the guest executes is loaded.  If less than half of it is equal, it is
 * other code: patches go between instructions that stay. */
static bool is_other(size_t equal, size_t len)
{
	return len >= PIECE / 2 && equal * 2 < len;
}

static bool tells_nothing(const uint8_t *p, size_t len)
{
	return !memcmp(p, p + 1, len - 1);
}

/* A comparison under way. */
struct match {
	const struct us_elf_image *i;
	const struct us_elf_file *f;
	uint64_t bias;
	struct us_paging *p;
	const struct us_space *s;
	struct us_image_match m;
	unsigned tries; /* sections may overlap: their sizes bound nothing */
	bool other;	/* the last piece is other code */
};

static void compare_piece(struct match *t, const uint8_t *want, size_t len, us_gva va)
{
	uint8_t have[PIECE];
	size_t equal = 0;
	if (!us_paging_read(t->p, t->s, va, have, len)) {
		t->m.unmapped++;
		return;
	}
	for (size_t i = 0; i < len; i++)
		equal += have[i] == want[i];
	t->m.compared++;
	t->m.equal += mostly(equal, len);
	t->m.patched |= equal < len;
	t->other = is_other(equal, len);
}

/* Compares the piece at byte `from` of a run of code, or the next useful piece before
 * byte `to`. */
static void compare_in(struct match *t, const struct us_elf_code *c, uint64_t from,
		       uint64_t to)
{
	const uint8_t *text = t->f->bytes + c->offset;
	for (; from < to && t->tries < MAX_TRIES; from += PIECE, t->tries++) {
		size_t len = to - from < PIECE ? to - from : PIECE;
		if (len < PIECE / 2 && from > 0)
			return; /* too few bytes at the end */
		if (len < 2 || tells_nothing(text + from, len))
			continue;
		compare_piece(t, text + from, len, c->start + from + t->bias);
		return;
	}
}

static uint64_t held(const struct us_elf_code *c)
{
	return c->filesz < c->end - c->start ? c->filesz : c->end - c->start;
}

static uint64_t total_held(const struct us_elf_file *f)
{
	uint64_t total = 0;
	for (size_t k = 0; k < f->n_code; k++)
		total += held(&f->code[k]);
	return total;
}

/* --- calls, for an image that has only names --- */

static bool has_names_alone(const struct match *t)
{
	return t->f->n_code && !total_held(t->f);
}

/* The target of what may be a CALL at byte `at`, where 4 more are; false: it is none.
 */
static bool target_of(enum us_paging_mode mode, const uint8_t *at, us_gva va,
		      us_gva *ret)
{
	uint32_t word;
	int32_t by;
	bool riscv = mode == US_PAGING_RISCV_39 || mode == US_PAGING_RISCV_48 ||
		     mode == US_PAGING_RISCV_57;
	if (mode != US_PAGING_AARCH64 && !riscv) {
		memcpy(&by, at + 1, sizeof(by));
		*ret = va + 5 + (us_gva)(int64_t)by;
		return *at == 0xe8; /* call rel32 */
	}
	memcpy(&word, at, sizeof(word));
	if (mode == US_PAGING_AARCH64) {
		by = (int32_t)(word << 6) >> 4;
		*ret = va + (us_gva)(int64_t)by;
		return !(va & 3) && word >> 26 == 0x25; /* bl */
	}
	by = (int32_t)(word & 0x80000000) >> 11 | (int32_t)(word & 0xff000) |
	     (int32_t)(word >> 9 & 0x800) | (int32_t)(word >> 20 & 0x7fe);
	*ret = va + (us_gva)(int64_t)by;
	return !(va & 1) && (word & 0xfff) == 0xef; /* jal ra */
}

/* What looks like a call into the code leads to the start of a function, unless the
 * list leaves that function out.  In other code it does so only by chance. */
static void compare_calls(struct match *t, us_gva va)
{
	uint8_t code[CALLS_PIECE];
	unsigned calls = 0, right = 0;
	us_gva target;
	if (!us_paging_read(t->p, t->s, va, code, sizeof(code))) {
		t->m.unmapped++;
		return;
	}
	for (unsigned i = 0; i + 5 <= sizeof(code); i++) {
		if (!target_of(t->s->mode, code + i, va + i, &target) ||
		    !us_elf_file_code(t->f, target - t->bias))
			continue;
		const struct us_elf_symbol *s = us_elf_image_find(t->i,
								  target - t->bias);
		calls++;
		right += s && s->addr == target - t->bias;
	}
	t->m.compared += calls > 0;
	t->m.equal += calls && right * 2 >= calls;
}

static void compare_function(struct match *t, unsigned k)
{
	size_t n;
	const struct us_elf_symbol *v = us_elf_image_symbols(t->i, &n);
	if (n >= MAX_PIECES)
		compare_calls(t, v[k * n / MAX_PIECES].addr + t->bias);
	else if (k < n)
		compare_calls(t, v[k].addr + t->bias);
}

/* Compares around the address where the guest executes, which is certainly mapped. */
static void compare_at(struct match *t, us_gva at)
{
	const struct us_elf_code *c = us_elf_file_code(t->f, at - t->bias);
	if (!at || !c)
		return;
	if (has_names_alone(t)) {
		compare_calls(t, at & ~(us_gva)(PIECE - 1));
		return;
	}
	uint64_t from = (at - t->bias - c->start) & ~(uint64_t)(PIECE - 1);
	uint64_t to = from + PIECE < held(c) ? from + PIECE : held(c);
	compare_in(t, c, from, to);
}

static uint64_t step_of(uint64_t total)
{
	uint64_t step = total / MAX_PIECES;
	return step < PIECE ? PIECE : (step + PIECE - 1) & ~(uint64_t)(PIECE - 1);
}

/* Goes in equal steps through all runs of code, laid end to end.  A step takes its
 * piece only from its own bytes, so no piece is compared twice. */
static void compare_spread(struct match *t)
{
	for (unsigned k = 0; has_names_alone(t) && k < MAX_PIECES; k++)
		compare_function(t, k);
	uint64_t pos = 0, next = 0, step = step_of(total_held(t->f));
	for (size_t k = 0; k < t->f->n_code; k++) {
		const struct us_elf_code *c = &t->f->code[k];
		for (; next < pos + held(c); next += step) {
			uint64_t from = (next - pos) & ~(uint64_t)(PIECE - 1);
			uint64_t to = held(c) - from < step ? held(c) : from + step;
			compare_in(t, c, from, to);
		}
		pos += held(c);
	}
}

/* Only the n-th of these steps. */
static void compare_step(struct match *t, unsigned n)
{
	if (has_names_alone(t))
		compare_function(t, n);
	uint64_t pos = 0, step = step_of(total_held(t->f)), next = n * step;
	for (size_t k = 0; k < t->f->n_code; k++) {
		const struct us_elf_code *c = &t->f->code[k];
		if (next < pos + held(c)) {
			uint64_t from = (next - pos) & ~(uint64_t)(PIECE - 1);
			uint64_t to = held(c) - from < step ? held(c) : from + step;
			compare_in(t, c, from, to);
			return;
		}
		pos += held(c);
	}
}

/* The build-id that the guest has where the image has its own. */
enum build { BUILD_UNKNOWN, BUILD_SAME, BUILD_OTHER };

/* The length of the build-id in a note {4, length, 3, "GNU", id}; 0: it is none. */
static uint32_t id_length(const uint8_t head[NOTE_HEAD])
{
	uint32_t word[3];
	memcpy(word, head, sizeof(word));
	bool is = word[0] == 4 && word[2] == NT_GNU_BUILD_ID &&
		  !memcmp(head + sizeof(word), "GNU", 4);
	return is ? word[1] : 0;
}

static enum build build_of(const struct us_elf_image *i, const struct match *t)
{
	uint8_t have[NOTE_HEAD + US_BUILD_ID_MOST];
	size_t len;
	const uint8_t *id = us_elf_image_build_id(i, &len);
	uint64_t at = us_elf_image_build_id_at(i);
	if (!at || !len || len > US_BUILD_ID_MOST ||
	    !us_paging_read(t->p, t->s, at + t->bias - NOTE_HEAD, have,
			    NOTE_HEAD + len) ||
	    id_length(have) != len)
		return BUILD_UNKNOWN;
	return memcmp(have + NOTE_HEAD, id, len) ? BUILD_OTHER : BUILD_SAME;
}

/* The loaded bytes of the file that hold its build-id, and that the guest does not
 * write; NULL: none do.  What may be written may also be freed, as Linux frees what it
 * needs only to start, and then hold any file's note. */
static const struct us_elf_segment *segment_of_id(const struct match *t, uint64_t at)
{
	for (size_t k = 0; k < t->f->n_segment; k++) {
		const struct us_elf_segment *s = &t->f->segment[k];
		if (s->type == PT_LOAD && !(s->flags & PF_W) && at >= s->vaddr &&
		    at - s->vaddr < s->filesz)
			return s;
	}
	return NULL;
}

/* Does the file itself have these bytes at `at`?  A kernel holds whole ELF files, with
 * their notes: its vDSO. */
static bool is_in_file(const struct match *t, const struct us_elf_segment *s,
		       uint64_t at, const uint8_t *bytes, size_t len)
{
	uint64_t off = at - s->vaddr;
	return at >= s->vaddr && off < s->filesz && len <= s->filesz - off &&
	       !memcmp(t->f->bytes + s->offset + off, bytes, len);
}

/* Has the guest a build-id in this chunk that is not in the file there, nor is the
 * file's own?  at: of the chunk, as in the file. */
static bool has_other_id(const struct match *t, const struct us_elf_segment *s,
			 uint64_t at)
{
	uint8_t have[CHUNK + NOTE_HEAD + US_BUILD_ID_MOST];
	size_t own_len, n = sizeof(have);
	const uint8_t *own = us_elf_image_build_id(t->i, &own_len);
	if (!us_paging_read(t->p, t->s, at + t->bias, have, n)) {
		n = CHUNK; /* the last one of a run of pages */
		if (!us_paging_read(t->p, t->s, at + t->bias, have, n))
			return false;
	}
	for (size_t k = 0; k < CHUNK && k + NOTE_HEAD <= n; k += 4) {
		const uint8_t *note = have + k, *id = note + NOTE_HEAD;
		uint32_t len = id_length(note);
		if (len < LEAST_ID || len > n - k - NOTE_HEAD ||
		    is_in_file(t, s, at + k, note, NOTE_HEAD + len))
			continue;
		return len != own_len || memcmp(id, own, len) != 0;
	}
	return false;
}

/* Where text has another size, what follows it lies elsewhere. */
static bool is_other_build_near(const struct us_elf_image *i, const struct match *t)
{
	uint64_t id = us_elf_image_build_id_at(i);
	const struct us_elf_segment *s = id ? segment_of_id(t, id) : NULL;
	if (!s)
		return false;
	uint64_t mask = PAGE - 1, from = s->vaddr & ~mask;
	uint64_t to = (s->vaddr + s->memsz + mask) & ~mask;
	if (id - from > NEAR)
		from = (id - NEAR) & ~mask;
	if (to - id > NEAR)
		to = (id + NEAR) & ~mask;
	for (uint64_t at = from; at < to; at += CHUNK)
		if (has_other_id(t, s, at))
			return true;
	return false;
}

bool us_elf_image_is_build(const struct us_elf_image *i, uint64_t bias,
			   struct us_paging *p, const struct us_space *s)
{
	const struct match t = { .bias = bias, .p = p, .s = s };
	return build_of(i, &t) == BUILD_SAME;
}

bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same)
{
	struct match t = {
		.i = i, .f = us_elf_image_file(i), .bias = bias, .p = p, .s = s
	};
	compare_at(&t, at);
	bool runs_other = t.other;
	compare_spread(&t);
	enum build build = build_of(i, &t);
	if (build == BUILD_UNKNOWN && mostly(t.m.equal, t.m.compared) &&
	    is_other_build_near(i, &t))
		build = BUILD_OTHER;
	/* Regardless of how much of the text is the same. */
	t.m.other_build = build == BUILD_OTHER;
	*ret = t.m;
	*ret_same = false;
	runs_other &= build != BUILD_SAME;
	if (!t.m.compared || (t.m.compared < ENOUGH && t.m.unmapped))
		return runs_other;
	*ret_same = mostly(t.m.equal, t.m.compared) && !t.m.other_build;
	/* A difference in the few pieces that are mapped tells little: the guest may
	 * still be in its firmware, without the page tables of its kernel.  But what
	 * it executes at an address of the image is not the image's. */
	return *ret_same || runs_other || t.m.other_build ||
	       t.m.compared >= t.m.unmapped;
}

static enum us_image_check verdict(const struct match *t)
{
	if (!t->m.compared)
		return US_CHECK_UNKNOWN;
	if (t->m.equal < t->m.compared)
		return US_CHECK_DIFFERS;
	return t->m.patched ? US_CHECK_PATCHED : US_CHECK_SAME;
}

enum us_image_check us_elf_image_check_at(const struct us_elf_image *i, uint64_t bias,
					  us_gva at, struct us_paging *p,
					  const struct us_space *s)
{
	struct match t = {
		.i = i, .f = us_elf_image_file(i), .bias = bias, .p = p, .s = s
	};
	compare_at(&t, at);
	return verdict(&t);
}

enum us_image_check us_elf_image_check(const struct us_elf_image *i, uint64_t bias,
				       us_gva at, unsigned turn, struct us_paging *p,
				       const struct us_space *s)
{
	struct match t = {
		.i = i, .f = us_elf_image_file(i), .bias = bias, .p = p, .s = s
	};
	compare_at(&t, at);
	for (unsigned k = 0; k < 3; k++)
		compare_step(&t, (turn + k * MAX_PIECES / 3) % MAX_PIECES);
	return verdict(&t);
}

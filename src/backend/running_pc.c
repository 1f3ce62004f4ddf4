/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running_pc.c: see running_pc.h. */
#include "backend/running_pc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PIECE	  (1u << 20)   /* of the heap, read at once */
#define MOST_HEAP (128u << 20) /* searched at most, while the guest is stopped */
#define MOST_REGS (33 * 8)     /* aarch64 */
#define TRIES	  3
#define CHECKS	  8   /* stops until a place is trusted */
#define LEAST	  200 /* stops to compare */

static bool read_at(pid_t pid, us_hva at, void *buf, size_t len)
{
	struct iovec here = { buf, len }, there = { (void *)(uintptr_t)at, len };
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static void find_heap(struct us_running_pc *r, pid_t pid)
{
	char path[32], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " [heap]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &r->heap, &r->heap_end) == 2)
			r->pid = pid;
	if (f)
		fclose(f);
	if (r->heap_end - r->heap > MOST_HEAP)
		r->pid = 0;
}

void us_running_pc_open(struct us_running_pc *r, const struct us_guest *g)
{
	us_running_pc_close(r);
	if (!g->pid)
		return;
	find_heap(r, g->pid);
	r->n_vcpu = g->n_vcpu;
	r->buf = malloc(PIECE + MOST_REGS);
	if (!r->buf)
		r->pid = 0;
}

void us_running_pc_close(struct us_running_pc *r)
{
	free(r->buf);
	*r = (struct us_running_pc){ 0 };
}

/* The registers in the order of QEMU's memory, the program counter last. */
static size_t pattern_of(const struct us_regs *regs, uint8_t *ret, uint8_t *ret_size)
{
	static const uint8_t x86[] = {
		US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RBX, US_X86_RSP, US_X86_RBP,
		US_X86_RSI, US_X86_RDI, US_X86_R8,  US_X86_R9,	US_X86_R10, US_X86_R11,
		US_X86_R12, US_X86_R13, US_X86_R14, US_X86_R15,
	};
	bool is_x86 = regs->arch == US_ARCH_X86_64;
	unsigned n = regs->arch == US_ARCH_AARCH64 ? 32 : !is_x86 ? 0 : 16;
	uint8_t size = 8;
	if (is_x86 && (regs->valid & 0xffff) == 0xff)
		n = 8, size = 4; /* qemu-system-i386 */
	for (unsigned i = 0; i < n; i++) {
		unsigned reg = is_x86 ? x86[i] : i;
		if (!(regs->valid >> reg & 1))
			return 0;
		memcpy(ret + i * size, &regs->gpr[reg], size);
	}
	memcpy(ret + n * size, &regs->pc, size);
	*ret_size = size;
	return n ? (n + 1) * size : 0;
}

static void find(struct us_running_pc *r, struct us_running_place *p,
		 const struct us_regs *regs)
{
	uint8_t pattern[MOST_REGS];
	size_t len = pattern_of(regs, pattern, &p->size);
	p->tried = len ? p->tried + 1 : TRIES;
	for (us_hva at = r->heap; len && at < r->heap_end; at += PIECE) {
		size_t n = r->heap_end - at;
		n = n < PIECE + len ? n : PIECE + len;
		if (!read_at(r->pid, at, r->buf, n))
			return;
		const uint8_t *found = memmem(r->buf, n, pattern, len);
		if (!found)
			continue;
		p->at = at + (us_hva)(found - r->buf) + len - p->size;
		p->agreed = 0;
		return;
	}
}

void us_running_pc_read(struct us_running_pc *r, uint64_t mask)
{
	for (unsigned i = 0; r->pid && i < r->n_vcpu; i++) {
		struct us_running_place *p = &r->place[i];
		p->pc = 0;
		p->fresh = mask >> i & 1 && p->agreed >= CHECKS &&
			   read_at(r->pid, p->at, &p->pc, p->size);
	}
}

static struct us_running_count *count_of(struct us_running_pc *r, us_gva pc)
{
	size_t at = (size_t)(pc * 0x9e3779b97f4a7c15ull >> 55);
	for (size_t i = 0; i < US_RUNNING_PC_PLACES; i++) {
		struct us_running_count *c = &r->count[(at + i) % US_RUNNING_PC_PLACES];
		if (!c->pc)
			c->pc = pc;
		if (c->pc == pc)
			return c;
	}
	return NULL;
}

/* Several stops in a row must agree with the word at that address. */
static void check(struct us_running_pc *r, struct us_running_place *p, us_gva pc)
{
	us_gva there = 0;
	if (read_at(r->pid, p->at, &there, p->size) && there == pc)
		p->agreed++;
	else
		p->at = p->agreed = 0;
}

void us_running_pc_stopped(struct us_running_pc *r, unsigned vcpu,
			   const struct us_regs *regs)
{
	if (!r->pid || vcpu >= r->n_vcpu || !regs->pc)
		return;
	struct us_running_place *p = &r->place[vcpu];
	if (!p->at && p->tried < TRIES)
		find(r, p, regs);
	else if (p->at && p->agreed < CHECKS)
		check(r, p, regs->pc);
	if (!p->fresh || !p->pc)
		return;
	struct us_running_count *was = count_of(r, p->pc), *is = count_of(r, regs->pc);
	p->fresh = false;
	r->n_pair++;
	if (was)
		was->running++;
	if (is)
		is->stopped++;
}

static uint32_t difference(const struct us_running_count *c)
{
	return c->stopped > c->running ? c->stopped - c->running
				       : c->running - c->stopped;
}

static int larger_first(const void *a, const void *b)
{
	const struct us_running_count *const *x = a, *const *y = b;
	uint32_t dx = difference(*x), dy = difference(*y);
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return (*x)->stopped < (*y)->stopped ? 1 : -1;
}

void us_running_pc_text(const struct us_running_pc *r, char *ret, size_t size)
{
	const struct us_running_count *c[US_RUNNING_PC_PLACES];
	size_t n = 0;
	for (size_t i = 0; i < US_RUNNING_PC_PLACES; i++)
		if (r->count[i].pc && difference(&r->count[i]) * 100 >= r->n_pair)
			c[n++] = &r->count[i];
	ret[0] = '\0';
	if (r->n_pair < LEAST || !n)
		return;
	qsort(c, n, sizeof(*c), larger_first);
	size_t at = (size_t)snprintf(ret, size, "%" PRIu32, r->n_pair);
	for (size_t i = 0; i < n && at + 48 < size; i++)
		at += (size_t)snprintf(ret + at, size - at,
				       "; %" PRIx64 " %" PRIu32 " %" PRIu32, c[i]->pc,
				       c[i]->stopped, c[i]->running);
}

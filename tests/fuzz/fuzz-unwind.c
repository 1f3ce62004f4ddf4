/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose architecture, page tables, registers, stack and code are all from the
 * input: 20 bytes of registers and ways, then its memory.  Rules of tables are the
 * first bytes of that.  What an exception broke off last may be known, and the stack
 * may be a copy of some of its bytes.
 */
#include "unwind/cfi_build.h"
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD	   20
#define MAX_STARTS 32
#define MAX_RULES  16
#define RULE	   12 /* bytes */

struct input {
	const uint8_t *ram;
	size_t size;
	struct us_entered entered;
};

static bool read_entered(void *ctx, struct us_entered *ret)
{
	*ret = ((const struct input *)ctx)->entered;
	return true;
}

static bool read_ram(void *ctx, uint64_t at, void *buf, size_t len)
{
	const struct input *in = ctx;
	at &= 0xffffffff; /* also the upper half */
	if (at > in->size || len > in->size - at)
		return false;
	memcpy(buf, in->ram + at, len);
	return true;
}

static uint64_t number(const uint8_t *data, size_t at, size_t n)
{
	uint64_t v = 0;
	memcpy(&v, data + at, n);
	return v;
}

/* Function starts from the end of the memory, ascending by construction. */
static size_t starts(const struct input *in, us_gva base, us_gva start[MAX_STARTS])
{
	size_t n = in->size < MAX_STARTS ? in->size : MAX_STARTS;
	us_gva at = base;
	for (size_t i = 0; i < n; i++) {
		at += in->ram[in->size - 1 - i] + 1U;
		start[i] = at;
	}
	return n;
}

/* One rule, and the row for it. */
static void add_rule(struct us_cfi_builder *b, const uint8_t *p)
{
	const struct us_cfi_saved saved[2] = {
		{ .off = (int8_t)p[8], .reg = p[9] & 31, .how = (p[9] >> 5) % 7 },
		{ .off = (int8_t)p[2], .reg = US_X86_RBP, .how = p[7] % 7 },
	};
	const struct us_cfi_rule r = {
		.cfa = p[0] & 3,
		.flags = p[0] >> 2 & US_CFI_SIGNAL,
		.cfa_reg = p[1] & 31,
		.cfa_off = (int8_t)p[2],
		.cfa_add = (int8_t)p[3],
		.pc = p[4] % 7,
		.pc_off = (int8_t)p[5],
		.base = p[6] & 31,
		.n_saved = p[7] % 3,
	};
	uint32_t id;
	if (us_cfi_builder_rule(b, &r, saved, &id) ||
	    us_cfi_builder_row(b, number(p, 10, 2), id, p[0] >> 3 & US_CFI_START))
		abort();
}

static struct us_cfi_table *make_table(const struct input *in, unsigned n, uint8_t word,
				       bool distrust)
{
	struct us_cfi_builder *b;
	struct us_cfi_table *t;
	if (us_cfi_builder_new(word, &b))
		abort();
	if (distrust)
		us_cfi_builder_distrust(b);
	for (unsigned i = 0; i < n && (i + 1) * RULE <= in->size; i++)
		add_rule(b, in->ram + i * RULE);
	if (us_cfi_builder_row(b, 0x20000, US_CFI_NO_RULE, 0) ||
	    us_cfi_builder_finish(b, &t))
		abort();
	us_cfi_builder_free(b);
	return t;
}

static void check(const struct us_stack *out, us_gva pc)
{
	if (out->n < 1 || out->n > US_MAX_FRAMES || out->pc[0] != pc ||
	    out->end == US_END_NONE || out->end >= US_N_END)
		abort();
	for (unsigned i = 0; i < out->n; i++) {
		if (out->how[i] > US_HOW_INTERRUPT ||
		    out->flags[i] & ~(US_PC_USER | US_PC_EXACT))
			abort();
		/* No program calls the kernel's functions. */
		if (i && (out->flags[i - 1] & US_PC_USER & ~out->flags[i]))
			abort();
	}
}

static void unwind(struct us_mem *m, const struct us_regs *regs,
		   struct us_stack_copy *copy, const struct us_code_map *map,
		   const struct us_cfi *cfi)
{
	static struct us_unwinder *all[US_N_ARCH];
	static struct us_paging p;
	static struct us_stack out;
	if (!all[regs->arch] &&
	    us_unwinder_new(regs->arch, NULL, NULL, &all[regs->arch]) != 0)
		abort();
	struct us_unwinder *u = all[regs->arch];
	us_unwinder_set_code(u, map, cfi);
	us_mem_init(m);
	us_paging_init(&p, m);
	p.stack = copy;
	for (int i = 0; i < 3; i++) {
		us_unwind(u, &p, regs, &out);
		check(&out, regs->pc);
		us_paging_new_sample(&p);
	}
}

/* Registers and page tables as the other two architectures have them. */
static void other_arch(const uint8_t *data, us_gva base, struct us_regs *r)
{
	static const uint64_t tcr[4] = {
		25 | 16ULL << 16 | 2ULL << 30,		 /* 39 and 48 bits, 4 KiB */
		16 | 2 << 14 | 16ULL << 16 | 1ULL << 30, /* 16 KiB */
		12 | 1 << 14 | 12ULL << 16 | 3ULL << 30 | 6ULL << 32, /* 64 KiB */
		12 | 12ULL << 16 | 2ULL << 30 | 6ULL << 32 | 1ULL << 59,
	};
	us_gpa root = r->space.root;
	r->arch = (data[3] >> 1 & 3) == 1 ? US_ARCH_AARCH64 : US_ARCH_RISCV64;
	r->bits = 64;
	r->valid = UINT32_MAX;
	unsigned ra = r->arch == US_ARCH_AARCH64 ? US_AARCH64_LR : US_RISCV_RA;
	r->gpr[ra] = base + number(data, 16, 2);
	r->entered = (struct us_entered){
		.pc = base + number(data, 16, 2),
		.sp = r->sp,
		.valid = !r->user && data[3] & 0x60,
		.user = data[3] & 0x80,
		.guessed = data[3] & 0x40,
	};
	if (data[0] % 6 == 5)
		r->space.mode = US_PAGING_UNKNOWN;
	else if (r->arch == US_ARCH_AARCH64)
		r->space = us_aarch64_space(root, root, tcr[data[3] >> 3 & 3],
					    data[0] % 6 != 0);
	else
		r->space = us_riscv_space((uint64_t)(8 + data[0] % 3) << 60 |
						  root >> 12,
					  data[0] % 6 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_mem m;
	us_gva start[MAX_STARTS];
	if (size < HEAD)
		return 0;
	struct input in = { data + HEAD,
			    size - HEAD,
			    { .pc = number(data, 16, 2),
			      .sp = number(data, 8, 4),
			      .valid = true,
			      .user = data[2] & 16 } };
	us_gva base = data[1] & 4 ? 0xffff800000000000 : 0;
	struct us_regs regs = {
		.pc = base + number(data, 4, 4),
		.sp = base + number(data, 8, 4),
		.fp = base + number(data, 12, 4),
		.gpr[US_X86_R10] = base + number(data, 16, 2),
		.gpr[US_X86_R13] = base + number(data, 16, 2),
		.gpr[US_X86_RCX] = base + number(data, 16, 2),
		.gpr[US_X86_RDI] = base + number(data, 16, 2),
		.valid = 1U << US_X86_R10 | 1U << US_X86_R13 | 1U << US_X86_RCX |
			 1U << US_X86_RDI,
		.bits = data[1] & 32  ? 16
			: data[1] & 8 ? 32
				      : 64,
		.space = { .root = number(data, 18, 2) << 4,
			   .mode = data[0] % 6 < 5 ? data[0] % 6 : US_PAGING_UNKNOWN },
		.user = data[1] & 64,
	};
	if (data[3] & 6)
		other_arch(data, base, &regs);
	struct us_region region = { .size = in.size, .host = in.ram };
	bool mapped = !(data[1] & 2);
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = mapped;
	m.read = mapped ? NULL : read_ram;
	m.read_gva = read_ram;
	m.read_entered = data[2] & 32 ? read_entered : NULL;
	m.ctx = &in;
	struct us_stack_copy copy = {
		.window[0] = { .base = regs.sp,
			       .len = in.size < 512 ? (uint32_t)in.size : 512,
			       .bytes = in.ram },
		.n_window = 1,
		.held = data[2] & 16,
	};

	struct us_code_map map = { .start = start, .narrow_cs = 0x23 };
	map.n = starts(&in, base, start);
	if (data[1] & 16) {
		map.text_start = base;
		map.text_end = base + in.size;
	}
	static struct us_cfi cfi;
	struct us_cfi_table *t = NULL;
	if (data[1] & 128) {
		t = make_table(&in, data[2] % MAX_RULES, regs.bits == 64 ? 8 : 4,
			       data[3] & 1);
		if (us_cfi_place(&cfi, t, base, US_CFI_ANY_ROOT))
			abort();
	}
	unwind(&m, &regs, data[2] >> 6 == 3 ? &copy : NULL, data[1] & 1 ? &map : NULL,
	       t ? &cfi : NULL);
	us_cfi_remove(&cfi, t);
	us_cfi_table_free(t);
	return 0;
}

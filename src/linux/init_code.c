/* SPDX-License-Identifier: GPL-2.0-or-later */
/* init_code.c: see init_code.h. */
#include "linux/init_code.h"

#include <string.h>

#define LEAST_CALLS 3
#define MOST_CODE   2048

#define X86_CALL    0xe8   /* then 32 bits: the distance from the next instruction */
#define ARM_BL	    0x25   /* the upper six bits; the other 26: the distance in words */
#define RISCV_JAL   0xef   /* jal ra; the upper 20 bits, in another order */
#define RISCV_AUIPC 0x97   /* auipc ra; the upper 20 bits are added to the pc */
#define RISCV_JALR  0x80e7 /* jalr ra, ra; the upper 12 bits are added to that */

static uint32_t word(const uint8_t *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof(v));
	return v;
}

static us_gva called_by_riscv(us_gva at, uint32_t first, uint32_t second)
{
	if ((first & 0xfff) == RISCV_JAL)
		return at + (us_gva)(int64_t)((int32_t)(first & 0x80000000) >> 11) +
		       (first & 0xff000) + (first >> 9 & 0x800) + (first >> 20 & 0x7fe);
	if ((first & 0xfff) != RISCV_AUIPC || (second & 0xfffff) != RISCV_JALR)
		return 0;
	return at + (us_gva)(int64_t)(int32_t)(first & 0xfffff000) +
	       (us_gva)(int64_t)((int32_t)second >> 20);
}

/* The target of the call in these eight bytes; 0: they are no call. */
static us_gva called(enum us_arch arch, us_gva at, const uint8_t *code)
{
	uint32_t first = word(code);
	if (arch == US_ARCH_RISCV64)
		return called_by_riscv(at, first, word(code + 4));
	if (arch == US_ARCH_AARCH64 && first >> 26 == ARM_BL)
		return at + (us_gva)((int64_t)((uint64_t)first << 38) >> 36);
	if (arch == US_ARCH_X86_64 && code[0] == X86_CALL)
		return at + 5 + (us_gva)(int64_t)(int32_t)word(code + 1);
	return 0;
}

unsigned us_linux_count_calls(const struct us_kallsyms *k, enum us_arch arch, us_gva at,
			      const uint8_t *code, size_t n)
{
	size_t step = arch == US_ARCH_X86_64 ? 1 : arch == US_ARCH_AARCH64 ? 4 : 2;
	unsigned calls = 0;
	for (size_t i = 0; i + 8 <= n; i += step) {
		us_gva end, to = called(arch, at + i, code + i);
		const struct us_kallsym *s = to ? us_kallsyms_find(k, to, &end) : NULL;
		calls += s && s->addr == to;
	}
	return calls;
}

bool us_linux_has_init_code(const struct us_kallsyms *k, enum us_arch arch,
			    bool (*read)(void *ctx, us_gva at, void *buf, size_t len),
			    void *ctx)
{
	us_gva at = us_kallsyms_address(k, "start_kernel"), end;
	uint8_t code[MOST_CODE];
	if (!at || !us_kallsyms_find(k, at, &end) || end <= at)
		return false;
	size_t n = end - at < sizeof(code) ? end - at : sizeof(code);
	return read(ctx, at, code, n) &&
	       us_linux_count_calls(k, arch, at, code, n) >= LEAST_CALLS;
}

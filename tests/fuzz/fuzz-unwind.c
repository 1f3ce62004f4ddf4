/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose page tables, registers, stack and code are all from the input: 20
 * bytes of registers and ways, then its memory.
 */
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD	   20
#define MAX_STARTS 32

struct input {
	const uint8_t *ram;
	size_t size;
};

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

static void check(const struct us_stack *out, us_gva pc)
{
	if (out->n < 1 || out->n > US_MAX_FRAMES || out->pc[0] != pc ||
	    out->end == US_END_NONE || out->end >= US_N_END)
		abort();
	for (unsigned i = 0; i < out->n; i++)
		if (out->how[i] > US_HOW_INTERRUPT)
			abort();
}

static void unwind(struct us_mem *m, const struct us_regs *regs,
		   const struct us_code_map *map)
{
	static struct us_unwinder *u;
	static struct us_paging p;
	static struct us_stack out;
	if (!u && us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u) != 0)
		abort();
	us_unwinder_set_map(u, map);
	us_mem_init(m);
	us_paging_init(&p, m);
	for (int i = 0; i < 3; i++) {
		us_unwind(u, &p, regs, &out);
		check(&out, regs->pc);
		us_paging_new_sample(&p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_mem m;
	us_gva start[MAX_STARTS];
	if (size < HEAD)
		return 0;
	struct input in = { data + HEAD, size - HEAD };
	us_gva base = data[1] & 4 ? 0xffff800000000000 : 0;
	struct us_regs regs = {
		.pc = base + number(data, 4, 4),
		.sp = base + number(data, 8, 4),
		.fp = base + number(data, 12, 4),
		.gpr[US_X86_R10] = base + number(data, 16, 2),
		.valid = 1U << US_X86_R10,
		.bits = data[1] & 8 ? 32 : 64,
		.space = { .root = number(data, 18, 2) << 4, .mode = data[0] % 6 },
	};
	struct us_region region = { .size = in.size, .host = in.ram };
	bool mapped = !(data[1] & 2);
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = mapped;
	m.read = mapped ? NULL : read_ram;
	m.read_gva = read_ram;
	m.ctx = &in;

	struct us_code_map map = { .start = start };
	map.n = starts(&in, base, start);
	if (data[1] & 16) {
		map.text_start = base;
		map.text_end = base + in.size;
	}
	unwind(&m, &regs, data[1] & 1 ? &map : NULL);
	return 0;
}

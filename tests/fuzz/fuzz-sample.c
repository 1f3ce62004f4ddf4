/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look as it comes out of the bpf backend's ring, with all of a guest's making:
 * registers, stacks, and where they are said to lie.  Behind it, its memory.
 */
#include "backend/bpf/sample.h"
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_ram(void *ctx, uint64_t at, void *buf, size_t len)
{
	const struct us_bpf_sample *l = ctx;
	at &= 0xffffff; /* of any slot */
	if (at > l->size || len > l->size - at)
		return false;
	memcpy(buf, (const uint8_t *)(l + 1) + at, len);
	return true;
}

static void unwind(struct us_bpf_sample *l)
{
	static struct us_unwinder *u;
	static struct us_paging p;
	static struct us_stack out;
	struct us_stack_copy copy;
	struct us_regs regs;
	static struct us_mem m;
	if (!u && us_unwinder_new(us_bpf_sample_arch, NULL, NULL, &u))
		abort();
	us_bpf_sample_regs(l, &regs);
	us_bpf_sample_window(l, &copy);
	memset(&m, 0, sizeof(m));
	m.read = read_ram;
	m.ctx = l;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	us_paging_new_sample(&p);
	p.stack = &copy;
	us_unwind(u, &p, &regs, &out);
	if (out.n > US_MAX_FRAMES || out.end >= US_N_END)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) uint8_t record[US_BPF_MAX_SAMPLE];
	struct us_bpf_sample *l = (void *)record;
	if (size > sizeof(record))
		return 0;
	memcpy(record, data, size);
	if (!us_bpf_sample_fits(l, size))
		return 0;
	if (us_bpf_sample_state(l) >= US_N_VCPU_STATE)
		abort();
	for (int host = US_BPF_HOST_UNKNOWN; host <= US_BPF_HOST_ARM64; host++)
		us_bpf_sample_exit(l, host);
	unwind(l);
	return 0;
}

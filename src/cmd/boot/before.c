/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/before.c: see cmd/boot/before.h. */
#include "cmd/boot/before.h"

bool us_boot_before_is_kernel(const struct us_boot_before *b, uint64_t pc)
{
	for (size_t i = 0; i < US_BOOT_RANGES; i++)
		if (pc >= b->kernel.range[i].start && pc < b->kernel.range[i].end)
			return true;
	return false;
}

static uint64_t last_of(const struct us_boot_before *b, unsigned vcpu)
{
	return vcpu < US_MAX_VCPUS ? b->last_ns[vcpu] : 0;
}

/* Of the same vCPU: another's sample does not say what this one did until then. */
void us_boot_before_begin(struct us_boot_before *b, unsigned vcpu, bool has_kernel)
{
	if (!has_kernel || b->entered)
		return;
	b->entered = true;
	b->firmware_ns = last_of(b, vcpu);
}

static uint64_t since(uint64_t from_ns, uint64_t now_ns)
{
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

/* Firmware's functions may have run before the kernel did. */
struct us_boot_error us_boot_before_error(const struct us_boot_before *b, unsigned vcpu,
					  uint64_t now_ns, uint64_t address)
{
	uint64_t last = last_of(b, vcpu);
	bool bounded = b->firmware_ns &&
		       (!address || us_boot_before_is_kernel(b, address));
	return (struct us_boot_error){
		.ns = bounded ? since(b->firmware_ns, now_ns) : UINT64_MAX,
		.first_ns = last ? since(last, now_ns) : 0,
	};
}

void us_boot_before_end(struct us_boot_before *b, unsigned vcpu, uint64_t now_ns)
{
	if (vcpu < US_MAX_VCPUS && now_ns > b->last_ns[vcpu])
		b->last_ns[vcpu] = now_ns;
}

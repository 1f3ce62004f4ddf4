/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.bpf.h: the maps, and the memory in which a sample is made.
 *
 * One CPU makes a sample with interrupts off: nothing else uses its scratch.
 */
#ifndef US_BACKEND_BPF_SCRATCH_H
#define US_BACKEND_BPF_SCRATCH_H

#include "backend/bpf/kernel.bpf.h"
#include "backend/bpf/shared.h"

#define CACHE_SLOTS 16 /* a power of two */
#define TAIL_BYTES  (US_BPF_MAX_SAMPLE - sizeof(struct us_bpf_sample))

/* A page of a guest, and the page-table entry that maps it. */
struct cached_page {
	uint64_t page, root; /* us_gva; from root_of() */
	uint64_t hva;	     /* of the page */
	uint64_t entry_hva, entry;
	uint64_t generation; /* of the memory slots */
	uint32_t guest;
	uint32_t entry_size;
	uint64_t checked; /* the sample in which the entry was last read */
};

/* The members that each sample touches are close together. */
struct scratch {
	/* Of this sample: the address space, as in struct us_space, without flag bits.
	 */
	uint64_t root, root_upper, control;
	uint64_t number;
	uint64_t generation;
	uint32_t guest, mode;
	uint32_t enough; /* bytes of a stack, where a page ends */
	struct cached_page cache[CACHE_SLOTS];
	uint8_t span[512]; /* part of a kernel structure */
	struct us_bpf_sample sample;
	uint8_t tail[TAIL_BYTES + 64]; /* the data behind it, as in the ring */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* What an iterator is about to write; only one runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct us_bpf_found_vcpu);
} found_vcpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, US_BPF_MAX_ROWS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct us_bpf_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, US_BPF_MAX_GUESTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct us_bpf_guest);
} guests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, US_BPF_RING_BYTES);
} ring SEC(".maps");

/* Set before the programs are loaded. */
const volatile uint32_t host_kind; /* enum us_bpf_host */
const volatile bool
	shadow_paging; /* on VMX: KVM walks the guest's page tables itself */
/* Of the host's pages, in which KVM counts the guest's memory; arm64 kernels have pages
 * of 4, 16 or 64 KiB. */
const volatile uint32_t page_shift;

static __always_inline struct scratch *my_scratch(void)
{
	uint32_t zero = 0;
	return bpf_map_lookup_elem(&scratches, &zero);
}

#endif

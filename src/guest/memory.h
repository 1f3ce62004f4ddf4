/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h: guest-physical memory as runs of host memory.
 *
 * There are four ways to read a byte, tried in this order:
 *
 * - our own address space (host);
 * - pread of the VMM's memory file (file);
 * - process_vm_readv of the VMM (pid and hva);
 * - a callback of the backend (page, read, read_gva).
 *
 * With no region at all, the callback decides what is RAM.
 */
#ifndef US_GUEST_MEMORY_H
#define US_GUEST_MEMORY_H

#include "guest/regs.h"

#include <stddef.h>
#include <sys/types.h>

/* One run of guest-physical memory that is also one run in the VMM. */
struct us_region {
	us_gpa start;
	uint64_t size;	     /* bytes */
	us_hva hva;	     /* its address in the VMM; 0: not known */
	const uint8_t *host; /* its address in our own process; NULL: not mapped */
	int file;	     /* our descriptor of the file that it is; 0: none */
	uint64_t file_at;    /* where it begins in that file */
	bool lazy;	     /* do not read a page that is not present: that may wait */
};

/*
 * Memory that must be copied from a file or another process is fetched in lines, and a
 * line stays valid until us_mem_new_sample(): the words of one stack mostly share one.
 * A read of a whole line or more is one fetch of its own, and is not kept.
 */
#define US_MEM_LINE  512
#define US_MEM_LINES 16
#define US_MEM_PAGE  4096

/*
 * For a caller that follows the lists of a guest's kernel: it reads thousands of words
 * in many places.  Copying 8 bytes from another process costs as much as copying their
 * page, and objects of one kind are adjacent.  Such a caller fetches pages instead of
 * lines.  1 MiB, of which only the used part is touched.
 */
#define US_MEM_PAGES 256 /* a power of two */
struct us_mem_pages {
	struct us_mem_page {
		us_gpa start;
		uint32_t epoch;
	} page[US_MEM_PAGES];
	uint8_t bytes[US_MEM_PAGES][US_MEM_PAGE];
};

struct us_mem {
	const struct us_region *region; /* sorted by start, not overlapping; owned by
					   whoever opened the memory */
	size_t n_region;
	pid_t pid;   /* of the VMM, for process_vm_readv; 0: none */
	int pagemap; /* /proc/PID/pagemap, if a region is lazy; not owned */

	/* Read len bytes; false if any of them cannot be read.  Either may be NULL.
	 * read_gva is for backends that see virtual addresses only (a foreign gdb
	 * stub): it uses the translation of the vCPU of the current capture. */
	bool (*read)(void *ctx, us_gpa pa, void *buf, size_t len);
	bool (*read_gva)(void *ctx, us_gva va, void *buf, size_t len);
	/* For backends that map pages one by one (xen), if there is no region: returns
	 * the page that holds pa, US_MEM_PAGE bytes that can be read until the next
	 * call; NULL: there is none.  May be NULL.  If read is set too, it serves
	 * longer reads. */
	const uint8_t *(*page)(void *ctx, us_gpa pa);
	/* Not memory, but needed as rarely: what an exception interrupted last, from
	 * the registers of the current capture's vCPU, which is stopped.  May be NULL.
	 */
	bool (*read_entered)(void *ctx, struct us_entered *ret);
	void *ctx;

	struct us_mem_pages *pages; /* not owned; NULL: lines only */
	size_t last; /* region of the last read: mostly also of the next one */
	uint32_t epoch;
	struct us_mem_line {
		uint64_t start; /* us_gva if virt, else us_gpa */
		uint32_t epoch;
		bool virt;
		uint8_t bytes[US_MEM_LINE];
	} line[US_MEM_LINES];
};

/* Zero *m and set its members before you call this. */
void us_mem_init(struct us_mem *m);

/* Forget the fetched lines: the guest has run since then. */
void us_mem_new_sample(struct us_mem *m);

/* Let the next read of the word at pa fetch it again, even within this sample. */
void us_mem_forget(struct us_mem *m, us_gpa pa);

/* Fetch pages instead of lines from now on, or NULL: lines again. */
void us_mem_use_pages(struct us_mem *m, struct us_mem_pages *pages);

/* Read guest-physical memory; false outside RAM.  Never faults, never allocates. */
bool us_mem_read(struct us_mem *m, us_gpa pa, void *buf, size_t len);

/* Read with read_gva, cached in the same lines; false without that callback. */
bool us_mem_read_gva(struct us_mem *m, us_gva va, void *buf, size_t len);

/* Total bytes of RAM in the regions. */
uint64_t us_mem_size(const struct us_mem *m);

#endif

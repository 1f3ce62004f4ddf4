/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that a stub knows and the layout does not: who reads it? */
#include "made-up-vmm.h"

#include "backend/peer_ram.h"

#include <sys/mman.h>

#define MIB	   (1ULL << 20)
#define SIZE	   (34 * MIB + 8192) /* that nothing else in the process has */
#define BASE	   (4 * MIB)
#define CODE	   (BASE + 0x4000)
#define STACK	   (BASE + 0x5000)
#define IMAGE_SIZE 0x8000
#define PLUGGED	   (64 * MIB) /* beyond what the process had at first */

/* Page tables that map the first GiB to itself, and then code. */
static uint8_t image[IMAGE_SIZE];

static void make_image(void)
{
	uint64_t *pml4 = (uint64_t *)(void *)image, *pdpt = pml4 + 512,
		 *pd = pdpt + 512;
	pml4[0] = (BASE + 0x1000) | 3;
	pdpt[0] = (BASE + 0x2000) | 3;
	for (uint64_t i = 0; i < 512; i++)
		pd[i] = i * 2 * MIB | 0x83;
	for (unsigned i = 0x4000; i < IMAGE_SIZE; i++)
		image[i] = (uint8_t)(i * 7 + i / 256);
}

static bool be_vmm(const void *what)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p = mmap(NULL, SIZE + 2 * 4096, PROT_NONE, flags, -1, 0);
	(void)what;
	if (p == MAP_FAILED || mprotect(p + 4096, SIZE, PROT_READ | PROT_WRITE) < 0)
		return false;
	memcpy(p + 4096 + BASE, image, IMAGE_SIZE);
	return true;
}

/* The stub: it has all of it, and what was plugged in. */
static bool read_by_peer(void *ctx, us_gva va, void *buf, size_t len)
{
	unsigned *n = ctx;
	++*n;
	memset(buf, 0x90, len);
	if (va >= BASE && va + len <= BASE + IMAGE_SIZE)
		memcpy(buf, image + (va - BASE), len);
	else if (va < PLUGGED || va >= PLUGGED + MIB)
		return false;
	return true;
}

static enum us_paging_mode prepared(struct us_peer_ram *m, us_gpa root, us_gva pc,
				    us_gva sp)
{
	struct us_regs regs = { .pc = pc,
				.sp = sp,
				.bits = 64,
				.space = { .root = root, .mode = US_PAGING_X86_4 } };
	us_peer_ram_prepare(m, &regs);
	return regs.space.mode;
}

static void the_peer_reads_what_was_plugged_in(void **state)
{
	(void)state;
	make_image();
	struct us_guest g = { .accel = US_ACCEL_KVM, .memory = SIZE, .vmm = "own-vmm" };
	struct us_peer_ram m;
	unsigned n = 0;
	assert_true(begin_made_up(&g, be_vmm, NULL));
	us_peer_ram_open(&m, &g, NULL, "by the stub", read_by_peer, &n);
	assert_non_null(m.ram);
	assert_int_equal(prepared(&m, BASE, CODE, STACK), US_PAGING_X86_4);
	assert_true(m.sure);
	/* From then on nobody needs the peer, */
	n = 0;
	assert_int_equal(prepared(&m, BASE, CODE, STACK), US_PAGING_X86_4);
	assert_int_equal(n, 0);
	/* unless page tables, code or the stack are where the layout has nothing. */
	assert_int_equal(prepared(&m, PLUGGED, CODE, STACK), US_PAGING_UNKNOWN);
	assert_int_equal(prepared(&m, BASE, PLUGGED, STACK), US_PAGING_UNKNOWN);
	assert_int_equal(prepared(&m, BASE, CODE, PLUGGED), US_PAGING_UNKNOWN);
	/* What the peer lacks as well is no reason; and each capture is judged anew. */
	assert_int_equal(prepared(&m, BASE, CODE, 2048 * MIB), US_PAGING_X86_4);
	assert_int_equal(prepared(&m, BASE, CODE, STACK), US_PAGING_X86_4);
	us_peer_ram_close(&m);
	end_made_up(&g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peer_reads_what_was_plugged_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen-guest.h: a domain of the hypervisor that is made up, whose vCPUs are each in
 * leaf(), called by inner(), called by outer(); and the xen backend on it. */
#ifndef US_TEST_XEN_GUEST_H
#define US_TEST_XEN_GUEST_H

#include "fake-xen.h"

#include "backend/backend.h"
#include "base/clock.h"

#include <unistd.h>

extern const struct us_backend_ops us_backend_xen;

#define CODE	  0xffffffff80100000ull
#define STACK	  0xffffffff80101000ull
#define LARGE	  0xffffffff80400000ull /* the same code by a 2 MiB page */
#define RET_OUTER (CODE + 0x109)
#define RET_INNER (CODE + 0x209)
#define AT_LEAF	  (CODE + 0x304)

enum frame { PML4, PDPT, PD, PT, TEXT, DATA };

static inline void put_entry(unsigned table, unsigned index, uint64_t entry)
{
	memcpy(&fake_xen->memory[table][index * 8], &entry, 8);
}

static inline void put_word(unsigned at, uint64_t word)
{
	memcpy(&fake_xen->memory[DATA][at], &word, 8);
}

/* push rbp; mov rbp, rsp; call to */
static inline void put_caller(unsigned at, unsigned to)
{
	const uint8_t head[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8 };
	uint8_t *code = &fake_xen->memory[TEXT][at];
	int32_t by = (int32_t)(to - (at + 9));
	memcpy(code, head, sizeof(head));
	memcpy(code + 5, &by, 4);
	memcpy(code + 9, "\x5d\xc3", 2);
}

/* outer calls inner calls leaf, which loops; each vCPU is there. */
static inline void put_guest(void)
{
	static const uint8_t leaf[] = { 0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfe };
	put_entry(PML4, 511, machine(PDPT) | 7);
	put_entry(PDPT, 510, machine(PD) | 7);
	put_entry(PD, 0, machine(PT) | 7);
	put_entry(PT, 0x100, machine(TEXT) | 5);
	put_entry(PT, 0x101, machine(DATA) | 7);
	put_caller(0x100, 0x200);
	put_caller(0x200, 0x300);
	memcpy(&fake_xen->memory[TEXT][0x300], leaf, sizeof(leaf));
	put_word(0xf00, STACK + 0xf20); /* leaf's frame: inner's rbp, */
	put_word(0xf08, RET_INNER);
	put_word(0xf20, STACK + 0xf40);
	put_word(0xf28, RET_OUTER);
	put_word(0xf40, 0);
	put_word(0xf48, 0);
	for (unsigned i = 0; i < FAKE_VCPUS; i++) {
		struct us_regs *r = &fake_xen->regs[i];
		*r = (struct us_regs){ .pc = AT_LEAF,
				       .sp = STACK + 0xf00,
				       .fp = STACK + 0xf00,
				       .space = { .root = machine(PML4),
						  .mode = US_PAGING_X86_4 },
				       .valid = UINT16_MAX,
				       .bits = 64 };
		r->gpr[US_X86_RSP] = r->sp;
		r->gpr[US_X86_RBP] = r->fp;
	}
}

static struct us_backend *left_open;
static bool is_child; /* of a test */

static inline struct us_backend *open_started(unsigned n_vcpu, double hz)
{
	static const struct us_xen_guest guest = { .domain = { .id = FAKE_DOMAIN } };
	const struct us_target t = { .xen = &guest, .xen_calls = &fake_calls };
	const struct us_schedule s = { .hz = hz, .seed = 1 };
	struct us_backend *b = NULL;
	struct us_err e = { 0 };
	fake_setup(n_vcpu);
	put_guest();
	if (us_backend_open(&t, "xen", &b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	left_open = b;
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	return b;
}

static inline void close_it(struct us_backend *b)
{
	left_open = NULL;
	us_backend_close(b);
}

/* A test that failed leaves no watchdog for whom others wait. */
static inline int leave_nothing(void **state)
{
	(void)state;
	if (is_child)
		_exit(1);
	close_it(left_open);
	return 0;
}
#define TEST(f) cmocka_unit_test_teardown(f, leave_nothing)

static inline uint64_t soon(void)
{
	return us_now_ns() + 10 * US_NS_PER_SEC;
}

static inline void take(struct us_backend *b, struct us_capture *c)
{
	assert_int_equal(b->ops->next(b, soon(), c), 1);
}

#endif

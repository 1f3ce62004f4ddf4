/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf-run.h: a guest of a VMM that is no QEMU, sampled by the backend bpf. */
#ifndef US_TEST_BPF_RUN_H
#define US_TEST_BPF_RUN_H

#include "backend/backend.h"
#include "base/clock.h"

#include "bpf-possible.h"
#include "mini-vmm.h"

#define SECOND US_NS_PER_SEC

/* push 0x1234; push 0x5678; again: mov cx, 0x1000; loop $; out 0x10, al; jmp again */
static const uint8_t pushes[] = { 0x68, 0x34, 0x12, 0x68, 0x78, 0x56, 0xb9, 0x00,
				  0x10, 0xe2, 0xfe, 0xe6, 0x10, 0xeb, 0xf7 };
static const uint8_t stack_top[] = { 0x78, 0x56, 0x34, 0x12 };
/* again: out 0x10, al; jmp again */
static const uint8_t outs[] = { 0xe6, 0x10, 0xeb, 0xfc };
/* sti; hlt; jmp to it */
static const uint8_t halts[] = { 0xfb, 0xf4, 0xeb, 0xfd };

struct run {
	struct mini_vmm vmm;
	struct us_guest guest;
	struct us_backend *b;
};

static inline void begin_at(struct run *r, struct mini_layout l, const uint8_t *code,
			    size_t len, struct us_schedule s)
{
	struct us_err e;
	mini_start_as(&r->vmm, l, code, len);
	if (us_guest_inspect(r->vmm.pid, &r->guest, &e))
		fail_msg("%s", e.msg);
	const struct us_target t = { .guest = &r->guest };
	if (us_backend_open(&t, "bpf", &r->b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	s.seed = 1;
	assert_int_equal(r->b->ops->start(r->b, &s, &e), 0);
}

static inline void begin_as(struct run *r, struct mini_layout l, const uint8_t *code,
			    size_t len, double hz)
{
	begin_at(r, l, code, len, (struct us_schedule){ .hz = hz });
}

static inline void end(struct run *r)
{
	us_backend_close(r->b);
	mini_stop(&r->vmm);
}

#endif

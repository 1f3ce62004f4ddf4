/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracked-x86.h: the same where calls leave the return address on the stack.  A call to
 * -1 is by a pointer. */
#ifndef TEST_TRACKED_X86_H
#define TEST_TRACKED_X86_H

#include "tracked.h"

static inline void call(struct machine *m, int from, int to, uint64_t sp)
{
	struct us_track_site s = { .in = &m->f[from],
				   .target = to < 0 ? NULL : &m->f[to] };
	us_track_site_prepare(&s);
	us_track_call(&m->t, &s, sp);
}

static inline void ret(struct machine *m, int from, uint64_t sp)
{
	struct us_track_site s = { .in = &m->f[from] };
	us_track_return(&m->t, &s, sp, 8);
}

static inline void jump(struct machine *m, int from, int to)
{
	struct us_track_site s = { .in = &m->f[from],
				   .target = to < 0 ? NULL : &m->f[to] };
	us_track_jump(&m->t, &s);
}

static inline void iret(struct machine *m, int from, uint64_t sp)
{
	struct us_track_site s = { .in = &m->f[from] };
	us_track_iret(&m->t, &s, sp);
}

/* main is at work, on a stack whose addresses are known. */
static inline void begin(struct machine *m)
{
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	expect_path(m, "1000");
	call(m, MAIN, F, 0x8000);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	ret(m, F, 0x8000);
	m->insns += 3;
	expect_path(m, "1000");
}

#endif

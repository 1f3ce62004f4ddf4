/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work-guest.c: a guest whose only vCPU counts its work in memory, eleven frames deep,
 * so that whoever reads the counter from outside knows how fast it runs.
 */
#include "machine.h"

/* The benchmark looks for the mark, which is put together here so that it is found in
 * one place only. */
volatile struct {
	u64 mark[2];
	u64 rounds;
} work __attribute__((__aligned__(64)));

VISIBLE void count_work(void)
{
	while (work.mark[0]) {
		u64 x = work.rounds;

		for (u64 i = 0; i < 20; i++)
			keep(x = x * 3 + i);
		work.rounds++;
	}
}

#define FRAME(name, callee)                                                            \
	VISIBLE void name(void)                                                        \
	{                                                                              \
		callee();                                                              \
		keep(work.rounds);                                                     \
	}
FRAME(frame_8, count_work)
FRAME(frame_7, frame_8)
FRAME(frame_6, frame_7)
FRAME(frame_5, frame_6)
FRAME(frame_4, frame_5)
FRAME(frame_3, frame_4)
FRAME(frame_2, frame_3)
FRAME(frame_1, frame_2)

void guest_setup(void)
{
	work.mark[0] = ~0x53552d4b524f572dULL;
	work.mark[1] = ~0x2d6e757220746f4eULL;
}

NORETURN void kmain(u32 vcpu)
{
	for (;;)
		if (vcpu == 0)
			frame_1();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.c: a program in user mode, with page tables of its own, that calls the
 * kernel; it enters and leaves it by a page that is mapped elsewhere than where it was
 * linked.  How, is in the file of the same name in the processor's folder.
 */
#include "trampoline.h"
#include "machine.h"

#define FUNCTIONS(X) X(user_main) X(kernel_work)
TRUTH_FUNCTIONS(FUNCTIONS);

/* What an entry leads to, at this depth; and an entry that calls it. */
#define LINE(in, name) in name "\n"
#define TRAP(in)                                                                       \
	LINE(in, "user_trap")                                                          \
	BEFORE_STORE(in "  ")                                                          \
	LINE(in "  ", "system_call")                                                   \
	LINE(in "    ", "kernel_work")                                                 \
	TICK(in "      ")                                                              \
	LINE(in "    ", "report")                                                      \
	LINE(in "      ", "print_truth")                                               \
	LINE(in "        ", "serial_write")                                            \
	LINE(in "      ", "print_beat")                                                \
	LINE(in "        ", "serial_write")
#define CALLED_BY(in, entry) LINE(in, entry) TRAP(in "  ")

/* clang-format off */
static const char tree[] =
	LINE("", "user_start")
	LINE("  ", "user_main")
	TICK("    ")
	LINE("    ", "compute")
	TICK("      ")
	LINE("    ", "call_kernel")
	TICK("      ")
	ENTERED_BY("      ")
	LINE("    ", "go_deeper")
	TICK("      ")
	LINE("      ", "call_deeper")
	TICK("        ")
	ENTERED_BY("        ");
/* clang-format on */

u64 work_unit;

extern char trampoline[], user_image[], user_image_end[];

VISIBLE void kernel_work(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	INTERRUPTS_ON();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
	INTERRUPTS_OFF();
}

VISIBLE void system_call(struct truth *t, u64 call)
{
	WITH_FRAME();
	if (call == CALL_REPORT) {
		report(t);
	} else {
		truth_call(t, IN(kernel_work));
		kernel_work(work_unit);
	}
	truth_call(t, IN(user_main));
}

void begin_truth(struct truth *t, u32 vcpu)
{
	truth_init(t, vcpu, truth_names);
}

void copy_program(u8 *to)
{
	for (u64 i = 0; i < (u64)(user_image_end - user_image); i++)
		to[i] = (u8)user_image[i];
}

void guest_setup(void)
{
	print_tree(tree);
	work_unit = measure_iterations(5000, 1000);
	map_page(TRAMPOLINE, gpa_of(trampoline));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spaces.c: two threads that change places all the time, each in an address space of
 * its own (TTBR1_EL1), in which its stack has the same addresses as the other's.  Who
 * reads the stack of one in the space of the other finds calls that are possible, and
 * wrong.
 */
#include "machine.h"
#include "paging.h"
#include "scheduler.h"
#include "truth.h"

#define FUNCTIONS(X) X(alpha_work) X(beta_work) X(beta_thread)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] = "thread_entry\n"
			   "  alpha_thread\n"
			   "    middle\n"
			   "      alpha_work\n"
			   "    swap\n"
			   "      switch_space\n"
			   "  beta_thread\n"
			   "    middle\n"
			   "      beta_work\n"
			   "    swap\n"
			   "      switch_space\n"
			   "    report\n"
			   "      print_truth\n"
			   "        serial_write\n"
			   "      print_beat\n"
			   "        serial_write\n";

#define SMALL_PAGE 4096
#define ENTRIES	   512
#define SLOT	   1

void switch_space(u64 *save_sp, u64 load_sp, u64 ttbr1);

static struct vcpu {
	/* Of beta's space: the uppermost table, and those below it for its stack. */
	u64 table[4][ENTRIES];
	u8 beta_stack[STACK_PAGES * SMALL_PAGE];
	struct truth truth;
	struct space {
		u64 sp, ttbr1;
	} alpha, beta;
} __attribute__((aligned(SMALL_PAGE))) vcpus[MAX_VCPUS];
static u64 unit;

VISIBLE void alpha_work(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < 3 * n; i++)
		keep(x = x * 3 + i);
}

VISIBLE void beta_work(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
}

VISIBLE void middle(void (*work)(u64))
{
	WITH_FRAME();
	work(unit);
	keep(unit);
}

VISIBLE void swap(struct space *from, struct space *to)
{
	switch_space(&from->sp, to->sp, to->ttbr1);
}

VISIBLE void alpha_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;) {
		truth_call(&v->truth, IN(alpha_work));
		middle(alpha_work);
		swap(&v->alpha, &v->beta);
	}
}

VISIBLE void beta_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;) {
		truth_call(&v->truth, IN(beta_work));
		middle(beta_work);
		truth_call(&v->truth, IN(beta_thread));
		report(&v->truth);
		swap(&v->beta, &v->alpha);
	}
}

/* All of alpha's space, but for what the stacks are in: the first entry of the upper
 * half has nothing else. */
static void build_space(struct vcpu *v, u64 top)
{
	u64 at = top - 1;
	u8 *end = v->beta_stack + sizeof(v->beta_stack);

	for (u32 i = 0; i < ENTRIES; i++)
		v->table[0][i] = top_table[i];
	for (u32 level = 0; level < 3; level++)
		v->table[level][at >> (39 - 9 * level) & (ENTRIES - 1)] =
			entry_of_table(gpa_of(v->table[level + 1]));
	for (u64 below = SMALL_PAGE; below <= sizeof(v->beta_stack);
	     below += SMALL_PAGE)
		v->table[3][(top - below) >> 12 & (ENTRIES - 1)] = entry_of_page(
			gpa_of(end - below));
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(200000, 1000);
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	u64 top = stack_top(vcpu, SLOT), boot_sp;
	u64 end = (u64)v->beta_stack + sizeof(v->beta_stack);

	truth_init(&v->truth, vcpu, truth_names);
	build_space(v, top);
	v->alpha.ttbr1 = read_system_register("ttbr1_el1");
	v->beta.ttbr1 = gpa_of(v->table[0]);
	v->alpha.sp = new_context(top, alpha_thread, v);
	v->beta.sp = top - (end - new_context(end, beta_thread, v));
	switch_space(&boot_sp, v->alpha.sp, v->alpha.ttbr1);
	__builtin_unreachable();
}

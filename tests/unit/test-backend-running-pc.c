/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU's program counter is found in a VMM's heap, and what stops show is counted
 * beside it.  The VMM is a child with registers on its heap. */
#include "unit.h"

#include "backend/running_pc.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_REG 17 /* x86-64's, as TCG has them, and the program counter */
#define A     0xffffffff80101000
#define B     0xffffffff80102000

static struct {
	pid_t pid;
	uint64_t *env; /* at the same address in parent and child */
	struct us_regs regs;
	struct us_running_pc r;
} world;

static int setup(void **state)
{
	static const uint8_t order[] = {
		US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RBX,
		US_X86_RSP, US_X86_RBP, US_X86_RSI, US_X86_RDI
	};
	(void)state;
	/* The heap that /proc/PID/maps names; a sanitizer's malloc() has another. */
	world.env = sbrk(N_REG * sizeof(*world.env));
	assert_ptr_not_equal(world.env, (void *)-1);
	world.regs.valid = 0xffff;
	for (unsigned i = 0; i < 16; i++) {
		world.env[i] = 0xabcd000000000000 + 0x1111 * i;
		world.regs.gpr[i < 8 ? order[i] : US_X86_R8 + i - 8] = world.env[i];
	}
	world.env[16] = world.regs.pc = A;
	world.pid = fork();
	assert_true(world.pid >= 0);
	if (!world.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	memset(world.env, 0, N_REG * sizeof(*world.env)); /* the child has it */
	struct us_guest *g = calloc(1, sizeof(*g));
	assert_non_null(g);
	g->pid = world.pid;
	g->n_vcpu = 2;
	us_running_pc_open(&world.r, g);
	free(g);
	return world.r.pid == world.pid ? 0 : -1;
}

static void end_child(void)
{
	if (world.pid > 0) {
		kill(world.pid, SIGKILL);
		waitpid(world.pid, NULL, 0);
	}
	world.pid = 0;
}

static int teardown(void **state)
{
	(void)state;
	us_running_pc_close(&world.r);
	end_child();
	return 0;
}

static void runs_to(us_gva pc)
{
	struct iovec here = { &pc, sizeof(pc) }, there = { &world.env[16], sizeof(pc) };
	assert_int_equal(process_vm_writev(world.pid, &here, 1, &there, 1, 0),
			 sizeof(pc));
}

static void stands_at(us_gva pc)
{
	world.regs.pc = pc;
	us_running_pc_stopped(&world.r, 0, &world.regs);
}

/* Found at the first stop, and believed after eight more. */
static void is_found(void)
{
	stands_at(A);
	assert_true(world.r.place[0].at == (us_hva)(uintptr_t)&world.env[16]);
	for (us_gva pc = A; pc < A + 8; pc++) {
		us_running_pc_read(&world.r, 3);
		assert_false(world.r.place[0].fresh);
		runs_to(pc);
		stands_at(pc);
	}
}

/* At B for a tenth of the time, but two thirds of the stops fall there. */
static void counts_both(void **state)
{
	char text[256];
	(void)state;
	is_found();
	for (unsigned i = 0; i < 999; i++) {
		runs_to(i % 10 ? A : B);
		us_running_pc_read(&world.r, 1);
		assert_true(world.r.place[0].fresh);
		stands_at(i % 3 ? B : A);
	}
	us_running_pc_text(&world.r, text, sizeof(text));
	assert_string_equal(text, "999; ffffffff80102000 666 100; "
				  "ffffffff80101000 333 899");
}

static void says_nothing_of_few_stops_or_equal_ones(void **state)
{
	char text[256];
	(void)state;
	is_found();
	us_running_pc_text(&world.r, text, sizeof(text));
	assert_string_equal(text, "");
	for (unsigned i = 0; i < 1000; i++) {
		us_gva pc = i % 2 ? A : B;
		runs_to(pc);
		us_running_pc_read(&world.r, 1);
		stands_at(pc);
	}
	us_running_pc_text(&world.r, text, sizeof(text));
	assert_string_equal(text, "");
}

/* Other bytes that were the same once. */
static void what_does_not_follow_is_given_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		stands_at(A);
		assert_true(world.r.place[0].at != 0);
		stands_at(B);
		assert_true(world.r.place[0].at == 0);
	}
	stands_at(A);
	assert_true(world.r.place[0].at == 0);
}

static void a_vmm_that_ends_is_no_reading(void **state)
{
	(void)state;
	is_found();
	end_child();
	us_running_pc_read(&world.r, 3);
	assert_false(world.r.place[0].fresh);
	stands_at(A);
	assert_int_equal(world.r.n_pair, 0);
}

/* More places than are counted, and registers that are not all known. */
static void is_bounded(void **state)
{
	char text[64];
	(void)state;
	is_found();
	for (us_gva i = 0; i < 4 * US_RUNNING_PC_PLACES; i++) {
		runs_to(A + i);
		us_running_pc_read(&world.r, 1);
		stands_at(B);
	}
	us_running_pc_text(&world.r, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	us_running_pc_stopped(&world.r, US_MAX_VCPUS, &world.regs);
	world.regs.valid = 0xf;
	us_running_pc_stopped(&world.r, 1, &world.regs);
	assert_true(world.r.place[1].at == 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(counts_both),
		TEST(says_nothing_of_few_stops_or_equal_ones),
		TEST(what_does_not_follow_is_given_up),
		TEST(a_vmm_that_ends_is_no_reading),
		TEST(is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which return belongs to which call: what the plugin tells, in the order of a guest.
 */
#include "trace/syscalls.h"
#include "trace/syscall_message.h"

#include "unit.h"

#include <string.h>

#define EXECVE	    59
#define READ	    0
#define BEHIND	    0x401002U /* the program's instruction behind the one that calls */
#define A_STACK	    0xffffc90000004000U
#define B_STACK	    0xffffc90000008000U
#define MAX_ENDED   8
#define FAILED_EXEC (-2)

struct seen {
	struct us_syscalls *s;
	uint64_t now;
	unsigned n;
	struct us_syscall ended[MAX_ENDED];
};

static int enter(void *ctx, const struct us_syscall *c)
{
	(void)ctx;
	(void)c;
	return 0;
}

static int leave(void *ctx, const struct us_syscall *c)
{
	struct seen *x = ctx;
	assert_true(x->n < MAX_ENDED);
	x->ended[x->n++] = *c;
	return 0;
}

static const struct us_syscalls_ops ops = { enter, leave };

static void tell(struct seen *x, unsigned vcpu, const struct us_syscall_message *m)
{
	uint8_t bytes[US_SYSCALL_MESSAGE];
	size_t n = us_syscall_message_put(m, bytes);
	x->now += 10;
	assert_int_equal(us_syscalls_add(x->s, vcpu, x->now, x->now, bytes, n), 0);
}

/* Forked, so that all but the page tables and the kernel's stack is the same. */
static struct us_syscall_message of(enum us_syscall_told type, uint64_t stack)
{
	return (struct us_syscall_message){ .type = (uint8_t)type,
					    .abi = US_ABI_X86_64,
					    .has_regs = true,
					    .pc = BEHIND,
					    .sp = 0x7ffff000,
					    .root = stack & 0xf000,
					    .thread = 0x600000,
					    .stack = stack };
}

static void call(struct seen *x, unsigned vcpu, uint64_t stack, uint64_t number)
{
	struct us_syscall_message m = of(US_SYSCALL_ENTERED, stack);
	m.has_number = true;
	m.number = number;
	tell(x, vcpu, &m);
	m = of(US_SYSCALL_ON_STACK, stack);
	tell(x, vcpu, &m);
}

static void leave_kernel(struct seen *x, unsigned vcpu, uint64_t stack)
{
	struct us_syscall_message m = of(US_SYSCALL_LEFT, stack);
	tell(x, vcpu, &m);
}

static void come_back(struct seen *x, unsigned vcpu, uint64_t stack, int64_t value)
{
	struct us_syscall_message m = of(US_SYSCALL_RETURNED, stack);
	m.value = (uint64_t)value;
	tell(x, vcpu, &m);
}

static int start(void **state)
{
	static struct seen x;
	x = (struct seen){ 0 };
	assert_int_equal(us_syscalls_new(&ops, &x, &x.s), 0);
	*state = &x;
	return 0;
}

static int stop(void **state)
{
	struct seen *x = *state;
	us_syscalls_free(x->s);
	return 0;
}

static void an_exec_that_fails(void **state)
{
	struct seen *x = *state;
	call(x, 0, A_STACK, EXECVE);
	leave_kernel(x, 0, A_STACK);
	come_back(x, 0, A_STACK, FAILED_EXEC);
	assert_int_equal(x->n, 1);
	assert_int_equal(x->ended[0].value, FAILED_EXEC);
}

/* Between the instruction that leaves the kernel and the program's next one, an
 * interrupt comes, and another process has the vCPU. */
static void one_that_is_interrupted_there(void **state)
{
	struct seen *x = *state;
	call(x, 1, B_STACK, READ);
	call(x, 0, A_STACK, EXECVE);
	leave_kernel(x, 0, A_STACK);
	come_back(x, 0, B_STACK, 7);
	assert_int_equal(x->n, 1);
	assert_int_equal(x->ended[0].value, 7);
	leave_kernel(x, 1, A_STACK);
	come_back(x, 1, A_STACK, FAILED_EXEC);
	assert_int_equal(x->n, 2);
	assert_int_equal(x->ended[1].number, EXECVE);
	assert_int_equal(x->ended[1].value, FAILED_EXEC);
}

/* It is seen by the next call, whose page tables are new, or by the end. */
static void one_that_succeeds(void **state)
{
	struct seen *x = *state;
	call(x, 0, A_STACK, EXECVE);
	leave_kernel(x, 0, A_STACK);
	uint64_t left = x->now;
	struct us_syscall_message m = of(US_SYSCALL_ENTERED, A_STACK);
	m.root = 0x20000;
	m.pc = 0x500000;
	m.has_number = true;
	m.number = EXECVE;
	tell(x, 0, &m);
	m.type = US_SYSCALL_ON_STACK;
	tell(x, 0, &m);
	assert_int_equal(x->n, 1);
	assert_true(x->ended[0].has_value);
	assert_int_equal(x->ended[0].value, 0);
	assert_int_equal(x->ended[0].end_ns, left);
	leave_kernel(x, 0, A_STACK);
	assert_int_equal(us_syscalls_end(x->s, x->now + 1), 0);
	assert_int_equal(x->n, 2);
	assert_int_equal(x->ended[1].end, US_SYSCALL_DONE);
	assert_int_equal(x->ended[1].value, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_exec_that_fails, start, stop),
		cmocka_unit_test_setup_teardown(one_that_is_interrupted_there, start,
						stop),
		cmocka_unit_test_setup_teardown(one_that_succeeds, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's tasks: lists as a kernel has them, torn ones, and such as no kernel has. */
#include "unit.h"

#include "linux-tasks.h"
#include "linux/linux.h"
#include "linux/wait.h"

#include <errno.h>
#include <string.h>

#define STEP	4096U /* from one task to the next */
#define SIGNAL	2048U /* of a leader, in its page */
#define MM	3072U
#define N_TASKS 8U
#define STACKS	(TEST_TASKS + 0x100000)
#define ROOT	0x7000U

static const struct us_linux_tasks_layout *const l = &test_tasks_layout;
static const struct us_space space = { .mode = US_PAGING_OFF };
static uint8_t memory[N_TASKS * STEP], stacks[N_TASKS * 0x4000];
static bool endless; /* each task has one behind it, for ever */
static bool lies; /* task 4 changes while it is read: what is before it is what came */
static unsigned asked;
static struct us_mem mem;
static struct us_paging paging;

static us_gva task(unsigned n)
{
	return TEST_TASKS + n * STEP;
}

static void put(us_gva at, const void *bytes, size_t n)
{
	memcpy(memory + (at - TEST_TASKS), bytes, n);
}

static void put64(us_gva at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static void put32(us_gva at, uint32_t v)
{
	put(at, &v, sizeof(v));
}

static void link_to(us_gva from, us_gva to)
{
	put64(from, to);
	put64(to + 8, from);
}

/* All is made up, word by word: the links of tasks, else zeros. */
static bool read_endless(us_gva at, uint8_t *to, size_t len)
{
	for (size_t k = 0; k < len; k++, at++) {
		us_gva word = at & ~7ULL;
		us_gva link = (at - TEST_TASKS) / STEP * STEP + TEST_TASKS + l->tasks;
		uint64_t v = word == link	? link + STEP
			     : word == link + 8 ? link - STEP
						: 0;
		to[k] = (uint8_t)(v >> 8 * (at & 7));
	}
	return true;
}

/* Two tasks that have each other behind them, and before them whatever was there. */
static void lie(us_gpa at, size_t len)
{
	us_gva prev = task(4) + l->tasks + 8;
	if (at > prev || at + len < prev + 8)
		return;
	put64(prev, (asked++ % 2 ? task(1) : task(0)) + l->tasks);
}

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	if (lies)
		lie(at, len);
	if (endless && at >= TEST_TASKS)
		return read_endless(at, buf, len);
	if (at >= STACKS && at - STACKS <= sizeof(stacks) - len) {
		memcpy(buf, stacks + (at - STACKS), len);
		return true;
	}
	if (at < TEST_TASKS || at - TEST_TASKS > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_TASKS), len);
	return true;
}

static void make_task(unsigned n, uint32_t pid, uint32_t tgid, const char *comm)
{
	put32(task(n) + l->pid, pid);
	put32(task(n) + l->tgid, tgid);
	put(task(n) + l->comm, comm, strnlen(comm, US_LINUX_COMM));
	put64(task(n) + l->stack, STACKS + n * 0x4000);
}

static void make_leader(unsigned n)
{
	us_gva signal = task(n) + SIGNAL;
	put64(task(n) + l->signal, signal);
	link_to(signal + l->thread_head, task(n) + l->thread_node);
	link_to(task(n) + l->thread_node, signal + l->thread_head);
}

static void make_program(unsigned n, unsigned mm_of, uint64_t root)
{
	put64(task(n) + l->mm, task(mm_of) + MM);
	put64(task(mm_of) + MM + l->pgd, TEST_TASKS + root);
}

/* init_task, a process of three threads, a thread of the kernel. */
static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(stacks, 0, sizeof(stacks));
	endless = lies = false;
	asked = 0;
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	make_task(0, 0, 0, "swapper/0");
	make_task(1, 40, 40, "server");
	make_task(2, 42, 40, "worker-with-fifteen-or-more");
	make_task(3, 41, 40, "work");
	make_task(4, 2, 2, "kthreadd");
	put32(task(0) + l->flags, 0x200000);
	put32(task(4) + l->flags, 0x200000);
	for (unsigned n = 1; n <= 3; n++)
		make_program(n, 1, ROOT);
	put64(task(2) + l->start, 7000000000);
	make_leader(1);
	make_leader(4);
	us_gva head = task(1) + SIGNAL + l->thread_head;
	link_to(task(1) + l->thread_node, task(2) + l->thread_node);
	link_to(task(2) + l->thread_node, task(3) + l->thread_node);
	link_to(task(3) + l->thread_node, head);
	link_to(task(0) + l->tasks, task(4) + l->tasks);
	link_to(task(4) + l->tasks, task(1) + l->tasks);
	link_to(task(1) + l->tasks, task(0) + l->tasks);
	return 0;
}

static void read_tasks(struct us_linux_tasks *t)
{
	assert_int_equal(us_linux_tasks_read(l, &paging, &space, t), 0);
}

static void test_lists(void **state)
{
	(void)state;
	static const int32_t pids[] = { 0, 2, 40, 41, 42 };
	struct us_linux_tasks t;
	read_tasks(&t);
	assert_false(t.torn || t.full);
	assert_int_equal(t.n, 5);
	for (size_t k = 0; k < t.n; k++)
		assert_int_equal(t.v[k].pid, pids[k]);
	assert_true(t.v[1].kernel_thread && !t.v[1].root);
	assert_string_equal(t.v[2].comm, "server");
	assert_string_equal(t.v[4].comm, "worker-with-fif");
	assert_string_equal(t.v[4].name, "worker-with-fif");
	assert_int_equal(t.v[4].start_ns, 7000000000);
	assert_int_equal(t.v[4].tgid, 40);
	assert_true(t.v[4].root == TEST_TASKS + ROOT && !t.v[4].kernel_thread);
	us_linux_tasks_fini(&t);
}

static void test_states(void **state)
{
	(void)state;
	static const struct {
		uint32_t state, exit;
		char letter;
	} all[] = { { 0, 0, 'R' },	{ 1, 0, 'S' },
		    { 2, 0, 'D' },	{ 4, 0, 'T' },
		    { 8, 0, 't' },	{ 0, 0x10, 'X' },
		    { 0, 0x20, 'Z' },	{ 0x40, 0, 'P' },
		    { 0x402, 0, 'I' },	{ 0x82, 0, 'D' },
		    { 0x2000, 0, 'R' }, { 0x1000, 0, 'D' }, /* TASK_RTLOCK_WAIT */
		    { 0x8000, 0, 'D' } };		    /* TASK_FROZEN */
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct us_linux_tasks t;
		put32(task(1) + l->state, all[k].state);
		put32(task(1) + l->exit_state, all[k].exit);
		read_tasks(&t);
		assert_int_equal(t.v[2].state, all[k].letter);
		us_linux_tasks_fini(&t);
	}
	assert_string_equal(us_linux_task_state('D'), "waits, no signal");
	assert_string_equal(us_linux_task_state('\377'), "?");
}

/* What is not as the kernel leaves it was read in mid change: what came before it is
 * kept, and it is said. */
static void is_torn(size_t n)
{
	struct us_linux_tasks t;
	read_tasks(&t);
	assert_true(t.torn);
	assert_int_equal(t.n, n);
	us_linux_tasks_fini(&t);
}

static void test_torn(void **state)
{
	(void)state;
	put64(task(1) + l->tasks + 8, task(0) + l->tasks); /* does not point back */
	is_torn(2);
	set_up(NULL);
	put64(task(3) + l->thread_node, 8); /* no address of the kernel */
	is_torn(5);
	set_up(NULL);
	put64(task(3) + l->thread_node, task(7) + 8 * STEP); /* not mapped */
	is_torn(5);
	set_up(NULL);
	/* They come round without their head: one of them points back elsewhere. */
	link_to(task(1) + l->tasks, task(4) + l->tasks);
	is_torn(1);
	set_up(NULL);
	link_to(task(3) + l->thread_node, task(2) + l->thread_node);
	is_torn(3);
	set_up(NULL);
	link_to(task(1) + l->tasks, task(1) + l->tasks); /* itself */
	is_torn(2);
}

/* Each link holds, and yet they come round: a task is met once. */
static void test_cycle(void **state)
{
	(void)state;
	lies = true;
	put64(task(1) + l->tasks, task(4) + l->tasks);
	is_torn(5);
	assert_int_equal(asked, 6); /* twice in each of three tries */
}

static void test_hostile(void **state)
{
	(void)state;
	struct us_linux_tasks t;
	endless = true;
	read_tasks(&t);
	assert_true(t.full);
	assert_false(t.torn);
	assert_int_equal(t.n, US_LINUX_MAX_TASKS);
	us_linux_tasks_fini(&t);
	/* What lies at init_task is none: then there is no list. */
	endless = false;
	put32(task(0) + l->pid, UINT32_MAX);
	assert_int_equal(us_linux_tasks_read(l, &paging, &space, &t), -ENOENT);
	us_linux_tasks_fini(&t);
}

/* A thread of the kernel has its whole name in another place. */
static void has_name(const char *name)
{
	struct us_linux_tasks t;
	read_tasks(&t);
	assert_string_equal(t.v[1].comm, "rcu_tasks_kthre");
	assert_string_equal(t.v[1].name, name);
	us_linux_tasks_fini(&t);
}

static void test_names(void **state)
{
	(void)state;
	const us_gva kthread = task(5), name = task(6);
	put(task(4) + l->comm, "rcu_tasks_kthre", US_LINUX_COMM);
	put64(task(4) + l->kthread, kthread);
	has_name("rcu_tasks_kthre"); /* it has none */
	put64(kthread + l->full_name, name);
	put(name, "rcu_tasks_kthread", 18);
	has_name("rcu_tasks_kthread");
	/* Another's, or what was freed meanwhile; at the end of what is mapped; none.
	 */
	put(name, "rcu", 3);
	put(name + 4, "T", 1);
	has_name("rcu_tasks_kthre");
	put(task(8) - 18, "rcu_tasks_kthread", 18);
	put64(kthread + l->full_name, task(8) - 18);
	has_name("rcu_tasks_kthread");
	put64(kthread + l->full_name, task(8));
	has_name("rcu_tasks_kthre");
	/* Without an end: as much as there is room for. */
	memset(memory + (name - TEST_TASKS), 'x', 200);
	put(name, "rcu_tasks_kthre", 15);
	put64(kthread + l->full_name, name);
	has_name("rcu_tasks_kthrexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	/* Programs have no such place. */
	put32(task(4) + l->flags, 0);
	has_name("rcu_tasks_kthre");
}

static bool read_image(void *ctx, us_gva at, void *buf, size_t len)
{
	return read_guest(ctx, at, buf, len);
}

/* &init_task by what it looks like in the kernel's image. */
static us_gva find_init(void)
{
	const struct us_linux_memory m = { .read = read_image };
	const struct us_kallsyms none = { 0 };
	struct us_linux_tasks_layout found = *l;
	struct us_linux_image i;
	found.init = 0;
	assert_int_equal(us_linux_image_init(&i, TEST_TASKS, sizeof(memory), &m), 0);
	bool ok = us_linux_tasks_find_init(&found, &none, &i);
	us_linux_image_fini(&i);
	assert_int_equal(ok, found.init != 0);
	return found.init;
}

static void test_init(void **state)
{
	(void)state;
	static const uint32_t zero[] = { offsetof(struct us_linux_tasks_layout, pid),
					 offsetof(struct us_linux_tasks_layout, tgid),
					 offsetof(struct us_linux_tasks_layout, mm) };
	/* Its stack and its signals are not yet in the image. */
	assert_true(find_init() == 0);
	put64(task(0) + l->signal, task(7));
	put64(task(0) + l->stack, task(6));
	assert_true(find_init() == task(0));
	/* Another that is called so is not it: a lie, or that of another CPU. */
	put(task(1) + l->comm, "swapper/1", 10);
	assert_true(find_init() == task(0));
	for (size_t k = 0; k < sizeof(zero) / sizeof(*zero); k++) {
		uint32_t at;
		memcpy(&at, (const uint8_t *)l + zero[k], sizeof(at));
		put32(task(0) + at, 1);
		assert_true(find_init() == 0);
		put32(task(0) + at, 0);
	}
	put32(task(0) + l->flags, 0);
	assert_true(find_init() == 0);
	put32(task(0) + l->flags, 0x200000);
	put(task(0) + l->comm, "Swapper", 7);
	assert_true(find_init() == 0);
}

static bool fits(const struct us_linux_tasks_layout *where)
{
	const struct us_linux_memory m = { .read = read_image };
	return us_linux_tasks_fit(where, &m);
}

static void is_of_another_order(uint32_t *member, uint32_t *other,
				const struct us_linux_tasks_layout *where)
{
	uint32_t was = *member;
	assert_true(fits(where));
	*member = *other;
	assert_false(fits(where));
	*member = was;
}

/* Types that have the members in another order than the kernel (CONFIG_RANDSTRUCT). */
static void test_fit(void **state)
{
	(void)state;
	struct us_linux_tasks_layout w = *l;
	put64(task(0) + l->signal, task(7));
	is_of_another_order(&w.comm, &w.state, &w);
	is_of_another_order(&w.pid, &w.flags, &w);
	is_of_another_order(&w.tgid, &w.comm, &w);
	is_of_another_order(&w.flags, &w.pid, &w);
	is_of_another_order(&w.mm, &w.stack, &w);
	is_of_another_order(&w.tasks, &w.thread_node, &w);
	is_of_another_order(&w.stack, &w.mm, &w);
	is_of_another_order(&w.signal, &w.mm, &w);
	/* Nor is another task, or no memory at all, the first. */
	put(task(0) + l->comm, "swapper\0", 9); /* before the scheduler begins */
	assert_true(fits(&w));
	put(task(0) + l->comm, "swapper/1", 9);
	assert_false(fits(&w));
	put(task(0) + l->comm, "swapper/00", 10);
	assert_false(fits(&w));
	memset(memory + l->comm, 's', US_LINUX_COMM);
	assert_false(fits(&w));
	put(task(0) + l->comm, "swapper/0", 10);
	assert_true(fits(&w));
	w.init += N_TASKS * STEP;
	assert_false(fits(&w));
}

/* What the same kernel, at the same addresses, is known by when it is started anew. */
static void test_starts(void **state)
{
	(void)state;
	static struct us_linux before, after;
	before = (struct us_linux){ .text = 1, .check_at = 2, .drawn_at = 3 };
	before.check[63] = 7;
	before.drawn = 5;
	after = before;
	assert_true(us_linux_is_same(&before, 5, &after));
	after.drawn = 6;
	assert_false(us_linux_is_same(&before, 5, &after));
	/* It has drawn none yet; it is not known where; the first had not yet. */
	after.drawn = 0;
	assert_false(us_linux_is_same(&before, 5, &after));
	after.drawn_at = 0;
	assert_true(us_linux_is_same(&before, 5, &after));
	after.drawn_at = 3;
	after.drawn = 6;
	before.drawn = 0;
	assert_true(us_linux_is_same(&before, 0, &after));
	assert_false(us_linux_is_same(&before, 5, &after));
	after.check[63] = 8;
	assert_false(us_linux_is_same(&before, 6, &after));
	after.check[63] = 7;
	after.text = 8;
	assert_false(us_linux_is_same(&before, 6, &after));
}

static void save(unsigned n, uint64_t sp, uint64_t bp, uint64_t pc)
{
	put64(task(n) + l->sp, sp);
	memcpy(stacks + (sp - STACKS) + 40, &bp, 8);
	memcpy(stacks + (sp - STACKS) + 48, &pc, 8);
}

static void test_registers(void **state)
{
	(void)state;
	struct us_linux_tasks t;
	struct us_regs r;
	us_gva sp = STACKS + 2 * 0x4000 + 0x3000;
	save(2, sp, 0x1234, 0xffffffff81001234);
	read_tasks(&t);
	const struct us_linux_task *worker = &t.v[4];
	assert_true(us_linux_task_regs(l, &paging, &space, worker, &r));
	assert_true(r.pc == 0xffffffff81001234 && r.fp == 0x1234 && !r.user);
	assert_true(r.sp == sp + 56 && r.gpr[US_X86_RSP] == r.sp);
	assert_int_equal(r.valid,
			 1U << US_X86_RSP | 1U << US_X86_RBP | 1U << US_X86_R15);
	assert_true(r.space.root == TEST_TASKS + ROOT);
	/* It runs; its stack pointer is another's; it returns to no code. */
	put32(task(2) + l->on_cpu, 1);
	assert_false(us_linux_task_regs(l, &paging, &space, worker, &r));
	put32(task(2) + l->on_cpu, 0);
	put64(task(2) + l->sp, sp + 0x4000);
	assert_false(us_linux_task_regs(l, &paging, &space, worker, &r));
	save(2, sp, 0, 0x1000);
	assert_false(us_linux_task_regs(l, &paging, &space, worker, &r));
	us_linux_tasks_fini(&t);
}

static void test_of_vcpu(void **state)
{
	(void)state;
	struct us_linux_tasks t;
	struct us_regs r = { .sp = STACKS + 4 * 0x4000 + 8 };
	put32(task(2) + l->on_cpu, 1);
	read_tasks(&t);
	assert_int_equal(us_linux_task_of(l, &t, &r)->pid, 2);
	r.sp = STACKS + 6 * 0x4000;
	assert_null(us_linux_task_of(l, &t, &r));
	/* In user mode by the page tables, those of its isolation and a PCID as well.
	 */
	r = (struct us_regs){ .user = true, .space.root = TEST_TASKS + ROOT };
	assert_int_equal(us_linux_task_of(l, &t, &r)->pid, 42);
	r.space.root |= 0x8000000000000005;
	r.space.root ^= 0x1000;
	assert_int_equal(us_linux_task_of(l, &t, &r)->pid, 42);
	r.space.root += 0x2000;
	assert_null(us_linux_task_of(l, &t, &r));
	us_linux_tasks_fini(&t);
	/* Two threads of one process run: it may be either. */
	put32(task(3) + l->on_cpu, 1);
	r.space.root = TEST_TASKS + ROOT;
	read_tasks(&t);
	assert_null(us_linux_task_of(l, &t, &r));
	us_linux_tasks_fini(&t);
}

static bool are_isolated(enum us_arch arch)
{
	struct us_linux_tasks_layout of = *l;
	struct us_linux_tasks t;
	of.arch = arch;
	read_tasks(&t);
	bool isolated = us_linux_tasks_isolated(&of, &paging, &t);
	us_linux_tasks_fini(&t);
	return isolated;
}

/* One process shows it, if it has memory and both roots point to the same. */
static void test_isolated(void **state)
{
	(void)state;
	const us_gva root = task(6), users = task(7);
	make_program(1, 1, root - TEST_TASKS);
	assert_false(are_isolated(US_ARCH_X86_64));
	put64(root + 255 * 8, 0x8000000012345067);
	assert_false(are_isolated(US_ARCH_X86_64));
	put64(users + 255 * 8, 0x12345047); /* not accessed yet; may be executed */
	assert_true(are_isolated(US_ARCH_X86_64));
	assert_false(are_isolated(US_ARCH_AARCH64));
	/* Tables of somebody else; the kernel's half says nothing. */
	put64(users + 255 * 8, 0x12346067);
	assert_false(are_isolated(US_ARCH_X86_64));
	put64(root + 255 * 8, 0);
	put64(root + 256 * 8, 0x12345067);
	put64(users + 256 * 8, 0x12345067);
	assert_false(are_isolated(US_ARCH_X86_64));
	/* The kernel's root of an isolated process is even, and it has a page. */
	put64(users + 8, 0x12345067);
	make_program(1, 1, users - TEST_TASKS);
	assert_false(are_isolated(US_ARCH_X86_64));
	make_program(1, 1, 0x100000000);
	assert_false(are_isolated(US_ARCH_X86_64));
}

/* A kernel for one CPU says which task that runs, and of no task whether it runs. */
static void test_of_one_cpu(void **state)
{
	(void)state;
	struct us_linux_tasks_layout one = *l;
	struct us_linux_task_now now;
	struct us_linux_tasks t;
	struct us_regs r;
	const us_gva sp = STACKS + 2 * 0x4000 + 0x3000;
	one.has_cpu = false;
	save(2, sp, 0x1234, 0xffffffff81001234);
	put32(task(2) + l->on_cpu, 1); /* it is something else there */
	for (unsigned known = 0; known < 2; known++) {
		one.current = known ? task(2) + 192 : 0;
		put64(task(2) + 192, task(2));
		assert_int_equal(us_linux_tasks_read(&one, &paging, &space, &t), 0);
		for (size_t k = 0; k < t.n; k++)
			assert_int_equal(t.v[k].on_cpu, known && t.v[k].at == task(2));
		const struct us_linux_task *worker = &t.v[4];
		assert_true(worker->at == task(2));
		assert_int_equal(us_linux_task_regs(&one, &paging, &space, worker, &r),
				 !known);
		assert_true(us_linux_task_look(&one, &paging, &space, worker, &now));
		assert_int_equal(now.on_cpu, known);
		/* It makes way for another. */
		put64(task(2) + 192, task(3));
		assert_true(us_linux_task_regs(&one, &paging, &space, worker, &r));
		assert_true(us_linux_task_look(&one, &paging, &space, worker, &now));
		assert_false(now.on_cpu);
		us_linux_tasks_fini(&t);
	}
}

/* Whether it has run meanwhile, and is it the same still? */
static void test_look(void **state)
{
	(void)state;
	struct us_linux_tasks_layout more = *l;
	struct us_linux_task_now now;
	struct us_linux_tasks t;
	more.has_switches = true;
	more.switches[0] = 136;
	more.switches[1] = 144;
	put64(task(2) + 136, 7);
	put64(task(2) + 144, 5);
	put32(task(2) + l->state, 0x402);
	read_tasks(&t);
	const struct us_linux_task *worker = &t.v[4];
	assert_true(us_linux_task_look(&more, &paging, &space, worker, &now));
	assert_true(now.switches == 12 && now.state == 'I' && !now.on_cpu);
	const int32_t worker_pid = worker->pid;
	assert_int_equal(worker->switches, 0);
	assert_true(us_linux_task_look(l, &paging, &space, worker, &now));
	assert_true(now.switches == 0);
	put32(task(2) + l->on_cpu, 1);
	assert_true(us_linux_task_look(&more, &paging, &space, worker, &now));
	assert_true(now.on_cpu);
	put32(task(2) + l->pid, 99); /* another one has its place by now */
	assert_false(us_linux_task_look(&more, &paging, &space, worker, &now));
	/* The list says it, too, if it is in what is read of a task. */
	more.lists_switches = true;
	more.span = 136;
	us_linux_tasks_fini(&t);
	put32(task(2) + l->pid, (uint32_t)worker_pid);
	assert_int_equal(us_linux_tasks_read(&more, &paging, &space, &t), 0);
	worker = &t.v[4];
	assert_int_equal(worker->switches, 12);
	struct us_linux_task gone = *worker;
	gone.at += 8 * STEP;
	assert_false(us_linux_task_look(&more, &paging, &space, &gone, &now));
	us_linux_tasks_fini(&t);
}

static void test_inside(void **state)
{
	(void)state;
	static const struct us_linux_scheduler s = { { 0x1000, 0x3000 },
						     { 0x2000, 0x3100 } };
	static const us_gva pc[] = { 0x1000, 0x1fff, 0x30ff, 0x2000, 0x1800 };
	static const us_gva all[] = { 0x1000, 0x1001 };
	static const struct us_linux_scheduler none = { 0 };
	assert_int_equal(us_linux_inside(&s, pc, 5), 3);
	assert_int_equal(us_linux_inside(&s, pc + 3, 2), 0);
	assert_int_equal(us_linux_inside(&s, all, 2), 0);
	assert_int_equal(us_linux_inside(&none, pc, 5), 0);
	assert_int_equal(us_linux_inside(&s, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lists, set_up),
		cmocka_unit_test_setup(test_states, set_up),
		cmocka_unit_test_setup(test_torn, set_up),
		cmocka_unit_test_setup(test_cycle, set_up),
		cmocka_unit_test_setup(test_hostile, set_up),
		cmocka_unit_test_setup(test_names, set_up),
		cmocka_unit_test_setup(test_init, set_up),
		cmocka_unit_test_setup(test_fit, set_up),
		cmocka_unit_test(test_starts),
		cmocka_unit_test_setup(test_registers, set_up),
		cmocka_unit_test_setup(test_of_vcpu, set_up),
		cmocka_unit_test_setup(test_isolated, set_up),
		cmocka_unit_test_setup(test_of_one_cpu, set_up),
		cmocka_unit_test_setup(test_look, set_up),
		cmocka_unit_test(test_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

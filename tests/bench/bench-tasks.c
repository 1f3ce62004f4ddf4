/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-tasks.c: a list of 500 processes, as Linux 6.1 has it in its memory on x86-64,
 * is read, and what they have mapped; beside a plain copy of the same task_structs.
 * Where memory is copied, by lines and by pages.  The goal is 5 ms.
 */
#include "bench.h"
#include "linux/mappings.h"
#include "linux/tasks.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define RAM_SIZE (64U << 20)
#define LINEAR	 0xffff888000000000ULL /* where all memory is mapped */
#define N_TASKS	 500U
#define SLOT	 10240U /* from a task_struct to the next that may be */
#define FIRST	 (1U << 20)
#define SIGNALS	 (32U << 20) /* of 1 KiB each */
#define MMS	 (48U << 20)
#define ROUNDS	 200U
#define MAPPINGS (50U << 20) /* of 256 bytes each */
#define FILES	 (60U << 20)
#define N_MAPPED 20U /* of each, every fourth of them code */

static const struct us_linux_tasks_layout layout = {
	.init = LINEAR + FIRST,
	.stack_size = 16384,
	.tasks = 2200,
	.thread_node = 2592,
	.signal = 2912,
	.thread_head = 16,
	.pid = 2376,
	.tgid = 2380,
	.comm = 2888,
	.flags = 44,
	.stack = 32,
	.mm = 2280,
	.pgd = 72,
	.state = 24,
	.exit_state = 2336,
	.state_bytes = 4,
	.on_cpu = 52,
	.on_cpu_mask = UINT32_MAX,
	.cpu = 16,
	.has_cpu = true,
	.start = 2680,
	.first = 16,
	.span = 2904,
	.arch = US_ARCH_X86_64,
};

static const struct us_linux_mappings_layout mapped = {
	.first = 200,
	.count = 216,
	.start = 0,
	.end = 8,
	.next = 16,
	.flags = 32,
	.offset = 80,
	.file = 88,
	.size = 96,
	.dentry = 24,
};

static uint8_t ram[RAM_SIZE] __attribute__((aligned(4096)));
static us_gpa place[N_TASKS + 1]; /* in the list's order */

static void put64(us_gpa at, uint64_t v)
{
	memcpy(ram + at, &v, sizeof(v));
}

static void put32(us_gpa at, uint32_t v)
{
	memcpy(ram + at, &v, sizeof(v));
}

/* 2 MiB a page: the usual case. */
static void make_tables(void)
{
	put64(0x1000 + (LINEAR >> 39 & 511) * 8, 0x2003);
	put64(0x2000 + (LINEAR >> 30 & 511) * 8, 0x3003);
	for (uint64_t k = 0; k < RAM_SIZE >> 21; k++)
		put64(0x3000 + k * 8, k << 21 | 0x83);
}

static void link_to(us_gpa from, us_gpa to)
{
	put64(from, LINEAR + to);
	put64(to + 8, LINEAR + from);
}

static void make_mappings(uint32_t n, us_gpa mm)
{
	put32(mm + mapped.count, N_MAPPED);
	for (uint32_t k = 0; k < N_MAPPED; k++) {
		us_gpa at = MAPPINGS + (n * N_MAPPED + k) * 256;
		put64(k ? at - 256 + mapped.next : mm + mapped.first, LINEAR + at);
		put64(at + mapped.start, 0x400000 + k * 0x2000);
		put64(at + mapped.end, 0x400000 + k * 0x2000 + 0x1000);
		put64(at + mapped.flags, k % 4 == 1 ? 5 : 1);
		put64(at + mapped.offset, k % 4);
		put64(at + mapped.file, LINEAR + FILES + k / 4 * 256);
	}
}

static void make_task(uint32_t n)
{
	us_gpa at = place[n], signal = SIGNALS + n * 1024, mm = MMS + n * 2048;
	link_to(place[n ? n - 1 : N_TASKS] + layout.tasks, at + layout.tasks);
	put32(at + layout.pid, n);
	put32(at + layout.tgid, n);
	put64(at + layout.signal, LINEAR + signal);
	link_to(signal + layout.thread_head, at + layout.thread_node);
	link_to(at + layout.thread_node, signal + layout.thread_head);
	memcpy(ram + at + layout.comm, "sleep", 6);
	put64(at + layout.stack, LINEAR + at + 4096);
	put64(at + layout.mm, LINEAR + mm);
	put64(mm + layout.pgd, LINEAR + mm + 0x1000);
	make_mappings(n, mm);
}

/* As a guest that has run for some time: neighbours in the list are none in memory. */
static void make(void)
{
	uint64_t seed = 1;
	make_tables();
	for (uint32_t n = 0; n <= N_TASKS; n++)
		place[n] = FIRST + n * SLOT;
	for (uint32_t n = N_TASKS; n > 1; n--) {
		uint32_t other = 1 + bench_random(&seed) % n;
		us_gpa at = place[n];
		place[n] = place[other];
		place[other] = at;
	}
	for (uint32_t n = 0; n <= N_TASKS; n++)
		make_task(n);
}

static void copy(bool is_mapped, us_gpa at, uint8_t *to)
{
	struct iovec here = { to, layout.span }, there = { ram + at, layout.span };
	if (is_mapped)
		memcpy(to, ram + at, layout.span);
	else if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0)
		exit(1);
	__asm__ volatile("" ::"r"(to) : "memory");
}

/* Milliseconds of CPU time since. */
static double ms_since(uint64_t began_ns)
{
	return (double)(us_thread_cpu_ns() - began_ns) / ROUNDS / 1e6;
}

static double copy_all(bool is_mapped)
{
	static uint8_t to[8192];
	uint64_t t = us_thread_cpu_ns();
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned n = 0; n <= N_TASKS; n++)
			copy(is_mapped, place[n] + layout.first, to);
	return ms_since(t);
}

static double read_mappings(struct us_paging *p, const struct us_space *s, bool all)
{
	struct us_linux_mappings m;
	uint64_t mark[2], t = us_thread_cpu_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		us_paging_new_sample(p);
		for (unsigned n = 0; n <= N_TASKS; n++) {
			us_gva mm = LINEAR + MMS + n * 2048;
			if (!us_linux_mappings_mark(&mapped, p, s, mm, mark))
				exit(1);
			if (!all)
				continue;
			need(us_linux_mappings_read(&mapped, p, s, mm, &m), NULL);
			if (m.torn || !m.n)
				exit(1);
			us_linux_mappings_fini(&m);
		}
	}
	return ms_since(t);
}

static void measure(const char *what, bool is_mapped, struct us_mem_pages *pages)
{
	static struct us_mem m;
	static struct us_paging p;
	struct us_region region = { .size = RAM_SIZE,
				    .hva = (uintptr_t)ram,
				    .host = is_mapped ? ram : NULL };
	const struct us_space space = { .root = 0x1000, .mode = US_PAGING_X86_4 };
	struct us_linux_tasks tasks = { 0 };
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = 1;
	m.pid = getpid();
	m.pages = pages;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	double floor = copy_all(is_mapped);
	uint64_t t = us_thread_cpu_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		us_linux_tasks_fini(&tasks);
		need(us_linux_tasks_read(&layout, &p, &space, &tasks), NULL);
	}
	double all = ms_since(t);
	printf("%-25s %zu tasks%s: %.3f ms, %.1f times a copy of them (%.3f ms); "
	       "whether what they have mapped changed: %.3f ms; all of it read: %.3f "
	       "ms\n",
	       what, tasks.n, tasks.torn ? ", torn" : "", all, all / floor, floor,
	       read_mappings(&p, &space, false), read_mappings(&p, &space, true));
	us_linux_tasks_fini(&tasks);
}

int main(void)
{
	static struct us_mem_pages pages;
	make();
	measure("mapped", true, NULL);
	measure("process_vm_readv, lines", false, NULL);
	measure("process_vm_readv, pages", false, &pages);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-unwind.c: from registers to a stack of ten frames and on into the ring, with
 * what was met before remembered; beside a plain pointer chase over the same stack.
 */
#include "bench.h"
#include "cmd/record/owners.h"
#include "record/ring.h"
#include "unwind/unwind.h"

#include <string.h>
#include <unistd.h>

#define N_FUNC	  10
#define FUNC_SIZE 32
#define BASE	  0xffff800000000000ULL
#define CODE	  0x5000
#define STACK	  0x7800 /* frames from here upwards, one page higher mapped */
#define RAM_SIZE  0x10000
#define FRAME	  0x50
#define ROUNDS	  300000
#define N_STACKS  200

static unsigned long n_alloc;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
	n_alloc++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	n_alloc++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	n_alloc++;
	return __real_realloc(p, n);
}

struct guest {
	uint8_t ram[RAM_SIZE];
	us_gva start[N_FUNC];
	struct us_regs regs;
};

static void put64(struct guest *g, uint64_t at, uint64_t v)
{
	memcpy(g->ram + at, &v, 8);
}

/* push rbp; mov rbp, rsp; sub rsp, 0x40; call the next; leave; ret */
static void put_function(struct guest *g, unsigned i)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40,
					0xe8, 0,    0,	  0,	0,    0xc9, 0xc3 };
	uint8_t *at = g->ram + CODE + i * FUNC_SIZE;
	memcpy(at, code, sizeof(code));
	int32_t rel = FUNC_SIZE - 13;
	memcpy(at + 9, &rel, 4);
	g->start[i] = BASE + CODE + i * FUNC_SIZE;
}

static void make(struct guest *g)
{
	memset(g, 0, sizeof(*g));
	put64(g, 0x1000 + 256 * 8, 0x2003);
	put64(g, 0x2000, 0x3003);
	put64(g, 0x3000, 0x4003);
	for (unsigned i = 0; i < RAM_SIZE / 4096; i++)
		put64(g, 0x4000 + i * 8, (i << 12) | 3);
	for (unsigned i = 0; i < N_FUNC; i++)
		put_function(g, i);
	uint8_t *leaf = g->ram + CODE + (N_FUNC - 1) * FUNC_SIZE;
	memset(leaf, 0x90, 16);
	leaf[16] = 0xc3;

	/* The leaf has no frame; rbp is that of function N_FUNC - 2. */
	for (unsigned i = 0; i < N_FUNC - 1; i++) {
		us_gva ret = g->start[N_FUNC - 2 - i] + 13;
		put64(g, STACK + i * FRAME, i ? BASE + STACK + i * FRAME + 0x48 : 0);
		put64(g, STACK + i * FRAME, ret);
		put64(g, STACK + i * FRAME + 0x48,
		      BASE + STACK + (i + 1) * FRAME + 0x48);
	}
	put64(g, STACK + (N_FUNC - 2) * FRAME + 0x48, 0);
	put64(g, STACK + (N_FUNC - 1) * FRAME, 0);
	g->regs = (struct us_regs){
		.pc = g->start[N_FUNC - 1] + 4,
		.sp = BASE + STACK,
		.fp = BASE + STACK + 0x48,
		.bits = 64,
		.space = { .root = 0x1000, .mode = US_PAGING_X86_4 },
	};
}

/* What any walk of frame pointers must do at least. */
static unsigned chase(const struct guest *g, us_gva *pc)
{
	us_gva fp = g->regs.fp;
	unsigned n = 0;
	pc[n++] = g->regs.pc;
	memcpy(&pc[n++], g->ram + STACK, 8);
	while (fp && n < N_FUNC) {
		const uint8_t *at = g->ram + (fp - BASE);
		memcpy(&pc[n++], at + 8, 8);
		memcpy(&fp, at, 8);
	}
	return n;
}

static double run(struct guest *g, struct us_unwinder *u, struct us_paging *p,
		  struct us_ring *ring, struct us_stack *out, unsigned rounds)
{
	struct us_sample s = { .state = 0 };
	struct us_ring_item item;
	uint64_t t = us_thread_cpu_ns();
	for (unsigned i = 0; i < rounds; i++) {
		us_paging_new_sample(p);
		us_unwind(u, p, &g->regs, out);
		if (ring) {
			s.t_ns = i;
			us_ring_push(ring, &s, out->pc, out->flags, out->n);
			us_ring_peek(ring, &item);
			us_ring_pop(ring);
		}
	}
	return (double)(us_thread_cpu_ns() - t) / rounds;
}

static void measure(const char *what, struct guest *g, bool host, bool with_map,
		    double floor)
{
	static struct us_mem m;
	static struct us_paging p;
	static struct us_stack out;
	struct us_region region = { .size = RAM_SIZE,
				    .hva = (uintptr_t)g->ram,
				    .host = host ? g->ram : NULL };
	struct us_code_map map = { .start = g->start, .n = N_FUNC };
	struct us_unwinder *u;
	struct us_ring *ring = us_ring_new(1 << 16);
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = 1;
	m.pid = getpid();
	us_mem_init(&m);
	us_paging_init(&p, &m);
	need(us_unwinder_new(US_ARCH_X86_64, with_map ? &map : NULL, NULL, &u), NULL);
	if (!ring)
		exit(1);
	run(g, u, &p, ring, &out, 100);
	unsigned long before = n_alloc;
	unsigned rounds = host ? ROUNDS : ROUNDS / 20;
	double alone = run(g, u, &p, NULL, &out, rounds);
	double pushed = run(g, u, &p, ring, &out, rounds);
	printf("%-22s %6.0f ns a stack, %6.0f with the ring (%.1f times the chase); "
	       "%u frames, end %s, %lu allocations\n",
	       what, alone, pushed, alone / floor, out.n, us_unwind_end_name(out.end),
	       n_alloc - before);
	us_unwinder_free(u);
	us_ring_free(ring);
}

/* What remembering saves: the first look at every address. */
static void measure_cold(struct guest *g)
{
	static struct us_mem m;
	static struct us_paging p;
	static struct us_stack out;
	struct us_region region = { .size = RAM_SIZE, .host = g->ram };
	struct us_code_map map = { .start = g->start, .n = N_FUNC };
	struct us_unwinder *u;
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = 1;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	need(us_unwinder_new(US_ARCH_X86_64, &map, NULL, &u), NULL);
	uint64_t sum = 0;
	for (int i = 0; i < 300; i++) {
		us_unwinder_set_code(u, &map, NULL);
		uint64_t t = us_thread_cpu_ns();
		us_unwind(u, &p, &g->regs, &out);
		sum += us_thread_cpu_ns() - t;
	}
	printf("nothing met before: %.0f ns a stack, %.0f a frame\n", (double)sum / 300,
	       (double)sum / 300 / out.n);
	us_unwinder_free(u);
}

/* Many stacks, none of whose functions is in another: is what was met remembered? */
static void measure_many(void)
{
	static uint8_t ram[0x60000];
	static struct us_regs regs[N_STACKS];
	static us_gva start[N_STACKS * N_FUNC];
	static struct us_mem m;
	static struct us_paging p;
	static struct us_stack out;
	struct us_region region = { .size = sizeof(ram), .host = ram };
	struct us_code_map map = { .start = start, .n = N_STACKS * N_FUNC };
	struct us_unwinder *u;
	static struct guest one;
	make(&one);
	for (unsigned i = 0; i < sizeof(ram) / 4096; i++)
		put64(&one, 0x4000 + i * 8, (i << 12) | 3);
	memcpy(ram, one.ram, CODE);
	for (unsigned k = 0; k < N_STACKS; k++) {
		us_gva code = 0x10000 + k * N_FUNC * FUNC_SIZE;
		us_gva stack = 0x20000 + k * 0x400;
		memcpy(ram + code, one.ram + CODE, N_FUNC * FUNC_SIZE);
		for (unsigned i = 0; i < N_FUNC; i++)
			start[k * N_FUNC + i] = BASE + code + i * FUNC_SIZE;
		for (unsigned i = 0; i < N_FUNC * FRAME; i += 8) {
			uint64_t v;
			memcpy(&v, one.ram + STACK + i, 8);
			if (v >= BASE + STACK)
				v += stack - STACK;
			else if (v)
				v += code - CODE;
			memcpy(ram + stack + i, &v, 8);
		}
		regs[k] = one.regs;
		regs[k].pc += code - CODE;
		regs[k].sp += stack - STACK;
		regs[k].fp += stack - STACK;
	}
	memset(&m, 0, sizeof(m));
	m.region = &region;
	m.n_region = 1;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	need(us_unwinder_new(US_ARCH_X86_64, &map, NULL, &u), NULL);
	uint64_t t = 0, frames = 0;
	for (unsigned i = 0; i < 101 * N_STACKS; i++) {
		if (i == N_STACKS)
			t = us_thread_cpu_ns();
		us_paging_new_sample(&p);
		us_unwind(u, &p, &regs[i % N_STACKS], &out);
		frames += out.n;
	}
	printf("%u stacks of other functions: %.0f ns a stack of %.1f frames\n",
	       N_STACKS, (double)(us_thread_cpu_ns() - t) / (100 * N_STACKS),
	       (double)frames / (101 * N_STACKS));
	us_unwinder_free(u);
}

/* Where Debian's 6.1 for x86-64 has them. */
static const struct us_linux_who_layout who_layout = { .per_cpu = BASE + 0xb000,
						       .current = 0x40,
						       .pid = 2464,
						       .tgid = 2468,
						       .comm = 2992,
						       .flags = 44,
						       .stack = 32,
						       .mm = 2336,
						       .pgd = 72,
						       .leader = 2528,
						       .start = 2728,
						       .stack_size = 0x4000 };

/* A task on whose stack the guest is; as the kernel has it. */
static void put_task(struct guest *g)
{
	static const char comm[US_LINUX_COMM] = "kworker/0:1";
	us_gva area = BASE + 0xb800, task = BASE + 0xc000;
	put64(g, 0xb000, area);
	put64(g, 0xb800 + who_layout.current, task);
	put64(g, 0xc000 + who_layout.pid, 12ULL << 32 | 12);
	put64(g, 0xc000 + who_layout.stack, BASE + 0x4000);
	put64(g, 0xc000 + who_layout.leader, task);
	memcpy(g->ram + 0xc000 + who_layout.comm, comm, sizeof(comm));
}

static double run_owned(struct guest *g, struct us_unwinder *u, struct us_paging *p,
			struct us_owners *o, unsigned rounds)
{
	static struct us_stack out;
	static struct us_capture capture;
	static struct us_linux kernel;
	const struct us_live_sample s = { .capture = &capture, .paging = p };
	kernel.space = g->regs.space;
	kernel.who = who_layout;
	kernel.has_tasks = kernel.has_who = true;
	capture.form = US_CAPTURE_LIVE;
	capture.regs = g->regs;
	uint64_t t = us_thread_cpu_ns();
	for (unsigned i = 0; i < rounds; i++) {
		us_paging_new_sample(p);
		us_unwind(u, p, &g->regs, &out);
		if (o && !us_owners_of(o, &kernel, &s))
			exit(1);
	}
	return (double)(us_thread_cpu_ns() - t) / rounds;
}

/* What it costs to ask whose a sample is, in turn with samples of which nobody asks. */
static void measure_owners(struct guest *g)
{
	static struct us_mem m;
	static struct us_paging p;
	static struct us_owners o;
	struct us_region region = { .size = RAM_SIZE, .host = g->ram };
	struct us_code_map map = { .start = g->start, .n = N_FUNC };
	struct us_unwinder *u;
	double without = 0, with = 0;
	put_task(g);
	m.region = &region;
	m.n_region = 1;
	us_mem_init(&m);
	us_paging_init(&p, &m);
	need(us_unwinder_new(US_ARCH_X86_64, &map, NULL, &u), NULL);
	run_owned(g, u, &p, &o, 100);
	unsigned long before = n_alloc;
	for (unsigned i = 0; i < 20; i++) {
		without += run_owned(g, u, &p, NULL, ROUNDS / 20) / 20;
		with += run_owned(g, u, &p, &o, ROUNDS / 20) / 20;
	}
	printf("whose it is: %.0f ns a sample besides %.0f for its stack of %u frames, "
	       "%lu allocations\n",
	       with - without, without, N_FUNC, n_alloc - before);
	us_unwinder_free(u);
}

int main(void)
{
	static struct guest g;
	static us_gva pc[N_FUNC];
	static uint8_t copy[1024];
	make(&g);
	unsigned sum = 0;
	uint64_t t = us_thread_cpu_ns();
	for (unsigned i = 0; i < ROUNDS * 10; i++) {
		sum += chase(&g, pc);
		__asm__ volatile("" : "+r"(sum)::"memory");
	}
	double floor = (double)(us_thread_cpu_ns() - t) / (ROUNDS * 10);
	t = us_thread_cpu_ns();
	for (unsigned i = 0; i < ROUNDS * 10; i++) {
		memcpy(copy, g.ram + STACK, sizeof(copy));
		__asm__ volatile("" ::"r"(copy) : "memory");
	}
	printf("floor: a plain chase of %u frames %.1f ns; memcpy of 1 KiB %.1f ns\n",
	       N_FUNC, floor, (double)(us_thread_cpu_ns() - t) / (ROUNDS * 10));
	measure("mapped, with a map", &g, true, true, floor);
	measure("mapped, no map", &g, true, false, floor);
	measure("process_vm_readv", &g, false, true, floor);
	measure_cold(&g);
	measure_many();
	measure_owners(&g);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demo_guest.c: see demo_guest.h. */
#include "vmm/demo_guest.h"

#include <errno.h>

const struct us_demo_chain us_demo_chains[US_DEMO_CHAINS] = { { "a", 0.6 },
							      { "b", 0.3 },
							      { "c", 0.1 } };

#if defined(__x86_64__)

#include "base/clock.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	   4096
#define PATIENT_NS (20 * US_NS_PER_SEC) /* for the first round */

/* The guest's memory, by page.  Virtual and physical addresses are equal, except for
 * the stack of chain b. */
enum {
	TABLES = 1, /* four levels */
	OTHER_TABLES = 5,
	CODE = 9,
	OTHER_STACK = 10, /* in the other address space this is the stack */
	STACK = 11,
	COMMON_STACK = 12, /* of the caller of all chains */
	DATA = 13,
	N_PAGE = 16, /* pages in use */
};
/* The VMM is a forked copy of uniscope.  This must be larger than any other writable
 * mapping of uniscope, because the search for RAM of unknown size takes the largest
 * mapping.  Little of it is used. */
#define RAM_SIZE (64 << 20)

#define SPINS_A "6000"
#define SPINS_B "3000"
#define SPINS_C "1000"

/* Shared by parent and child. */
struct us_demo_shared {
	atomic_int result; /* 1: it runs; -errno: step failed */
	atomic_int step;
	uint8_t *ram; /* RAM_SIZE bytes in a mapping of its own, as in VMMs */
};

/* The guest's code; in this process it is only data.  r12 and r13 hold the roots of its
 * two address spaces, r15 the address of its data. */
extern const uint8_t us_demo_code[], us_demo_code_end[];
#define FUNCTION(name)	extern const uint8_t us_demo_##name[], us_demo_##name##_end[]
#define CALL_SITE(name) extern const uint8_t us_demo_in_##name[]
FUNCTION(main);
FUNCTION(a1);
FUNCTION(a2);
FUNCTION(a3);
FUNCTION(b1);
FUNCTION(b2);
FUNCTION(c1);
FUNCTION(c2);
CALL_SITE(main_a);
CALL_SITE(main_b);
CALL_SITE(main_c);
CALL_SITE(a1);
CALL_SITE(a2);
CALL_SITE(b1);
CALL_SITE(c1);

#define BEGIN(name) ".globl us_demo_" #name "\nus_demo_" #name ":\n"
#define FRAME	    "push %rbp\nmov %rsp, %rbp\n"
#define BACK	    "pop %rbp\nret\n"
#define END(name)   ".globl us_demo_" #name "_end\nus_demo_" #name "_end:\n"
#define CALL(to, at)                                                                   \
	"call us_demo_" #to "\n.globl us_demo_in_" #at "\nus_demo_in_" #at ":\n"
/* Intel's erratum SKX102 makes a loop slow whose jump crosses or ends at a 32-byte
 * boundary: then the chains would not have their shares. */
#define SPIN(n) "mov $" n ", %ecx\n.p2align 5, 0x90\n1: dec %ecx\njnz 1b\n"

/* clang-format off */
__asm__(".pushsection .rodata\n.balign 32\n"
	BEGIN(code)
	BEGIN(main) FRAME "sub $8, %rsp\n"
		"2: mov %r12, %cr3\n"
		CALL(a1, main_a) CALL(c1, main_c)
		"mov %r13, %cr3\n"
		CALL(b1, main_b)
		"incq (%r15)\njmp 2b\n" END(main)
	BEGIN(a1) FRAME CALL(a2, a1) BACK END(a1)
	BEGIN(a2) FRAME CALL(a3, a2) BACK END(a2)
	BEGIN(a3) FRAME SPIN(SPINS_A) BACK END(a3)
	BEGIN(b1) FRAME CALL(b2, b1) BACK END(b1)
	BEGIN(b2) FRAME SPIN(SPINS_B) BACK END(b2)
	BEGIN(c1) FRAME CALL(c2, c1) BACK END(c1)
	BEGIN(c2) SPIN(SPINS_C) "ret\n" END(c2)
	END(code) ".popsection\n");
/* clang-format on */

#define N_FUNCTION 8

static struct us_demo_function functions[N_FUNCTION];
static us_gva starts[N_FUNCTION];

/* The guest's address of this byte of us_demo_code. */
static us_gva in_guest(const uint8_t *at)
{
	return (us_gva)(CODE * PAGE) +
	       (us_gva)((uintptr_t)at - (uintptr_t)us_demo_code);
}

#define ROW(name, frame, chain, ...)                                                   \
	{                                                                              \
#name, us_demo_##name, us_demo_##name##_end, frame, chain,             \
		{                                                                      \
			__VA_ARGS__                                                    \
		}                                                                      \
	}

static const struct row {
	const char *name;
	const uint8_t *start, *end;
	bool has_frame;
	int chain;
	const uint8_t *caller[US_DEMO_DEPTH];
} rows[N_FUNCTION] = {
	ROW(main, true, -1, NULL),
	ROW(a1, true, -1, us_demo_in_main_a),
	ROW(a2, true, -1, us_demo_in_a1, us_demo_in_main_a),
	ROW(a3, true, 0, us_demo_in_a2, us_demo_in_a1, us_demo_in_main_a),
	ROW(b1, true, -1, us_demo_in_main_b),
	ROW(b2, true, 1, us_demo_in_b1, us_demo_in_main_b),
	ROW(c1, true, -1, us_demo_in_main_c),
	ROW(c2, false, 2, us_demo_in_c1, us_demo_in_main_c),
};

static void fill_functions(void)
{
	for (size_t i = 0; i < N_FUNCTION && !functions[i].name; i++) {
		const struct row *r = &rows[i];
		struct us_demo_function *f = &functions[i];
		*f = (struct us_demo_function){ .name = r->name,
						.start = in_guest(r->start),
						.end = in_guest(r->end),
						.has_frame = r->has_frame,
						.chain = r->chain };
		while (f->n_caller < US_DEMO_DEPTH && r->caller[f->n_caller]) {
			f->caller[f->n_caller] = in_guest(r->caller[f->n_caller]);
			f->n_caller++;
		}
		starts[i] = f->start;
	}
}

const struct us_demo_function *us_demo_find(us_gva pc)
{
	fill_functions();
	for (size_t i = 0; i < N_FUNCTION; i++)
		if (pc >= functions[i].start && pc < functions[i].end)
			return &functions[i];
	return NULL;
}

size_t us_demo_starts(const us_gva **ret)
{
	fill_functions();
	*ret = starts;
	return N_FUNCTION;
}

/* --- its memory --- */

#define PRESENT_WRITABLE 3 /* Intel SDM volume 3, table 4-19 */

static void put(uint8_t *ram, unsigned page, unsigned index, uint64_t word)
{
	memcpy(ram + page * PAGE + index * 8, &word, 8);
}

/* Four levels of tables, from page `first` on, that map all pages in use. */
static void fill_tables(uint8_t *ram, unsigned first)
{
	for (unsigned level = 0; level < 3; level++)
		put(ram, first + level, 0,
		    (first + level + 1) * PAGE | PRESENT_WRITABLE);
	for (unsigned page = 0; page < N_PAGE; page++)
		put(ram, first + 3, page, page * PAGE | PRESENT_WRITABLE);
}

static void fill_ram(uint8_t *ram)
{
	fill_tables(ram, TABLES);
	fill_tables(ram, OTHER_TABLES);
	put(ram, OTHER_TABLES + 3, STACK, OTHER_STACK * PAGE | PRESENT_WRITABLE);
	memcpy(ram + CODE * PAGE, us_demo_code,
	       (size_t)(us_demo_code_end - us_demo_code));
}

/* --- its processor --- */

/* 64-bit mode in ring 0, from flat segments. */
static void set_mode(struct kvm_sregs *s)
{
	struct kvm_segment code = { .limit = UINT32_MAX,
				    .selector = 8,
				    .type = 11,
				    .present = 1,
				    .s = 1,
				    .l = 1,
				    .g = 1 };
	struct kvm_segment data = code;
	data.selector = 16;
	data.type = 3;
	data.l = 0;
	data.db = 1;
	s->cs = code;
	s->ss = s->ds = s->es = s->fs = s->gs = data;
	s->cr0 = 1U << 31 | 1U << 16 | 1U << 5 | 1; /* PG, WP, NE, PE */
	s->cr3 = TABLES * PAGE;
	s->cr4 = 1U << 5;	      /* PAE */
	s->efer = 1U << 10 | 1U << 8; /* LMA, LME */
}

#define MAX_LEAVES 256 /* KVM_MAX_CPUID_ENTRIES: with room for fewer it says E2BIG */

/* Linux 6.12 allows 64-bit mode only to a processor that says that it has it. */
static int set_cpuid(int kvm, int vcpu)
{
	union {
		struct kvm_cpuid2 head;
		uint8_t bytes[sizeof(struct kvm_cpuid2) +
			      MAX_LEAVES * sizeof(struct kvm_cpuid_entry2)];
	} all = { .head.nent = MAX_LEAVES };
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &all) ||
	    ioctl(vcpu, KVM_SET_CPUID2, &all))
		return -errno;
	return 0;
}

static int set_registers(int vcpu, bool two_spaces)
{
	struct kvm_sregs s;
	if (ioctl(vcpu, KVM_GET_SREGS, &s))
		return -errno;
	set_mode(&s);
	/* main()'s frame begins where the functions that it calls push to the page
	 * below. */
	struct kvm_regs r = { .rip = in_guest(us_demo_main),
			      .rsp = COMMON_STACK * PAGE + 16,
			      .r12 = TABLES * PAGE,
			      .r13 = (two_spaces ? OTHER_TABLES : TABLES) * PAGE,
			      .r15 = DATA * PAGE,
			      .rflags = 2 };
	if (ioctl(vcpu, KVM_SET_SREGS, &s) || ioctl(vcpu, KVM_SET_REGS, &r))
		return -errno;
	return 0;
}

static const char *const steps[] = {
	"open /dev/kvm",  "make a machine",	      "give it memory",
	"give it a vCPU", "set the vCPU's registers", "run the vCPU",
};

/* In the child: all steps except the last. */
static int make_vcpu(struct us_demo_shared *shared, bool two_spaces)
{
	struct kvm_userspace_memory_region m = {
		.memory_size = RAM_SIZE, .userspace_addr = (uintptr_t)shared->ram
	};
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (kvm < 0)
		return -errno;
	shared->step++;
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return -errno;
	shared->step++;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m))
		return -errno;
	shared->step++;
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (vcpu < 0)
		return -errno;
	shared->step++;
	int r = set_cpuid(kvm, vcpu);
	r = r ? r : set_registers(vcpu, two_spaces);
	shared->step += r == 0;
	return r < 0 ? r : vcpu;
}

/* KVM_RUN returns only when interrupted, as by some backends that take a sample. */
static _Noreturn void run(struct us_demo_shared *shared, bool two_spaces)
{
	int vcpu = make_vcpu(shared, two_spaces);
	int r = vcpu < 0 ? vcpu : 0;
	shared->result = r < 0 ? r : 1;
	do
		r = vcpu < 0 ? -1 : ioctl(vcpu, KVM_RUN, 0);
	while (r < 0 && vcpu >= 0 && errno == EINTR);
	if (vcpu >= 0)
		shared->result = r < 0 ? -errno : -EIO;
	_exit(1);
}

static _Noreturn void be_the_guest(struct us_demo_shared *shared, bool two_spaces)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "uniscope-demo");
	fill_ram(shared->ram);
	run(shared, two_spaces);
}

/* --- its parent --- */

static int explain(const struct us_demo_guest *d, struct us_err *e)
{
	int step = d->shared->step, code = d->shared->result;
	if (code >= 0)
		return us_fail(
			e, -ETIMEDOUT,
			"start the demo guest: it did not complete a round within %d s",
			(int)(PATIENT_NS / US_NS_PER_SEC));
	us_fail(e, code, "start the demo guest: %s: %s", steps[step], strerror(-code));
	if (step == 0)
		us_hint(e, "run 'uniscope doctor' to see what /dev/kvm needs");
	return code;
}

static int wait_for_rounds(const struct us_demo_guest *d, struct us_err *e)
{
	uint64_t end = us_now_ns() + PATIENT_NS;
	while (d->shared->result >= 0 && us_now_ns() < end) {
		if (us_demo_rounds(d))
			return 0;
		usleep(1000);
	}
	return explain(d, e);
}

static void *share(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	return at == MAP_FAILED ? NULL : at;
}

int us_demo_start(struct us_demo_guest *d, bool two_spaces, struct us_err *e)
{
	*d = (struct us_demo_guest){ .shared = share(sizeof(*d->shared)) };
	if (d->shared)
		d->shared->ram = share(RAM_SIZE);
	if (!d->shared || !d->shared->ram) {
		us_demo_stop(d);
		return us_fail(e, -ENOMEM, "start the demo guest: out of memory");
	}
	pid_t pid = fork();
	if (pid == 0)
		be_the_guest(d->shared, two_spaces);
	int r = pid < 0 ? us_fail(e, -errno, "start the demo guest: %s",
				  strerror(errno))
			: 0;
	d->pid = pid < 0 ? 0 : pid;
	if (!r)
		r = wait_for_rounds(d, e);
	if (r < 0)
		us_demo_stop(d);
	return r;
}

void us_demo_stop(struct us_demo_guest *d)
{
	if (d->pid > 0) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, NULL, 0);
	}
	if (d->shared && d->shared->ram)
		munmap(d->shared->ram, RAM_SIZE);
	if (d->shared)
		munmap(d->shared, sizeof(*d->shared));
	*d = (struct us_demo_guest){ 0 };
}

unsigned long us_demo_rounds(const struct us_demo_guest *d)
{
	const uint8_t *at = d->shared->ram + DATA * PAGE;
	return __atomic_load_n((const unsigned long *)(const void *)at,
			       __ATOMIC_RELAXED);
}

#else

int us_demo_start(struct us_demo_guest *d, bool two_spaces, struct us_err *e)
{
	(void)two_spaces;
	*d = (struct us_demo_guest){ 0 };
	return us_fail(e, -ENOTSUP, "the demo guest is for x86-64");
}

void us_demo_stop(struct us_demo_guest *d)
{
	(void)d;
}

unsigned long us_demo_rounds(const struct us_demo_guest *d)
{
	(void)d;
	return 0;
}

const struct us_demo_function *us_demo_find(us_gva pc)
{
	(void)pc;
	return NULL;
}

size_t us_demo_starts(const us_gva **ret)
{
	*ret = NULL;
	return 0;
}

#endif

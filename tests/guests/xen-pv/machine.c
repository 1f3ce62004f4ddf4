/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.c: the processor's part of a paravirtual domain: no page tables, interrupts
 * or devices of its own.
 */
#include "machine.h"

#include <xen/vcpu.h>

#define PAGE_SIZE     4096
#define PTE	      0x7	 /* present, writable, for ring 3 */
#define CPUID_OF_TIME 0x40000003 /* xen/include/public/arch-x86/cpuid.h: leaf 4 */
#define RFLAGS	      0x2	 /* of a start: the bit that is always set */

extern struct start_info *start_info;
extern char start_other[];

u64 tsc_hz;
u64 tsc_second = 2000000000;
u64 image_slide;
u8 stack_memory[MAX_VCPUS * VCPU_STACKS] __attribute__((aligned(STACK_ALIGN)));
struct timer timers[MAX_VCPUS];

/* The page that Xen keeps the time in is mapped over this one. */
static u8 shared_page[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

/* It has no table of faults: one ends the domain. */
void report_fault(const u64 *frame);

void interrupts_init(void)
{
}

void report_fault(const u64 *frame)
{
	(void)frame;
}

void map_stacks(u32 vcpu)
{
	(void)vcpu;
}

void slide_image(void)
{
}

void hide_linked_text(void)
{
}

u64 stack_top(u32 vcpu, u32 slot)
{
	return (u64)stack_memory + vcpu * VCPU_STACKS + (slot + 1) * STACK_MEMORY;
}

void map_devices(void)
{
	hypercall(__HYPERVISOR_update_va_mapping, (u64)shared_page,
		  start_info->shared_info | PTE, UVMF_INVLPG);
}

/* --- time --- */

/* Ticks of the counter in a second, by CPUID as Xen answers it. */
void measure_clocks(void)
{
	u32 a = CPUID_OF_TIME, b, c = 0, d;

	__asm__ volatile(XEN_CPUID : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	tsc_hz = c * 1000ul;
	if (tsc_hz)
		tsc_second = tsc_hz;
}

/* Since the host started, in ns (struct vcpu_time_info). */
static u64 system_time(void)
{
	const volatile struct vcpu_time_info *t =
		&((struct shared_info *)shared_page)->vcpu_info[0].time;
	u32 version;
	u64 ns;

	do {
		version = __atomic_load_n(&t->version, __ATOMIC_ACQUIRE);
		u64 ticks = read_tsc() - t->tsc_timestamp;
		ticks = t->tsc_shift < 0 ? ticks >> -t->tsc_shift
					 : ticks << t->tsc_shift;
		ns = t->system_time +
		     (u64)((unsigned __int128)ticks * t->tsc_to_system_mul >> 32);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (version & 1 || version != t->version);
	return ns;
}

void timer_init(void)
{
}

/* A halt ends when the timer is due and moves it on, whatever its kind is. */
void timer_start(u64 tsc_ticks, enum timer_kind kind)
{
	(void)kind;
	struct timer *t = own_timer();

	t->period = tsc_ticks * 1000 / (tsc_second / 1000000);
	t->due = system_time() + t->period;
}

void timer_stop(void)
{
}

/* --- the other vCPUs --- */

static bool start(u32 vcpu, u64 root)
{
	static struct vcpu_guest_context c;

	c.flags = VGCF_in_kernel;
	c.ctrlreg[3] = root;
	c.user_regs.rip = (u64)start_other;
	c.user_regs.rsp = stack_top(vcpu, 0);
	c.user_regs.rdi = vcpu;
	c.user_regs.rflags = RFLAGS;
	c.user_regs.cs = FLAT_KERNEL_CS;
	c.user_regs.ss = FLAT_KERNEL_SS;
	if (hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, vcpu, (u64)&c))
		return false;
	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_up, vcpu, 0) == 0;
}

u32 start_other_vcpus(void)
{
	const u64 *frames = (const u64 *)start_info->mfn_list;
	u64 root = frames[(start_info->pt_base - IMAGE_BASE) / PAGE_SIZE] * PAGE_SIZE;
	u32 n = 1;

	while (n < MAX_VCPUS && start(n, root))
		n++;
	return n;
}

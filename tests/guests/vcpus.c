/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vcpus.c: the boot vCPU sets the machine up and starts the others.
 */
#include "machine.h"
#include "text.h"

#define FW_CFG_SELECT	 0x510
#define FW_CFG_DATA	 0x511
#define FW_CFG_SIGNATURE 0
#define FW_CFG_NB_CPUS	 5

extern char trampoline[], trampoline_end[];
extern u32 vcpu_arrivals;

u32 vcpu_count = 1;
static u32 may_run;

/* QEMU tells how many vCPUs there are; 0 if this is not QEMU. */
static u32 qemu_vcpu_count(void)
{
	u32 count;

	out16(FW_CFG_SELECT, FW_CFG_SIGNATURE);
	for (const char *s = "QEMU"; *s; s++)
		if (in8(FW_CFG_DATA) != (u8)*s)
			return 0;
	out16(FW_CFG_SELECT, FW_CFG_NB_CPUS);
	count = in8(FW_CFG_DATA);
	return count | (u32)in8(FW_CFG_DATA) << 8;
}

/* Wait for as many as are known to come; or, if nobody knows, until none has come for a
 * quarter of a second. */
static void wait_for_arrivals(u32 expected)
{
	u64 patience = tsc_second / (expected ? 1 : 4) * (expected ? 10 : 1);
	u64 end = read_tsc() + patience;
	u32 seen = 1;

	while (read_tsc() < end && seen != expected) {
		u32 now = __atomic_load_n(&vcpu_arrivals, __ATOMIC_ACQUIRE);

		if (now != seen)
			end = read_tsc() + patience;
		seen = now;
		relax();
	}
	vcpu_count = seen < MAX_VCPUS ? seen : MAX_VCPUS;
}

void start_other_vcpus(void)
{
	u32 expected = qemu_vcpu_count();
	volatile char *to = (volatile char *)TRAMPOLINE_GPA;

	if (expected == 1)
		return;
	for (const char *from = trampoline; from < trampoline_end; from++)
		*to++ = *from;
	lapic_start_others();
	wait_for_arrivals(expected);
}

u32 vcpu_init(u32 vcpu)
{
	while (!__atomic_load_n(&may_run, __ATOMIC_ACQUIRE))
		relax();
	interrupts_init();
	lapic_enable();
	return vcpu;
}

static void print_ready(void)
{
	static struct text line;

	line.len = 0;
	text_string(&line, "READY vcpus=");
	text_number(&line, vcpu_count);
	text_char(&line, '\n');
	serial_write(line.data, line.len);
}

NORETURN void boot_main(void)
{
	console_init();
	interrupts_init();
	map_page(LAPIC_BASE, LAPIC_GPA | 0x10); /* not cached */
	for (u32 vcpu = 0; vcpu < MAX_VCPUS; vcpu++)
		map_stacks(vcpu);
	lapic_enable();
	measure_tsc();
	measure_timer();
	start_other_vcpus();
	guest_setup();
	print_ready();
	__atomic_store_n(&may_run, 1, __ATOMIC_RELEASE);
	start_vcpu(0);
}

/* A stack as switch_context() leaves it: r15 r14 r13 r12 rbx rbp, return address. */
u64 new_context(u64 stack, void (*function)(void *), void *arg)
{
	extern char thread_entry[];
	u64 *top = (u64 *)stack;

	*--top = 0; /* so that thread_entry's call is aligned as the ABI wants it */
	*--top = 0;
	*--top = (u64)thread_entry;
	*--top = 0;
	*--top = 0;
	*--top = (u64)function;
	*--top = (u64)arg;
	*--top = 0;
	*--top = 0;
	return (u64)top;
}

/* The compiler may ask for these. */
void *memcpy(void *to, const void *from, u64 len)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len)::"memory");
	return to;
}

void *memset(void *to, int value, u64 len)
{
	void *p = to;

	__asm__ volatile("rep stosb" : "+D"(p), "+c"(len) : "a"(value) : "memory");
	return to;
}

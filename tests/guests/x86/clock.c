/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.c: how fast the time-stamp counter runs, and the local APIC's timer.
 *
 * The guest may lose its processor at any instruction, so a clock is only believed if
 * it was read between two reads of the counter that are close together.
 */
#include "x86.h"

#define PIT_HZ		 1193182
#define PIT_CHANNEL_2	 0x42
#define PIT_COMMAND	 0x43
#define PIT_GATE	 0x61
#define PIT_ONE_SHOT	 0xb0 /* channel 2, low then high byte, mode 0 */
#define PIT_LATCH	 0x80
#define PIT_STATUS	 0xe8 /* read back the state of channel 2 */
#define PIT_STATUS_ENDED 0x80
#define PIT_TRIES	 50

#define LAPIC_TPR	   0x80
#define LAPIC_SPURIOUS	   0xf0
#define LAPIC_ICR_LOW	   0x300
#define LAPIC_LVT_TIMER	   0x320
#define LAPIC_INITIAL	   0x380
#define LAPIC_CURRENT	   0x390
#define LAPIC_DIVIDE	   0x3e0
#define LAPIC_ENABLE	   0x100
#define LAPIC_MASKED	   0x10000
#define LAPIC_ONE_SHOT	   0
#define LAPIC_PERIODIC	   0x20000
#define LAPIC_DIVIDE_16	   0x3
#define ICR_INIT_TO_OTHERS 0xc4500
#define ICR_SIPI_TO_OTHERS 0xc4600
#define MSR_APIC_BASE	   0x1b
#define APIC_BASE_ENABLE   0x800

#define SIGNATURE_XEN 0x566e6558 /* "XenV" */
#define SIGNATURE_KVM 0x4b4d564b /* "KVMK" */
#define KVM_HAS_CLOCK 0x8
#define MSR_KVM_CLOCK 0x4b564d01

#define READS_MAX 8

u64 tsc_hz;
u64 tsc_second = 2000000000;
static u64 timer_hz; /* of the local APIC, divided by 16 */

struct reading {
	u64 tsc;
	u64 value;
};

static u64 read_pit(void)
{
	u64 low;

	out8(PIT_COMMAND, PIT_LATCH);
	low = in8(PIT_CHANNEL_2);
	return low | (u64)in8(PIT_CHANNEL_2) << 8;
}

HIDDEN volatile u32 *lapic(u32 offset)
{
	return (volatile u32 *)(LAPIC_BASE + offset);
}

static u64 read_lapic_timer(void)
{
	return *lapic(LAPIC_CURRENT);
}

static struct reading read_clock(u64 (*read)(void))
{
	struct reading best = { 0, 0 };
	u64 best_gap = ~(u64)0;

	for (u32 i = 0; i < READS_MAX; i++) {
		u64 before = read_tsc();
		u64 value = read();
		u64 gap = read_tsc() - before;

		if (gap >= best_gap)
			continue;
		best_gap = gap;
		best = (struct reading){ before + gap / 2, value };
	}
	return best;
}

/* Both clocks count down.  Returns ticks of the counter per tick of the clock, in
 * units of 1 / scale; 0 if the clock stands still. */
static u64 compare_clock(u64 (*read)(void), u64 ticks, u64 scale)
{
	struct reading from = read_clock(read), to = from;
	u64 give_up = from.tsc + tsc_second;

	while (from.value - to.value < ticks && to.tsc < give_up)
		to = read_clock(read);
	if (from.value <= to.value)
		return 0;
	return (to.tsc - from.tsc) * scale / (from.value - to.value);
}

/* KVM's clock says how to make nanoseconds of ticks, and so the ticks of a second. */
static u64 kvm_tsc_hz(void)
{
	static volatile struct {
		u32 version, pad;
		u64 tsc, ns;
		u32 ns_per_tick; /* in units of 2^-32, after the shift */
		signed char shift;
		u8 flags, pad_end[2];
	} clock __attribute__((aligned(64)));
	u64 give_up = read_tsc() + tsc_second / 10, hz;

	write_msr(MSR_KVM_CLOCK, gpa_of(&clock) | 1);
	while (!clock.ns_per_tick && read_tsc() < give_up)
		relax();
	write_msr(MSR_KVM_CLOCK, 0);
	if (!clock.ns_per_tick)
		return 0;
	hz = (1000000000ull << 32) / clock.ns_per_tick;
	return clock.shift < 0 ? hz << -clock.shift : hz >> clock.shift;
}

/* What the hypervisor says, 0 if nothing: leaf 0x40000010 is VMware's. */
static u64 stated_tsc_hz(void)
{
	u32 base[4], reg[4];

	cpuid(1, reg);
	if (!(reg[2] >> 31))
		return 0;
	cpuid(0x40000000, base);
	if (base[0] >= 0x40000010) {
		cpuid(0x40000010, reg);
		if (reg[0])
			return reg[0] * (u64)1000;
	}
	if (base[1] == SIGNATURE_XEN) {
		cpuid(0x40000003, reg);
		return reg[2] * (u64)1000;
	}
	cpuid(0x40000001, reg);
	if (base[1] == SIGNATURE_KVM && reg[0] & KVM_HAS_CLOCK)
		return kvm_tsc_hz();
	return 0;
}

/* The PIT counts down from 65535 in 55 ms; if it got to the end, because the guest lost
 * its processor for so long, the count is worth nothing: 0. */
static u64 compare_pit(void)
{
	u64 hz;

	out8(PIT_COMMAND, PIT_ONE_SHOT);
	out8(PIT_CHANNEL_2, 0xff);
	out8(PIT_CHANNEL_2, 0xff);
	hz = compare_clock(read_pit, PIT_HZ / 100, PIT_HZ);
	out8(PIT_COMMAND, PIT_STATUS);
	return in8(PIT_CHANNEL_2) & PIT_STATUS_ENDED ? 0 : hz;
}

void measure_tsc(void)
{
	tsc_hz = stated_tsc_hz();
	if (!tsc_hz) {
		out8(PIT_GATE, (in8(PIT_GATE) & ~2u) | 1); /* count, be silent */
		for (u32 i = 0; i < PIT_TRIES && !tsc_hz; i++)
			tsc_hz = compare_pit();
	}
	if (tsc_hz)
		tsc_second = tsc_hz;
}

void timer_init(void)
{
	write_msr(MSR_APIC_BASE, read_msr(MSR_APIC_BASE) | APIC_BASE_ENABLE);
	*lapic(LAPIC_TPR) = 0;
	*lapic(LAPIC_SPURIOUS) = LAPIC_ENABLE | SPURIOUS_VECTOR;
	*lapic(LAPIC_DIVIDE) = LAPIC_DIVIDE_16;
	timer_stop();
}

void lapic_start_others(void)
{
	*lapic(LAPIC_ICR_LOW) = ICR_INIT_TO_OTHERS;
	for (u64 end = read_tsc() + tsc_second / 100; read_tsc() < end;)
		relax();
	*lapic(LAPIC_ICR_LOW) = ICR_SIPI_TO_OTHERS | TRAMPOLINE_GPA >> 12;
}

static void measure_timer(void)
{
	u64 ratio;

	*lapic(LAPIC_LVT_TIMER) = LAPIC_MASKED | TIMER_VECTOR;
	*lapic(LAPIC_INITIAL) = ~0u;
	/* About 10 ms of a clock that QEMU and KVM run at 1 GHz / 16. */
	ratio = compare_clock(read_lapic_timer, 625000, 1 << 16);
	timer_hz = ratio ? (tsc_second << 16) / ratio : 1000000000 / 16;
	timer_stop();
}

void measure_clocks(void)
{
	measure_tsc();
	measure_timer();
}

void timer_start(u64 tsc_ticks, enum timer_kind kind)
{
	u64 count = tsc_ticks * timer_hz / tsc_second;

	*lapic(LAPIC_LVT_TIMER) =
		(kind == TIMER_ONCE ? LAPIC_ONE_SHOT : LAPIC_PERIODIC) | TIMER_VECTOR;
	*lapic(LAPIC_INITIAL) = count ? (u32)count : 1;
}

void timer_stop(void)
{
	*lapic(LAPIC_LVT_TIMER) = LAPIC_MASKED | TIMER_VECTOR;
	*lapic(LAPIC_INITIAL) = 0;
}

void timer_eoi(void)
{
	*lapic(LAPIC_EOI) = 0;
}

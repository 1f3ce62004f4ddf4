/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.c: the counter, the virtual timer, and the interrupt controller between the
 * timer and the processor: a GIC of version 2, or of version 3 (IHI 0048, IHI 0069).
 */
#include "paging.h"

#define TIMER_INTERRUPT 27 /* of the virtual timer, of each vCPU */

#define GICD_CONTROL	   0x000
#define GICD_ENABLE	   0x100 /* interrupts 0 to 31: each vCPU's own */
#define GICD_V2_ON	   0x1
#define GICD_V3_ON	   0x13 /* both groups, affinity routing */
#define GICC_CONTROL	   (GIC_CPU + 0x0)
#define GICC_PRIORITY	   (GIC_CPU + 0x4)
#define GICR_WAKER	   0x14
#define GICR_SLEEPS	   0x2
#define GICR_CHILDREN	   0x4
#define GICR_GROUP	   (GIC_REDIST_SGI + 0x080)
#define GICR_ENABLE	   (GIC_REDIST_SGI + 0x100)
#define ALL_PRIORITIES	   0xff
#define WAKES_MAX	   1000000
#define GIC_FIELD(id_pfr0) ((id_pfr0) >> 24 & 15)

u64 tsc_hz;
u64 tsc_second = 62500000;
u64 gic_version;

void measure_clocks(void)
{
	tsc_hz = read_system_register("cntfrq_el0");
	if (tsc_hz)
		tsc_second = tsc_hz;
}

void map_devices(void)
{
	gic_version = GIC_FIELD(read_system_register("id_aa64pfr0_el1")) ? 3 : 2;
	map_device(GIC_DISTRIBUTOR, gic_distributor_gpa);
	if (gic_version == 2)
		map_device(GIC_CPU, gic_cpu_gpa);
	for (u32 cpu = 0; cpu < MAX_VCPUS && gic_version == 3; cpu++) {
		map_device(GIC_REDIST(cpu), GIC_REDIST_GPA(cpu));
		map_device(GIC_REDIST(cpu) + GIC_REDIST_SGI,
			   GIC_REDIST_GPA(cpu) + GIC_REDIST_SGI);
	}
}

static void gic2_init(void)
{
	*device_register(GIC_DISTRIBUTOR + GICD_CONTROL) = GICD_V2_ON;
	*device_register(GIC_DISTRIBUTOR + GICD_ENABLE) = 1u << TIMER_INTERRUPT;
	*device_register(GICC_PRIORITY) = ALL_PRIORITIES;
	*device_register(GICC_CONTROL) = 1;
}

static void gic3_init(void)
{
	u64 redist = GIC_REDIST(read_system_register("mpidr_el1") & 0xff);

	*device_register(GIC_DISTRIBUTOR + GICD_CONTROL) = GICD_V3_ON;
	*device_register(redist + GICR_WAKER) &= ~GICR_SLEEPS;
	for (u32 i = 0; i < WAKES_MAX; i++)
		if (!(*device_register(redist + GICR_WAKER) & GICR_CHILDREN))
			break;
	*device_register(redist + GICR_GROUP) = ~0u;
	*device_register(redist + GICR_ENABLE) = 1u << TIMER_INTERRUPT;
	write_system_register("s3_0_c12_c12_5", 1); /* ICC_SRE_EL1 */
	synchronize();
	write_system_register("s3_0_c4_c6_0", ALL_PRIORITIES); /* ICC_PMR_EL1 */
	write_system_register("s3_0_c12_c12_7", 1);	       /* ICC_IGRPEN1_EL1 */
	synchronize();
}

void timer_init(void)
{
	timer_stop();
	if (gic_version == 2)
		gic2_init();
	else
		gic3_init();
}

/* The end of a halt starts it again, of either kind: the next start sets it anew. */
void timer_start(u64 tsc_ticks, enum timer_kind kind)
{
	(void)kind;
	u64 period = tsc_ticks ? tsc_ticks : 1;

	write_system_register("tpidr_el1", period); /* for halt_until_interrupt() */
	timer_again(period);
}

void timer_stop(void)
{
	write_system_register("cntv_ctl_el0", 0);
	synchronize();
}

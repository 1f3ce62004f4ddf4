/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vcpus.c: the boot vCPU sets the machine up and starts the others.
 */
#include "machine.h"
#include "text.h"

u32 vcpu_count = 1;
static u32 may_run;

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

u32 vcpu_init(u32 vcpu)
{
	while (!__atomic_load_n(&may_run, __ATOMIC_ACQUIRE))
		relax();
	interrupts_init();
	timer_init();
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

__attribute__((weak)) bool guest_slides(void)
{
	return false;
}

NORETURN void boot_main(void)
{
	console_init();
	interrupts_init();
	map_devices();
	for (u32 vcpu = 0; vcpu < MAX_VCPUS; vcpu++)
		map_stacks(vcpu);
	if (guest_slides()) {
		slide_image();
		go_to_slide();
		interrupts_init();
	}
	timer_init();
	measure_clocks();
	wait_for_arrivals(start_other_vcpus());
	guest_setup();
	if (image_slide)
		hide_linked_text();
	print_ready();
	__atomic_store_n(&may_run, 1, __ATOMIC_RELEASE);
	start_vcpu(0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/text.h: shows boots. */
#ifndef US_CMD_BOOT_TEXT_H
#define US_CMD_BOOT_TEXT_H

#include "base/json.h"
#include "boot/summary.h"
#include "cmd/boot/profile.h"

struct us_boot_report {
	const struct us_boot_plan *plan;
	const struct us_boot_run *run;
	size_t n; /* runs */
	struct us_boot_summary summary;
	const char *vmm;
	unsigned way;  /* enum us_boot_way: a set */
	bool emulated; /* QEMU emulates the guest */
	/* Why some points are not observed; "": all are.  In general; for what KVM
	 * does; for functions; for devices. */
	const char *unseen, *unseen_kvm, *unseen_code, *unseen_device;
	const char *device; /* names of n_device devices; "": not known */
	size_t n_device;
	const struct us_boot_profile *profile; /* NULL: none */
	const char *first; /* about the kernel's first function; "": nothing to say */
	/* How much later the first serial byte comes because the guest was watched. */
	struct us_estimate cost;
	struct us_estimate alone; /* when it comes in runs that are not watched */
	size_t n_alone;		  /* number of these runs; 0: the cost is not known */
};

/* Show the progress, on a terminal. */
void us_boot_tell(size_t i, size_t n, bool quiet);
void us_boot_json_estimate(struct us_json *j, const char *key,
			   const struct us_estimate *e);
void us_boot_print(const struct us_boot_report *r);
void us_boot_print_json(const struct us_boot_report *r);

#endif

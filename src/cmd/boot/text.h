/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/text.h: what is shown of boots. */
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
	bool emulated; /* the guest, by QEMU */
	/* Why not all points are seen; "": all are.  In general; of what KVM does; of
	 * functions; of devices. */
	const char *unseen, *unseen_kvm, *unseen_code, *unseen_device;
	const char *device; /* names, of n_device; "": not known */
	size_t n_device;
	const struct us_boot_profile *profile; /* NULL: none */
	const char *first; /* of the kernel's first function; "": nothing to say */
	/* How much later the first serial byte comes because it was watched. */
	struct us_estimate cost;
	struct us_estimate alone; /* when it comes else */
	size_t n_alone;		  /* runs without; 0: the cost is not known */
};

/* How far it is, on a terminal. */
void us_boot_tell(size_t i, size_t n, bool quiet);
void us_boot_json_estimate(struct us_json *j, const char *key,
			   const struct us_estimate *e);
void us_boot_print(const struct us_boot_report *r);
void us_boot_print_json(const struct us_boot_report *r);

#endif

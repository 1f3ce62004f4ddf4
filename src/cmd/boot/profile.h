/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/profile.h: `boot --profile`: where a boot's time goes.  One more boot is
 * recorded from the guest's first instruction, and profiled by phase.
 *
 * us_boot_profile_open()  before the variant is prepared: where to write
 * us_boot_profile_run()   one boot, and its recording
 * us_boot_profile_print(), us_boot_profile_json(), us_boot_profile_save()
 * us_boot_profile_close()
 *
 * For a guest of QEMU's TCG, the plugin counts every call and instruction.  Its trees
 * are marked where each phase begins, and another boot shows which devices the guest
 * uses.  Other guests are sampled; the time of a sample gives its phase.
 */
#ifndef US_CMD_BOOT_PROFILE_H
#define US_CMD_BOOT_PROFILE_H

#include "base/json.h"
#include "boot/summary.h"
#include "cmd/boot/devices.h"
#include "cmd/boot/variant.h"
#include "cmd/record/output.h"
#include "trace/phases_read.h"

/* Large: paths and tables. */
struct us_boot_profile {
	struct us_boot_variant *variant;
	struct us_output output;
	struct us_plugin_command with; /* the plugin; argv NULL: the guest is sampled */
	char counts[US_PLUGIN_PATH], phases[US_PLUGIN_PATH];
	int marks;	    /* the file of phases, opened to append; -1: not yet */
	struct us_counts c; /* mapped while the guest runs; zeroed: not yet */
	struct us_boot_run run;
	bool made; /* a recording exists */
	struct us_boot_devices devices;
	bool has_devices; /* devices were watched, in another boot */
	struct us_profile *profile;
};

/* out: as for us_output_open(); NULL: uniscope.data.  -EINVAL: it is no file for a
 * profile. */
US_MUST_CHECK int us_boot_profile_open(struct us_boot_profile *p, const char *out,
				       struct us_err *e);
/* The variant must be prepared.  0, also if the guest did not finish booting (see
 * p->run); -ENOTSUP and others: it cannot be recorded here; *e says why. */
US_MUST_CHECK int us_boot_profile_run(struct us_boot_profile *p,
				      struct us_boot_variant *v, struct us_err *e);
/* timed: boots that were not recorded, to show what recording costs; NULL: none. */
US_MUST_CHECK int us_boot_profile_print(const struct us_boot_profile *p,
					const struct us_boot_summary *timed,
					struct us_err *e);
void us_boot_profile_json(struct us_json *j, const struct us_boot_profile *p);
/* Write the file, in the format that its name selects. */
US_MUST_CHECK int us_boot_profile_save(struct us_boot_profile *p, bool quiet,
				       struct us_err *e);
void us_boot_profile_close(struct us_boot_profile *p); /* accepts a zeroed one */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/profile.h: `boot --profile`: where a boot's time goes: one boot more,
 *recorded from the guest's first instruction, and its profile by phase.
 *
 *	us_boot_profile_open()	 before the variant is prepared: where it is to go
 *	us_boot_profile_run()	 one boot, and the recording of it
 *	us_boot_profile_print(), us_boot_profile_json(), us_boot_profile_save()
 *	us_boot_profile_close()
 *
 * A guest of QEMU's TCG: every call and instruction, by the plugin, whose trees are
 * marked where each phase begins; and in one boot more, which devices it uses.  Others:
 *samples, which belong to a phase by their time.
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
	struct us_plugin_command with; /* the plugin; argv NULL: it is sampled */
	char counts[US_PLUGIN_PATH], phases[US_PLUGIN_PATH];
	int marks;	    /* the file of phases, to add to; -1: not yet */
	struct us_counts c; /* while the guest runs; zeroed: not yet */
	struct us_boot_run run;
	bool made; /* there is a recording */
	struct us_boot_devices devices;
	bool has_devices; /* they were watched, in another boot */
	struct us_profile *profile;
};

/* out: as us_output_open() takes it; NULL: uniscope.data. */
US_MUST_CHECK int us_boot_profile_open(struct us_boot_profile *p, const char *out,
				       struct us_err *e);
/* The variant is prepared.  0, also if the guest did not come to its end (p->run);
 * -ENOTSUP and others: it cannot be recorded here, *e says why. */
US_MUST_CHECK int us_boot_profile_run(struct us_boot_profile *p,
				      struct us_boot_variant *v, struct us_err *e);
/* timed: of boots that were not recorded, to tell what it costs; NULL: there are none.
 */
US_MUST_CHECK int us_boot_profile_print(const struct us_boot_profile *p,
					const struct us_boot_summary *timed,
					struct us_err *e);
void us_boot_profile_json(struct us_json *j, const struct us_boot_profile *p);
/* The file in the format that its name asks for. */
US_MUST_CHECK int us_boot_profile_save(struct us_boot_profile *p, bool quiet,
				       struct us_err *e);
void us_boot_profile_close(struct us_boot_profile *p); /* accepts a zeroed one */

#endif

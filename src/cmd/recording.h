/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.h: what the commands that read a recording have in common. */
#ifndef US_CMD_RECORDING_H
#define US_CMD_RECORDING_H

#include "cmd/cmd.h"
#include "profile/profile.h"

#include <stdbool.h>

#define US_RECORDING_IMAGES 16

/* The file, or standard input for "-"; *ret is the caller's to close. */
US_MUST_CHECK int us_recording_open(const char *path, int *ret, struct us_err *e);

/* Values of options; on a mistake the user is told and false returned. */
bool us_recording_time(const struct us_cmd *cmd, const char *value,
		       struct us_profile_opts *o); /* --time "FROM,TO" */
bool us_recording_image(const struct us_cmd *cmd, const char *value,
			struct us_profile_opts *o,
			const char *image[US_RECORDING_IMAGES]); /* -e */

#endif

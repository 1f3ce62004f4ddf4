/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_file.h: a command line of QEMU with uniscope's plugin. */
#ifndef US_CMD_PLUGIN_FILE_H
#define US_CMD_PLUGIN_FILE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct us_plugin_command {
	const char *verb;   /* "count", "trace": for messages */
	const char *trace;  /* options of a trace, ",records=..."; NULL: no trace */
	const char *dir;    /* with "functions", "counts", "trace"; has no comma */
	uint32_t nodes;	    /* of each vCPU's tree; 0: the plugin's default */
	bool boot;	    /* the file "boot" exists, and only that, unless: */
	bool devices;	    /* also note used devices, in "boot" */
	bool phases;	    /* count calls by phase of the boot, in "phases" */
	bool functions;	    /* the file "functions" exists */
	const char *only;   /* "calls", "functions": no paths of calls; or NULL */
	bool deterministic; /* instructions are also the clock of all devices */
	char word[3 * PATH_MAX];
	char **argv; /* result; the caller frees the array */
};

/* Make the argument of QEMU's -plugin, in c->word. */
US_MUST_CHECK int us_plugin_command_word(struct us_plugin_command *c, struct us_err *e);

/* argv: the user's command, which must be a QEMU that emulates.  -EINVAL: it is not, or
 * already has the options to be added. */
US_MUST_CHECK int us_plugin_command_make(struct us_plugin_command *c,
					 char *const argv[], struct us_err *e);

#endif

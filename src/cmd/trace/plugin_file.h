/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_file.h: the plugin for QEMU, and a command line of QEMU with it. */
#ifndef US_CMD_PLUGIN_FILE_H
#define US_CMD_PLUGIN_FILE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* In build folders it is beside the program, else where it was installed.  -ENOENT. */
US_MUST_CHECK int us_plugin_find(char ret[static PATH_MAX], struct us_err *e);

struct us_plugin_command {
	const char *verb;  /* "count", "trace": for messages */
	const char *trace; /* options of a trace, ",records=..."; NULL: none is made */
	const char *
		dir; /* with the files "functions", "counts", "trace"; no comma in it */
	uint32_t nodes;	    /* of each vCPU's tree; 0: the plugin's default */
	bool boot;	    /* the file "boot" is there; and nothing else, unless: */
	bool devices;	    /* and what devices are used, in "boot" */
	bool phases;	    /* calls are counted, by phase of the boot, in "phases" */
	bool functions;	    /* there is such a file */
	bool calls_only;    /* functions' calls are counted, nothing else */
	bool deterministic; /* instructions are the clock of all devices, too */
	char word[3 * PATH_MAX];
	char **argv; /* made; the array is the caller's to free */
};

/* What -plugin of QEMU is to be followed by, in c->word. */
US_MUST_CHECK int us_plugin_command_word(struct us_plugin_command *c, struct us_err *e);

/* argv: the user's command, which must be a QEMU that emulates.  -EINVAL: it is not, or
 * says already what is to be added. */
US_MUST_CHECK int us_plugin_command_make(struct us_plugin_command *c,
					 char *const argv[], struct us_err *e);

#endif

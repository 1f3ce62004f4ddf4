/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_args.h: the command line of a VMM with the options that launch.h adds. */
#ifndef US_VMM_LAUNCH_ARGS_H
#define US_VMM_LAUNCH_ARGS_H

#include <stdbool.h>

#define US_LAUNCH_PATH 96

struct us_launch_args {
	char **argv; /* the array is owned; the words are the caller's or the members
			below */
	char qmp_word[US_LAUNCH_PATH + 32], start_word[US_LAUNCH_PATH + 32],
		gdb_word[US_LAUNCH_PATH + 32];
	bool qemu;   /* two monitors were added */
	bool owned;  /* its user gave it a monitor, too */
	bool gdb;    /* a stub was added */
	bool stop;   /* -S was added */
	bool daemon; /* -daemonize was given: it would leave us */
};

/* dir: for the sockets, at most US_LAUNCH_PATH - 16 bytes, no comma.  0 or -ENOMEM. */
int us_launch_args_make(char *const argv[], const char *dir,
			struct us_launch_args *ret);
void us_launch_args_fini(struct us_launch_args *a);

#endif

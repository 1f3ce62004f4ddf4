/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_run.h: a QEMU that is started with the plugin: the guest's images and
 * functions, the folder with the files that both share, the process, its end.
 */
#ifndef US_CMD_PLUGIN_RUN_H
#define US_CMD_PLUGIN_RUN_H

#include "cmd/record/images.h"
#include "cmd/trace/plugin_file.h"
#include "store/store.h"
#include "trace/counts_read.h"
#include "trace/functions_write.h"
#include "vmm/launch.h"

#define US_PLUGIN_DIR_SIZE 80 /* bytes of the folder's path */
#define US_PLUGIN_PATH	   96 /* of a path in it */

/* What the user asks for. */
struct us_plugin_asked {
	const struct us_symbol_files *symbols;
	char **argv;	      /* the command; of none: argv[0] is NULL */
	const char *attached; /* then: what was read instead */
	const char *dir;      /* to use, and to keep; NULL: one is made */
	uint64_t duration_ns; /* 0: until it ends, or is stopped */
	bool deterministic;
	const struct us_function_chooser *chooser; /* NULL: all functions */
};

struct us_plugin_run {
	const struct us_plugin_asked *asked;
	struct us_images images;
	struct us_guest guest; /* as the command line says */
	struct us_launch *launch;
	char dir[US_PLUGIN_DIR_SIZE];
	size_t n_function;
	enum us_record_end end;
	char end_words[128];
	pid_t pid;
	int status; /* of QEMU, where it ended by itself */
	uint64_t begun_ns, elapsed_ns;
};

/* Ctrl-C and the like end what us_plugin_run_wait() waits for. */
void us_plugin_run_catch_signals(void);
bool us_plugin_run_is_stopped(void); /* one of them came */

/* Open the images; unless attached, make the folder and the file of functions, too. */
US_MUST_CHECK int us_plugin_run_prepare(struct us_plugin_run *r,
					const struct us_plugin_asked *asked,
					struct us_err *e);
/* Start QEMU; c->dir, functions and deterministic are set here. */
US_MUST_CHECK int us_plugin_run_start(struct us_plugin_run *r,
				      struct us_plugin_command *c, struct us_err *e);
/* Until the guest or the duration ends, or a signal comes; each 20 ms do what has to be
 * done, whose error ends it.  QEMU is ended, if it was still there. */
US_MUST_CHECK int us_plugin_run_wait(struct us_plugin_run *r,
				     int (*each)(void *ctx, struct us_err *e),
				     void *ctx, struct us_err *e);
void us_plugin_run_path(const struct us_plugin_run *r, const char *name,
			char ret[static US_PLUGIN_PATH]);
/* QEMU has not made this file, and why that is.  0: it has made it. */
US_MUST_CHECK int us_plugin_run_check(const struct us_plugin_run *r, const char *path,
				      struct us_err *e);

/* What a recording says of the run. */
struct us_plugin_facts {
	const char *backend, *how, *caution; /* caution "": none */
	const char *unit; /* of what was counted; "", NULL: the usual */
	unsigned n_vcpu;  /* 0: not known */
	const char *arch; /* NULL: not known */
	enum us_match match;
};
#define US_PLUGIN_CAUTION 400 /* bytes */
/* One caution more, behind those that are there. */
void us_plugin_caution(char text[static US_PLUGIN_CAUTION], const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* Of trees: what had no room in them, and resets of the machine. */
void us_plugin_caution_of_trees(char text[static US_PLUGIN_CAUTION],
				const struct us_counts_sums *s);
/* Of images: their code ran elsewhere, or nearly none of it. */
void us_plugin_caution_of_places(char text[static US_PLUGIN_CAUTION],
				 const struct us_counts_sums *s);
US_MUST_CHECK int us_plugin_run_facts(const struct us_plugin_run *r,
				      const struct us_plugin_facts *f,
				      struct us_writer *w, struct us_err *e);
/* Ends QEMU, removes the folder; accepts a zeroed one. */
void us_plugin_run_fini(struct us_plugin_run *r);

#endif

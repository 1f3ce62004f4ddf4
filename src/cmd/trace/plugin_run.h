/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_run.h: runs QEMU with the plugin: the guest's images and functions, the folder
 * of shared files, the process, its end.
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
#define US_PLUGIN_PATH	   96 /* bytes of a path in it */

/* What the user asks for. */
struct us_plugin_asked {
	const struct us_symbol_files *symbols;
	char **argv;	      /* the command; none: argv[0] is NULL */
	const char *attached; /* if no command: what is read instead */
	const char *dir;      /* folder to use and keep; NULL: a temporary one */
	uint64_t duration_ns; /* 0: until it ends or is stopped */
	bool deterministic;
	uint32_t nodes; /* of each vCPU's tree; 0: the plugin's default */
	uint64_t ring;	/* bytes of each vCPU's events; 0: no trace */
	const struct us_function_chooser *chooser; /* NULL: all functions */
};

struct us_plugin_run {
	const struct us_plugin_asked *asked;
	struct us_images images;
	struct us_guest guest; /* from the command line */
	unsigned n_cpu;	       /* from there; 0: not known */
	struct us_launch *launch;
	char dir[US_PLUGIN_DIR_SIZE];
	size_t n_function;
	enum us_record_end end;
	char end_words[128];
	pid_t pid;
	int status; /* of QEMU, if it ended by itself */
	uint64_t begun_ns, elapsed_ns;
};

/* Make Ctrl-C and similar signals end us_plugin_run_wait(). */
void us_plugin_run_catch_signals(void);
bool us_plugin_run_is_stopped(void); /* true: such a signal arrived */

/* Open the images; unless attached, also create the folder and the file of
 * functions. */
US_MUST_CHECK int us_plugin_run_prepare(struct us_plugin_run *r,
					const struct us_plugin_asked *asked,
					struct us_err *e);
/* If n_function is 0: why. */
const char *us_plugin_run_why_unnamed(const struct us_plugin_run *r);
/* -EINVAL: this option is of no use for that reason; the hint says what gives names. */
int us_plugin_run_fail_unnamed(const struct us_plugin_run *r, const char *option,
			       struct us_err *e);
/* Start QEMU; sets c->dir, functions and deterministic. */
US_MUST_CHECK int us_plugin_run_start(struct us_plugin_run *r,
				      struct us_plugin_command *c, struct us_err *e);
/* Wait until the guest or the duration ends, or a signal comes.  Calls each() every 20
 * ms; its error ends the wait.  Ends QEMU if it still runs. */
US_MUST_CHECK int us_plugin_run_wait(struct us_plugin_run *r,
				     int (*each)(void *ctx, struct us_err *e),
				     void *ctx, struct us_err *e);
void us_plugin_run_path(const struct us_plugin_run *r, const char *name,
			char ret[static US_PLUGIN_PATH]);
/* Attached to the counts in this file: the error if its addresses are not those of
 * these images. */
US_MUST_CHECK int us_plugin_run_check_images(const struct us_plugin_run *r,
					     const char *counts, struct us_err *e);
/* While it runs and after it: the error if the plugin cannot tell the vCPUs apart. */
US_MUST_CHECK int us_plugin_run_check_mixed(const struct us_plugin_run *r,
					    const char *verb, struct us_err *e);
/* Has the guest executed anything yet? */
bool us_plugin_run_has_begun(const struct us_plugin_run *r);
/* 0: the plugin is in this QEMU, and the guest has run if QEMU has ended; else *e says
 * why not. */
US_MUST_CHECK int us_plugin_run_check(const struct us_plugin_run *r, struct us_err *e);
/* Once the recording is written: the error if a signal has killed QEMU. */
US_MUST_CHECK int us_plugin_run_verdict(const struct us_plugin_run *r,
					struct us_err *e);

/* What a recording says about the run. */
struct us_plugin_facts {
	const char *backend, *how, *caution; /* caution "": none */
	const char *unit;		     /* unit of counts; "", NULL: the default */
	unsigned n_vcpu;		     /* 0: not known */
	const char *arch;		     /* NULL: not known */
	enum us_match match;
};
#define US_PLUGIN_CAUTION 400 /* bytes */
/* Append a caution. */
void us_plugin_caution(char text[static US_PLUGIN_CAUTION], const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* Cautions about trees: what did not fit, and resets of the machine.  deterministic: a
 * second run was to be the same. */
void us_plugin_caution_of_trees(char text[static US_PLUGIN_CAUTION],
				const struct us_counts_sums *s, bool deterministic);
/* Cautions about images: their code ran elsewhere, or hardly ran. */
void us_plugin_caution_of_places(char text[static US_PLUGIN_CAUTION],
				 const struct us_counts_sums *s);
/* Caution that functions are known by their addresses alone, if an image is that of a
 * program of Linux: others may have the same addresses. */
void us_plugin_caution_of_programs(char text[static US_PLUGIN_CAUTION],
				   const struct us_images *i);
US_MUST_CHECK int us_plugin_run_facts(const struct us_plugin_run *r,
				      const struct us_plugin_facts *f,
				      struct us_writer *w, struct us_err *e);
/* The number of the module that these have for an image. */
static inline uint32_t us_plugin_run_module(size_t image)
{
	return (uint32_t)image + 1;
}
/* Ends QEMU, removes the folder; accepts a zeroed one. */
void us_plugin_run_fini(struct us_plugin_run *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/variant.h: a guest that is booted several times: its command, its plan, its
 * runs. */
#ifndef US_CMD_BOOT_VARIANT_H
#define US_CMD_BOOT_VARIANT_H

#include "boot/run.h"
#include "cmd/trace/plugin_run.h"

#define US_BOOT_MAX_UNTIL 8

/* Large: paths and tables. */
struct us_boot_variant {
	/* What the user asks for. */
	const char *name;	      /* of several; NULL: the only one */
	struct us_plugin_asked asked; /* the command, and the symbols' files */
	const char *until[US_BOOT_MAX_UNTIL];
	size_t n_until;
	const char *by; /* a way (cmd/boot/ways.h); NULL: the best */
	uint64_t timeout_ns;

	struct us_plugin_run run; /* the images, the folder */
	size_t kernel; /* which of the images is booted; as many as there are: none */
	unsigned way;  /* enum us_boot_way: a set */
	struct us_boot_events *events;	    /* of the host's KVM; NULL: not seen */
	struct us_plugin_command with;	    /* the plugin */
	char **plain;			    /* the command as it is */
	char **traced;			    /* with a trace of devices; NULL: without */
	char **stubbed;			    /* with a stub; NULL: there is none */
	char **logged;			    /* with a log; NULL: there is none */
	struct us_boot_linux *linux_kernel; /* it is one; NULL: it is not */
	struct us_boot_plan plan;
	char vmm[32], file[US_PLUGIN_PATH], stub[US_PLUGIN_PATH];
	char trace[US_PLUGIN_PATH]; /* a pipe; "": there is none */
	char stub_word[US_PLUGIN_PATH + 32];
	char filter[1024]; /* which addresses the log is to have (-dfilter) */
	char monitor[US_PLUGIN_PATH]; /* of QEMU, for who looks where its guest is */
	char monitor_word[US_PLUGIN_PATH + 32];
	/* Why not all points are seen; "": all are.  In general; of what KVM does; of
	 * functions; of devices. */
	char unseen[600], unseen_kvm[600], unseen_code[600], unseen_device[100];
	/* The virtio devices that the guest used, in a boot that came to its end. */
	char device[200];
	size_t n_device;
	/* Which function is the kernel's first, and how that was found; "": it has one
	 * of the usual names, or the user says until when. */
	char first[300];
	struct us_boot_run *seen;
	size_t n_seen;
};

/* Does the command have one of these options, of NULL-terminated names? */
bool us_boot_variant_has(char *const *argv, const char *const *options);
/* The image that is booted, as far as that is certain, and the bias of its addresses
 * (ret_bias may be NULL); NULL: none. */
const struct us_elf_image *us_boot_variant_kernel(const struct us_boot_variant *v,
						  uint64_t *ret_bias);
/* Room for n runs; asked.argv, until and the files are set. */
US_MUST_CHECK int us_boot_variant_prepare(struct us_boot_variant *v, size_t n,
					  struct us_err *e);
/* One more run, in seen; it must pass all that is wanted. */
US_MUST_CHECK int us_boot_variant_boot(struct us_boot_variant *v, struct us_err *e);
/* The same by another plan, and without the plugin; *ret need not be whole. */
US_MUST_CHECK int us_boot_variant_boot_alone(struct us_boot_variant *v,
					     const struct us_boot_plan *plan,
					     struct us_boot_run *ret, struct us_err *e);
/* A run that is recorded, besides. */
struct us_boot_recorded {
	char **argv; /* the command with a plugin that counts; NULL: it is sampled */
	void (*passed)(void *ctx, size_t point); /* of us_boot_how; may be NULL */
	/* Of samples: all points are known, and the recording is about to end; start_ns
	 * (CLOCK_MONOTONIC): 0 of its times.  In another thread. */
	void (*finish)(void *ctx, uint64_t start_ns, struct us_writer *w);
	/* It has ended, and is in this file, which is removed then. */
	int (*take)(void *ctx, const char *path, struct us_err *e);
	void *ctx;
	/* Of us_boot_how; may be NULL. */
	int (*check)(void *ctx, struct us_err *e);
	struct us_boot_uses *uses;
};
/* *ret need not be whole. */
US_MUST_CHECK int us_boot_variant_boot_recorded(struct us_boot_variant *v,
						const struct us_boot_recorded *recorded,
						struct us_boot_run *ret,
						struct us_err *e);
/* 0 if it is; else *e says what became of it. */
US_MUST_CHECK int us_boot_variant_check(const struct us_boot_variant *v,
					const struct us_boot_run *run,
					struct us_err *e);
/* The same with the plugin, to hear what the kernel calls (us_boot_how.called). */
US_MUST_CHECK int us_boot_variant_boot_to_search(
	struct us_boot_variant *v, const struct us_boot_plan *plan,
	bool (*called)(void *ctx, uint64_t to, bool jump), void *ctx, struct us_err *e);
/* Accepts a zeroed one. */
void us_boot_variant_fini(struct us_boot_variant *v);

#endif

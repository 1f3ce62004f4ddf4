/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/variant.h: a guest that is booted several times: its command, its plan, its
 * runs. */
#ifndef US_CMD_BOOT_VARIANT_H
#define US_CMD_BOOT_VARIANT_H

#include "boot/run.h"
#include "cmd/trace/plugin_run.h"

#define US_BOOT_MAX_UNTIL 8
#define US_BOOT_ELSEWHERE                                                              \
	"-serial stdio, since the command connects the serial port elsewhere"

/* Large: paths and tables. */
struct us_boot_variant {
	/* What the user asks for. */
	const char *name;	      /* NULL: it is the only one */
	struct us_plugin_asked asked; /* the command and the symbol files */
	const char *until[US_BOOT_MAX_UNTIL];
	size_t n_until;
	const char *by; /* a way (cmd/boot/ways.h); NULL: the best */
	uint64_t timeout_ns;

	struct us_plugin_run run; /* the images, the folder */
	size_t kernel; /* index of the booted image; number of images: none */
	unsigned way;  /* enum us_boot_way: a set */
	struct us_boot_events *events;	    /* of the host's KVM; NULL: not observed */
	struct us_plugin_command with;	    /* the plugin */
	char **plain;			    /* the command as it is */
	char **traced;			    /* with a trace of devices; NULL: none */
	char **stubbed;			    /* with a stub; NULL: none */
	char **logged;			    /* with a log; NULL: none */
	struct us_boot_linux *linux_kernel; /* NULL: it is not a Linux boot image */
	struct us_boot_plan plan;
	bool is_pc;	/* the guest may be an x86 machine */
	bool elsewhere; /* what QEMU's guest writes does not come to standard output */
	char vmm[32], file[US_PLUGIN_PATH], stub[US_PLUGIN_PATH];
	char trace[US_PLUGIN_PATH]; /* a pipe; "": none */
	char stub_word[US_PLUGIN_PATH + 32];
	char filter[1024];	      /* addresses for the log (-dfilter) */
	char monitor[US_PLUGIN_PATH]; /* QEMU's monitor, to find where its guest is */
	char monitor_word[US_PLUGIN_PATH + 32];
	/* Why some points are not observed; "": all are.  In general; for what KVM
	 * does; for functions; for devices. */
	char unseen[600], unseen_kvm[600], unseen_code[600], unseen_device[100];
	/* The virtio devices that the guest used in a finished boot. */
	char device[200];
	size_t n_device;
	/* The kernel's first function, and how it was found; "": it has a usual name,
	 * or the user chose the end. */
	char first[300];
	struct us_boot_run *seen;
	size_t n_seen;
};

/* Does the command have one of these options?  Both arrays end with NULL. */
bool us_boot_variant_has(char *const *argv, const char *const *options);
/* The booted image, if that is certain, and the bias of its addresses (ret_bias may be
 * NULL); NULL: none. */
const struct us_elf_image *us_boot_variant_kernel(const struct us_boot_variant *v,
						  uint64_t *ret_bias);
/* Make room for n runs; asked.argv, until and the files must be set. */
US_MUST_CHECK int us_boot_variant_prepare(struct us_boot_variant *v, size_t n,
					  struct us_err *e);
/* Add a run to `seen`; it must pass all wanted points. */
US_MUST_CHECK int us_boot_variant_boot(struct us_boot_variant *v, struct us_err *e);
/* Boot with another plan and without the plugin; *ret need not be whole. */
US_MUST_CHECK int us_boot_variant_boot_alone(struct us_boot_variant *v,
					     const struct us_boot_plan *plan,
					     struct us_boot_run *ret, struct us_err *e);
/* A run that is also recorded. */
struct us_boot_recorded {
	char **argv; /* the command with a counting plugin; NULL: sample the guest */
	void (*passed)(void *ctx, size_t point); /* as in us_boot_how; may be NULL */
	/* For samples: all points are known, and the recording is about to end;
	 * start_ns: its start (CLOCK_MONOTONIC).  Called in another thread. */
	void (*finish)(void *ctx, uint64_t start_ns, struct us_writer *w);
	/* The recording is complete in this file, which is removed afterwards. */
	int (*take)(void *ctx, const char *path, struct us_err *e);
	void *ctx;
	/* As in us_boot_how; may be NULL. */
	int (*check)(void *ctx, struct us_err *e);
	struct us_boot_uses *uses;
};
/* *ret need not be whole. */
US_MUST_CHECK int us_boot_variant_boot_recorded(struct us_boot_variant *v,
						const struct us_boot_recorded *recorded,
						struct us_boot_run *ret,
						struct us_err *e);
/* 0 if the run is whole; else *e says what happened. */
US_MUST_CHECK int us_boot_variant_check(const struct us_boot_variant *v,
					const struct us_boot_run *run,
					struct us_err *e);
/* Boot with the plugin, to learn what the kernel calls (us_boot_how.called). */
US_MUST_CHECK int us_boot_variant_boot_to_search(
	struct us_boot_variant *v, const struct us_boot_plan *plan,
	bool (*called)(void *ctx, uint64_t to, bool jump), void *ctx, struct us_err *e);
/* Accepts a zeroed one. */
void us_boot_variant_fini(struct us_boot_variant *v);

#endif

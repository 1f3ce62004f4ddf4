/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h: the points that a boot passes, in the order in which they are shown.
 *
 * The boundaries are the same whatever starts the guest: the execution of the VMM's
 * program, the first instruction of a vCPU, the kernel's entry, and so on.  What cannot
 * be seen of a run is left out of it, and said.
 */
#ifndef US_BOOT_PLAN_H
#define US_BOOT_PLAN_H

#include "base/err.h"
#include "boot/entry.h"
#include "symbol/symbol.h"
#include "vmm/plugin_boot.h"

#include <regex.h>
#include <stdbool.h>

#define US_BOOT_MAX_POINT 24
#define US_BOOT_NAME	  96

enum us_boot_kind {
	US_BOOT_LAUNCH, /* the VMM's program is executed: 0 */
	US_BOOT_VM,	/* the VMM has asked KVM for a machine, and has it */
	US_BOOT_VCPU,	/* the VMM has made the first vCPU */
	US_BOOT_START,	/* the guest's first instruction, of its firmware if it has one
			 */
	US_BOOT_SECTOR, /* a PC's firmware has loaded the first sector of a disk */
	US_BOOT_ENTRY,	/* the kernel's first instruction */
	US_BOOT_SYMBOL, /* a function's first instruction */
	US_BOOT_PORT,	/* a byte for the first serial port of a PC */
	US_BOOT_SERIAL, /* the first byte that the VMM writes to its standard output */
	US_BOOT_TEXT,	/* the end of a line of it that matches */
	US_BOOT_DEVICE, /* the guest uses a device that is not of every machine */
	US_BOOT_IDLE,	/* a vCPU has nothing to do, after all functions */
};

struct us_boot_point {
	enum us_boot_kind kind;
	char name[US_BOOT_NAME];
	uint64_t address[US_BOOT_MAX_ENTRY]; /* of its instruction: any of these */
	size_t n_address;
	/* Not 0: the kernel draws its place by lot, in steps of so many bytes; code:
	 * the first ones of the function. */
	uint32_t period;
	uint8_t code[US_WATCH_CODE];
	/* Its image runs wherever it is loaded (PIE): it may be a number of pages from
	 * the first address, with the same code. */
	bool anywhere;
	regex_t text; /* of US_BOOT_TEXT */
	bool wanted;  /* a run ends when all such points are passed */
};

struct us_boot_plan {
	struct us_boot_point point[US_BOOT_MAX_POINT];
	size_t n;
	bool asked; /* the user says until when; else it is what there is usually */
	bool full;  /* more were asked for than there is room for */
};

/* By what a guest is seen: several at once, besides what it writes, which always is. */
enum us_boot_way {
	US_BOOT_BY_OUTPUT = 0,
	US_BOOT_BY_BREAKPOINTS = 1 << 0, /* of QEMU: by its stub, under KVM too */
	US_BOOT_BY_PLUGIN = 1 << 1,	 /* of QEMU's TCG */
	US_BOOT_BY_EVENTS = 1 << 2,	 /* of any VMM: what the host's KVM does */
	US_BOOT_BY_SAMPLES = 1 << 3,	 /* functions that are on the stack */
	US_BOOT_BY_TRACE = 1 << 4,	 /* of QEMU: its trace of virtio devices */
	US_BOOT_BY_LOG = 1 << 5, /* of QEMU's TCG: its log of what is executed */
};
/* ways: a set. */
bool us_boot_is_seen(const struct us_boot_point *p, unsigned ways);
/* "plugin"; of one. */
const char *us_boot_way_name(enum us_boot_way way);

/* A function that no image names, but that is known. */
struct us_boot_known {
	const char *name;
	uint64_t address[US_BOOT_MAX_ENTRY];
	size_t n_address;
};

/* Where functions are looked for. */
struct us_boot_names {
	const struct us_symbols *symbols;  /* the guest's images */
	const struct us_elf_image *kernel; /* the one that is booted, or NULL */
	const struct us_boot_known *first; /* if none has a usual name; NULL: none */
	const struct us_boot_linux *linux_kernel; /* the one that is booted, or NULL */
};
/* Has an image a function of a usual name? */
bool us_boot_has_usual(const struct us_symbols *s);
/* The image with the first of these functions (until, as below), else with one of a
 * usual name; NULL: none. */
const struct us_elf_image *us_boot_image_with(const struct us_symbols *s,
					      const char *const *until, size_t n);

/*
 * until: "SYMBOL", "serial:REGEX", "first-idle", n of them; none: the first function of
 * the usual names that the images have (in any case, and with any underscores before
 * them), and what follows it as far as it comes soon.
 * -ENOTSUP: what is asked for cannot be seen in this way; -ENOENT: no such function,
 * the hint names those that are near; -EINVAL: no such expression; -E2BIG: too many.
 */
US_MUST_CHECK int us_boot_plan_make(struct us_boot_plan *p, const char *const *until,
				    size_t n, const struct us_boot_names *names,
				    unsigned ways, struct us_err *e);
/* The first point of this kind; SIZE_MAX: there is none. */
size_t us_boot_point_of(const struct us_boot_plan *p, enum us_boot_kind kind);
/* The last one that is wanted. */
size_t us_boot_goal(const struct us_boot_plan *p);
void us_boot_plan_fini(struct us_boot_plan *p);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h: the points that a boot passes, in the order in which they are shown.
 *
 * The points are the same whatever starts the guest: the execution of the VMM's
 * program, the first instruction of a vCPU, the kernel's entry, and so on.  Points that
 * cannot be observed in a run are left out, and the user is told.
 */
#ifndef US_BOOT_PLAN_H
#define US_BOOT_PLAN_H

#include "base/err.h"
#include "boot/entry.h"
#include "boot/linux_file.h"
#include "symbol/symbol.h"
#include "vmm/plugin_boot.h"

#include <regex.h>
#include <stdbool.h>

#define US_BOOT_MAX_POINT 24
#define US_BOOT_NAME	  96

#define US_BOOT_TEXT_IS "serial:" /* what a point of US_BOOT_TEXT begins with */

enum us_boot_kind {
	US_BOOT_LAUNCH, /* the VMM's program is executed: time 0 */
	US_BOOT_VM,	/* the VMM has created a VM in KVM */
	US_BOOT_VCPU,	/* the VMM has created the first vCPU */
	US_BOOT_START,	/* the guest's first instruction, in its firmware if any */
	US_BOOT_SECTOR, /* a PC's firmware has loaded the first sector of a disk */
	US_BOOT_ENTRY,	/* the kernel's first instruction */
	US_BOOT_SYMBOL, /* a function's first instruction */
	US_BOOT_PORT,	/* a byte for the first serial port of a PC */
	US_BOOT_SERIAL, /* the first byte that the VMM writes to its standard output */
	US_BOOT_TEXT,	/* the end of an output line that matches */
	US_BOOT_DEVICE, /* the guest uses a device that not every machine has */
	US_BOOT_IDLE,	/* a vCPU becomes idle, after all functions */
};

struct us_boot_point {
	enum us_boot_kind kind;
	char name[US_BOOT_NAME];
	uint64_t address[US_BOOT_MAX_ENTRY]; /* of its instruction: one of these */
	size_t n_address;
	/* The image's code at each of them; has_expected: it is known. */
	uint8_t expected[US_BOOT_MAX_ENTRY][US_WATCH_CODE];
	bool has_expected[US_BOOT_MAX_ENTRY];
	/* Not 0: the kernel chooses a random address, in steps of this many bytes.
	 * code: the function's first bytes. */
	uint32_t period;
	uint8_t code[US_WATCH_CODE];
	/* Its image is position-independent (PIE): the code may be any number of pages
	 * from the first address. */
	bool anywhere;
	/* Other instructions that pass the point, at any page. */
	struct us_boot_linux_efi paged[US_BOOT_LINUX_EFI];
	size_t n_paged;
	regex_t text; /* for US_BOOT_TEXT */
	bool wanted;  /* a run ends when it has passed all such points */
};

struct us_boot_plan {
	struct us_boot_point point[US_BOOT_MAX_POINT];
	size_t n;
	bool asked; /* the user chose the end; else the usual points */
	bool full;  /* more points were requested than fit */
};

/* The ways to observe a guest: several at once, in addition to its output, which is
 * always read. */
enum us_boot_way {
	US_BOOT_BY_OUTPUT = 0,
	US_BOOT_BY_BREAKPOINTS = 1 << 0, /* QEMU: its GDB stub, also under KVM */
	US_BOOT_BY_PLUGIN = 1 << 1,	 /* QEMU's TCG: the plugin */
	US_BOOT_BY_EVENTS = 1 << 2,	 /* any VMM: events of the host's KVM */
	US_BOOT_BY_SAMPLES = 1 << 3,	 /* functions on sampled stacks */
	US_BOOT_BY_TRACE = 1 << 4,	 /* QEMU: its trace of virtio devices */
	US_BOOT_BY_LOG = 1 << 5,	 /* QEMU's TCG: its log of executed blocks */
};
/* Can the point be observed?  ways: a set. */
bool us_boot_is_seen(const struct us_boot_point *p, unsigned ways);
/* Is it seen in what the VMM writes? */
bool us_boot_is_output(enum us_boot_kind kind);
/* The name of one way: "plugin", ... */
const char *us_boot_way_name(enum us_boot_way way);

/* A known function that no image names. */
struct us_boot_known {
	const char *name;
	uint64_t address[US_BOOT_MAX_ENTRY];
	size_t n_address;
};

/* Where to look for functions. */
struct us_boot_names {
	const struct us_symbols *symbols;  /* the guest's images */
	const struct us_elf_image *kernel; /* the one that is booted, or NULL */
	/* The first function, if none has a usual name; NULL: none. */
	const struct us_boot_known *first;
	const struct us_boot_linux *linux_kernel; /* the booted one, or NULL */
	const char *no_image; /* why there is none; NULL or "": there are some */
	bool is_pc;	      /* its firmware may load a boot sector */
};
/* Does an image have a function with a usual name? */
bool us_boot_has_usual(const struct us_symbols *s);
/* The image with the first of these functions (until: as below), else with one of a
 * usual name; NULL: none. */
const struct us_elf_image *us_boot_image_with(const struct us_symbols *s,
					      const char *const *until, size_t n);

/*
 * until: n of "SYMBOL", "serial:REGEX", "first-idle".  None: the first function with a
 * usual name that the images have (in upper or lower case, with any number of leading
 * underscores), and later points that come soon after.  -ENOTSUP: a requested point
 * cannot be observed in this way; -ENOENT: no such function, and the hint has similar
 * names; -EINVAL: not a regular expression; -E2BIG: too many.
 */
US_MUST_CHECK int us_boot_plan_make(struct us_boot_plan *p, const char *const *until,
				    size_t n, const struct us_boot_names *names,
				    unsigned ways, struct us_err *e);
/* The first point of this kind; SIZE_MAX: none. */
size_t us_boot_point_of(const struct us_boot_plan *p, enum us_boot_kind kind);
/* The last wanted point. */
size_t us_boot_goal(const struct us_boot_plan *p);
void us_boot_plan_fini(struct us_boot_plan *p);

#endif

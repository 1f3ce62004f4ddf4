/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmdline.h: what the command line of a VMM says about its guest.
 *
 * The command line is the VMM's claim, and the VMM may be anybody's program: every
 * value is bounded, what cannot be understood is left out, and nothing is opened.
 */
#ifndef US_VMM_CMDLINE_H
#define US_VMM_CMDLINE_H

#include "vmm/guest_list.h"

#define US_CMDLINE_MONITORS 4
#define US_CMDLINE_PIECES   8

struct us_cmdline {
	char name[64];
	char kernel[PATH_MAX]; /* as written */
	char boot[PATH_MAX];   /* QEMU: the file of the first drive, or of -bios, from
				  which it may boot without a kernel; as written */
	char config[PATH_MAX]; /* a file with more settings (Firecracker), as written */
	char counts[PATH_MAX]; /* QEMU: the file that its plugin counts in
				  (plugin_counts.h), as written */
	char machine[64];      /* QEMU: -machine type, as written */
	char cpu[64];	       /* QEMU: -cpu, as written */
	char protection[16];   /* how the guest is protected from its host: "SEV",
				  "SEV-ES", "SEV-SNP", "TDX", "CCA", "encryption"; ""
				  if it is not */
	uint64_t below_4g;     /* QEMU: -machine max-ram-below-4g; 0: not given */
	enum us_accel accel;   /* the first choice; UNKNOWN: neither KVM nor TCG */
	bool tcg_fallback;     /* KVM first, but TCG if KVM is not available */
	uint64_t memory;       /* bytes; 0: not given */
	unsigned cpus;	       /* 0: not given */
	bool stopped;	       /* QEMU -S: it waits for "cont" */
	bool daemon; /* QEMU -daemonize: relative names cannot be resolved any more */
	bool jailed; /* QEMU -chroot: it opens its files before it changes its root, and
			leaves its folder, as with -daemonize */
	bool debug_threads; /* QEMU names its threads */
	bool libvirt; /* libvirt started this QEMU, and is connected to its monitor */

	/* QEMU's memory backends in guest-physical order, in bytes, if RAM consists of
	 * them; n 0: RAM is one piece. */
	uint64_t piece[US_CMDLINE_PIECES];
	unsigned n_piece;
	bool memory_devices; /* QEMU: memory beyond that, as pc-dimm or virtio-mem */

	/* Where a monitor or a stub listens: "/path" (as written) or "host:port". */
	char qmp[US_CMDLINE_MONITORS][US_ENDPOINT_SIZE];
	unsigned n_qmp;
	char gdb[US_ENDPOINT_SIZE]; /* "" if none */
};

/* Name of the VMM that an executable is: "qemu" for the system emulators of QEMU
 * under any name, else the last part of the path without " (deleted)". */
void us_vmm_name(const char *exe, char *ret, size_t size);

/* Does uniscope know the command line and memory layout of the VMM with this name? */
bool us_vmm_is_known(const char *vmm);

/* Which processor a QEMU emulates, in its own words ("x86_64", "arm"): from the
 * program's name, and from -cpu if one program has two kinds; "" if these do not tell.
 */
void us_qemu_processor(const char *exe, const char *cpu, char *ret, size_t size);

/* Parse the command line of the VMM called vmm (us_vmm_name); argv[0] is skipped.
 * false: according to it, the VMM runs no guest.  For an unknown VMM: true, and nothing
 * is filled in. */
bool us_cmdline_parse(const char *vmm, unsigned argc, const char *const argv[],
		      struct us_cmdline *ret);

/*
 * Value of a key in option text as QEMU writes it: "implied,key=value,flag,noflag",
 * ",," for a comma in a value; the last one counts.  A flag has the value "on".  A flag
 * that begins with "no" has the value "off" under its name without "no".  implied may
 * be NULL.  false: not there, or longer than size.  Text that begins with "{" is a JSON
 * object: the value is the member of that name, a string, a number or "on"/"off";
 * implied has no meaning there.
 */
bool us_option_get(const char *text, const char *implied, const char *key, char *ret,
		   size_t size);

/* "512", "1.5G", "0x100k": bytes; a number without suffix counts in `unit`. */
bool us_option_size(const char *text, uint64_t unit, uint64_t *ret);

/* The parser for QEMU (qemu-options.hx); called by us_cmdline_parse(). */
bool us_qemu_cmdline_parse(unsigned argc, const char *const argv[],
			   struct us_cmdline *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux_file.h: a Linux kernel for x86 as a boot image (bzImage): where it is entered,
 * and where its functions are, from the symbol table inside it (kallsyms).
 *
 * The image contains the compressed kernel (symbol/payload.h).  With KASLR the kernel
 * chooses a random address after decompression, in steps of CONFIG_PHYSICAL_ALIGN.
 */
#ifndef US_BOOT_LINUX_FILE_H
#define US_BOOT_LINUX_FILE_H

#include "backend/bpf/boot_shared.h"
#include "base/err.h"
#include "vmm/plugin_boot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The least step that its configuration permits (arch/x86/Kconfig). */
#define US_BOOT_LINUX_STEP (2U << 20)

/* PE's, and that of the handover protocol. */
#define US_BOOT_LINUX_EFI 2

/* An entry at any page, in which it has this offset. */
struct us_boot_linux_efi {
	uint64_t offset;
	uint8_t code[US_WATCH_CODE];
};

struct us_boot_linux;

/* moves: the command line does not have nokaslr.  A kernel whose functions cannot be
 * read is not an error: us_boot_linux_why() says why ("": they can be read).  -ENOENT:
 * not such an image; -ENOMEM. */
US_MUST_CHECK int us_boot_linux_open(const char *path, bool moves,
				     struct us_boot_linux **ret, struct us_err *e);
void us_boot_linux_close(struct us_boot_linux *l); /* accepts NULL */
const char *us_boot_linux_why(const struct us_boot_linux *l);
bool us_boot_linux_moves(const struct us_boot_linux *l);
/* Entry of its 32-bit code, as loaded, where it decompresses itself. */
uint64_t us_boot_linux_entry(const struct us_boot_linux *l);
/* The entries of its EFI stub, at which EFI firmware or its loader may start it
 * instead. Returns their number. */
size_t us_boot_linux_efi(const struct us_boot_linux *l,
			 struct us_boot_linux_efi ret[US_BOOT_LINUX_EFI]);
/* The range in which its code may be: where it decompresses itself, and where it then
 * runs. */
struct us_boot_code us_boot_linux_code_of(const struct us_boot_linux *l);
/* Address of a function, as linked; 0: no such function. */
uint64_t us_boot_linux_function(const struct us_boot_linux *l, const char *name);
void us_boot_linux_each(const struct us_boot_linux *l,
			void (*visit)(void *ctx, const char *name), void *ctx);
/* Read the first n bytes of code at an address. */
bool us_boot_linux_code(const struct us_boot_linux *l, uint64_t address, uint8_t *ret,
			size_t n);

#endif

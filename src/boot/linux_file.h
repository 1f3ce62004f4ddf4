/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux_file.h: a Linux kernel for x86 as a boot image (bzImage): where it is entered,
 * and where its functions are, by the table that it carries for itself (kallsyms).
 *
 * The kernel is packed in the image (symbol/payload.h).  With KASLR it draws its place
 * by lot, in steps of CONFIG_PHYSICAL_ALIGN, when it has unpacked itself.
 */
#ifndef US_BOOT_LINUX_FILE_H
#define US_BOOT_LINUX_FILE_H

#include "backend/bpf/boot_shared.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The least step that its configuration permits (arch/x86/Kconfig). */
#define US_BOOT_LINUX_STEP (2U << 20)

struct us_boot_linux;

/* moves: it was not told to stay (nokaslr).  One whose functions cannot be read is no
 * error: us_boot_linux_why() says why, "": they can.  -ENOENT: that is no such image;
 * -ENOMEM. */
US_MUST_CHECK int us_boot_linux_open(const char *path, bool moves,
				     struct us_boot_linux **ret, struct us_err *e);
void us_boot_linux_close(struct us_boot_linux *l); /* accepts NULL */
const char *us_boot_linux_why(const struct us_boot_linux *l);
bool us_boot_linux_moves(const struct us_boot_linux *l);
/* Of its 32-bit code, once it is loaded: where it unpacks itself. */
uint64_t us_boot_linux_entry(const struct us_boot_linux *l);
/* Where its code may lie: where it unpacks itself, and where it runs then. */
struct us_boot_code us_boot_linux_code_of(const struct us_boot_linux *l);
/* As linked; 0: there is none of this name. */
uint64_t us_boot_linux_function(const struct us_boot_linux *l, const char *name);
void us_boot_linux_each(const struct us_boot_linux *l,
			void (*visit)(void *ctx, const char *name), void *ctx);
/* The first n bytes of code there. */
bool us_boot_linux_code(const struct us_boot_linux *l, uint64_t address, uint8_t *ret,
			size_t n);

#endif

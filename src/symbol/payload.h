/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * payload.h: what a boot image holds in compressed form.
 *
 * Supported are x86's bzImage (Linux: Documentation/arch/x86/boot.rst, payload_offset),
 * EFI zboot images (drivers/firmware/efi/libstub/zboot-header.S), and files that are
 * compressed as a whole; with gzip and lz4, and with xz and zstd if uniscope was built
 * with these.
 */
#ifndef US_SYMBOL_PAYLOAD_H
#define US_SYMBOL_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define US_PAYLOAD_MOST (256U << 20) /* bytes that are unpacked at most */

/*
 * Unpack the payload from the n bytes of a file, which are hostile.  Returns a memory
 * file descriptor with the result, which the caller closes; or -ENOENT: there is none;
 * -ENOTSUP: the form is not known or not built in; -EBADMSG: damaged or too large;
 * another -errno.
 */
int us_payload_unpack(const uint8_t *bytes, size_t n);

#endif

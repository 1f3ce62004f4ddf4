/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * payload.h: what a boot image holds in compressed form.
 *
 * That of x86's bzImage (Linux: Documentation/arch/x86/boot.rst, payload_offset), of an
 * EFI zboot image (drivers/firmware/efi/libstub/zboot-header.S), and of a file that is
 * compressed as a whole; by gzip and lz4, and by xz and zstd if uniscope was built with
 * these.
 */
#ifndef US_SYMBOL_PAYLOAD_H
#define US_SYMBOL_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define US_PAYLOAD_MOST (256U << 20) /* bytes that are unpacked at most */

/*
 * Unpack it from the n bytes of a file, which are hostile.  Returns a file descriptor
 * of memory with what was in it, the caller's to close; or -ENOENT: there is none,
 * -ENOTSUP: in a form that is not known or not built in, -EBADMSG: damaged or too
 * large, -errno.
 */
int us_payload_unpack(const uint8_t *bytes, size_t n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h: bytes from a guest, a file or a peer, made fit to be shown.
 *
 * Names come from files and guests that are not trusted: an escape sequence
 * in a symbol must not reach the user's terminal.
 */
#ifndef US_BASE_TEXT_H
#define US_BASE_TEXT_H

#include <stddef.h>

/* Length in bytes of the UTF-8 character at s, 1 to 4; 0 if it is not valid UTF-8
 * (overlong, surrogate, cut).  *s may be a NUL, which has length 1. */
size_t us_utf8_len(const char *s);

/*
 * Copy src to dst (size bytes with the NUL) with every control character, every
 * bidirectional override and every invalid byte replaced by '?'.  Cuts at a whole
 * character.  Returns dst.
 */
char *us_printable(char *dst, size_t size, const char *src);

/* The same in place. */
char *us_printable_inplace(char *s);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h: makes bytes from a guest, a file or a peer safe to show.
 *
 * Names come from files and guests that are not trusted: an escape sequence in a symbol
 * must not reach the user's terminal.
 */
#ifndef US_BASE_TEXT_H
#define US_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the UTF-8 character at s, 1 to 4; 0 if it is not valid UTF-8
 * (overlong, surrogate, cut).  *s may be a NUL, which has length 1. */
size_t us_utf8_len(const char *s);
/* Is a valid character of that length harmless to show?  Control characters and those
 * that change the direction of writing are not. */
bool us_utf8_shows(const char *s, size_t len);
/* The code point of a valid character of that length. */
uint32_t us_utf8_code(const char *s, size_t len);

/*
 * Copy src to dst (size bytes with the NUL) with every control character, every
 * bidirectional override and every invalid byte replaced by '?'.  Cuts at a whole
 * character.  Returns dst.
 */
char *us_printable(char *dst, size_t size, const char *src);

/*
 * The same as a word for a shell: in quotes if it needs them, and never an option.  Cut
 * if dst is too small.  Returns dst.
 */
char *us_shell_word(char *dst, size_t size, const char *src);

/* The same as us_printable(), in place. */
char *us_printable_inplace(char *s);

/* Columns that printable text takes on a terminal: East Asian characters take two,
 * combining marks none. */
size_t us_columns(const char *s);

/*
 * Make printable text fit in width columns: an ellipsis replaces its middle, or its
 * beginning (if possible up to the end of a folder).  s has size bytes with the NUL.
 * Returns s.
 */
char *us_shorten_middle(char *s, size_t size, size_t width);
char *us_shorten_left(char *s, size_t size, size_t width);

/* How many bytes of a printable text fit in width columns, up to the end of a word; of
 * a longer word, as much as fits.  At least one character. */
size_t us_wrap_length(const char *s, size_t width);

/* Write n at p in decimal, with at least so many digits (20 at most), without a NUL;
 * returns the byte after them.  Where millions of lines are written, printf() would
 * take most of the time. */
char *us_put_u64(char *p, uint64_t n, unsigned least);

/* An extended regular expression that matches text itself, without anchors; cut at
 * size.  Returns dst. */
char *us_regex_of(char *dst, size_t size, const char *text);

/* Like snprintf(), but appends to the text in dst; cut at size. */
void us_append(char *dst, size_t size, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif

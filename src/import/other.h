/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import/other.h: recognizes what users take for folded stacks, so that they learn what
 * it is and not only in which line it fails.
 */
#ifndef US_IMPORT_OTHER_H
#define US_IMPORT_OTHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An unpacked profile.proto of pprof?  Only its outermost fields are looked at. */
bool us_import_is_pprof(const uint8_t *bytes, size_t n);

/* Is a line that is no stack the head of a sample in the text of perf script? */
bool us_import_is_script(const uint8_t *line, size_t n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol/namesakes.h: which of the functions of one name in an image a symbol is. */
#ifndef US_SYMBOL_NAMESAKES_H
#define US_SYMBOL_NAMESAKES_H

#include "symbol/elf_image.h"

/* By symbol: how many of the same name are before it.  The caller frees it.  NULL: out
 * of memory. */
uint32_t *us_number_namesakes(const struct us_elf_symbol *v, size_t n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_list.h: what nm prints, as an image: `nm FILE`, sorted or not, with sizes (-S)
 * or without; Linux's System.map has the same form.
 *
 * A line is ADDRESS [SIZE] TYPE NAME, all numbers hexadecimal.  The types T, t, W, w
 * and i are functions; the others tell where these end.
 */
#ifndef US_SYMBOL_SYMBOL_LIST_H
#define US_SYMBOL_SYMBOL_LIST_H

#include "symbol/elf_image.h"

/*
 * An image of the functions in the file, whose code is not known.  Where they lie in
 * groups that are more than 1 GiB apart (code for the boot, linked low), the largest
 * group.  -ENOEXEC: it is no such list; the file is hostile.
 */
US_MUST_CHECK int us_symbol_list_open(const char *path, struct us_elf_image **ret,
				      struct us_err *e);

#endif

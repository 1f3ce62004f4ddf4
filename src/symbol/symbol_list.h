/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_list.h: reads the output of nm as an image: `nm FILE`, sorted or not, with
 * sizes (-S) or without.  Linux's System.map has the same form.
 *
 * A line is ADDRESS [SIZE] TYPE NAME, all numbers hexadecimal.  The types T, t, W, w
 * and i are functions; other symbols mark where these end.  Or all lines are ADDRESS
 * NAME (Bochs's symbol files, xv6's kernel.sym): then all are taken for functions but
 * names that begin with a dot, and what is at 0.
 */
#ifndef US_SYMBOL_SYMBOL_LIST_H
#define US_SYMBOL_SYMBOL_LIST_H

#include "symbol/elf_image.h"

/*
 * Make an image of the functions in the file, whose code is not known.  If they are in
 * groups more than 1 GiB apart (boot code, linked low), only the largest group is used.
 * -ENOEXEC: not such a list; -EINVAL: a list with a line of another kind, or without
 * addresses.  The file is hostile.
 */
US_MUST_CHECK int us_symbol_list_open(const char *path, struct us_elf_image **ret,
				      struct us_err *e);

#endif

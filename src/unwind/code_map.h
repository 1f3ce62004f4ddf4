/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_map.h: questions to the sorted starts of an image's functions (unwind.h). */
#ifndef US_UNWIND_CODE_MAP_H
#define US_UNWIND_CODE_MAP_H

#include "unwind/unwind.h"

/* Is start, an address of the image's own, that of a part that no caller enters? */
bool us_code_map_is_part(const struct us_code_map *m, us_gva start);

/*
 * Does code begin at pc into which the code before it does not run, as a compiler made
 * one of the two of what it split off a function (f.cold)?  Then a CALL right before pc
 * never returns.  Before other starts, which may be labels in assembly, it may.
 */
bool us_code_map_is_cut(const struct us_code_map *map, us_gpa root, us_gva pc);

#endif

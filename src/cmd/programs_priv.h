/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_priv.h: what programs.c and programs_read.c share. */
#ifndef US_CMD_PROGRAMS_PRIV_H
#define US_CMD_PROGRAMS_PRIV_H

#include "cmd/programs.h"

/* Samples that were in no known mapping, now that more are.  Locked. */
void us_programs_see_unknown(struct us_programs *p);

#endif

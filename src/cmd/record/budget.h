/* SPDX-License-Identifier: GPL-2.0-or-later */
/* budget.h: the default limit on the share of a guest's time that a recording may
 * take. */
#ifndef US_CMD_BUDGET_H
#define US_CMD_BUDGET_H

#include "vmm/guest_list.h"

#define US_BUDGET_HELP "2; TCG: 20" /* the defaults, in percent */

/* In millionths. */
uint32_t us_budget_default_ppm(enum us_accel accel);

/* Why it is not the usual default, in words; NULL: it is. */
const char *us_budget_why(enum us_accel accel);

#endif

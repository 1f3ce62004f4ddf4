/* SPDX-License-Identifier: GPL-2.0-or-later */
/* budget.c: see budget.h. */
#include "cmd/record/budget.h"

#define USUAL_PPM 20000

/* A guest in production may hardly be disturbed; emulated guests are not in
 * production. */
static const struct {
	enum us_accel accel;
	uint32_t ppm;
	const char *why;
} budgets[] = {
	{ US_ACCEL_TCG, 200000, "QEMU's TCG emulates it" },
};

#define N_BUDGETS (sizeof(budgets) / sizeof(*budgets))

uint32_t us_budget_default_ppm(enum us_accel accel)
{
	for (size_t i = 0; i < N_BUDGETS; i++)
		if (budgets[i].accel == accel)
			return budgets[i].ppm;
	return USUAL_PPM;
}

const char *us_budget_why(enum us_accel accel)
{
	for (size_t i = 0; i < N_BUDGETS; i++)
		if (budgets[i].accel == accel)
			return budgets[i].why;
	return NULL;
}

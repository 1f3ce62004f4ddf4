// SPDX-License-Identifier: GPL-2.0-or-later
// live_options.c: how often to sample, and what that may cost.
#include "cmd/record/live_options.h"
#include "cmd/record/waits.h"

static bool set_budget(struct us_record_settings *s, const char *value)
{
	double percent;
	if (!us_parse_percent("--budget", value, 0.001, 100, &percent))
		return false;
	s->schedule.budget_ppm = percent >= 100 ? 0 : (uint32_t)(percent * 1e4);
	s->budget_given = true;
	return true;
}

bool us_live_set(struct us_record_settings *s, int id, const char *value)
{
	switch (id) {
	case 'F':
		s->rate_given = true;
		return us_parse_rate("-F", value, 0.01, 1e6, &s->schedule.hz);
	case US_LIVE_BUDGET:
		return set_budget(s, value);
	case US_LIVE_TASKS:
		return us_parse_rate("--tasks", value, 0.1, US_WAITS_MOST_HZ,
				     &s->tasks_hz);
	}
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end_signals.c: see end_signals.h. */
#include "cmd/end_signals.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_ignored(int sig)
{
	struct sigaction now;
	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void us_end_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	/* Blocked and waited for, an ignored signal would come all the same. */
	if (!is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
}

void us_end_signals_catch(void (*handler)(int sig))
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction a = { .sa_handler = handler };
	sigset_t set;
	us_end_signals(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigismember(&set, ends[i]))
			sigaction(ends[i], &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

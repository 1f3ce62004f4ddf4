/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * end_signals.h: the signals that ask a command to end well.
 *
 * These are SIGINT, SIGTERM and SIGHUP.  An ignored SIGHUP is none of them: that is how
 * nohup says that the command outlives its terminal.  An ignored SIGINT is, as a
 * script's shell ignores it for each job in the background, and the script may still
 * send it.
 */
#ifndef US_CMD_END_SIGNALS_H
#define US_CMD_END_SIGNALS_H

#include <signal.h>

void us_end_signals(sigset_t *ret);

/* Have them call the handler.  SIGPIPE is ignored from now on. */
void us_end_signals_catch(void (*handler)(int sig));

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_stop.c: see job_stop.h. */
#include "base/job_stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define WAIT_US 500

enum { NONE, ASKED, STOPS };

/* A signal handler and all threads need them, so they cannot be anything but global. */
static atomic_int stop;
static atomic_uint n_held;

/* A thread counts its hold before it looks at stop, and here it is the other way round:
 * one of the two always sees the other. */
static void stop_if_free(void)
{
	int asked = ASKED;
	if (atomic_load(&n_held) ||
	    !atomic_compare_exchange_strong(&stop, &asked, STOPS))
		return;
	raise(SIGSTOP);
	atomic_store(&stop, NONE);
}

static void ask(void)
{
	int none = NONE;
	atomic_compare_exchange_strong(&stop, &none, ASKED);
	stop_if_free();
}

/* A system call that the terminal refuses in the background begins again after this,
 * and is refused again for as long as something is held. */
static void on_signal(int sig)
{
	int saved = errno;
	(void)sig;
	ask();
	errno = saved;
}

void us_job_stop_catch(void)
{
	static const int stops[] = { SIGTSTP, SIGTTIN, SIGTTOU };
	/* A wait for a vCPU that is about to stop must not be cut short. */
	const struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction now;
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (sigaction(stops[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaction(stops[i], &a, NULL);
}

void us_job_stop(void)
{
	ask();
	while (atomic_load(&stop) != NONE)
		usleep(WAIT_US);
}

bool us_job_hold(void)
{
	atomic_fetch_add(&n_held, 1);
	if (atomic_load(&stop) == NONE)
		return true;
	us_job_let_go();
	return false;
}

void us_job_hold_wait(void)
{
	while (!us_job_hold())
		usleep(WAIT_US);
}

void us_job_let_go(void)
{
	atomic_fetch_sub(&n_held, 1);
	stop_if_free();
}

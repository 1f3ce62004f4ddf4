/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/patience.c: see kvm/patience.h. */
#include "backend/kvm/patience.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id /* before glibc 2.37 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

static void do_nothing(int sig)
{
	(void)sig;
}

/* Some threads of uniscope block all signals. */
static void take_signal(void)
{
	const struct sigaction nothing = { .sa_handler = do_nothing };
	struct sigaction now;
	sigset_t alone;
	if (sigaction(SIGALRM, NULL, &now) == 0 &&
	    (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
		sigaction(SIGALRM, &nothing, NULL);
	sigemptyset(&alone);
	sigaddset(&alone, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alone, NULL);
}

void us_kvm_patience_open(struct us_kvm_patience *p)
{
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGALRM };
	to.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	take_signal();
	p->there = timer_create(CLOCK_MONOTONIC, &to, &p->timer) == 0;
}

void us_kvm_patience_close(struct us_kvm_patience *p)
{
	if (p->there)
		timer_delete(p->timer);
	p->there = false;
}

/* Repeated: the first signal may come before the call that it is to interrupt. */
void us_kvm_patience_begin(const struct us_kvm_patience *p, uint64_t ns)
{
	const struct itimerspec late = { { 0, US_KVM_PATIENCE_NS }, { 0, (long)ns } };
	if (p->there)
		timer_settime(p->timer, 0, &late, NULL);
}

void us_kvm_patience_end(const struct us_kvm_patience *p)
{
	static const struct itimerspec never = { 0 };
	if (p->there)
		timer_settime(p->timer, 0, &never, NULL);
}

static void stops(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
}

void us_kvm_stops_expect(sigset_t *ret_before)
{
	sigset_t set;
	stops(&set);
	pthread_sigmask(SIG_BLOCK, &set, ret_before);
}

bool us_kvm_stops_sleep(uint64_t until_ns)
{
	uint64_t now_ns = us_now_ns();
	uint64_t ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec t = { .tv_sec = (time_t)(ns / US_NS_PER_SEC),
				    .tv_nsec = (long)(ns % US_NS_PER_SEC) };
	sigset_t set;
	stops(&set);
	return sigtimedwait(&set, NULL, &t) >= 0 || errno == EAGAIN;
}

void us_kvm_stops_forget(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

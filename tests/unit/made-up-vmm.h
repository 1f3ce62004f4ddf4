/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made-up-vmm.h: a process that has memory like a VMM but runs nothing. */
#ifndef US_TEST_MADE_UP_VMM_H
#define US_TEST_MADE_UP_VMM_H

#include "unit.h"

#include "vmm/guest_list.h"
#include "vmm/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void end_made_up(const struct us_guest *g)
{
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
}

/* be(what) makes the memory, in the process. False: it could not, and there is none. */
static inline bool begin_made_up(struct us_guest *g, bool (*be)(const void *),
				 const void *what)
{
	int ready[2];
	char c;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	g->pid = fork();
	assert_true(g->pid >= 0);
	if (!g->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = be(what) ? 'y' : 'n';
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	int proc = us_proc_open(g->pid);
	struct us_proc_stat s;
	assert_int_equal(us_proc_stat(proc, &s), 0);
	close(proc);
	g->start_time = s.start_time;
	if (c == 'y')
		return true;
	end_made_up(g);
	return false;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal.h: a terminal that stops this process, and continues it a second later. */
#ifndef US_TEST_TERMINAL_H
#define US_TEST_TERMINAL_H

#include "unit.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/job_stop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERMINAL_STOP_NS US_NS_PER_SEC

static inline bool terminal_has_stopped(pid_t pid)
{
	char path[32], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (us_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	const char *name_end = strrchr(text, ')');
	return name_end && !strncmp(name_end, ") T", 3);
}

/* Ctrl-Z: this process is stopped as soon as it holds nothing. */
static inline pid_t terminal_stop(void)
{
	pid_t self = getpid();
	us_job_stop_catch();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!terminal_has_stopped(self))
			usleep(1000);
		usleep(TERMINAL_STOP_NS / 1000);
		_exit(kill(self, SIGCONT) != 0);
	}
	raise(SIGTSTP);
	return pid;
}

/* It was, and goes on. */
static inline void terminal_continued(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	signal(SIGTSTP, SIG_DFL);
}

#endif

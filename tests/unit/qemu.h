/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu.h: start a real QEMU for a test, and end it whatever the test did. */
#ifndef US_TEST_QEMU_H
#define US_TEST_QEMU_H

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define QEMU "qemu-system-x86_64"

struct qemu {
	pid_t pid;
	char dir[32]; /* private, for sockets */
	char qmp[64]; /* "" unless asked for */
};

static inline bool have_program(const char *name)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null 2>&1", name);
	return system(cmd) == 0;
}

static inline bool have_kvm(void)
{
	return access("/dev/kvm", R_OK | W_OK) == 0;
}

/* The words of args (separated by blanks) follow "qemu-system-x86_64 -display none
 * -nodefaults"; %s in them is the private folder. */
static inline void qemu_start(struct qemu *q, const char *args)
{
	char line[1024], dir_line[1024],
		*argv[64] = { QEMU, "-display", "none", "-nodefaults" };
	*q = (struct qemu){ .dir = "/tmp/us-test-XXXXXX" };
	assert_non_null(mkdtemp(q->dir));
	snprintf(q->qmp, sizeof(q->qmp), "%s/qmp", q->dir);
	size_t at = 0;
	for (const char *p = args; *p && at + 40 < sizeof(dir_line); p++) {
		if (p[0] == '%' && p[1] == 's') {
			at += (size_t)snprintf(dir_line + at, sizeof(dir_line) - at,
					       "%s", q->dir);
			p++;
		} else {
			dir_line[at++] = *p;
		}
	}
	dir_line[at] = '\0';
	snprintf(line, sizeof(line), "%s", dir_line);
	int n = 4;
	for (char *w = strtok(line, " "); w && n < 60; w = strtok(NULL, " "))
		argv[n++] = w;
	argv[n] = NULL;
	q->pid = fork();
	assert_true(q->pid >= 0);
	if (q->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
}

/* A socket has its name before it listens, and refuses until then. */
static inline bool qemu_is_ready(const char *path)
{
	struct stat st;
	char line[512];
	if (stat(path, &st) < 0)
		return false;
	if (!S_ISSOCK(st.st_mode))
		return true;
	FILE *f = fopen("/proc/net/unix", "re");
	bool listens = false;
	while (f && !listens && fgets(line, sizeof(line), f)) {
		unsigned flags;
		line[strcspn(line, "\n")] = '\0';
		const char *name = strrchr(line, ' ');
		listens = name && !strcmp(name + 1, path) &&
			  sscanf(line, "%*s %*x %*x %x", &flags) == 1 &&
			  flags == 0x10000; /* __SO_ACCEPTCON */
	}
	if (f)
		fclose(f);
	return listens;
}

/* Wait until a file is there, and listens if it is a socket; false if QEMU ended first.
 */
static inline bool qemu_wait_file(struct qemu *q, const char *path)
{
	for (int i = 0; i < 3000; i++) {
		if (qemu_is_ready(path))
			return true;
		if (waitpid(q->pid, NULL, WNOHANG) == q->pid) {
			q->pid = 0;
			return false;
		}
		usleep(10000);
	}
	return false;
}

/* For so long, after a while. The process that sees to it. */
static inline pid_t qemu_stall_after(const struct qemu *q, unsigned after_ms,
				     unsigned ms)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	usleep(after_ms * 1000);
	kill(q->pid, SIGSTOP);
	usleep(ms * 1000);
	kill(q->pid, SIGCONT);
	_exit(0);
}

static inline pid_t qemu_stall(const struct qemu *q, unsigned ms)
{
	return qemu_stall_after(q, 200, ms);
}

static inline void qemu_stop(struct qemu *q)
{
	if (q->pid > 0) {
		kill(q->pid, SIGKILL);
		waitpid(q->pid, NULL, 0);
		q->pid = 0;
	}
	if (q->dir[0]) {
		char cmd[64];
		snprintf(cmd, sizeof(cmd), "rm -rf %s", q->dir);
		assert_int_equal(system(cmd), 0);
		q->dir[0] = '\0';
	}
}

#endif

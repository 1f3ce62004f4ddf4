/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.c: see browser.h. */
#include "cmd/browser.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

bool us_browser_is_there(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	return (x && *x) || (wayland && *wayland);
}

/* Browsers refuse to run as root. */
static bool become_user(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (geteuid() || !uid || !gid)
		return true;
	gid_t g = (gid_t)strtoul(gid, NULL, 10);
	return !setgroups(1, &g) && !setgid(g) &&
	       !setuid((uid_t)strtoul(uid, NULL, 10));
}

static void child(const char *url)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	setsid();
	if (become_user())
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(127);
}

static bool is_installed(void)
{
	return system("command -v xdg-open >/dev/null 2>&1") == 0;
}

bool us_browser_open(const char *url)
{
	if (!is_installed())
		return false;
	/* Fork twice: nobody has to wait for the process that stays. */
	pid_t pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			child(url);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

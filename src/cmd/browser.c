/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.c: see browser.h. */
#include "cmd/browser.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_GROUPS 256

bool us_browser_is_there(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	return (x && *x) || (wayland && *wayland);
}

/* Whom to start it as, and the command.  All is looked up before fork(): other threads
 * may hold the C library's locks. */
struct start {
	bool change;
	uid_t uid;
	gid_t gid, groups[MOST_GROUPS];
	int n_group;
	char env[5][PATH_MAX + 32];
	const char *argv[16];
};

static void add_arg(struct start *s, const char *arg)
{
	size_t n = 0;
	while (s->argv[n])
		n++;
	s->argv[n] = arg;
}

static void set(struct start *s, int i, const char *key, const char *value)
{
	snprintf(s->env[i], sizeof(s->env[i]), "%s=%s", key, value);
	add_arg(s, s->env[i]);
}

/* As after a login.  "env" drops what was root's where the user has none. */
static void add_environment(struct start *s, const struct passwd *user)
{
	char dir[64], bus[96];
	snprintf(dir, sizeof(dir), "/run/user/%u", (unsigned)user->pw_uid);
	snprintf(bus, sizeof(bus), "unix:path=%s/bus", dir);
	bool has_dir = access(dir, F_OK) == 0;
	bool has_bus = access(bus + strlen("unix:path="), F_OK) == 0;
	static const char *const drop[] = { "env", "-u", "XDG_RUNTIME_DIR", "-u",
					    "DBUS_SESSION_BUS_ADDRESS" };
	for (size_t i = 0; i < sizeof(drop) / sizeof(*drop); i++)
		add_arg(s, drop[i]);
	set(s, 0, "HOME", user->pw_dir);
	set(s, 1, "USER", user->pw_name);
	set(s, 2, "LOGNAME", user->pw_name);
	if (has_dir)
		set(s, 3, "XDG_RUNTIME_DIR", dir);
	if (has_bus)
		set(s, 4, "DBUS_SESSION_BUS_ADDRESS", bus);
}

/* Browsers refuse to run as root, and would use root's settings. */
static void prepare(struct start *s, const char *url)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (!geteuid() && uid && gid) {
		s->change = true;
		s->uid = (uid_t)strtoul(uid, NULL, 10);
		s->gid = s->groups[0] = (gid_t)strtoul(gid, NULL, 10);
		s->n_group = 1;
		const struct passwd *user = getpwuid(s->uid);
		int n = MOST_GROUPS;
		if (user && getgrouplist(user->pw_name, s->gid, s->groups, &n) > 0)
			s->n_group = n;
		if (user)
			add_environment(s, user);
	}
	add_arg(s, "xdg-open");
	add_arg(s, url);
}

static bool become_user(const struct start *s)
{
	return !s->change || (!setgroups((size_t)s->n_group, s->groups) &&
			      !setgid(s->gid) && !setuid(s->uid));
}

static void child(const struct start *s)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	setsid();
	if (become_user(s))
		execvp(s->argv[0], (char **)s->argv);
	_exit(127);
}

static bool is_installed(void)
{
	return system("command -v xdg-open >/dev/null 2>&1") == 0;
}

bool us_browser_open(const char *url)
{
	struct start s = { 0 };
	if (!is_installed())
		return false;
	prepare(&s, url);
	/* Fork twice: nobody has to wait for the process that stays. */
	pid_t pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			child(&s);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.c: see launch.h. */
#include "vmm/launch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"
#include "vmm/launch_args.h"
#include "vmm/launch_guard.h"
#include "vmm/proc.h"
#include "vmm/qemu_user.h"
#include "vmm/qmp.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#define POLL_US	      5000
#define MOST_POLL_US  200000
#define TERM_GRACE_MS 3000
#define MAX_ANCESTORS 16
#define SETTLE_ROUNDS 3
#define SERVE_ROUNDS  400

struct us_launch {
	pid_t pid;
	unsigned n_vcpu, settled; /* of what it has started: for how many looks */
	bool ended;
	int status;
	int out, error; /* its standard output and error; -1: ours */
	uint64_t exec_ns;
	char shown[64]; /* argv[0] */
	char dir[US_LAUNCH_PATH];
	char qmp[US_LAUNCH_PATH + 16], gdb[US_LAUNCH_PATH + 16],
		start[US_LAUNCH_PATH + 16];
	struct us_qmp *monitor; /* on start.sock, from wait() to go() */
	bool owned;		/* its user gave it a monitor, too */
	bool must_go;		/* -S was added, and go() has not run yet */
	struct us_launch_guard guard;
	bool has_modes;
	struct termios modes; /* of the terminal, before the VMM could change them */
};

static int make_dir(char *ret, size_t size)
{
	const char *base = getenv("TMPDIR");
	/* A socket's path must be short, and a comma would end QEMU's option. */
	if (!base || base[0] != '/' || strlen(base) > US_LAUNCH_PATH - 40 ||
	    strchr(base, ','))
		base = "/tmp";
	snprintf(ret, size, "%s/uniscope-XXXXXX", base);
	return mkdtemp(ret) ? 0 : -errno; /* mode 0700 */
}

static void remove_dir(struct us_launch *l)
{
	if (!l->dir[0])
		return;
	if (l->qmp[0]) {
		unlink(l->qmp);
		unlink(l->start);
	}
	if (l->gdb[0])
		unlink(l->gdb);
	rmdir(l->dir);
}

/* In the child: become the VMM.  Writes to report when that is, and on failure also the
 * errno. */
static void become(const struct us_launch *l, char *const argv[], int report)
{
	static const int defaults[] = { SIGINT,	 SIGQUIT, SIGTERM, SIGHUP,
					SIGPIPE, SIGCHLD, SIGTSTP, SIGXFSZ };
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		signal(defaults[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A session without a controlling terminal: the VMM may read and write the
	 * terminal and set its modes, but the terminal never stops or interrupts it. */
	setsid();
	int code = 0;
	if (l->out >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		code = errno;
	uint64_t now = us_now_ns();
	if ((l->out >= 0 && dup2(l->out, STDOUT_FILENO) < 0) ||
	    (l->error >= 0 && dup2(l->error, STDERR_FILENO) < 0))
		code = errno;
	if (write(report, &now, sizeof(now)) < 0)
		code = errno;
	if (!code) {
		execvp(argv[0], argv);
		code = errno;
	}
	(void)!write(report, &code, sizeof(code));
	_exit(127);
}

static int start_child(struct us_launch *l, char *const argv[])
{
	int report[2], code = 0;
	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	l->pid = fork();
	if (l->pid == 0)
		become(l, argv, report[1]);
	close(report[1]);
	if (l->pid < 0)
		code = errno;
	else if (us_read_full(report[0], &l->exec_ns, sizeof(l->exec_ns)) < 0)
		code = EIO;
	else if (us_read_full(report[0], &code, sizeof(code)) == sizeof(code))
		waitpid(l->pid, NULL, 0);
	else
		code = 0;
	close(report[0]);
	if (code)
		l->pid = 0;
	return -code;
}

static int fail_start(struct us_launch *l, int code, struct us_err *e)
{
	us_fail(e, code, "start %s: %s", l->shown, strerror(-code));
	if (code == -ENOENT)
		us_hint(e, "is it installed, and in the PATH?");
	return code;
}

static int start_watched(struct us_launch *l, char *const argv[], struct us_err *e)
{
	struct us_launch_args args;
	int r = make_dir(l->dir, sizeof(l->dir));
	if (r < 0) {
		us_fail(e, r, "start %s: make the folder %s: %s", l->shown, l->dir,
			strerror(-r));
		us_hint(e, "name a folder that you may write to: TMPDIR=DIR uniscope "
			   "...");
		l->dir[0] = '\0';
		return r;
	}
	r = us_launch_args_make(argv, l->dir, &args);
	if (r < 0)
		return us_fail(e, r, "start %s: out of memory", l->shown);
	if (args.daemon) {
		us_launch_args_fini(&args);
		us_fail(e, -EINVAL, "start %s: with -daemonize it cannot be watched",
			l->shown);
		us_hint(e, "leave -daemonize out, or start it and name its pid");
		return -EINVAL;
	}
	if (args.qemu) {
		snprintf(l->qmp, sizeof(l->qmp), "%s/qmp.sock", l->dir);
		snprintf(l->start, sizeof(l->start), "%s/start.sock", l->dir);
	}
	if (args.gdb)
		snprintf(l->gdb, sizeof(l->gdb), "%s/gdb.sock", l->dir);
	l->owned = args.owned;
	l->must_go = args.stop;
	/* Start the guard before there is anything to guard. */
	r = l->must_go ? us_launch_guard_start(&l->guard, l->start) : 0;
	if (r == 0)
		r = start_child(l, args.argv);
	us_launch_args_fini(&args);
	return r < 0 ? fail_start(l, r, e) : 0;
}

static int start_plain(struct us_launch *l, char *const argv[], struct us_err *e)
{
	int r = start_child(l, argv);
	return r < 0 ? fail_start(l, r, e) : 0;
}

/* Nothing would ever come of it, and its user would wait for that. */
static int fail_user_mode(const struct us_launch *l, struct us_err *e)
{
	us_fail(e, -EINVAL,
		"start %s: this is QEMU's user mode: it runs a program, and has no "
		"guest",
		l->shown);
	us_hint(e, "a guest needs qemu-system-ARCH; perf profiles programs");
	return -EINVAL;
}

static int start(char *const argv[], int out, int error,
		 int (*how)(struct us_launch *l, char *const argv[], struct us_err *e),
		 struct us_launch **ret, struct us_err *e)
{
	if (!argv || !argv[0] || !argv[0][0])
		return us_fail(e, -EINVAL, "start a VMM: no command was given");
	struct us_launch *l = calloc(1, sizeof(*l));
	if (!l)
		return us_fail(e, -ENOMEM, "start a VMM: out of memory");
	us_printable(l->shown, sizeof(l->shown), argv[0]);
	l->out = out;
	l->error = error;
	l->guard = us_launch_guard_none();
	l->has_modes = tcgetattr(STDIN_FILENO, &l->modes) == 0;
	int r = how(l, argv, e);
	if (r == 0 && us_qemu_user_is(l->pid))
		r = fail_user_mode(l, e);
	if (r < 0)
		us_launch_close(l);
	else
		*ret = l;
	return r;
}

int us_launch_start(char *const argv[], struct us_launch **ret, struct us_err *e)
{
	return start(argv, -1, -1, start_watched, ret, e);
}

int us_launch_start_plain(char *const argv[], struct us_launch **ret, struct us_err *e)
{
	return start(argv, -1, -1, start_plain, ret, e);
}

int us_launch_start_to(char *const argv[], int out, int error, struct us_launch **ret,
		       struct us_err *e)
{
	return start(argv, out, error, start_plain, ret, e);
}

static int fail_ended(struct us_launch *l, struct us_err *e)
{
	if (WIFSIGNALED(l->status))
		us_fail(e, -ECHILD,
			"wait for the guest of %s: it was killed by signal %d",
			l->shown, WTERMSIG(l->status));
	else
		us_fail(e, -ECHILD,
			"wait for the guest of %s: it ended with status %d before it "
			"had a guest",
			l->shown, WEXITSTATUS(l->status));
	us_hint(e, "see its output above; try the command alone");
	return -ECHILD;
}

static pid_t parent_of(pid_t pid)
{
	_cleanup_close_ int proc = us_proc_open(pid);
	char text[4096];
	int parent;
	if (proc < 0 || us_read_file(proc, "status", text, sizeof(text)) <= 0)
		return 0;
	const char *at = strstr(text, "\nPPid:");
	return at && sscanf(at, "\nPPid: %d", &parent) == 1 ? parent : 0;
}

static bool descends_from(pid_t pid, pid_t ancestor)
{
	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
		if (pid == ancestor)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* The process itself, or one that it has started. */
static bool find_guest(struct us_launch *l, struct us_guest *ret)
{
	if (us_guest_inspect(l->pid, ret, NULL) == 0)
		return true;
	struct us_guest_list list;
	if (us_guest_list_scan(&list, NULL) < 0)
		return false;
	bool found = false;
	for (size_t i = 0; !found && i < list.n; i++) {
		found = descends_from(list.v[i].pid, l->pid);
		if (found)
			*ret = list.v[i];
	}
	us_guest_list_fini(&list);
	return found;
}

/* QEMU is ready when its monitor answers and names a thread for each vCPU. */
static bool qemu_is_ready(struct us_launch *l, struct us_guest *g)
{
	if (!l->monitor && (access(l->start, F_OK) < 0 ||
			    us_qmp_open(l->start, &l->monitor, NULL) < 0))
		return false;
	if (!find_guest(l, g) || us_guest_vcpus_from_monitor(g, l->monitor, NULL) < 0)
		return false;
	snprintf(g->qmp, sizeof(g->qmp), "qmp:%s", l->qmp);
	g->qmp_is_ours = !l->owned;
	if (l->gdb[0])
		snprintf(g->gdb, sizeof(g->gdb), "gdb:%s", l->gdb);
	return g->n_vcpu > 0;
}

/* A VMM makes its monitor and stub later than its process, and its vCPUs last. */
static bool serves(const char *endpoint)
{
	return !endpoint[0] || us_socket_server_pid(endpoint + 4) > 0;
}

/* It is not known how many vCPUs are still to come: wait until their number settles,
 * and for a while until what its command line offers is there. */
static bool other_is_ready(struct us_launch *l, struct us_guest *g)
{
	bool same = find_guest(l, g) && g->n_vcpu == l->n_vcpu;
	l->settled = same ? l->settled + 1 : 0;
	l->n_vcpu = g->n_vcpu;
	return l->settled >= SETTLE_ROUNDS &&
	       (l->settled >= SERVE_ROUNDS || (serves(g->qmp) && serves(g->gdb)));
}

/* Looking at all processes of a large host takes long: leave it most of its CPU. */
static int sleep_after(uint64_t look_ns)
{
	uint64_t us = look_ns * 4 / US_NS_PER_US;
	us = us < POLL_US ? POLL_US : us > MOST_POLL_US ? MOST_POLL_US : us;
	return usleep((useconds_t)us) < 0 ? -errno : 0;
}

int us_launch_wait(struct us_launch *l, unsigned timeout_ms, struct us_guest *ret,
		   struct us_err *e)
{
	_cleanup_free_ struct us_guest *g = calloc(1, sizeof(*g));
	if (!g)
		return us_fail(e, -ENOMEM, "wait for the guest of %s: out of memory",
			       l->shown);
	uint64_t deadline = us_now_ns() + timeout_ms * US_NS_PER_MS;
	for (uint64_t began; (began = us_now_ns()) < deadline;) {
		if (us_launch_ended(l, NULL))
			return fail_ended(l, e);
		bool ready = l->start[0] ? qemu_is_ready(l, g) : other_is_ready(l, g);
		if (ready) {
			*ret = *g;
			return 0;
		}
		if (sleep_after(us_now_ns() - began) == -EINTR)
			return us_fail(e, -EINTR,
				       "wait for the guest of %s: interrupted",
				       l->shown);
	}
	us_fail(e, -ETIMEDOUT, "wait for the guest of %s: none appeared within %u ms",
		l->shown, timeout_ms);
	us_hint(e, "is it a VMM? 'uniscope ps' lists the processes that uniscope "
		   "recognizes as guests");
	return -ETIMEDOUT;
}

int us_launch_go(struct us_launch *l, struct us_err *e)
{
	if (!l->must_go)
		return 0;
	int r = 0;
	if (!l->monitor)
		r = us_qmp_open(l->start, &l->monitor, e);
	if (r == 0)
		r = us_qmp_run(l->monitor, "cont", NULL, NULL, e);
	if (r < 0) {
		us_wrap(e, "let the guest of %s run", l->shown);
		return r;
	}
	l->must_go = false;
	us_launch_guard_dismiss(&l->guard);
	us_qmp_close(l->monitor);
	l->monitor = NULL;
	return 0;
}

uint64_t us_launch_exec_ns(const struct us_launch *l)
{
	return l->exec_ns;
}

pid_t us_launch_pid(const struct us_launch *l)
{
	return l->pid;
}

const char *us_launch_qmp(const struct us_launch *l)
{
	return l->qmp;
}

const char *us_launch_gdb(const struct us_launch *l)
{
	return l->gdb;
}

/* As waitpid() gives it. */
static int status_of(const siginfo_t *i)
{
	if (i->si_code == CLD_EXITED)
		return (i->si_status & 0xff) << 8;
	return i->si_status | (i->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* It is reaped only when it is closed: until then its number, and so its process group,
 * cannot become another's. */
bool us_launch_ended(struct us_launch *l, int *ret_status)
{
	siginfo_t i = { 0 };
	if (!l->ended &&
	    waitid(P_PID, (id_t)l->pid, &i, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    i.si_pid == l->pid) {
		l->ended = true;
		l->status = status_of(&i);
	}
	if (l->ended && ret_status)
		*ret_status = l->status;
	return l->ended;
}

static void end_child(struct us_launch *l)
{
	/* Its session is also its process group, so this ends what it has started, too,
	 * even if it has ended itself. */
	kill(-l->pid, SIGTERM);
	uint64_t deadline = us_now_ns() + TERM_GRACE_MS * US_NS_PER_MS;
	while (!us_launch_ended(l, NULL) && us_now_ns() < deadline)
		usleep(POLL_US);
	if (!l->ended)
		kill(-l->pid, SIGKILL);
	(void)!waitpid(l->pid, NULL, 0);
}

void us_launch_close(struct us_launch *l)
{
	if (!l)
		return;
	us_qmp_close(l->monitor);
	us_launch_guard_dismiss(&l->guard);
	if (l->pid > 0)
		end_child(l);
	remove_dir(l);
	/* In the background, tcsetattr() would stop uniscope. */
	if (l->has_modes && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSADRAIN, &l->modes);
	free(l);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is at the other end of a connection, and whom a server has for a client. */
#include "unit.h"

#include "vmm/socket.h"
#include "vmm/socket_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a client, before and after it has gone, at a server that does not notice. */
static void expect_client(const char *endpoint, int listener)
{
	struct us_err e;
	pid_t pid;
	assert_int_equal(us_socket_find_client(endpoint, &pid), US_SOCKET_FREE);
	assert_int_equal(us_socket_server_pid(endpoint), getpid());
	int fd = us_socket_connect(endpoint, 1000, &e);
	assert_true(fd >= 0);
	int served = accept(listener, NULL, NULL);
	assert_true(served >= 0);
	assert_int_equal(us_socket_peer_pid(fd), getpid());
	assert_int_equal(us_socket_find_client(endpoint, &pid), US_SOCKET_TAKEN);
	assert_int_equal(pid, getpid());
	char who[160], want[32];
	snprintf(want, sizeof(want), " (pid %d)", (int)getpid());
	assert_non_null(
		strstr(us_socket_name_client(endpoint, "x", who, sizeof(who)), want));
	close(fd);
	assert_string_equal(us_socket_name_client(endpoint, "x", who, sizeof(who)),
			    "x");
	assert_int_equal(us_socket_find_client(endpoint, &pid), US_SOCKET_FREE);
	assert_int_equal(pid, 0);
	close(served);
}

static void of_a_tcp_connection(void **state)
{
	(void)state;
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	for (size_t i = 0; i < 2; i++) {
		struct sockaddr_storage a = { 0 };
		struct sockaddr_in *a4 = (void *)&a;
		struct sockaddr_in6 *a6 = (void *)&a;
		a.ss_family = i ? AF_INET6 : AF_INET;
		inet_pton(a.ss_family, hosts[i],
			  i ? (void *)&a6->sin6_addr : (void *)&a4->sin_addr);
		int l = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		socklen_t n = i ? sizeof(*a6) : sizeof(*a4);
		if (l < 0 || bind(l, (void *)&a, n) < 0) {
			print_message("# SKIP %s: no such address here\n", hosts[i]);
			close(l);
			continue;
		}
		assert_int_equal(listen(l, 1), 0);
		assert_int_equal(getsockname(l, (void *)&a, &n), 0);
		char endpoint[64];
		snprintf(endpoint, sizeof(endpoint), i ? "[%s]:%d" : "%s:%d", hosts[i],
			 ntohs(i ? a6->sin6_port : a4->sin_port));
		expect_client(endpoint, l);
		close(l);
		assert_int_equal(us_socket_server_pid(endpoint), 0);
	}
	assert_int_equal(us_socket_peer_pid(0), 0);
}

struct server {
	char folder[64], path[96];
	int fd;
};

static void server_start(struct server *s, bool relative)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char here[PATH_MAX];
	snprintf(s->folder, sizeof(s->folder), "/tmp/uniscope-peer-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(s->folder), 0);
	snprintf(s->path, sizeof(s->path), "%s/stub", s->folder);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", relative ? "stub" : s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(listen(s->fd, 4), 0);
}

static void server_stop(struct server *s)
{
	close(s->fd);
	unlink(s->path);
	rmdir(s->folder);
}

/* Without sock_diag nobody can say that a client has gone. */
static bool kernel_says(const struct server *s)
{
	pid_t pid;
	struct us_err e;
	int fd = us_socket_connect(s->path, 1000, &e);
	enum us_socket_client c = us_socket_find_client(s->path, &pid);
	close(fd);
	if (c == US_SOCKET_PERHAPS)
		print_message("# SKIP: this kernel has no unix_diag\n");
	close(accept(s->fd, NULL, NULL));
	return c != US_SOCKET_PERHAPS;
}

static void of_a_unix_connection(void **state)
{
	(void)state;
	/* QEMU takes the path as it is given, which need not be absolute. */
	for (int relative = 0; relative < 2; relative++) {
		struct server s;
		server_start(&s, relative);
		if (!kernel_says(&s)) {
			server_stop(&s);
			skip();
		}
		expect_client(s.path, s.fd);
		server_stop(&s);
		assert_int_equal(us_socket_server_pid(s.path), 0);
	}
}

/* A child with a pid below ours that lives until we end it; -1: not permitted. */
static pid_t fork_below(void)
{
	for (pid_t want = getpid() - 1; want > 300; want--) {
		if (kill(want, 0) == 0 || errno != ESRCH)
			continue;
		struct clone_args a = { .exit_signal = SIGCHLD,
					.set_tid = (uint64_t)(uintptr_t)&want,
					.set_tid_size = 1 };
		long pid = syscall(SYS_clone3, &a, sizeof(a));
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (pid > 0 || errno != EEXIST)
			return (pid_t)pid;
	}
	return -1;
}

/* A watchdog has its parent's connection, and may be found first. */
static void of_a_child_that_was_given_it(void **state)
{
	(void)state;
	struct server s;
	struct us_err e;
	pid_t pid = 0;
	server_start(&s, false);
	if (!kernel_says(&s)) {
		server_stop(&s);
		skip();
	}
	int fd = us_socket_connect(s.path, 1000, &e);
	int served = accept(s.fd, NULL, NULL);
	pid_t child = fork_below();
	if (child < 0)
		print_message("# SKIP: no pid may be chosen here\n");
	else
		assert_int_equal(us_socket_find_client(s.path, &pid), US_SOCKET_TAKEN);
	close(fd);
	close(served);
	server_stop(&s);
	if (child < 0)
		skip();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(child < getpid());
	assert_int_equal(pid, getpid());
}

/* One that is gone and one that is there, as it is when a debugger follows another. */
static void of_two_clients(void **state)
{
	(void)state;
	struct server s;
	struct us_err e;
	pid_t pid;
	server_start(&s, false);
	if (!kernel_says(&s)) {
		server_stop(&s);
		skip();
	}
	int first = us_socket_connect(s.path, 1000, &e);
	int served = accept(s.fd, NULL, NULL);
	close(first);
	int second = us_socket_connect(s.path, 1000, &e);
	assert_int_equal(us_socket_find_client(s.path, &pid), US_SOCKET_TAKEN);
	close(second);
	assert_int_equal(us_socket_find_client(s.path, &pid), US_SOCKET_FREE);
	close(served);
	server_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_tcp_connection),
		cmocka_unit_test(of_a_unix_connection),
		cmocka_unit_test(of_a_child_that_was_given_it),
		cmocka_unit_test(of_two_clients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

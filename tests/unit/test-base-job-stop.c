/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that the terminal stops, stops only while it holds nothing. */
#include "unit.h"

#include "base/job_stop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child says on its pipe, in this order. */
#define HELD   'h'
#define LET_GO 'l'
#define LATER  'a'

static void say(int fd, char c)
{
	if (write(fd, &c, 1) != 1)
		_exit(2);
}

static char hear(int fd)
{
	char c = 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

/* Run body in a process of its own.  Returns its pid; *ret_fd is what it says. */
static pid_t begin(void (*body)(int fd), int *ret_fd)
{
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	pid_t pid = fork();
	if (!pid) {
		close(fd[0]);
		us_job_stop_catch();
		body(fd[1]);
		_exit(0);
	}
	close(fd[1]);
	*ret_fd = fd[0];
	return pid;
}

static void wait_stopped(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
}

static void wait_end(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void hold_and_let_go(int fd)
{
	if (!us_job_hold())
		_exit(1);
	raise(SIGTSTP);
	say(fd, HELD);	   /* still running */
	if (us_job_hold()) /* nothing more is held now */
		_exit(1);
	say(fd, LET_GO);
	us_job_let_go(); /* here it stops */
	say(fd, LATER);
	us_job_hold_wait();
	us_job_let_go();
}

static void test_waits_for_the_hold(void **state)
{
	int fd;
	(void)state;
	pid_t pid = begin(hold_and_let_go, &fd);
	wait_stopped(pid);
	assert_int_equal(hear(fd), HELD);
	assert_int_equal(hear(fd), LET_GO);
	kill(pid, SIGCONT);
	assert_int_equal(hear(fd), LATER);
	wait_end(pid);
	close(fd);
}

static void stop_at_once(int fd)
{
	raise(SIGTTOU);
	say(fd, LATER);
}

static void test_stops_at_once(void **state)
{
	int fd;
	(void)state;
	pid_t pid = begin(stop_at_once, &fd);
	wait_stopped(pid);
	kill(pid, SIGCONT);
	assert_int_equal(hear(fd), LATER);
	wait_end(pid);
	close(fd);
}

static void *hold_often(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 2000; i++) {
		us_job_hold_wait();
		usleep(20);
		us_job_let_go();
	}
	return NULL;
}

static void hold_in_threads(int fd)
{
	pthread_t other[2];
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&other[i], NULL, hold_often, NULL);
	for (unsigned i = 0; i < 10; i++) {
		usleep(1000);
		us_job_stop(); /* whatever the others do */
		say(fd, LATER);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(other[i], NULL);
}

static void test_threads(void **state)
{
	int fd;
	(void)state;
	pid_t pid = begin(hold_in_threads, &fd);
	for (unsigned i = 0; i < 10; i++) {
		wait_stopped(pid);
		kill(pid, SIGCONT);
		assert_int_equal(hear(fd), LATER);
	}
	wait_end(pid);
	close(fd);
}

static void ignore(int fd)
{
	signal(SIGTSTP, SIG_IGN);
	us_job_stop_catch();
	raise(SIGTSTP);
	say(fd, LATER);
}

static void test_ignored_stays_ignored(void **state)
{
	int fd;
	(void)state;
	pid_t pid = begin(ignore, &fd);
	assert_int_equal(hear(fd), LATER);
	wait_end(pid);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_the_hold),
		cmocka_unit_test(test_stops_at_once),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_ignored_stays_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

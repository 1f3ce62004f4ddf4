/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.c: see folder.h. */
#include "cmd/folder.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* This process may hang forever: close its standard streams, so that nobody who waits
 * for the end of our output waits for it. */
static void ask(const char *path, int to)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fd != to)
			close(fd);
	char there = is_folder(path) ? 1 : 0;
	_exit(write(to, &there, 1) == 1 ? 0 : 1);
}

static bool hear(int fd, char *ret)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;
	while ((n = poll(&p, 1, 1000 * US_FOLDER_WAIT_S)) < 0 && errno == EINTR)
		;
	return n > 0 && read(fd, ret, 1) == 1;
}

enum us_folder us_folder_look(const char *path)
{
	_cleanup_close_ int from = -1;
	int fd[2], status;
	char there = 0;
	pid_t child = pipe2(fd, O_CLOEXEC) == 0 ? fork() : -1;
	if (child < 0) /* assume that it answers */
		return is_folder(path) ? US_FOLDER_THERE : US_FOLDER_NONE;
	if (child == 0)
		ask(path, fd[1]);
	from = fd[0];
	close(fd[1]);
	bool heard = hear(from, &there);
	if (!heard)
		kill(child, SIGKILL);
	(void)waitpid(child, &status, heard ? 0 : WNOHANG);
	return !heard ? US_FOLDER_SILENT : there ? US_FOLDER_THERE : US_FOLDER_NONE;
}

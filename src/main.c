/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c: the table of subcommands. */
#include "cmd/cmd.h"

#include "base/job_stop.h"
#include "base/nearest.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct us_cmd *const us_cmds[] = {
	&us_cmd_ps,    &us_cmd_top,    &us_cmd_record, &us_cmd_boot,	 &us_cmd_count,
	&us_cmd_trace, &us_cmd_replay, &us_cmd_report, &us_cmd_annotate, &us_cmd_diff,
	&us_cmd_serve, &us_cmd_dump,   &us_cmd_import, &us_cmd_doctor,	 NULL,
};

static void print_commands(FILE *out)
{
	fputs("uniscope: profiles virtual machine guests from the host\n\n"
	      "usage: uniscope COMMAND [OPTIONS] ...\n\ncommands:\n",
	      out);
	for (const struct us_cmd *const *c = us_cmds; *c; c++)
		fprintf(out, "  %-8s %s\n", (*c)->name, (*c)->summary);
	fputs("\nMore: uniscope COMMAND --help, or man uniscope.\n"
	      "first steps: uniscope ps; uniscope record -d 5; uniscope report\n",
	      out);
}

/* A full disk behind stdout must not pass as success. */
static int finish(int code)
{
	int bad = ferror(stdout);
	if (fflush(stdout) != 0)
		bad = 1;
	if (!bad)
		return code;
	if (errno != EPIPE)
		fprintf(stderr, "uniscope: write to standard output: %s\n",
			strerror(errno));
	return code ? code : US_EXIT_FAILED;
}

/* If a standard stream is closed, the next file or socket would get its number, and
 * output would go to a VMM.  Fill the number with a file that can be neither read nor
 * written, so that using the stream fails as before. */
static bool take_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	if (!take_closed_streams())
		return US_EXIT_FAILED;
	/* A file that may not grow should be an error with a message, not a fatal
	 * signal. */
	signal(SIGXFSZ, SIG_IGN);
	us_job_stop_catch();
	const char *name = argc > 1 ? argv[1] : "";
	char shown[64], question[64];
	if (!strcmp(name, "--version")) {
		puts("uniscope " US_VERSION);
		return finish(US_EXIT_OK);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_commands(stdout);
		return finish(US_EXIT_OK);
	}
	for (const struct us_cmd *const *c = us_cmds; *c; c++)
		if (!strcmp(name, (*c)->name))
			return finish((*c)->run(argc - 1, argv + 1));
	struct us_nearest near = us_nearest_to(name);
	for (const struct us_cmd *const *c = us_cmds; *c; c++)
		us_nearest_try(&near, (*c)->name);
	if (*name)
		fprintf(stderr, "uniscope: %s: no such command%s\n\n",
			us_printable(shown, sizeof(shown), name),
			us_nearest_question(&near, question, sizeof(question)));
	print_commands(stderr);
	return US_EXIT_USAGE;
}

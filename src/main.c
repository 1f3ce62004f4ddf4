/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c: the table of subcommands. */
#include "cmd/cmd.h"

const struct us_cmd *const us_cmds[] = { NULL };

int main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? US_EXIT_USAGE : US_EXIT_OK;
}

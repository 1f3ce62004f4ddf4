/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.h: the facts in every recording about how, when and where it was made. */
#ifndef US_CMD_FACTS_H
#define US_CMD_FACTS_H

#include <stddef.h>

struct us_common_facts {
	char command[1024]; /* words separated by spaces; truncated if long */
	char started[32];   /* now */
	char host[300];
};

/* argv: NULL-terminated. */
void us_common_facts(struct us_common_facts *f, char *const *argv);

#endif

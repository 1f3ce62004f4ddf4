/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_names.h: the names of this machine, by which others may reach a server here. */
#ifndef US_HTTP_OWN_NAMES_H
#define US_HTTP_OWN_NAMES_H

#include <stdbool.h>

/* Ask for the full DNS name, once for this process and in a thread of its own: where no
 * DNS server answers this takes long, and nobody waits. */
void us_own_names_ask(void);
/* Is the Host field this machine's host name, or its full name if that is known? */
bool us_own_names_have(const char *host);

#endif

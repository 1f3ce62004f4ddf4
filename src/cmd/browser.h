/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.h: show a URL to the user. */
#ifndef US_CMD_BROWSER_H
#define US_CMD_BROWSER_H

#include <stdbool.h>

/* Is there a display, and a user that may use it? */
bool us_browser_is_there(void);
/* By xdg-open, as the user who has called sudo if one has; it is not waited for.
 * False: there is no such program. */
bool us_browser_open(const char *url);

#endif

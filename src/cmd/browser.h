/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.h: show a URL to the user. */
#ifndef US_CMD_BROWSER_H
#define US_CMD_BROWSER_H

#include <stdbool.h>

/* Is there a display that the user may use? */
bool us_browser_is_there(void);
/* Open it with xdg-open, as the user who called sudo if there is one; does not wait.
 * False: there is no such program. */
bool us_browser_open(const char *url);

#endif

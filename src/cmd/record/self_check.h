/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * self_check.h: `uniscope doctor --bpf`: tests a backend on this host, with a guest
 * whose true profile is known (vmm/demo_guest.h).
 */
#ifndef US_CMD_SELF_CHECK_H
#define US_CMD_SELF_CHECK_H

/* Test the backend, and print "pass" or what differs; takes some seconds.  enum
 * us_exit. */
int us_self_check(const char *backend);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * self_check.h: `uniscope doctor --bpf`: a backend is tried on a guest that states its
 * truth (vmm/demo_guest.h), on the host that it shall serve.
 */
#ifndef US_CMD_SELF_CHECK_H
#define US_CMD_SELF_CHECK_H

/* Check that backend, and print pass or what differs; some seconds.  enum us_exit. */
int us_self_check(const char *backend);

#endif

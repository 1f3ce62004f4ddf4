/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h: give up what is not needed once the guest is attached. */
#ifndef US_CMD_RIGHTS_H
#define US_CMD_RIGHTS_H

/*
 * Keep of all capabilities only CAP_SYS_PTRACE (reading the VMM's memory) and
 * CAP_DAC_READ_SEARCH (reading symbol files), and forbid gaining any by exec.
 * Call before threads are started. Does nothing for a process without capabilities.
 */
void us_rights_drop(void);

#endif

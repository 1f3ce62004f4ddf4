/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/probe.h: can this guest be sampled through QEMU's monitor?  By what is known of
 * its process: nobody is asked; and what the monitor adds to that. */
#ifndef US_BACKEND_QMP_PROBE_H
#define US_BACKEND_QMP_PROBE_H

#include "backend/backend.h"
#include "vmm/qmp.h"

/* Has it a monitor that may be asked, and a processor whose registers that shows?  0:
 * no, and why says what helps. */
int us_qmp_is_offered(const struct us_target *t, struct us_err *why);

/* As us_backend_ops.probe: the same, and how its memory would be read. */
int us_qmp_probe(const struct us_target *t, struct us_err *why);

/* Refuse an encrypted guest, by what the monitor says: what QEMU shows of it is not
 * what is in it. */
US_MUST_CHECK int us_qmp_refuse_protected(struct us_qmp *q, struct us_err *e);

#endif

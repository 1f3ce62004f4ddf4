/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/probe.h: can this guest be sampled through QEMU's monitor?  By what is known of
 * its process: nobody is asked. */
#ifndef US_BACKEND_QMP_PROBE_H
#define US_BACKEND_QMP_PROBE_H

#include "backend/backend.h"

/* Has it a monitor that may be asked, and a processor whose registers that shows?  0:
 * no, and why says what helps. */
int us_qmp_is_offered(const struct us_target *t, struct us_err *why);

/* As us_backend_ops.probe: the same, and how its memory would be read. */
int us_qmp_probe(const struct us_target *t, struct us_err *why);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port_insn.h: which port an x86 instruction accesses, as far as its block tells. */
#ifndef US_TRACE_PORT_INSN_H
#define US_TRACE_PORT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PORT_NONE	 (-1) /* no port access */
#define US_PORT_UNKNOWN	 (-2)
#define US_PORT_AT_START (-3) /* what dx had at the start of the block */

/*
 * Decode an instruction of n bytes, in code of any width.  Returns the port of an in,
 * out, ins or outs (0 to 65535, or US_PORT_UNKNOWN or _AT_START), else US_PORT_NONE.
 * *dx: the known value of dx before the instruction, updated to the one after it;
 * US_PORT_AT_START where the block begins.
 */
int32_t us_port_insn(const uint8_t *code, size_t n, int32_t *dx);
/* Is it an ins or outs, which may access its port several times? */
bool us_port_has_rounds(const uint8_t *code, size_t n);

#endif

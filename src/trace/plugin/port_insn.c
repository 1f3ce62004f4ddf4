/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port_insn.c: see port_insn.h.  Opcodes: Intel SDM volume 2, appendix A. */
#include "trace/plugin/port_insn.h"

#include "unwind/x86_decode.h"

#include <stdbool.h>

#define DX 2 /* as a register's number; for bytes, dl is 2 and dh is 6 */

static bool is_dx(unsigned reg, bool bytes)
{
	return reg == DX || (bytes && reg == DX + 4);
}

/* Is dx certainly unchanged?  Only for instructions that compilers put between setting
 * the port and its access; not for others.  (A byte before, such as REX, makes it
 * another instruction.) */
static bool keeps_dx(const uint8_t *op, size_t n)
{
	uint8_t o = op[0];
	unsigned reg = n > 1 ? op[1] >> 3 & 7 : DX, rm = n > 1 ? op[1] & 7 : DX;
	bool to_register = n > 1 && op[1] >> 6 == 3, bytes = !(o & 1);
	if ((o & 0xf8) == 0xb0)
		return !is_dx(o & 7, true);
	if ((o & 0xf8) == 0xb8)
		return (o & 7) != DX;
	if ((o & 0xc4) == 0 && (o & 0x38) != 0x38) /* add to xor */
		return o & 2 ? !is_dx(reg, bytes) : !to_register || !is_dx(rm, bytes);
	if ((o & 0xc6) == 0x04 || o == 0xa8 || o == 0xa9) /* al, ax and a constant */
		return true;
	switch (o) {
	case 0x38 ... 0x3b: /* cmp, test */
	case 0x84:
	case 0x85:
	case 0x90:
	case 0x50 ... 0x57:
	case 0xe4 ... 0xe7:
	case 0xec ... 0xef:
	case 0x6c ... 0x6f:
		return true;
	case 0x88: /* mov */
	case 0x89:
	case 0x80: /* with a constant, and shifts */
	case 0x81:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
		return !to_register || !is_dx(rm, bytes);
	case 0x8a:
	case 0x8b:
		return !is_dx(reg, bytes);
	case 0x0f: /* movzx, movsx */
		return n > 2 && ((op[1] & 0xf6) == 0xb6) && (op[2] >> 3 & 7) != DX;
	default:
		return false;
	}
}

/* mov $port, %dx, of 2 or 4 bytes. */
static bool sets_dx(const uint8_t *op, size_t n, int32_t *ret)
{
	if (op[0] != 0xba || (n != 3 && n != 5))
		return false;
	*ret = op[1] | op[2] << 8;
	return true;
}

static bool has_rounds(uint8_t op)
{
	return op >= 0x6c && op <= 0x6f;
}

bool us_port_has_rounds(const uint8_t *code, size_t n)
{
	size_t at = us_x86_prefixes(code, n);
	return at < n && has_rounds(code[at]);
}

int32_t us_port_insn(const uint8_t *code, size_t n, int32_t *dx)
{
	size_t at = us_x86_prefixes(code, n);
	const uint8_t *op = code + at;
	int32_t port = US_PORT_NONE;
	if (at == n) {
		*dx = US_PORT_UNKNOWN;
		return port;
	}
	if (op[0] >= 0xe4 && op[0] <= 0xe7 && n - at == 2)
		port = op[1];
	else if ((op[0] >= 0xec && op[0] <= 0xef) || has_rounds(op[0]))
		port = *dx;
	if (!sets_dx(op, n - at, dx) && !keeps_dx(op, n - at))
		*dx = US_PORT_UNKNOWN;
	return port;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-disassemble.c: any bytes as code: each piece of it once, and no more. */
#include "symbol/disassemble.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MOST 256 /* bytes of code */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		uint16_t machine;
		uint8_t bits;
	} kinds[] = { { EM_X86_64, 64 }, { EM_386, 32 }, { EM_AARCH64, 64 },
		      { EM_NONE, 64 },	 { EM_386, 16 }, { EM_X86_64, 16 } };
	static struct us_disassembler *open[6];
	if (size < 2 || size > MOST + 1)
		return 0;
	unsigned kind = data[0] % 6;
	if (!open[kind])
		open[kind] = us_disassembler_open(kinds[kind].machine,
						  kinds[kind].bits);
	size_t n = size - 1;
	uint8_t *code = malloc(n); /* its end is watched by the sanitizer */
	must(code != NULL);
	memcpy(code, data + 1, n);
	for (size_t at = 0; at < n;) {
		struct us_insn i;
		us_disassemble(open[kind], code + at, n - at, 0x1000 + at, &i);
		must(i.len && i.len <= US_INSN_BYTES && i.len <= n - at);
		must(i.addr == 0x1000 + at && !memcmp(i.bytes, code + at, i.len));
		must(memchr(i.text, '\0', sizeof(i.text)) != NULL);
		must(!open[kind] == !i.text[0]);
		at += i.len;
	}
	free(code);
	return 0;
}

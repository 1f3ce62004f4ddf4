/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mutate-section.h: libFuzzer's mutator for a target whose input is an ELF file. */
#ifndef US_FUZZ_MUTATE_SECTION_H
#define US_FUZZ_MUTATE_SECTION_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where section k has its bytes; false: there is none, or it has none. */
static bool section_bytes(const uint8_t *data, size_t size, unsigned int k,
			  size_t *ret_at, size_t *ret_len)
{
	Elf64_Ehdr h64;
	Elf32_Ehdr h32;
	Elf64_Shdr s64;
	Elf32_Shdr s32;
	if (size < sizeof(h64))
		return false;
	memcpy(&h64, data, sizeof(h64));
	memcpy(&h32, data, sizeof(h32));
	bool wide = h64.e_ident[EI_CLASS] == ELFCLASS64;
	unsigned int n = wide ? h64.e_shnum : h32.e_shnum;
	size_t entry = wide ? sizeof(s64) : sizeof(s32);
	size_t at = (wide ? h64.e_shoff : h32.e_shoff) + entry * (n ? k % n : 0);
	if (at >= size || size - at < entry)
		return false;
	memcpy(wide ? (void *)&s64 : &s32, data + at, entry);
	*ret_at = wide ? s64.sh_offset : s32.sh_offset;
	*ret_len = wide ? s64.sh_size : s32.sh_size;
	return *ret_len && *ret_len < size && *ret_at <= size - *ret_len;
}

/* Most blind changes only break the headers: change the inside of one section instead,
 * three times out of four, so that DWARF gets its share. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
			       unsigned int seed)
{
	size_t at, len;
	if (!LLVMFuzzerMutate)
		return size;
	if (seed % 4 == 0 || !section_bytes(data, size, seed / 4, &at, &len))
		return LLVMFuzzerMutate(data, size, max);
	LLVMFuzzerMutate(data + at, len, len);
	return size;
}

#endif

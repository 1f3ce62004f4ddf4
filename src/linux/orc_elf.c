/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orc_elf.c: see orc_elf.h. */
#include "linux/orc_elf.h"

#include "linux/orc.h"

#include <elf.h>
#include <errno.h>

static const struct us_elf_section *section(const struct us_elf_file *f,
					    const char *name)
{
	const struct us_elf_section *s = us_elf_file_section(f, name);
	return s && s->type != SHT_NOBITS ? s : NULL;
}

int us_orc_elf_read(const struct us_elf_file *f, const struct us_elf_symbol *sym,
		    size_t n_sym, struct us_cfi_table **ret)
{
	const struct us_elf_section *ip = section(f, ".orc_unwind_ip");
	const struct us_elf_section *entry = section(f, ".orc_unwind");
	struct us_orc_format format;
	struct us_cfi_builder *b;
	if (!ip || !entry || f->machine != EM_X86_64 ||
	    ip->size / 4 != entry->size / US_ORC_ENTRY)
		return -ENOENT;
	struct us_orc o = {
		.ip = f->bytes + ip->offset,
		.entry = f->bytes + entry->offset,
		.ip_at = ip->addr,
		.n = ip->size / 4,
	};
	if (o.n > US_ORC_MOST || !us_orc_detect(&o, &format))
		return -ENOENT;
	for (size_t i = 0; i < n_sym; i++)
		us_orc_blank(&o, sym[i].name, sym[i].addr,
			     i + 1 < n_sym ? sym[i + 1].addr : UINT64_MAX);
	int r = us_cfi_builder_new(8, &b);
	if (r < 0)
		return r;
	r = us_orc_compile(&o, &format, b);
	if (r == 0)
		r = us_cfi_builder_finish(b, ret);
	us_cfi_builder_free(b);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_chunks.c: see program_chunks.h. */
#include "store/program_chunks.h"

#include "store/varint.h"

#include <string.h>

size_t us_pack_program_file(const struct us_program_file *f, uint8_t *p)
{
	size_t path = strlen(f->path) + 1;
	if (path > US_STORE_MAX_PATH || f->build_id_len > US_BUILD_ID_MAX ||
	    !f->number || f->kind >= US_N_PROGRAM_KIND)
		return 0;
	us_put_le32(p, f->number);
	p[4] = f->kind;
	p[5] = f->build_id_len;
	memcpy(p + 6, f->build_id, f->build_id_len);
	memcpy(p + 6 + f->build_id_len, f->path, path);
	p[6 + f->build_id_len + path] = f->deleted;
	return 6 + f->build_id_len + path + 1;
}

size_t us_pack_mapping(const struct us_mapping *m, uint8_t *p)
{
	if (!m->file || m->start >= m->end || (m->until_ns && m->until_ns < m->from_ns))
		return 0;
	const uint64_t word[] = { m->root,
				  m->start,
				  m->end,
				  m->offset,
				  m->bias,
				  m->from_ns / US_TIME_UNIT_NS,
				  m->until_ns / US_TIME_UNIT_NS };
	us_put_le32(p, m->file);
	us_put_le32(p + 4, m->pid);
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
		us_put_le64(p + 8 + 8 * i, word[i]);
	p[US_MAPPING_SIZE - 1] = (uint8_t)(m->pair | m->has_bias << 1);
	return US_MAPPING_SIZE;
}

size_t us_pack_program_names(const struct us_program_name *v, size_t n, size_t *i,
			     size_t most, uint8_t *p)
{
	const uint8_t *first = p,
		      *full = p + US_CHUNK_WRITE_MAX - 2 * US_VARINT_MAX - most - 1;
	uint64_t last = 0;
	p = us_varint_put(p, v[*i].file);
	for (; *i < n && p <= full; ++*i) {
		const struct us_program_name *one = &v[*i];
		size_t name = strlen(one->name) + 1;
		if (name == 1 || name > most + 1)
			continue;
		p = us_varint_put(p, us_zigzag((int64_t)(one->address - last)));
		p = us_varint_put(p, one->size);
		memcpy(p, one->name, name);
		p += name;
		last = one->address;
	}
	return (size_t)(p - first);
}

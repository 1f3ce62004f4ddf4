/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registers.c: see registers.h. */
#include "trace/plugin/registers.h"

#include "trace/plugin/qemu_api.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

bool us_registers_can_be_read(void)
{
	return qemu_plugin_get_registers && qemu_plugin_read_register &&
	       g_byte_array_sized_new && g_byte_array_set_size;
}

bool us_memory_can_be_read(void)
{
	return us_registers_can_be_read() && qemu_plugin_read_memory_vaddr;
}

static struct qemu_plugin_register *handle_of(const struct us_array *all,
					      const char *name)
{
	const struct us_register_descriptor *d = (const void *)all->data;
	for (unsigned i = 0; name && i < all->len; i++)
		if (d[i].name && !strcasecmp(d[i].name, name))
			return d[i].handle;
	return NULL;
}

int us_registers_find(struct us_registers *r, const char *const *names, unsigned n)
{
	*r = (struct us_registers){ 0 };
	if (n > US_REGISTERS_MAX)
		return -E2BIG;
	if (!us_registers_can_be_read())
		return -ENOTSUP;
	struct us_array *all = qemu_plugin_get_registers();
	/* With all the memory that it will ever need. */
	r->bytes = g_byte_array_sized_new(US_MEMORY_MAX);
	for (unsigned i = 0; all && r->bytes && i < n; i++)
		r->handle[i] = handle_of(all, names[i]);
	r->n = n;
	if (all && g_array_free)
		g_array_free(all, 1);
	return all && r->bytes ? 0 : -ENOMEM;
}

/* Versions 2 to 5 return its size in bytes, later ones whether it was read. */
bool us_register_read(const struct us_registers *r, unsigned i, uint64_t *ret)
{
	if (!r->bytes || i >= r->n || !r->handle[i])
		return false;
	g_byte_array_set_size(r->bytes, 0);
	if (qemu_plugin_read_register(r->handle[i], r->bytes) <= 0 || !r->bytes->len)
		return false;
	unsigned n = r->bytes->len < sizeof(*ret) ? r->bytes->len : sizeof(*ret);
	*ret = 0;
	memcpy(ret, r->bytes->data, n);
	return true;
}

bool us_memory_read(const struct us_registers *r, uint64_t gva, void *dst, size_t n)
{
	if (!r->bytes || !qemu_plugin_read_memory_vaddr || !n || n > US_MEMORY_MAX)
		return false;
	g_byte_array_set_size(r->bytes, 0);
	if (!qemu_plugin_read_memory_vaddr(gva, r->bytes, n) || r->bytes->len < n)
		return false;
	memcpy(dst, r->bytes->data, n);
	return true;
}

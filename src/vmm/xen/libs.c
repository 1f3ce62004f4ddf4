/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/libs.c: see xen/libs.h. */
#include "vmm/xen/libs.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CALL_LIB   "libxencall.so.1"
#define MEMORY_LIB "libxenforeignmemory.so.1"

static void say_nothing(struct xentoollog_logger *l, xentoollog_level level, int code,
			const char *context, const char *format, va_list args)
{
	(void)l, (void)level, (void)code, (void)context, (void)format, (void)args;
}

static int load(struct us_xen_libs *l)
{
	void *call = dlopen(CALL_LIB, RTLD_NOW | RTLD_LOCAL);
	void *memory = call ? dlopen(MEMORY_LIB, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!memory)
		return -ENOENT;
	const struct {
		void *lib, **to;
		const char *name;
	} wanted[] = {
		{ call, (void **)&l->call_open, "xencall_open" },
		{ call, (void **)&l->call_close, "xencall_close" },
		{ call, (void **)&l->call1, "xencall1" },
		{ call, (void **)&l->call2, "xencall2" },
		{ call, (void **)&l->alloc_pages, "xencall_alloc_buffer_pages" },
		{ call, (void **)&l->free_pages, "xencall_free_buffer_pages" },
		{ memory, (void **)&l->memory_open, "xenforeignmemory_open" },
		{ memory, (void **)&l->memory_close, "xenforeignmemory_close" },
		{ memory, (void **)&l->memory_map, "xenforeignmemory_map" },
		{ memory, (void **)&l->memory_unmap, "xenforeignmemory_unmap" },
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].to = dlsym(wanted[i].lib, wanted[i].name);
		if (!*wanted[i].to)
			return -ENOENT;
	}
	l->silent.vmessage = say_nothing;
	return 0;
}

int us_xen_libs(struct us_xen_libs **ret, struct us_err *e)
{
	static struct us_xen_libs libs;
	if (access("/dev/xen/privcmd", F_OK) && access("/proc/xen/privcmd", F_OK)) {
		us_fail(e, -ENODEV,
			"Xen does not run here: there is no "
			"/dev/xen/privcmd");
		us_hint(e, "run uniscope in dom0; modprobe xen-privcmd");
		return -ENODEV;
	}
	if (!libs.memory_unmap && load(&libs) < 0) {
		us_fail(e, -ENOENT, "load Xen's libraries: %s and %s are needed",
			CALL_LIB, MEMORY_LIB);
		us_hint(e, "apt install libxencall1 libxenforeignmemory1");
		return -ENOENT;
	}
	*ret = &libs;
	return 0;
}

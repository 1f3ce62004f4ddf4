/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debuginfod.c: see debuginfod.h. */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"
#define URLS	"DEBUGINFOD_URLS"

/* Its functions (debuginfod.h of elfutils). */
struct us_debuginfod {
	void *library, *client;
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *id, int len, char **path);
	void (*end)(void *client);
	int code; /* why it cannot be asked; 0: it can */
};

bool us_debuginfod_named(void)
{
	const char *urls = getenv(URLS);
	return urls && *urls;
}

int us_debuginfod_new(struct us_debuginfod **ret)
{
	struct us_debuginfod *d = calloc(1, sizeof(*d));
	*ret = d;
	return d ? 0 : -ENOMEM;
}

void us_debuginfod_free(struct us_debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	/* The library stays loaded: libraries that it uses may have threads. */
	free(d);
}

static bool load(struct us_debuginfod *d)
{
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!d->library)
		return false;
	*(void **)&d->begin = dlsym(d->library, "debuginfod_begin");
	*(void **)&d->find = dlsym(d->library, "debuginfod_find_debuginfo");
	*(void **)&d->end = dlsym(d->library, "debuginfod_end");
	d->client = d->begin && d->find && d->end ? d->begin() : NULL;
	return d->client;
}

static int fail_to_load(struct us_debuginfod *d, struct us_err *e)
{
	d->code = -ENOTSUP;
	us_fail(e, d->code, "debuginfod: %s cannot be loaded", LIBRARY);
	us_hint(e, "install libdebuginfod (Debian: libdebuginfod1)");
	return d->code;
}

int us_debuginfod_find(struct us_debuginfod *d, const uint8_t *id, size_t len,
		       char *ret, size_t size, struct us_err *e)
{
	char *path = NULL;
	if (d->code)
		return us_fail(e, d->code, "debuginfod cannot be used");
	if (!us_debuginfod_named()) {
		us_fail(e, -ENOTSUP, "debuginfod: " URLS " names no server");
		us_hint(e, "--debuginfod URL, or " URLS "=URL");
		return d->code = -ENOTSUP;
	}
	if (!d->client && !load(d))
		return fail_to_load(d, e);
	int fd = d->find(d->client, id, (int)len, &path);
	if (fd < 0)
		return us_fail(e, fd == -ENOENT ? -ENOENT : fd, "debuginfod: %s",
			       strerror(-fd));
	close(fd);
	int n = snprintf(ret, size, "%s", path ? path : "");
	free(path);
	return n > 0 && (size_t)n < size
		       ? 0
		       : us_fail(e, -ENOENT, "debuginfod: a path that is too long");
}

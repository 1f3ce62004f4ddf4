/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/paths.c: source paths without the prefix that all paths of an image share. */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *us_profile_path(const struct us_profile *p, const char *module,
			    const char *dir, const char *file,
			    char dst[static US_PATH_SIZE])
{
	return us_paths_show(&p->paths, module, dir, file, dst);
}

/* A path that is only in the buffer is copied to the names. */
static bool keep_path(struct us_profile *p, struct us_profile_func *f)
{
	char buffer[US_PATH_SIZE];
	const char *path = us_profile_path(p, f->module, f->dir, f->file, buffer);
	bool borrowed = path >= buffer && path < buffer + sizeof(buffer);
	f->path = borrowed ? NULL : path;
	if (!borrowed)
		return true;
	char *copy = strdup(path), **slot = us_vec_push(&p->names);
	if (!copy || !slot) {
		free(copy);
		return false;
	}
	f->path = *slot = copy;
	return true;
}

int us_profile_shorten_paths(struct us_profile *p, struct us_err *e)
{
	bool ok = true;
	for (size_t i = 0; ok && i < p->funcs.n; i++) {
		const struct us_profile_func *f = &p->funcs.v[i];
		ok = !f->file || !us_paths_add(&p->paths, f->module, f->dir, f->file);
	}
	for (size_t i = 0; ok && i < p->funcs.n; i++)
		ok = !p->funcs.v[i].file || keep_path(p, &p->funcs.v[i]);
	return ok ? 0 : us_fail(e, -ENOMEM, "report: out of memory");
}

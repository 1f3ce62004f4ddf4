/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paths.c: see paths.h. */
#include "base/paths.h"

#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *us_path_full(const char *dir, const char *file,
			 char dst[static US_PATH_SIZE])
{
	if (file[0] == '/' || !dir || !dir[0])
		return file;
	size_t len = strlen(dir);
	int n = snprintf(dst, US_PATH_SIZE, "%s%s%s", dir,
			 dir[len - 1] == '/' ? "" : "/", file);
	return n > 0 && n < US_PATH_SIZE ? dst : file;
}

/* Remove "//", "/./" and, judging by the names only, "x/../".  In place. */
static void normalise(char *path)
{
	size_t root = path[0] == '/', out = root, least = root;
	for (const char *from = path + root; *from;) {
		size_t len = strcspn(from, "/");
		const char *next = from + len + (from[len] == '/');
		bool up = len == 2 && !memcmp(from, "..", 2);
		if (up && out > least) {
			while (out > least && path[out - 1] != '/')
				out--;
			out -= out > least; /* and the slash before it */
		} else if (!(up && root) && len && !(len == 1 && *from == '.')) {
			if (out > root)
				path[out++] = '/';
			memmove(path + out, from, len);
			out += len;
			least = up ? out : least; /* what is above is not known */
		}
		from = next;
	}
	path[out] = '\0';
}

/* false: this is not the path of a file, or too long. */
static bool whole_path(const char *dir, const char *file, char dst[static US_PATH_SIZE])
{
	const char *full = us_path_full(dir, file, dst);
	size_t len = strlen(full);
	/* "<artificial>", or a name without its folder. */
	if (file[0] == '<' || !strchr(full, '/') || len >= US_PATH_SIZE)
		return false;
	memmove(dst, full, len + 1);
	normalise(dst);
	return true;
}

bool us_path_is_same(const char *dir, const char *file, const char *other_dir,
		     const char *other_file)
{
	char a[US_PATH_SIZE], b[US_PATH_SIZE];
	return !strcmp(file, other_file) ||
	       (whole_path(dir, file, a) && whole_path(other_dir, other_file, b) &&
		!strcmp(a, b));
}

/* The length of the common beginning of folder and path, in whole names. */
static size_t common_length(const char *folder, const char *path)
{
	size_t i = 0, common = 0;
	while (folder[i] && folder[i] == path[i]) {
		i++;
		if ((!folder[i] || folder[i] == '/') && path[i] == '/')
			common = i;
	}
	return common;
}

/* Set the folder to that of the first path; shorten it to contain further ones. */
static int narrow(char **folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (*folder) {
		(*folder)[common_length(*folder, path)] = '\0';
		return 0;
	}
	*folder = strndup(path, slash ? (size_t)(slash - path) : 0);
	return *folder ? 0 : -ENOMEM;
}

static struct us_path_group *find(const struct us_paths *p, const char *name)
{
	for (size_t i = 0; i < p->groups.n; i++)
		if (!strcmp(p->groups.v[i].name, name))
			return &p->groups.v[i];
	return NULL;
}

static struct us_path_group *find_or_add(struct us_paths *p, const char *name)
{
	struct us_path_group *g = find(p, name);
	char *copy = g ? NULL : strdup(name);
	if (g || !copy)
		return g;
	g = us_vec_push(&p->groups);
	if (g)
		*g = (struct us_path_group){ .name = copy };
	else
		free(copy);
	return g;
}

int us_paths_add(struct us_paths *p, const char *group, const char *dir,
		 const char *file)
{
	char path[US_PATH_SIZE];
	if (!whole_path(dir, file, path))
		return 0;
	struct us_path_group *g = find_or_add(p, group ? group : "");
	int r = g ? narrow(&g->all, path) : -ENOMEM;
	if (r == 0 && file[0] != '/')
		r = narrow(&g->own, path);
	return r;
}

const char *us_paths_show(const struct us_paths *p, const char *group, const char *dir,
			  const char *file, char dst[static US_PATH_SIZE])
{
	const struct us_path_group *g = find(p, group ? group : "");
	if (!g || !whole_path(dir, file, dst))
		return file;
	const char *folder = g->all && g->all[0] ? g->all : g->own;
	size_t n = folder ? strlen(folder) : 0, len = strlen(file);
	if (!n || common_length(folder, dst) != n)
		return file;
	const char *rest = dst + n + 1;
	size_t rest_len = strlen(rest);
	if (rest_len <= len && !strcmp(file + len - rest_len, rest))
		return file + len - rest_len;
	return rest;
}

void us_paths_fini(struct us_paths *p)
{
	for (size_t i = 0; i < p->groups.n; i++) {
		free(p->groups.v[i].name);
		free(p->groups.v[i].all);
		free(p->groups.v[i].own);
	}
	free(p->groups.v);
	*p = (struct us_paths){ 0 };
}

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), len = strlen(end);
	return n >= len && !strcmp(path + n - len, end) &&
	       (n == len || path[n - len - 1] == '/');
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool us_path_ends_with(const char *dir, const char *file, const char *end)
{
	char whole[US_PATH_SIZE];
	if (strcmp(last_name(file), last_name(end)) != 0)
		return false;
	return ends_with(file, end) ||
	       (whole_path(dir, file, whole) && ends_with(whole, end));
}

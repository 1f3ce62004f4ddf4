/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c: see source.h. */
#include "report/source.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

/* The file's text; a NUL follows it.  NULL: no plain file of a source's size. */
static char *read_text(const char *path, size_t *ret_len, time_t *ret_changed)
{
	struct stat st;
	/* Not blocking: it may be a pipe. */
	_cleanup_close_ int fd = open(path,
				      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    (uint64_t)st.st_size > US_SOURCE_MAX)
		return NULL;
	_cleanup_free_ char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n < 0)
		return NULL;
	text[n] = '\0';
	*ret_len = (size_t)n;
	*ret_changed = st.st_mtime;
	return us_take(text);
}

/* Cut the text into lines. */
static bool index_lines(struct us_source *s, size_t len)
{
	size_t n = 1, k = 0;
	for (size_t i = 0; i < len; i++)
		n += s->text[i] == '\n';
	s->start = calloc(n, sizeof(*s->start));
	if (!s->start)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool newline = s->text[i] == '\n';
		if (newline || s->text[i] == '\0')
			s->text[i] = newline ? '\0' : ' ';
		if (newline)
			s->start[++k] = (uint32_t)i + 1;
	}
	s->n_line = k + (s->start[k] < len);
	return true;
}

static bool try_path(struct us_source *s, const char *path)
{
	size_t len;
	s->text = read_text(path, &len, &s->changed);
	if (!s->text)
		return false;
	if (index_lines(s, len))
		return true;
	free(us_take(s->text));
	return false;
}

/* "OLD=NEW" */
static bool try_prefix(struct us_source *s, const char *rule, const char *path)
{
	char other[PATH_BYTES];
	const char *equals = strchr(rule, '=');
	size_t len = equals ? (size_t)(equals - rule) : 0;
	if (!len || strncmp(path, rule, len) != 0)
		return false;
	int n = snprintf(other, sizeof(other), "%s%s", equals + 1, path + len);
	return n > 0 && (size_t)n < sizeof(other) && try_path(s, other);
}

/* Try the path in a directory, then again without its first parts. */
static bool try_dir(struct us_source *s, const char *dir, const char *path)
{
	char other[PATH_BYTES];
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += strspn(part, "/");
		int n = snprintf(other, sizeof(other), "%s/%s", dir, part);
		/* Stay inside the directory, whatever the DWARF says. */
		if (n > 0 && (size_t)n < sizeof(other) && !strstr(part, "../") &&
		    try_path(s, other))
			return true;
	}
	return false;
}

static void find(struct us_sources *all, struct us_source *s, const char *file)
{
	const struct us_annotate_opts *o = all->opts;
	for (size_t i = 0; i < o->n_prefix; i++)
		if (try_prefix(s, o->prefixes[i], s->name))
			return;
	for (size_t i = 0; i < o->n_dir; i++)
		if (try_dir(s, o->dirs[i], file))
			return;
	try_path(s, s->name);
}

const struct us_source *us_source_get(struct us_sources *all, const char *dir,
				      const char *file)
{
	char *name;
	if (asprintf(&name, "%s%s%s", *file == '/' || !dir ? "" : dir,
		     *file == '/' || !dir ? "" : "/", file) < 0)
		return NULL;
	for (size_t i = 0; i < all->files.n; i++)
		if (!strcmp(all->files.v[i].name, name)) {
			free(name);
			return &all->files.v[i];
		}
	struct us_source *s = us_vec_push(&all->files);
	if (!s) {
		free(name);
		return NULL;
	}
	s->name = name;
	find(all, s, file);
	return s;
}

const char *us_source_line(const struct us_source *s, uint32_t line)
{
	return s->text && line && line <= s->n_line ? s->text + s->start[line - 1]
						    : NULL;
}

void us_sources_fini(struct us_sources *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		free(s->files.v[i].name);
		free(s->files.v[i].text);
		free(s->files.v[i].start);
	}
	free(s->files.v);
	*s = (struct us_sources){ 0 };
}

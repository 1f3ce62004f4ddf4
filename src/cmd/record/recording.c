/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.c: see recording.h. */
#include "cmd/record/recording.h"

#include "cmd/options.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (1U << 20) /* bytes of a result */

static int open_stdin(int *ret, struct us_err *e)
{
	*ret = -1;
	/* Nobody types a recording: it would wait without a word. */
	if (isatty(STDIN_FILENO)) {
		us_fail(e, -EINVAL, "read standard input: it is a terminal");
		us_hint(e, "uniscope record -o - TARGET | uniscope report -");
		return -EINVAL;
	}
	*ret = dup(STDIN_FILENO);
	return *ret >= 0
		       ? 0
		       : us_fail(e, -errno, "read standard input: %s", strerror(errno));
}

int us_recording_open(const char *path, int *ret, struct us_err *e)
{
	struct stat st;
	if (!strcmp(path, "-"))
		return open_stdin(ret, e);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	bool is_folder = *ret >= 0 && fstat(*ret, &st) == 0 && S_ISDIR(st.st_mode);
	if (*ret >= 0 && !is_folder)
		return 0;
	int code = is_folder ? -EISDIR : -errno;
	us_closep(ret);
	*ret = -1;
	us_fail(e, code, "open %s: %s", path, strerror(-code));
	if (is_folder)
		us_hint(e, "name a recording in it; uniscope serve shows all of them");
	if (code == -ENOENT)
		us_hint(e, "uniscope record makes a recording");
	return code;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(strcmp(a, "-") ? a : "/dev/stdin", &x) == 0 &&
	       stat(strcmp(b, "-") ? b : "/dev/stdin", &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int tell_twice(const char *a, const char *b, struct us_err *e)
{
	us_fail(e, -EINVAL, "%s and %s are the same recording", a, b);
	us_hint(e, "give each recording once: its samples would count twice");
	return -EINVAL;
}

int us_recordings_are_different(const char *const *path, size_t n, struct us_err *e)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (is_same_file(path[i], path[k]))
				return tell_twice(path[k], path[i], e);
	return 0;
}

/* Its samples would count twice. */
static int check_twice(const struct us_profile_input *in, const struct stat *st,
		       size_t i, struct us_err *e)
{
	for (size_t k = 0; k < i; k++)
		if (st[k].st_dev == st[i].st_dev && st[k].st_ino == st[i].st_ino)
			return tell_twice(in[k].name, in[i].name, e);
	return 0;
}

static int open_all(const char *const *path, size_t n, struct us_profile_input *in,
		    struct us_err *e)
{
	_cleanup_free_ struct stat *st = calloc(n, sizeof(*st));
	int rc = st ? 0 : us_fail(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && rc == 0; i++) {
		in[i].name = path[i];
		rc = us_recording_open(path[i], &in[i].fd, e);
		if (rc == 0 && fstat(in[i].fd, &st[i]) < 0)
			rc = us_fail(e, -errno, "%s: %s", path[i], strerror(errno));
		if (rc == 0)
			rc = check_twice(in, st, i, e);
	}
	return rc;
}

/* What is no recording may be of another profiler.  Of several, the message already
 * names it. */
static void tell_foreign(const char *const *path, size_t n, struct us_err *e)
{
	char word[200] = "FILE";
	bool is_stdin = n == 1 && !strcmp(path[0], "-");
	if (n == 1)
		us_wrap(e, "%s", is_stdin ? "standard input" : path[0]);
	if (e->hint[0])
		return; /* it is compressed, or empty */
	/* As a word for a shell, - would be ./-: a file of that name. */
	if (is_stdin)
		snprintf(word, sizeof(word), "-");
	else if (n == 1)
		us_shell_word(word, sizeof(word), path[0]);
	us_hint(e, "uniscope import %s makes a recording of perf.data or folded stacks",
		word);
}

int us_recordings_read(const char *const *path, size_t n,
		       const struct us_profile_opts *o, struct us_profile **ret,
		       struct us_err *e)
{
	if (n > US_PROFILE_MAX_RECORDINGS)
		return us_fail(e, -EINVAL, "%zu recordings: at most %d together", n,
			       US_PROFILE_MAX_RECORDINGS);
	_cleanup_free_ struct us_profile_input *in = calloc(n, sizeof(*in));
	if (!in)
		return us_fail(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		in[i].fd = -1;
	int rc = open_all(path, n, in, e);
	if (rc == 0)
		rc = us_profile_read_all(in, n, o, ret, e);
	if (rc == -ENOEXEC)
		tell_foreign(path, n, e);
	for (size_t i = 0; i < n; i++)
		us_closep(&in[i].fd);
	return rc;
}

int us_result_open(struct us_result *o, const char *path, struct us_err *e)
{
	*o = (struct us_result){ .path = path, .f = stdout };
	if (!path || !strcmp(path, "-") || us_new_file_is_stdout(path))
		return 0;
	int r = us_new_file_open(&o->file, path, e);
	o->f = r < 0 ? NULL : fdopen(o->file.fd, "w");
	if (r == 0 && !o->f) {
		us_closep(&o->file.fd);
		us_new_file_drop(&o->file);
		r = us_fail(e, -ENOMEM, "create %s: out of memory", path);
	}
	if (r == 0)
		setvbuf(o->f, NULL, _IOFBF, BUFFER);
	return r;
}

static int close_file(struct us_result *o, int r, struct us_err *e)
{
	if (r == 0 && fflush(o->f))
		r = us_fail(e, -errno, "write %s: %s", o->path, strerror(errno));
	if (r == 0)
		r = us_new_file_keep(&o->file, e);
	us_new_file_drop(&o->file);
	if (fclose(o->f) && r == 0)
		r = us_fail(e, -errno, "write %s: %s", o->path, strerror(errno));
	return r;
}

int us_result_close(struct us_result *o, int r, struct us_err *e)
{
	if (o->f == stdout)
		return r;
	if (o->f)
		r = close_file(o, r, e);
	if (r == 0 && !o->quiet)
		us_tell_written(o->path);
	return r;
}

/* "FROM,TO"; either may be empty. */
bool us_recording_time(const struct us_cmd *cmd, const char *value,
		       struct us_profile_opts *o)
{
	char from[64];
	const char *comma = strchr(value, ',');
	if (!comma || (size_t)(comma - value) >= sizeof(from)) {
		us_usage(cmd, "--time %s: must be FROM,TO such as 1s,2.5s", value);
		return false;
	}
	snprintf(from, sizeof(from), "%.*s", (int)(comma - value), value);
	if (from[0] && !us_parse_duration("--time", from, &o->from_ns))
		return false;
	if (comma[1] && !us_parse_duration("--time", comma + 1, &o->to_ns))
		return false;
	if (!comma[1] || o->from_ns < o->to_ns)
		return true;
	us_usage(cmd, "--time %s: the end is not after the start", value);
	return false;
}

static bool set_regex(const struct us_cmd *cmd, const char *option, const char *value,
		      const char **ret)
{
	if (*ret) {
		us_usage(cmd, "%s %s: give it once; 'a|b' matches either", option,
			 value);
		return false;
	}
	*ret = value;
	return us_is_regex(cmd, option, value);
}

bool us_recording_by(const struct us_cmd *cmd, const char *option, const char *name,
		     enum us_profile_by *ret)
{
	struct us_nearest near = us_nearest_to(name);
	char question[64];
	/* Only --filter takes functions: groups of one function each are the table
	 * itself. */
	int end = strcmp(option, "--filter") != 0 ? US_BY_FUNCTION : US_N_BY;
	for (int by = US_BY_NONE + 1; by < end; by++) {
		const char *known = us_profile_by_name((enum us_profile_by)by);
		if (!strcmp(known, name)) {
			*ret = (enum us_profile_by)by;
			return true;
		}
		us_nearest_try(&near, known);
	}
	us_usage(cmd, "%s %s: no such key%s; keys are: %s", option, name,
		 us_nearest_question(&near, question, sizeof(question)), near.list);
	return false;
}

static bool add_filter(const struct us_cmd *cmd, const char *option,
		       enum us_profile_by by, const char *value, const char *regex,
		       struct us_profile_opts *o)
{
	if (o->n_filter == US_PROFILE_MAX_FILTERS) {
		us_usage(cmd, "%s: at most %d filters", option, US_PROFILE_MAX_FILTERS);
		return false;
	}
	if (!us_is_regex_in(cmd, option, value, regex))
		return false;
	o->filter[o->n_filter++] = (struct us_profile_filter){ by, regex };
	return true;
}

/* A state that there is not would give an empty table.  regex is one. */
static bool is_state(const struct us_cmd *cmd, const char *value, const char *regex)
{
	static const char *const state[] = { "guest", "exit", "ready", "sleeps",
					     "blocked" };
	regex_t re;
	bool found = false;
	if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB))
		return true;
	for (size_t i = 0; i < sizeof(state) / sizeof(state[0]) && !found; i++)
		found = !regexec(&re, state[i], 0, NULL, 0);
	regfree(&re);
	if (!found)
		us_usage(cmd,
			 "--filter %s: no such state; states are: guest, exit, ready; "
			 "with --waits: sleeps, blocked, ready",
			 value);
	return found;
}

static bool set_filter(const struct us_cmd *cmd, const char *value,
		       struct us_profile_opts *o)
{
	const char *equals = strchr(value, '=');
	char key[32];
	enum us_profile_by by;
	if (!equals || !equals[1] || (size_t)(equals - value) >= sizeof(key)) {
		us_usage(cmd, "--filter %s: must be KEY=REGEX such as state=exit",
			 value);
		return false;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(equals - value), value);
	if (!us_recording_by(cmd, "--filter", key, &by))
		return false;
	if (by == US_BY_VCPU)
		return us_narrow_vcpus("--filter", value, equals + 1, &o->vcpu_mask);
	return add_filter(cmd, "--filter", by, value, equals + 1, o) &&
	       (by != US_BY_STATE || is_state(cmd, value, equals + 1));
}

bool us_recording_owner(const struct us_cmd *cmd, enum us_profile_by by,
			const char *value, struct us_profile_opts *o)
{
	char option[32];
	snprintf(option, sizeof(option), "--%s", us_profile_by_name(by));
	return add_filter(cmd, option, by, value, value, o);
}

bool us_recording_pid(const struct us_cmd *cmd, const char *value,
		      struct us_profile_opts *o)
{
	char *end;
	errno = 0;
	unsigned long long pid = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end || errno || pid > INT32_MAX) {
		us_usage(cmd, "--pid %s: must be a number such as 107", value);
		return false;
	}
	if (o->n_pid == US_PROFILE_MAX_FILTERS) {
		us_usage(cmd, "--pid: at most %d", US_PROFILE_MAX_FILTERS);
		return false;
	}
	o->pid[o->n_pid++] = (uint32_t)pid;
	return true;
}

static bool set_part(const struct us_cmd *cmd, enum us_profile_part part,
		     struct us_profile_opts *o)
{
	if (o->part != US_PART_ALL && o->part != part) {
		us_usage(cmd, "--kernel-only and --user-only exclude each other");
		return false;
	}
	o->part = part;
	return true;
}

bool us_recording_select(const struct us_cmd *cmd, int id, const char *value,
			 struct us_profile_opts *o)
{
	switch (id) {
	case US_SELECT_TIME:
		return us_recording_time(cmd, value, o);
	case US_SELECT_FOCUS:
		return set_regex(cmd, "--focus", value, &o->focus);
	case US_SELECT_IGNORE:
		return set_regex(cmd, "--ignore", value, &o->ignore);
	case US_SELECT_FILTER:
		return set_filter(cmd, value, o);
	case US_SELECT_PID:
		return us_recording_pid(cmd, value, o);
	case US_SELECT_COMM:
		return us_recording_owner(cmd, US_BY_COMM, value, o);
	case US_SELECT_CONTAINER:
		return us_recording_owner(cmd, US_BY_CONTAINER, value, o);
	case US_SELECT_KERNEL:
		return set_part(cmd, US_PART_KERNEL, o);
	case US_SELECT_USER:
		return set_part(cmd, US_PART_USER, o);
	}
	return false;
}

bool us_recording_of_owners(const struct us_profile_opts *o)
{
	bool wanted = o->n_pid || o->roots;
	for (unsigned i = 0; i < o->n_filter; i++)
		wanted |= us_profile_by_owner(o->filter[i].by);
	return wanted;
}

void us_recording_symbols(const struct us_symbol_files *f, struct us_profile_opts *o)
{
	o->images = f->image;
	o->n_image = f->n_image;
	o->dirs = f->dirs;
}

static bool add_place(const struct us_cmd *cmd, const char *option, const char *value,
		      const char **v, size_t *n)
{
	if (*n == US_MAX_SOURCE_PLACES) {
		us_usage(cmd, "%s: at most %d", option, US_MAX_SOURCE_PLACES);
		return false;
	}
	v[(*n)++] = value;
	return true;
}

bool us_source_dir(const struct us_cmd *cmd, struct us_source_places *p,
		   const char *value)
{
	return add_place(cmd, "--source", value, p->dir, &p->n_dir);
}

bool us_source_prefix(const struct us_cmd *cmd, struct us_source_places *p,
		      const char *value)
{
	const char *equals = strchr(value, '=');
	if (equals && equals != value)
		return add_place(cmd, "--source-prefix", value, p->prefix,
				 &p->n_prefix);
	us_usage(cmd, "--source-prefix %s: must be OLD=NEW", value);
	return false;
}

struct us_annotate_opts us_source_opts(const struct us_source_places *p)
{
	return (struct us_annotate_opts){ .prefixes = p->prefix,
					  .n_prefix = p->n_prefix,
					  .dirs = p->dir,
					  .n_dir = p->n_dir };
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c: see output.h. */
#include "cmd/record/output.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define DEFAULT_NAME "uniscope.data"

unsigned us_output_columns(FILE *out)
{
	struct winsize w;
	int fd = fileno(out);
	bool narrow = isatty(fd) && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col &&
		      w.ws_col < US_REPORT_COLUMNS;
	return narrow ? w.ws_col : US_REPORT_COLUMNS;
}

void us_output_wrapped(const char *first, const char *s, size_t all)
{
	size_t used = strlen(first), room = all > used ? all - used : 1;
	const char *before = first;
	do {
		size_t n = us_wrap_length(s, room);
		printf("%*s%.*s\n", (int)used, before, (int)n, s);
		s += n;
		s += *s == ' ';
		before = "";
	} while (*s);
}

static int open_stdout(struct us_output *o, struct us_err *e)
{
	if (isatty(STDOUT_FILENO)) {
		us_fail(e, -EINVAL,
			"-o -: a recording is binary and cannot go to a terminal");
		us_hint(e, "uniscope record -o - ... | uniscope report -");
		return -EINVAL;
	}
	o->is_stdout = true;
	o->fd = dup(STDOUT_FILENO);
	snprintf(o->path, sizeof(o->path), "-");
	return o->fd < 0 ? us_fail(e, -errno, "duplicate standard output") : 0;
}

int us_output_open(struct us_output *o, const char *name, struct us_err *e)
{
	*o = (struct us_output){ .fd = -1, .result_fd = -1, .open = true };
	if (name && (!strcmp(name, "-") || us_new_file_is_stdout(name)))
		return open_stdout(o, e);
	if (name && strlen(name) + sizeof(".data") > sizeof(o->path))
		return us_fail(e, -ENAMETOOLONG, "-o: the name is too long");
	o->by_default = !name;
	o->format = name ? us_format_by_suffix(name) : NULL;
	snprintf(o->path, sizeof(o->path), "%s%s", name ? name : DEFAULT_NAME,
		 o->format ? ".data" : "");
	int r = us_new_file_open(&o->file, o->path, e);
	o->fd = o->file.fd;
	if (r == 0 && o->format) {
		snprintf(o->result, sizeof(o->result), "%s", name);
		r = us_new_file_open(&o->result_file, o->result, e);
		o->result_fd = o->result_file.fd;
	}
	if (r < 0)
		us_output_close(o);
	return r;
}

static int keep_recording(struct us_output *o, struct us_err *e)
{
	bool is_new = !o->is_stdout && o->path[0] && !o->file.kept;
	if (is_new && o->by_default && access(DEFAULT_NAME, F_OK) == 0)
		rename(DEFAULT_NAME, DEFAULT_NAME ".old");
	if (o->is_stdout || !o->path[0])
		return 0;
	int r = us_new_file_keep(&o->file, e);
	if (r == 0 && o->file.moved)
		snprintf(o->path, sizeof(o->path), "%s", o->file.path);
	return r;
}

int us_output_keep(struct us_output *o, struct us_err *e)
{
	int r = keep_recording(o, e);
	return r == 0 && o->format ? us_new_file_keep(&o->result_file, e) : r;
}

bool us_output_colour(FILE *out)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fileno(out)) && !(none && *none) &&
	       !(term && !strcmp(term, "dumb"));
}

static bool has_room(const char *dir)
{
	struct statvfs s;
	return statvfs(dir, &s) == 0 && s.f_bavail > 0;
}

/* On a disk if possible: the file grows for as long as somebody watches. */
int us_output_temporary(struct us_output *o, struct us_err *e)
{
	const char *dirs[] = { getenv("TMPDIR"), "/var/tmp", P_tmpdir };
	*o = (struct us_output){ .fd = -1, .result_fd = -1, .open = true };
	for (size_t i = 0; o->fd < 0 && i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (!dirs[i] || !*dirs[i] || !has_room(dirs[i]))
			continue;
		o->fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		snprintf(o->shown, sizeof(o->shown), "a temporary file in %s", dirs[i]);
	}
	if (o->fd < 0) {
		o->fd = memfd_create("recording", MFD_CLOEXEC);
		snprintf(o->shown, sizeof(o->shown), "a temporary file in memory");
	}
	return o->fd < 0 ? us_fail(e, -EIO, "create a temporary file: %s",
				   strerror(errno))
			 : 0;
}

const char *us_output_shown(const struct us_output *o)
{
	return o->path[0] ? o->path : o->shown;
}

void us_output_cut(struct us_output *o, uint64_t good_bytes)
{
	if (o->is_stdout || o->fd < 0)
		return;
	/* Fails on a device, which then has no tail to be cut either. */
	if (ftruncate(o->fd, (off_t)good_bytes) < 0)
		return;
}

static int read_again(const struct us_output *o, const struct us_profile_opts *opts,
		      struct us_profile **ret, struct us_err *e)
{
	if (lseek(o->fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "rewind %s: %s", o->path, strerror(errno));
	return us_profile_read(o->fd, opts, ret, e);
}

/* For the page: what each process did, and what tasks waited for. */
static int read_beside(const struct us_output *o, const struct us_profile *p,
		       struct us_profile_opts like, struct us_profile **ret_owners,
		       struct us_profile **ret_waits, struct us_err *e)
{
	int r = 0;
	if (us_profile_owners_known(p)) {
		like.roots = US_BY_PROCESS;
		r = read_again(o, &like, ret_owners, e);
		like.roots = US_BY_NONE;
	}
	if (r || !us_profile_waits(p)->n)
		return r;
	like.waits = true;
	like.by_time = like.host = like.processes = like.if_known = false;
	return read_again(o, &like, ret_waits, e);
}

static int write_result(struct us_output *o, struct us_err *e)
{
	static const struct us_debug_dirs none;
	const struct us_profile_opts all = { .raw_names = o->raw_names,
					     .host = o->host,
					     .processes = o->format->owners,
					     .if_known = o->format->owners,
					     .by_vcpu = o->format->by_vcpu,
					     .by_time = o->format->by_time,
					     .timeline = o->format->timeline,
					     .timeline_most = o->format->timeline_most,
					     .dirs = o->dirs ? *o->dirs : none };
	struct us_report_opts plain = { .sort = US_SORT_SELF,
					.full_paths = o->full_paths };
	_cleanup_(us_profile_freep) struct us_profile *p = NULL;
	_cleanup_(us_profile_freep) struct us_profile *owners = NULL, *waits = NULL;
	int r = read_again(o, &all, &p, e);
	if (r == 0 && o->format->both)
		r = read_beside(o, p, all, &owners, &waits, e);
	if (r < 0)
		return r;
	plain.owners = owners;
	plain.waits = waits;
	FILE *f = fdopen(o->result_fd, "w");
	if (f) {
		o->result_fd = -1;
		r = us_report(p, o->format, &plain, f, e);
		if (r == 0 && fflush(f))
			r = us_fail(e, -errno, "%s", strerror(errno));
		if (r == 0)
			r = us_new_file_keep(&o->result_file, e);
		if (r == 0 && o->result_file.moved)
			snprintf(o->result, sizeof(o->result), "%s",
				 o->result_file.path);
		if (r == 0)
			us_output_caution(o->format, p);
		fclose(f);
	} else {
		r = us_fail(e, -ENOMEM, "out of memory");
	}
	return r;
}

void us_output_caution(const struct us_format *f, const struct us_profile *p)
{
	char text[512], safe[1024];
	if (f->caution && f->caution(p, text, sizeof(text)))
		fprintf(stderr, "uniscope: warning: %s\n",
			us_printable(safe, sizeof(safe), text));
}

int us_output_convert(struct us_output *o, bool quiet, struct us_err *e)
{
	char word[US_STORE_MAX_PATH];
	int r = keep_recording(o, e);
	if (o->is_stdout || r < 0)
		return r;
	us_shell_word(word, sizeof(word), o->path);
	if (!o->format) {
		bool usual = !strcmp(o->path, DEFAULT_NAME);
		if (!quiet)
			printf("wrote %s; next: uniscope report%s%s\n", word,
			       usual ? "" : " ", usual ? "" : word);
		return 0;
	}
	r = write_result(o, e);
	if (r < 0) {
		us_wrap(e, "write %s", o->result);
		us_hint(e, "the recording is whole: uniscope report %.200s", word);
		return r;
	}
	o->converted = true;
	/* As root without its rights, not in another user's folder. */
	bool stays = o->file.kept && unlink(o->file.path) < 0 && errno != ENOENT;
	if (!quiet)
		us_tell_written(o->result);
	if (!quiet && stays)
		us_tell_written(o->path);
	return 0;
}

void us_output_close(struct us_output *o)
{
	struct stat st;
	if (!o->open)
		return;
	/* Nothing was ever recorded: leave no empty files behind. */
	if (o->file.kept && o->fd >= 0 && fstat(o->fd, &st) == 0 && st.st_size == 0)
		unlink(o->file.path);
	if (o->result_file.kept && !o->converted)
		unlink(o->result_file.path);
	us_new_file_drop(&o->file);
	us_new_file_drop(&o->result_file);
	us_closep(&o->fd);
	us_closep(&o->result_fd);
	o->open = false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.c: `uniscope import`: what other profilers recorded becomes a recording. */
#include "cmd/options.h"
#include "cmd/record/output.h"

#include "base/cleanup.h"
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { OPT_PID = US_OPTION_LONG, OPT_EVENT };

struct settings {
	const char *in, *out;
	struct us_import_opts import;
	struct us_symbol_files symbols;
	bool quiet;
};

static bool set_option(void *settings, int c, const char *value)
{
	struct settings *s = settings;
	double number;
	if (c == OPT_PID && us_parse_double("--pid", value, 1, UINT32_MAX, &number))
		s->import.pid = (uint32_t)number;
	else if (c == OPT_EVENT && us_parse_double("--event", value, 1, 4096, &number))
		s->import.event = (uint32_t)number;
	else
		return false;
	return true;
}

static bool parse(struct settings *s, int argc, char **argv, int *ret_exit)
{
	struct us_options o = { .cmd = &us_cmd_import,
				.argc = argc,
				.argv = argv,
				.settings = s,
				.set = set_option };
	if (!us_options_read(&o, ret_exit) ||
	    !us_options_one(&o, "file", &s->in, ret_exit))
		return false;
	if (!s->in)
		*ret_exit = us_usage(o.cmd, "which file?");
	s->import.name = s->in;
	return s->in != NULL;
}

/* Copy what comes through a pipe to a file without a name. */
static int keep(int from, struct us_err *e)
{
	char part[65536];
	ssize_t n;
	int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return us_fail(e, -errno, "keep the input in a file: %s",
			       strerror(errno));
	while ((n = read(from, part, sizeof(part))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(fd, part, (size_t)n) != n) {
			us_fail(e, -EIO, "keep the input in a file: %s",
				strerror(errno));
			close(fd);
			return -EIO;
		}
	}
	return fd;
}

static int open_input(const char *path, struct us_err *e)
{
	struct stat st;
	_cleanup_close_ int fd = !strcmp(path, "-") ? dup(STDIN_FILENO)
						    : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		us_fail(e, -EIO, "open %s: %s", path, strerror(errno));
		return -EIO;
	}
	if (S_ISDIR(st.st_mode)) {
		us_fail(e, -EISDIR, "open %s: %s", path, strerror(EISDIR));
		return -EISDIR;
	}
	return S_ISREG(st.st_mode) ? us_take_fd(fd) : keep(fd, e);
}

static int map(const char *path, const uint8_t **ret, size_t *ret_n, struct us_err *e)
{
	struct stat st;
	_cleanup_close_ int fd = open_input(path, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !st.st_size) {
		us_fail(e, -ENODATA, "import %s: it is empty", path);
		if (!strcmp(path, "-"))
			us_hint(e, "see what the command before the pipe says");
		return -ENODATA;
	}
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		us_fail(e, -errno, "map %s: %s", path, strerror(errno));
		return -ENOMEM;
	}
	*ret = p;
	*ret_n = (size_t)st.st_size;
	return 0;
}

static int import(const struct settings *s, const uint8_t *bytes, size_t n, int fd,
		  struct us_import_result *ret, struct us_err *e)
{
	struct us_writer *w = NULL;
	int rc = us_writer_open(fd, &w, e);
	if (rc)
		return rc;
	rc = us_writer_fact(w, "command", "uniscope import", e);
	if (!rc)
		rc = us_import_is_perf(bytes, n)
			     ? us_import_perf(bytes, n, &s->import, w, ret, e)
			     : us_import_folded(bytes, n, &s->import, w, ret, e);
	if (!rc)
		rc = us_writer_end(w, &ret->stats, US_RECORD_DONE, "", e);
	us_writer_close(w);
	return rc;
}

static void tell(const struct us_import_result *r)
{
	char value[64], text[512];
	printf("%" PRIu64 " samples", r->samples);
	if (r->left_out)
		printf(", %" PRIu64 " left out", r->left_out);
	if (r->stats.lost)
		printf(", %" PRIu64 " lost", r->stats.lost);
	if (r->cut_stacks)
		printf(", %" PRIu64 " cut at %d frames", r->cut_stacks, US_MAX_FRAMES);
	if (r->cut_names)
		printf(", %" PRIu64 " names cut", r->cut_names);
	putchar('\n');
	for (unsigned k = 0; k < US_N_LIMITS; k++) {
		us_limit_value(&r->limits, k, value, sizeof(value));
		if (us_limit_words(k, value, text, sizeof(text)))
			printf("limit: %s\n", text);
	}
}

/* Neither the result nor a recording beside it may replace what is read. */
static int check_output(const struct settings *s, struct us_err *e)
{
	char beside[PATH_MAX];
	if (!s->out)
		return 0;
	snprintf(beside, sizeof(beside), "%s.data", s->out);
	int rc = us_new_file_is_none_of(s->out, &s->in, 1, e);
	if (rc == 0 && us_format_by_suffix(s->out))
		rc = us_new_file_is_none_of(beside, &s->in, 1, e);
	return rc;
}

static int run(const struct settings *s, struct us_err *e)
{
	struct us_import_result result = { 0 };
	struct us_output out = { 0 };
	const uint8_t *bytes = NULL;
	size_t n = 0;
	int rc = map(s->in, &bytes, &n, e);
	if (rc)
		return rc;
	rc = check_output(s, e);
	if (!rc)
		rc = us_output_open(&out, s->out, e);
	if (!rc) {
		out.dirs = &s->symbols.dirs;
		rc = import(s, bytes, n, out.fd, &result, e);
		if (!rc && !s->quiet && !out.is_stdout)
			tell(&result);
		if (!rc)
			rc = us_output_convert(&out, s->quiet, e);
		us_output_close(&out);
	}
	munmap((void *)bytes, n);
	return rc;
}

static int run_import(int argc, char **argv)
{
	struct settings s = { 0 };
	struct us_err e = { 0 };
	int code;
	if (!parse(&s, argc, argv, &code))
		return code;
	if (run(&s, &e) == 0)
		return US_EXIT_OK;
	us_complain(&e);
	return US_EXIT_FAILED;
}

static const struct us_option options[] = {
	{ 'o', "output", "FILE", "where to write (uniscope.data); as record -o",
	  US_TEXT(struct settings, out) },
	{ OPT_PID, "pid", "PID", "for perf.data: the guest of this process", US_OWN },
	{ OPT_EVENT, "event", "NUMBER", "for perf.data: the samples of this event",
	  US_OWN },
	{ 0, "all", NULL, "for perf.data: all samples, also those of the host",
	  US_FLAG(struct settings, import.all) },
	{ 0, "kallsyms", "FILE", "for perf.data: a copy of the guest's /proc/kallsyms",
	  US_TEXT(struct settings, import.kallsyms) },
	{ 0, "symbols", "DIR", "search DIR for images and debug files; repeatable",
	  US_FOLDER(struct settings, symbols) },
	{ 'q', "quiet", NULL, "print only errors", US_FLAG(struct settings, quiet) },
	{ 0 },
};

static const char *const examples[] = {
	"uniscope import perf.data.guest\0the samples of perf kvm --guest record",
	"uniscope import -o web.html out.folded\0folded stacks, as a flame graph",
	"uniscope import --kallsyms guest.syms perf.data.guest\0with the guest's names",
	NULL,
};

const struct us_cmd us_cmd_import = {
	.name = "import",
	.args = "[OPTIONS] FILE",
	.summary = "make a recording of perf.data or folded stacks",
	.options = options,
	.examples = examples,
	.run = run_import,
};

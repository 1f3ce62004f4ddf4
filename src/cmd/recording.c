/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.c: see recording.h. */
#include "cmd/recording.h"

#include "cmd/options.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (1U << 20) /* bytes of a result */

int us_recording_open(const char *path, int *ret, struct us_err *e)
{
	if (!strcmp(path, "-")) {
		*ret = dup(STDIN_FILENO);
		return 0;
	}
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret >= 0)
		return 0;
	int code = -errno;
	us_fail(e, code, "open %s: %s", path, strerror(-code));
	if (code == -ENOENT)
		us_hint(e, "uniscope record makes a recording");
	return code;
}

int us_recording_result_open(const char *path, FILE **ret, struct us_err *e)
{
	*ret = stdout;
	if (!path || !strcmp(path, "-"))
		return 0;
	_cleanup_close_ int fd = open(
		path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*ret)
		return us_fail(e, -errno, "create %s: %s", path, strerror(errno));
	fd = -1; /* the stream's now */
	setvbuf(*ret, NULL, _IOFBF, BUFFER);
	return 0;
}

int us_recording_result_close(const char *path, FILE *f, int r, struct us_err *e)
{
	if (f == stdout)
		return r;
	if (f && fclose(f) && r == 0)
		r = us_fail(e, -errno, "write %s: %s", path, strerror(errno));
	if (r == 0)
		printf("wrote %s\n", path);
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

void us_recording_symbols(const struct us_symbol_files *f, struct us_profile_opts *o)
{
	o->images = f->image;
	o->n_image = f->n_image;
	o->dirs = f->dirs;
}

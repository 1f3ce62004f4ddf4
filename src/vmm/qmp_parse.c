/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp_parse.c: see qmp_parse.h. */
#include "vmm/qmp_parse.h"

#include <errno.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void step_in_string(struct us_qmp_framer *f, char c)
{
	if (f->escaped)
		f->escaped = false;
	else if (c == '\\')
		f->escaped = true;
	else if (c == '"')
		f->in_string = false;
}

int us_qmp_frame(struct us_qmp_framer *f, const char *buf, size_t len)
{
	while (f->at < len) {
		char c = buf[f->at++];
		if (f->in_string) {
			step_in_string(f, c);
		} else if (!f->depth && c != '{') {
			if (!is_space(c))
				return -EPROTO;
		} else if (c == '"') {
			f->in_string = true;
		} else if (c == '{' || c == '[') {
			if (++f->depth > US_QMP_MAX_DEPTH)
				return -EPROTO;
		} else if (c == '}' || c == ']') {
			if (--f->depth == 0)
				return 1;
		}
	}
	return 0;
}

static enum us_qmp_kind kind_of(const json_t *msg)
{
	if (json_object_get(msg, "return"))
		return US_QMP_RETURN;
	if (json_is_string(json_object_get(json_object_get(msg, "error"), "desc")))
		return US_QMP_ERROR;
	if (json_is_string(json_object_get(msg, "event")))
		return US_QMP_EVENT;
	if (json_is_object(json_object_get(msg, "QMP")))
		return US_QMP_GREETING;
	return US_QMP_STRANGE;
}

int us_qmp_parse(const char *buf, size_t len, enum us_qmp_kind *ret_kind, json_t **ret)
{
	json_t *msg = json_loadb(buf, len, 0, NULL);
	if (!msg)
		return -EPROTO;
	*ret_kind = kind_of(msg);
	*ret = msg;
	return 0;
}

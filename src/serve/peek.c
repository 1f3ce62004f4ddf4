/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peek.c: what the beginning of a recording says; see shelf.h. */
#include "serve/shelf.h"

#include "base/text.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct peek {
	struct us_shelf_facts *to;
	char kernel[256], target[128];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int on_fact(void *ctx, const char *key, const char *value)
{
	struct peek *k = ctx;
	const struct {
		const char *key;
		char *to;
		size_t size;
	} wanted[] = {
		{ "guest", k->to->guest, sizeof(k->to->guest) },
		{ "started", k->to->started, sizeof(k->to->started) },
		{ "backend", k->to->backend, sizeof(k->to->backend) },
		{ "kernel", k->kernel, sizeof(k->kernel) },
		{ "target", k->target, sizeof(k->target) },
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(key, wanted[i].key))
			us_printable(wanted[i].to, wanted[i].size, value);
	return 0;
}

/* The wanted facts come before any of these. */
static int enough_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
			uint8_t flags)
{
	(void)ctx, (void)id, (void)parent, (void)pc, (void)flags;
	return -ECANCELED;
}

static int enough_sample(void *ctx, const struct us_sample *s)
{
	(void)ctx, (void)s;
	return -ECANCELED;
}

static int enough_counted(void *ctx, unsigned vcpu, uint32_t number,
			  const struct us_counted *c)
{
	(void)ctx, (void)vcpu, (void)number, (void)c;
	return -ECANCELED;
}

static int enough_function(void *ctx, uint32_t number, us_gva address)
{
	(void)ctx, (void)number, (void)address;
	return -ECANCELED;
}

void us_shelf_peek(int fd, struct us_shelf_facts *ret)
{
	static const struct us_reader_ops ops = { .fact = on_fact,
						  .stack = enough_stack,
						  .sample = enough_sample,
						  .counted = enough_counted,
						  .event_function = enough_function };
	struct peek k = { .to = ret };
	struct us_reader_result r;
	struct us_err e = { 0 };
	*ret = (struct us_shelf_facts){ 0 };
	int rc = us_read(fd, &ops, &k, &r, &e);
	if (rc && rc != -ECANCELED)
		us_printable(ret->why, sizeof(ret->why), e.msg);
	if (!ret->guest[0])
		us_append(ret->guest, sizeof(ret->guest), "%s",
			  k.kernel[0] ? base_name(k.kernel) : k.target);
}

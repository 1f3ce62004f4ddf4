/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/virtio.c: see cmd/boot/virtio.h. */
#include "cmd/boot/virtio.h"

#include "boot/device_trace.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 64

int us_boot_virtio_command(struct us_boot_variant *v, struct us_err *e)
{
	static const char *const decided[] = { "trace", "D", "d", NULL };
	static const char *const messages[] = { "msg", NULL };
	size_t n = 0;
	if (us_boot_variant_has(v->plain, decided)) {
		snprintf(v->unseen_device, sizeof(v->unseen_device),
			 "the command has a -trace, -D or -d of its own");
		return 0;
	}
	while (v->plain[n])
		n++;
	v->traced = calloc(n + 7, sizeof(*v->traced));
	if (!v->traced)
		return us_fail(e, -ENOMEM, "out of memory");
	memcpy(v->traced, v->plain, n * sizeof(*v->plain));
	us_plugin_run_path(&v->run, "devices", v->trace);
	v->traced[n++] = (char *)(uintptr_t) "-trace";
	v->traced[n++] = (char *)(uintptr_t)US_BOOT_TRACE_EVENT;
	v->traced[n++] = (char *)(uintptr_t) "-D";
	v->traced[n++] = v->trace;
	if (us_boot_variant_has(v->plain, messages))
		return 0;
	v->traced[n++] = (char *)(uintptr_t) "-msg";
	v->traced[n] = (char *)(uintptr_t) "timestamp=on";
	return 0;
}

/* Has the device's driver begun?  "path" names the device. */
static bool is_used(struct us_qmp *q, const char *path)
{
	struct us_err e;
	json_t *status = NULL;
	json_t *about = json_pack("{s:s}", "path", path);
	if (!about || us_qmp_run(q, "x-query-virtio-status", about, &status, &e) < 0)
		return false;
	/* A list of strings, as {"status": {"statuses": ["..."]}}. */
	const json_t *set = json_object_get(json_object_get(status, "status"),
					    "statuses");
	bool used = json_array_size(set) > 0;
	json_decref(status);
	return used;
}

static void add_name(struct us_boot_variant *v, const char *name)
{
	size_t n = strlen(v->device);
	if (v->device[0] && n < sizeof(v->device))
		n += (size_t)snprintf(v->device + n, sizeof(v->device) - n, ", ");
	if (n < sizeof(v->device))
		snprintf(v->device + n, sizeof(v->device) - n, "%s", name);
	v->n_device++;
}

void us_boot_virtio_ask(void *ctx)
{
	struct us_boot_variant *v = ctx;
	struct us_err e;
	struct us_qmp *q = NULL;
	json_t *list = NULL;
	if (v->n_device || us_qmp_open(v->monitor, &q, &e) < 0)
		return;
	if (us_qmp_run(q, "x-query-virtio", NULL, &list, &e) < 0)
		list = NULL;
	for (size_t i = 0; i < json_array_size(list) && i < MAX_DEVICES; i++) {
		const json_t *one = json_array_get(list, i);
		const char *path = json_string_value(json_object_get(one, "path"));
		const char *name = json_string_value(json_object_get(one, "name"));
		if (path && name && is_used(q, path))
			add_name(v, name);
	}
	json_decref(list);
	us_qmp_close(q);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/devices.c: see cmd/boot/devices.h. */
#include "cmd/boot/devices.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int us_boot_devices_run(struct us_boot_devices *d, struct us_boot_variant *v,
			struct us_err *e)
{
	d->with = (struct us_plugin_command){ .verb = "--profile: see",
					      .dir = v->run.dir,
					      .boot = true,
					      .devices = true };
	int r = us_plugin_command_make(&d->with, v->traced ? v->traced : v->plain, e);
	if (r < 0)
		return r;
	const struct us_boot_recorded how = { .argv = d->with.argv, .uses = &d->uses };
	return us_boot_variant_boot_recorded(v, &how, &d->run, e);
}

static void print_use(const struct us_boot_use *u, uint64_t n)
{
	char name[sizeof(u->device)];
	us_printable(name, sizeof(name), u->device);
	if (u->address == US_USE_UNKNOWN && !*name)
		printf("unknown port %" PRIu64, n);
	else if (u->address == US_USE_UNKNOWN)
		printf("more %" PRIu64, n);
	else if (!*name)
		printf("0x%" PRIx64 " %" PRIu64, u->address, n);
	else
		printf("%s (0x%" PRIx64 ") %" PRIu64, name, u->address, n);
}

static void print_used(const struct us_boot_used *u, const char *what)
{
	uint64_t rest = u->n;
	if (!u->n)
		return;
	printf("  %" PRIu64 " %s: ", u->n, what);
	for (size_t i = 0; i < US_BOOT_USES_MOST && u->most[i].n; i++) {
		fputs(i ? ", " : "", stdout);
		print_use(u->most[i].use, u->most[i].n);
		rest -= u->most[i].n;
	}
	if (rest)
		printf(", others %" PRIu64, rest);
	puts("");
}

void us_boot_devices_print(const struct us_boot_devices *d,
			   const struct us_boot_devices_phase *phase, size_t n)
{
	char name[US_BOOT_NAME + 16];
	puts("accesses to devices, in one more boot that watches each memory access:");
	for (size_t i = 0; i < n; i++) {
		struct us_boot_used used[US_N_USED];
		us_boot_uses_since(&d->uses, phase[i].point, used);
		us_printable(name, sizeof(name), phase[i].name);
		printf("[%s]%s\n", name,
		       used[US_USED_PORTS].n || used[US_USED_MEMORY].n ? "" : " none");
		print_used(&used[US_USED_PORTS], "to ports");
		print_used(&used[US_USED_MEMORY], "to device memory");
	}
	puts("");
}

static void json_used(struct us_json *j, const char *key, const struct us_boot_used *u)
{
	us_json_object(j, key);
	us_json_u64(j, "n", u->n);
	us_json_array(j, "most");
	for (size_t i = 0; i < US_BOOT_USES_MOST && u->most[i].n; i++) {
		const struct us_boot_use *x = u->most[i].use;
		us_json_object(j, NULL);
		us_json_str(j, "device", x->device[0] ? x->device : NULL);
		if (x->address != US_USE_UNKNOWN)
			us_json_u64(j, "address", x->address);
		us_json_u64(j, "n", u->most[i].n);
		us_json_end(j);
	}
	us_json_end(j);
	us_json_end(j);
}

void us_boot_devices_json(struct us_json *j, const struct us_boot_devices *d,
			  const struct us_boot_devices_phase *phase, size_t n)
{
	us_json_array(j, "devices");
	for (size_t i = 0; i < n; i++) {
		struct us_boot_used used[US_N_USED];
		us_boot_uses_since(&d->uses, phase[i].point, used);
		us_json_object(j, NULL);
		us_json_str(j, "phase", phase[i].name);
		json_used(j, "ports", &used[US_USED_PORTS]);
		json_used(j, "memory", &used[US_USED_MEMORY]);
		us_json_end(j);
	}
	us_json_end(j);
}

void us_boot_devices_fini(struct us_boot_devices *d)
{
	free(d->with.argv);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stuck.c: see stuck.h. */
#include "boot/stuck.h"

#include "base/clock.h"
#include "vmm/qmp.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL US_NS_PER_SEC
#define NAP_US	 20000

struct us_boot_stuck {
	const char *monitor;
	pthread_t thread;
	atomic_bool stop;
	_Atomic(const char *) state;
};

/* Others are passing ("paused", "debug", "prelaunch"), or somebody's wish. */
static const char *const final[] = { "internal-error", "io-error", "guest-panicked",
				     "shutdown", "watchdog" };

static const char *final_of(const char *status)
{
	for (size_t i = 0; status && i < sizeof(final) / sizeof(final[0]); i++)
		if (!strcmp(status, final[i]))
			return final[i];
	return NULL;
}

static const char *ask(const char *monitor)
{
	struct us_qmp *q = NULL;
	json_t *said = NULL;
	struct us_err e;
	const char *state = NULL;
	if (us_qmp_open(monitor, &q, &e) < 0)
		return NULL;
	if (us_qmp_run(q, "query-status", NULL, &said, &e) == 0)
		state = final_of(json_string_value(json_object_get(said, "status")));
	json_decref(said);
	us_qmp_close(q);
	return state;
}

static void *watch(void *ctx)
{
	struct us_boot_stuck *s = ctx;
	uint64_t next = us_now_ns() + INTERVAL;
	while (!atomic_load(&s->stop) && !atomic_load(&s->state)) {
		if (us_now_ns() < next) {
			usleep(NAP_US);
			continue;
		}
		atomic_store(&s->state, ask(s->monitor));
		next = us_now_ns() + INTERVAL;
	}
	return NULL;
}

struct us_boot_stuck *us_boot_stuck_open(const char *monitor)
{
	struct us_boot_stuck *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->monitor = monitor;
	if (pthread_create(&s->thread, NULL, watch, s)) {
		free(s);
		return NULL;
	}
	return s;
}

const char *us_boot_stuck_state(const struct us_boot_stuck *s)
{
	return s ? atomic_load(&s->state) : NULL;
}

void us_boot_stuck_close(struct us_boot_stuck *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
	free(s);
}

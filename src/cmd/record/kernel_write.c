/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_write.c: write to the recording what is known of a Linux guest's kernel: the
 * names of what was sampled, and when another kernel began.  See kernel.h. */
#include "cmd/record/kernel.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool find_of(const struct us_kernel *k, unsigned number, us_gva pc,
		    struct us_linux_name *ret)
{
	return us_linux_find(k->read[number], pc, ret) ||
	       us_kernel_alias_name(k, number, pc, ret);
}

bool us_kernel_name(void *ctx, us_gva pc, struct us_symbol_name *ret)
{
	const struct us_kernel *k = ctx;
	const struct us_linux *tables = us_kernel_linux(k);
	struct us_linux_name n;
	if (!tables || !find_of(k, atomic_load(&k->n) - 1, pc, &n) || !n.name)
		return false;
	*ret = (struct us_symbol_name){ n.start, n.name, n.module, 0 };
	return true;
}

static us_gva *slot_of(us_gva *v, size_t n_slot, us_gva start)
{
	size_t i = (size_t)(start * 0x9e3779b97f4a7c15ULL >> 20);
	while (v[i & (n_slot - 1)] && v[i & (n_slot - 1)] != start)
		i++;
	return &v[i & (n_slot - 1)];
}

static bool grow(struct us_kernel *k)
{
	size_t n = k->n_slot ? 2 * k->n_slot : 1024;
	us_gva *v = calloc(n, sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < k->n_slot; i++)
		if (k->told[i])
			*slot_of(v, n, k->told[i]) = k->told[i];
	free(k->told);
	k->told = v;
	k->n_slot = n;
	return true;
}

/* True once for each function. */
static bool is_new(struct us_kernel *k, us_gva start)
{
	if (2 * k->n_told >= k->n_slot && !grow(k))
		return false;
	us_gva *slot = slot_of(k->told, k->n_slot, start);
	if (*slot)
		return false;
	*slot = start;
	k->n_told++;
	return true;
}

static bool name_once(void *ctx, us_gva pc, struct us_named *ret)
{
	struct us_kernel *k = ctx;
	struct us_linux_name n;
	if (!find_of(k, k->named - 1, pc, &n) || n.end <= n.start ||
	    !is_new(k, n.start))
		return false;
	*ret = (struct us_named){ n.start, n.end - n.start, n.name ? n.name : "",
				  n.module };
	return n.name != NULL;
}

/* "FROM UNTIL ..." in seconds, for each time that the kernel was replaced: the earliest
 * moment that it may have happened, and when it was noticed. */
static int write_changes(struct us_kernel *k, unsigned n, bool lost,
			 struct us_writer *w)
{
	char text[US_KERNEL_MAX * 48] = "";
	for (unsigned i = 1; i <= n; i++) {
		const uint64_t *at = i < n ? k->since[i] : k->change;
		size_t used = strlen(text);
		if (i < n ? at[1] : lost)
			snprintf(text + used, sizeof(text) - used, "%s%.6f %.6f",
				 used ? " " : "", (double)at[0] / US_NS_PER_SEC,
				 (double)at[1] / US_NS_PER_SEC);
	}
	return us_writer_fact(w, "linux_changed", text, NULL);
}

/* Another kernel: what was written about the one before is not true any more. */
static int tell_anew(struct us_kernel *k, unsigned n, struct us_writer *w)
{
	bool changed = false;
	for (unsigned i = k->named; i < n; i++)
		changed |= i && k->since[i][1];
	if (!changed)
		return 0;
	free(k->told);
	k->told = NULL;
	k->n_told = k->n_slot = 0;
	return write_changes(k, n, false, w);
}

/* It is gone, and no other was found. */
static int tell_lost(struct us_kernel *k, unsigned n, struct us_writer *w)
{
	if (!atomic_load(&k->last_time) || !n || !atomic_load(&k->lost))
		return 0;
	return write_changes(k, n, true, w);
}

int us_kernel_write(struct us_kernel *k, struct us_writer *w)
{
	unsigned n = atomic_load_explicit(&k->n, memory_order_acquire);
	uint64_t ready_ns = atomic_load(&k->ready_ns);
	char text[256];
	if (ready_ns && !k->ready_told) {
		k->ready_told = true;
		snprintf(text, sizeof(text), "%.6f", (double)ready_ns / 1e9);
		int r = us_writer_fact(w, "linux_ready_s", text, NULL);
		if (r)
			return r;
	}
	int wrote = us_processes_write(&k->processes, w);
	if (wrote == 0)
		wrote = us_waits_write(&k->waits, w);
	if (wrote == 0)
		wrote = tell_lost(k, n, w);
	if (wrote || n == k->named)
		return wrote;
	int r = tell_anew(k, n, w);
	us_linux_describe(k->read[n - 1], text, sizeof(text));
	if (r == 0)
		r = us_writer_fact(w, "linux", text, NULL);
	k->named = n;
	us_writer_name_by(w, &(struct us_namer){ name_once, k });
	return r;
}

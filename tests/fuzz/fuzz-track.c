/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls, returns and jumps of a guest that does as it likes, on two vCPUs whose stacks
 * mix: what was executed is in the tree, all of it. */
#include "trace/track.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES	  64
#define FUNCTIONS 8

struct vcpu {
	struct us_tracker t;
	struct us_counts_vcpu counts;
	struct us_counts_node node[NODES];
	uint64_t insns;
};

static void step(struct vcpu *v, struct us_track_function *f, const uint8_t op[4])
{
	struct us_track_function *other = op[2] & 8 ? NULL : &f[op[2] % FUNCTIONS];
	struct us_track_site s = { op[1] & 8 ? &us_track_unnamed
					     : &f[op[1] % FUNCTIONS],
				   other };
	struct us_track_entry e = { &f[op[1] % FUNCTIONS], 1 + op[2] % 4, 0 };
	uint64_t sp = 0x10000 + 8ULL * op[3] + 0x1000ULL * (op[2] >> 4);
	switch (op[0] >> 1 & 15) {
	case 0:
	case 1:
		us_track_call(&v->t, &s, sp);
		break;
	case 2:
	case 3:
		us_track_return(&v->t, &s, sp, 8);
		break;
	case 4:
		e.n_before = op[3] % e.n_insn;
		/* fall through */
	case 5:
	case 6:
		v->insns += e.n_insn;
		us_track_enter(&v->t, &e);
		break;
	case 7:
		us_track_jump(&v->t, &s);
		break;
	case 8:
		us_track_switch(&v->t, 0);
		break;
	case 9:
		us_track_trap(&v->t);
		break;
	case 10:
		us_track_iret(&v->t, &s, op[3] & 1 ? sp : 0);
		break;
	case 11:
		us_track_interrupted(&v->t);
		break;
	case 12:
		if (op[3] == 77)
			us_track_reset(&v->t);
		break;
	default:
		v->insns += op[3] % 8;
	}
}

static void check(struct vcpu *v)
{
	uint64_t sum = 0;
	us_track_settle(&v->t);
	if (v->counts.n_node > NODES || v->counts.node >= v->counts.n_node)
		abort();
	for (unsigned i = 0; i < v->counts.n_node; i++) {
		if (i && v->node[i].parent >= i)
			abort();
		sum += v->node[i].self;
	}
	if (sum != v->insns)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_track_stacks stacks;
	static struct us_track_function f[FUNCTIONS];
	static struct vcpu v[2];
	if (us_track_stacks_init(&stacks))
		abort();
	for (unsigned i = 0; i < FUNCTIONS; i++)
		f[i] = (struct us_track_function){ .address = 0x1000 * (i + 1),
						   .number = 16 + i,
						   .has_entry = i & 1 };
	memset(v, 0, sizeof(v));
	for (uint16_t i = 0; i < 2; i++)
		if (us_tracker_init(&v[i].t, &stacks, i, &v[i].counts, v[i].node, NODES,
				    &v[i].insns))
			abort();
	for (size_t at = 0; at + 4 <= size; at += 4)
		step(&v[data[at] & 1], f, data + at);
	for (unsigned i = 0; i < 2; i++) {
		check(&v[i]);
		us_tracker_fini(&v[i].t);
	}
	us_track_stacks_fini(&stacks);
	return 0;
}

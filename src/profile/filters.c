/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/filters.c: the filters of a profile, in words. */
#include "profile/profile_priv.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* "0,2-5" */
static void put_vcpus(FILE *out, uint64_t mask)
{
	bool several = mask & (mask - 1), first = true;
	fprintf(out, "only vCPU%s ", several ? "s" : "");
	for (unsigned i = 0; i < 64; i++) {
		unsigned last = i;
		if (!(mask >> i & 1))
			continue;
		while (last < 63 && mask >> (last + 1) & 1)
			last++;
		fprintf(out, "%s%u", first ? "" : ",", i);
		if (last > i)
			fprintf(out, "-%u", last);
		first = false;
		i = last;
	}
}

static void put_time(FILE *out, uint64_t from_ns, uint64_t to_ns)
{
	if (!to_ns)
		fprintf(out, "only from %g s on", (double)from_ns / US_NS_PER_SEC);
	else
		fprintf(out, "only from %g to %g s", (double)from_ns / US_NS_PER_SEC,
			(double)to_ns / US_NS_PER_SEC);
}

static void put_filters(FILE *out, const struct us_profile_opts *o)
{
	const char *comma = "";
	if (o->vcpu_mask) {
		put_vcpus(out, o->vcpu_mask);
		comma = "; ";
	}
	if (o->from_ns || o->to_ns) {
		fputs(comma, out);
		put_time(out, o->from_ns, o->to_ns);
		comma = "; ";
	}
	if (o->part != US_PART_ALL) {
		fprintf(out, "%sonly what ran in %s", comma,
			o->part == US_PART_USER ? "programs (ring 3)" : "the kernel");
		comma = "; ";
	}
	if (o->focus) {
		fprintf(out, "%sonly stacks with a function that matches '%s'", comma,
			o->focus);
		comma = "; ";
	}
	if (o->ignore) {
		fprintf(out, "%sno stacks with a function that matches '%s'", comma,
			o->ignore);
		comma = "; ";
	}
	if (o->n_pid) {
		fprintf(out, "%sonly samples of process", comma);
		for (unsigned i = 0; i < o->n_pid; i++)
			fprintf(out, "%s %" PRIu32, i ? " or" : "", o->pid[i]);
		comma = "; ";
	}
	for (unsigned i = 0; i < o->n_filter; i++) {
		fprintf(out, "%sonly samples whose %s matches '%s'", comma,
			us_profile_by_name(o->filter[i].by), o->filter[i].regex);
		comma = "; ";
	}
}

const char *us_profile_by_name(enum us_profile_by by)
{
	static const char *const names[US_N_BY] = {
		[US_BY_NONE] = "nothing",	 [US_BY_GUEST] = "guest",
		[US_BY_RECORDING] = "recording", [US_BY_VCPU] = "vcpu",
		[US_BY_STATE] = "state",	 [US_BY_PROCESS] = "process",
		[US_BY_THREAD] = "thread",	 [US_BY_COMM] = "comm",
		[US_BY_CONTAINER] = "container", [US_BY_IMAGE] = "image",
		[US_BY_FILE] = "file",		 [US_BY_FUNCTION] = "function",
	};
	return names[by];
}

int us_profile_name_filters(struct us_profile *p, struct us_err *e)
{
	size_t size;
	FILE *out = open_memstream(&p->filters, &size);
	p->sum.focus_only = p->opts.focus && !p->opts.ignore && !p->opts.n_filter &&
			    !p->opts.n_pid;
	if (out)
		put_filters(out, &p->opts);
	if (!out || fclose(out) != 0)
		return us_fail(e, -ENOMEM, "report: out of memory");
	return 0;
}

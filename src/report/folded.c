/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded.c: one line for each stack, "outermost;...;innermost COUNT", for flame graph
 * tools (B. Gregg, FlameGraph).  Idle samples are left out.  In names, ';' becomes ':',
 * a control character '?'.  The count is behind the last space.
 */
#include "report/report.h"

#include "base/text.h"
#include "symbol/demangle.h"

#include <inttypes.h>

#define MAX_PATH_NODES 8192 /* US_MAX_FRAMES, each with its inlined calls */

static void print_name(FILE *out, const char *name)
{
	char safe[US_DEMANGLED_MAX];
	us_printable(safe, sizeof(safe), name);
	for (char *c = safe; *c; c++)
		fputc(*c == ';' ? ':' : *c, out);
}

static int write_folded(const struct us_profile *p, const struct us_report_opts *o,
			FILE *out, struct us_err *e)
{
	size_t n, n_func;
	const struct us_profile_node *node = us_profile_nodes(p, &n);
	const struct us_profile_func *func = us_profile_funcs(p, &n_func);
	uint32_t path[MAX_PATH_NODES];
	(void)o;
	(void)e;
	for (uint32_t i = 1; i < n; i++) {
		size_t depth = 0;
		if (!node[i].self)
			continue;
		for (uint32_t up = i; up && depth < MAX_PATH_NODES;
		     up = node[up].parent)
			path[depth++] = up;
		while (depth--) {
			print_name(out, func[node[path[depth]].func].name);
			if (depth)
				fputc(';', out);
		}
		fprintf(out, " %" PRIu64 "\n", node[i].self);
	}
	return 0;
}

const struct us_format us_format_folded = {
	.name = "folded",
	.suffix = ".folded",
	.summary = "one line a stack, for flame graph tools",
	.waits = true,
	.write = write_folded,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/kallsyms.c: see kallsyms.h. */
#include "import/kallsyms.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_SIZE  4096 /* of a function with none after it */
#define MOST_NAMES (1U << 22)

struct us_kallsyms_text {
	struct {
		struct entry {
			uint64_t start;
			char *name, *module;
			bool told;
		} * v;
		size_t n, cap;
	} all;
};

void us_kallsyms_text_free(struct us_kallsyms_text *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->all.n; i++) {
		free(k->all.v[i].name);
		free(k->all.v[i].module);
	}
	free(k->all.v);
	free(k);
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* "ffffffff81000000 T name [module]"; false: out of memory. */
static bool take_line(struct us_kallsyms_text *k, const char *line)
{
	unsigned long long start;
	char kind, name[512], module[65] = "linux";
	int n = sscanf(line, "%llx %c %511s [%64[^]\n]]", &start, &kind, name, module);
	if (n < 3 || !strchr("tTwW", kind) || !start)
		return true;
	struct entry *slot = us_vec_push(&k->all);
	if (!slot)
		return false;
	slot->start = start;
	slot->name = strdup(name);
	slot->module = strdup(module);
	return slot->name && slot->module;
}

static int read_lines(struct us_kallsyms_text *k, FILE *f, const char *path,
		      struct us_err *e)
{
	char line[1024];
	while (fgets(line, sizeof(line), f) && k->all.n < MOST_NAMES)
		if (!take_line(k, line)) {
			us_fail(e, -ENOMEM, "import: out of memory");
			return -ENOMEM;
		}
	if (ferror(f))
		return us_fail(e, -EIO, "read %s: input error", path);
	if (!k->all.n) {
		us_fail(e, -EBADMSG, "%s: it has no functions with addresses", path);
		us_hint(e, "in the guest, as root: cat /proc/kallsyms");
		return -EBADMSG;
	}
	qsort(k->all.v, k->all.n, sizeof(*k->all.v), by_start);
	return 0;
}

int us_kallsyms_text_read(const char *path, struct us_kallsyms_text **ret,
			  struct us_err *e)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return us_fail(e, -errno, "open %s: %s", path, strerror(errno));
	struct us_kallsyms_text *k = calloc(1, sizeof(*k));
	int rc = k ? read_lines(k, f, path, e) : -ENOMEM;
	fclose(f);
	if (rc) {
		us_kallsyms_text_free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

bool us_kallsyms_text_name(void *ctx, us_gva pc, struct us_named *ret)
{
	struct us_kallsyms_text *k = ctx;
	size_t next = us_first_not(k->all.n, mid, k->all.v[mid].start <= pc);
	if (!next)
		return false;
	struct entry *at = &k->all.v[next - 1];
	uint64_t size = next < k->all.n ? k->all.v[next].start - at->start : LAST_SIZE;
	if (at->told || !size || pc - at->start >= size)
		return false;
	at->told = true;
	*ret = (struct us_named){ at->start, size, at->name, at->module };
	return true;
}

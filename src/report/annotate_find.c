/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate_find.c: which functions a text names. */
#include "report/annotate.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <string.h>

/* How well a text matches a function's name; only the best rank found is used. */
enum rank {
	NOT_AT_ALL,
	BY_REGEX,
	BY_NAME,  /* without parameters, ignoring case */
	BY_WHOLE, /* name */
};

struct search {
	const struct us_profile *p;
	const char *text;
	regex_t re;
	bool is_regex;
	enum rank best;
	struct {
		struct us_function *v;
		size_t n, cap;
	} found;
	bool failed; /* out of memory */

	const struct us_profile_func *label; /* the function that text is a label of */
	us_gva *at; /* addresses, one of which the function must cover */
	size_t n_at, cap_at;
	struct us_source_line near; /* to one without code; line 0: none */
};

static void keep(struct search *s, const struct us_function *f)
{
	struct us_function *slot = us_vec_push(&s->found);
	if (slot)
		*slot = *f;
	s->failed |= !slot;
}

static size_t without(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);
	return len > n && !memcmp(name + len - n, end, n) ? len - n : len;
}

/* Without what may follow the parameters. */
static size_t without_marks(const char *name)
{
	static const char *const ends[] = { " const", " volatile", " &", " &&" };
	const char *clone = strstr(name, " [clone ");
	size_t len = clone ? (size_t)(clone - name) : strlen(name), before;
	do {
		before = len;
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			len = without(name, len, ends[i]);
	} while (len < before);
	return len;
}

/* Where the parentheses begin that end a name of len bytes; 0: nowhere. */
static size_t last_parentheses(const char *name, size_t len)
{
	unsigned depth = 0;
	for (size_t at = len; at--;) {
		depth += name[at] == ')';
		depth -= name[at] == '(';
		if (!depth)
			return name[at] == '(' ? at : 0;
	}
	return 0;
}

/* "f" for "f(int)" and "f(int) const", but "operator()" for "operator()(int)": the
 * last parentheses.  Those of "(anonymous namespace)::f", "f!(1).g" and "main.(*T).f"
 * are no parameters. */
static size_t name_len(const char *name)
{
	static const char call[] = "operator()";
	size_t len = without_marks(name);
	size_t open = last_parentheses(name, len);
	bool is_call = open && without(name, len, call) == open - strlen("operator");
	return !open || is_call || strchr("!:. ", name[open - 1]) ? strlen(name) : open;
}

/* Is text the name, alone or as "name (module)"? */
static bool is_whole(const char *text, const char *name, const char *module)
{
	size_t len = strlen(name), of = strlen(module);
	if (strncmp(text, name, len) != 0)
		return false;
	text += len;
	return !*text || (!strncmp(text, " (", 2) && !strncmp(text + 2, module, of) &&
			  !strcmp(text + 2 + of, ")"));
}

static enum rank rank_by(const struct search *s, const char *name, const char *module)
{
	size_t len = name_len(name);
	if (is_whole(s->text, name, module))
		return BY_WHOLE;
	if (len == strlen(s->text) && !strncasecmp(name, s->text, len))
		return BY_NAME;
	if (s->is_regex && regexec(&s->re, name, 0, NULL, 0) == 0)
		return BY_REGEX;
	return NOT_AT_ALL;
}

static enum rank rank_of_name(const struct search *s, const char *raw,
			      const char *module)
{
	char name[US_DEMANGLED_MAX];
	enum rank best = rank_by(s, raw, module);
	for (int form = US_NAME_SHORT; form <= US_NAME_LONG && best < BY_WHOLE;
	     form++) {
		if (!us_demangle(raw, (enum us_name_form)form, name, sizeof(name)))
			break;
		enum rank r = rank_by(s, name, module);
		best = r > best ? r : best;
	}
	return best;
}

static enum rank rank_of(const struct search *s, const struct us_function *f)
{
	enum rank best = NOT_AT_ALL;
	const char *raw;
	for (size_t k = 0; best < BY_WHOLE && (raw = us_function_name(f, k)); k++) {
		enum rank r = rank_of_name(s, raw, f->module);
		best = r > best ? r : best;
	}
	return best;
}

static void judge(void *ctx, const struct us_function *f)
{
	struct search *s = ctx;
	enum rank r = rank_of(s, f);
	if (r == NOT_AT_ALL || r < s->best)
		return;
	if (r > s->best)
		s->found.n = 0;
	s->best = r;
	keep(s, f);
}

/* Labels that the profile made ("init (a.c)") name its own functions. */
static const struct us_profile_func *labelled(const struct us_profile *p,
					      const char *text)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (f[i].known && !f[i].inlined && f[i].start &&
		    strcmp(f[i].name, f[i].base) != 0 && !strcmp(f[i].name, text))
			return &f[i];
	return NULL;
}

static void add_address(void *ctx, us_gva pc)
{
	struct search *s = ctx;
	struct {
		us_gva *v;
		size_t n, cap;
	} a = { s->at, s->n_at, s->cap_at };
	us_gva *slot = us_vec_push(&a);
	if (slot)
		*slot = pc;
	s->failed |= !slot;
	s->at = a.v;
	s->n_at = a.n;
	s->cap_at = a.cap;
}

static int compare_gva(const void *a, const void *b)
{
	us_gva x = *(const us_gva *)a, y = *(const us_gva *)b;
	return (x > y) - (x < y);
}

/* Is one of the sorted addresses in f? */
static void judge_place(void *ctx, const struct us_function *f)
{
	struct search *s = ctx;
	size_t next = us_first_not(s->n_at, mid, s->at[mid] < f->start);
	if (s->label && s->label->module && strcmp(s->label->module, f->module) != 0)
		return;
	if (next < s->n_at && s->at[next] - f->start < f->size)
		keep(s, f);
}

/* The functions that the report shows at this line, whatever the compiler made of the
 * code there. */
static void find_rows(struct search *s, const char *file, uint32_t line)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(s->p, &n);
	for (size_t i = 0; i < n; i++)
		if (f[i].known && !f[i].inlined && f[i].start && f[i].line == line &&
		    f[i].path && us_path_ends_with(NULL, f[i].path, file))
			add_address(s, f[i].start);
}

static void find_line(struct search *s, const char *file, uint32_t line)
{
	struct us_symbols *symbols = us_profile_symbols(s->p);
	us_symbols_each_address(symbols, file, line, add_address, s);
	find_rows(s, file, line);
	if (!s->n_at)
		us_symbols_around(symbols, file, line, add_address, s, &s->near);
}

static void find_addresses(struct search *s)
{
	char *end;
	const char *colon = strrchr(s->text, ':');
	errno = 0;
	us_gva at = strtoull(s->text, &end, 16);
	if (!strncmp(s->text, "0x", 2) && !*end && !errno)
		add_address(s, at);
	s->label = labelled(s->p, s->text);
	if (s->label)
		add_address(s, s->label->start);
	if (s->n_at || !colon || colon == s->text || !colon[1])
		return;
	unsigned long line = strtoul(colon + 1, &end, 10);
	_cleanup_free_ char *file = strndup(s->text, (size_t)(colon - s->text));
	if (file && !*end && line && line <= UINT32_MAX)
		find_line(s, file, (uint32_t)line);
}

static void search(struct search *s)
{
	const struct us_symbols *symbols = us_profile_symbols(s->p);
	find_addresses(s);
	if (s->n_at) {
		qsort(s->at, s->n_at, sizeof(*s->at), compare_gva);
		us_symbols_each_function(symbols, judge_place, s);
	}
	if (s->found.n)
		return;
	s->is_regex = regcomp(&s->re, s->text, REG_EXTENDED | REG_NOSUB) == 0;
	us_symbols_each_function(symbols, judge, s);
	if (s->is_regex)
		regfree(&s->re);
}

/* A function that contains code of an inlined one, if the profile has samples of it. */
static const char *host_of(const struct us_profile *p, const char *text,
			   const char **ret_inlined)
{
	size_t n_func, n;
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	const struct us_profile_node *node = us_profile_nodes(p, &n);
	for (size_t i = 1; i < n; i++) {
		const struct us_profile_func *x = &f[node[i].func];
		uint32_t up = node[i].parent;
		if (!x->inlined || (!strstr(x->base, text) && !strstr(x->name, text) &&
				    !strstr(x->raw, text)))
			continue;
		while (up && f[node[up].func].inlined)
			up = node[up].parent;
		*ret_inlined = x->name;
		if (up)
			return f[node[up].func].name;
	}
	return NULL;
}

static bool names_images(const struct us_profile *p)
{
	size_t n;
	const struct us_profile_module *m = us_profile_modules(p, &n);
	while (n && !m[n - 1].used)
		n--;
	return n > 0;
}

/* Does the name come from the guest's own tables? */
static bool is_guest_name(const struct us_profile *p, const char *text)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (f[i].known && !f[i].inlined && !strcmp(f[i].name, text))
			return true;
	return false;
}

/* The sampled function that was probably meant; otherwise list the hottest. */
static struct us_nearest meant(const struct us_profile *p, const char *text)
{
	static const struct us_report_opts by_self = { .sort = US_SORT_SELF };
	_cleanup_free_ uint32_t *row = NULL;
	struct us_nearest near = us_nearest_to(text);
	size_t n = 0, n_func;
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	if (us_report_rows(p, &by_self, &row, &n) < 0)
		return near;
	for (size_t i = 0; i < n; i++)
		if (f[row[i]].known)
			us_nearest_try(&near, f[row[i]].name);
	return near;
}

/* Stacks from text; other profilers' samples have addresses. */
static bool is_folded(const struct us_profile *p)
{
	const char *backend = us_profile_fact(p, "backend");
	return backend && !strcmp(backend, "folded");
}

static int tell_near(const char *text, const struct us_source_line *near,
		     struct us_err *e)
{
	us_fail(e, -ENOENT, "annotate %.200s: this line is in no function with code",
		text);
	us_hint(e, "the nearest line with code is %.200s:%" PRIu32, near->file,
		near->line);
	return -ENOENT;
}

static int tell_none(const struct us_profile *p, const char *text, struct us_err *e)
{
	const char *inlined, *host = host_of(p, text, &inlined);
	if (is_folded(p)) {
		us_fail(e, -ENOENT, "annotate %.200s: imported stacks have no code",
			text);
		us_hint(e, "uniscope report shows their functions");
		return -ENOENT;
	}
	if (host) {
		us_fail(e, -ENOENT,
			"annotate %.150s: %.250s is inlined, and has no code of "
			"its own",
			text, inlined);
		us_hint(e, "annotate where it is inlined: %.200s", host);
		return -ENOENT;
	}
	if (is_guest_name(p, text)) {
		us_fail(e, -ENOENT,
			"annotate %.200s: the name is from the guest's own tables: no "
			"image has its code",
			text);
		us_hint(e, "give the file of the kernel with -e ELF");
		return -ENOENT;
	}
	char question[160];
	struct us_nearest near = meant(p, text);
	const char *warning = names_images(p) ? NULL : us_profile_warning_of_images(p);
	us_fail(e, -ENOENT,
		"annotate %.150s: no image that gives names has such a "
		"function%s",
		text, us_nearest_question(&near, question, sizeof(question)));
	if (warning)
		us_hint(e, "the report says: %.230s", warning);
	else if (near.list[0])
		us_hint(e, "the hottest are: %s", near.list);
	else
		us_hint(e, "uniscope report lists the functions");
	return -ENOENT;
}

static int by_place(const void *a, const void *b)
{
	const struct us_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	int c = strcmp(x->module, y->module);
	return c ? c : (x->image > y->image) - (x->image < y->image);
}

/* An image may be in several address spaces. */
static size_t drop_twice(struct us_function *v, size_t n)
{
	size_t to = 0;
	qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++)
		if (!to || by_place(&v[to - 1], &v[i]) != 0)
			v[to++] = v[i];
	return to;
}

int us_annotate_find(const struct us_profile *p, const char *text,
		     struct us_function **ret, size_t *ret_n, struct us_err *e)
{
	struct search s = { .p = p, .text = text };
	if (us_profile_is_counted(p)) {
		us_fail(e, -EINVAL,
			"annotate: in this recording every call was counted, and "
			"counts have no positions within functions");
		us_hint(e, "uniscope report lists the functions; uniscope record takes "
			   "samples");
		return -EINVAL;
	}
	search(&s);
	free(s.at);
	if (s.failed || !s.found.n) {
		free(s.found.v);
		return s.failed	     ? us_fail(e, -ENOMEM, "annotate: out of memory")
		       : s.near.line ? tell_near(text, &s.near, e)
				     : tell_none(p, text, e);
	}
	*ret = s.found.v;
	*ret_n = drop_twice(s.found.v, s.found.n);
	return 0;
}

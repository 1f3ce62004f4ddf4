/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle.c: the table of schemes, and what all of them share. */
#include "symbol/demangle_priv.h"

#include <ctype.h>
#include <string.h>

static const struct scheme {
	const char *prefix; /* of its names; "": any */
	const char *within; /* what else they contain */
	bool (*demangle)(const char *raw, enum us_name_form form,
			 struct us_name_out *o);
	bool any_case; /* of a language that has no case */
} schemes[] = {
#ifdef US_HAVE_LIBIBERTY
	{ "_R", "", us_demangle_rust, false },
	{ "_ZN", "17h", us_demangle_rust, false }, /* else it is C++'s */
	{ "_Z", "", us_demangle_cplusplus, false },
	{ "_D", "", us_demangle_d, false },
#endif
	{ "caml", "_", us_demangle_ocaml, false },
	{ "", "$_", us_demangle_pascal, true },
};

void us_name_put(struct us_name_out *o, const char *s, size_t len)
{
	if (o->bad || len >= o->size - o->n) {
		o->bad = true;
		return;
	}
	if (len) /* libiberty passes NULL for empty parts */
		memcpy(o->dst + o->n, s, len);
	o->n += len;
	o->dst[o->n] = '\0';
}

void us_name_puts(struct us_name_out *o, const char *s)
{
	us_name_put(o, s, strlen(s));
}

/* Words that gcc and clang append to the name of a copy of a function. */
static bool is_clone_word(const char *s, size_t len)
{
	static const char *const words[] = {
		"part",	      "cold",	  "constprop", "isra",	 "llvm", "lto_priv",
		"localalias", "resolver", "clone",     "warm",	 "hot",	 "destroy",
		"cleanup",    "actor",	  "resume",    "__part", "eh"
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], s, len))
			return true;
	return false;
}

static bool is_number(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return len > 0;
}

/* Where the clone's marks begin (".part.0.cold"): a word, then numbers, repeatedly. */
static size_t without_clones(const char *raw, size_t len)
{
	size_t end = len, word_end = len;
	while (end) {
		const char *dot = memrchr(raw, '.', end);
		if (!dot || dot == raw)
			break;
		size_t at = (size_t)(dot - raw);
		if (is_clone_word(dot + 1, end - at - 1))
			word_end = at;
		else if (!is_number(dot + 1, end - at - 1))
			break;
		end = at;
	}
	return word_end;
}

/* ".llvm" says only that the name was made to be the only one of its kind. */
static void put_marks(struct us_name_out *o, const char *marks, size_t len)
{
	while (len) {
		const char *next = memchr(marks + 1, '.', len - 1);
		size_t n = next ? (size_t)(next - marks) : len;
		if (!is_number(marks + 1, n - 1) &&
		    !(n == 5 && !memcmp(marks, ".llvm", n)))
			us_name_put(o, marks, n);
		marks += n;
		len -= n;
	}
}

bool us_name_of_all_builds(const char *name, char *dst, size_t size)
{
	static const char clone[] = " [clone ";
	struct us_name_out o = { .dst = dst, .size = size };
	size_t len = strnlen(name, US_DEMANGLED_MAX);
	const char *mark = strstr(name, clone);
	bool shown = mark && name[len - 1] == ']';
	size_t at = shown ? (size_t)(mark - name) : without_clones(name, len);
	size_t marks = shown ? at + strlen(clone) : at, end = shown ? len - 1 : len;
	if (!size || len >= US_DEMANGLED_MAX || marks >= end)
		return false;
	us_name_put(&o, name, at);
	size_t stem = o.n;
	if (shown)
		us_name_puts(&o, clone);
	size_t before = o.n;
	put_marks(&o, name + marks, end - marks);
	if (shown && o.n > before)
		us_name_puts(&o, "]");
	else if (shown)
		o.n = stem;
	if (o.bad)
		return false;
	dst[o.n] = '\0';
	return o.n < len;
}

/* Behind the "<...>" at p. */
static const char *behind_generics(const char *p)
{
	unsigned depth = 0;
	for (const char *from = p; *p; p++) {
		depth += *p == '<';
		depth -= *p == '>' && p > from && p[-1] != '-' && depth;
		if (!depth)
			return p + 1;
	}
	return p;
}

/* In the older way, a hash is the last part: "17h" and 16 digits. */
static bool has_rust_hash(const char *raw)
{
	const char *hash = strstr(raw, "17h");
	return !strncmp(raw, "_ZN", 3) && hash &&
	       strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E';
}

bool us_name_rust_path(const char *raw, const char *name, char *dst, size_t size,
		       bool *ret_v0)
{
	static const char closure[] = "{closure#";
	struct us_name_out o = { .dst = dst, .size = size };
	bool v0 = !strncmp(raw, "_R", 2);
	if (!size || (!v0 && !has_rust_hash(raw)))
		return false;
	for (const char *p = name; *p && !o.bad;) {
		if (v0 && !strncmp(p, "::<", 3)) {
			p = behind_generics(p + 2);
		} else if (v0 && !strncmp(p, closure, strlen(closure))) {
			us_name_puts(&o, "{{closure}}");
			p += strcspn(p, "}");
			p += *p == '}';
		} else {
			us_name_put(&o, p++, 1);
		}
	}
	if (o.bad)
		return false;
	dst[o.n] = '\0';
	*ret_v0 = v0;
	return true;
}

static bool is_of(const struct scheme *s, const char *raw)
{
	return !strncmp(raw, s->prefix, strlen(s->prefix)) && strstr(raw, s->within);
}

/* The scheme that knows the name; NULL: none does. */
static const struct scheme *try_all(const char *raw, enum us_name_form form, char *dst,
				    size_t size, struct us_name_out *ret)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		*ret = (struct us_name_out){ .dst = dst, .size = size };
		bool known = is_of(&schemes[i], raw) &&
			     schemes[i].demangle(raw, form, ret);
		/* If the name does not fit, no other scheme is tried: it would give a
		 * different name. */
		if (ret->bad || (known && ret->n))
			return ret->bad ? NULL : &schemes[i];
	}
	return NULL;
}

/* NULL: as us_demangle(). */
static const struct scheme *demangle(const char *raw, enum us_name_form form, char *dst,
				     size_t size)
{
	char stem[US_MANGLED_MAX + 1];
	struct us_name_out o;
	size_t len = strnlen(raw, US_MANGLED_MAX + 1);
	if (len > US_MANGLED_MAX || !size)
		return NULL;
	size_t stem_len = without_clones(raw, len);
	memcpy(stem, raw, stem_len);
	stem[stem_len] = '\0';
	const struct scheme *scheme = try_all(stem, form, dst, size, &o);
	if (!scheme)
		return NULL;
	if (stem_len < len) {
		us_name_puts(&o, " [clone ");
		us_name_put(&o, raw + stem_len, len - stem_len);
		us_name_puts(&o, "]");
	}
	return o.bad ? NULL : scheme;
}

const char *us_demangle(const char *raw, enum us_name_form form, char *dst, size_t size)
{
	return demangle(raw, form, dst, size) ? dst : NULL;
}

bool us_name_is(const char *raw, us_name_test *test, void *ctx)
{
	static const enum us_name_form forms[] = { US_NAME_SHORT, US_NAME_LONG };
	char text[US_DEMANGLED_MAX];
	if (test(ctx, raw, false))
		return true;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct scheme *s = demangle(raw, forms[i], text, sizeof(text));
		if (!s) /* nor is there another form */
			return false;
		if (test(ctx, text, s->any_case))
			return true;
	}
	return false;
}

void us_demangled_case(char *name, const char *source)
{
	size_t part = strcspn(name, "( "), len = strlen(source);
	char *dot = memrchr(name, '.', part);
	char *last = dot ? dot + 1 : name;
	if ((size_t)(name + part - last) == len && !strncasecmp(last, source, len))
		memcpy(last, source, len);
}

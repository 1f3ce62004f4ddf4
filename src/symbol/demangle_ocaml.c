/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle_ocaml.c: "caml", the module's path joined by "__", "__" or (OCaml 5) ".",
 * the value's name, "_" and a number; other characters than letters, digits and _ are
 * "$" and two hexadecimal digits (ocaml, asmcomp: Compilenv.make_symbol, Emitaux).
 */
#include "symbol/demangle_priv.h"

#include <ctype.h>
#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool put_unescaped(struct us_name_out *o, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		if (c == '$') {
			int high = i + 2 < len ? hex(s[i + 1]) : -1;
			int low = high >= 0 ? hex(s[i + 2]) : -1;
			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			if ((unsigned char)c < ' ' || c == 0x7f)
				return false;
			i += 2;
		}
		us_name_put(o, &c, 1);
	}
	return true;
}

/* Where the name of the value begins: after the last module.  A name may contain "__",
 * and a functor's begins like a module's. */
static const char *find_value(const char *path)
{
	const char *dot = strchr(path, '.');
	const char *value = NULL;
	if (dot)
		return dot + 1;
	for (const char *sep = path; (sep = strstr(sep, "__"));) {
		bool was_module = !value || isupper((unsigned char)*value);
		const char *next = sep + 2;
		sep = next;
		if (was_module || isupper((unsigned char)*next))
			value = next;
	}
	return value;
}

/* "map_236": the length of the number, with its "_"; 0: none. */
static size_t number_len(const char *value)
{
	size_t len = strlen(value), n = 0;
	while (n < len && isdigit((unsigned char)value[len - 1 - n]))
		n++;
	return n && n + 1 < len && value[len - 1 - n] == '_' ? n + 1 : 0;
}

static bool put_path(struct us_name_out *o, const char *path, size_t len)
{
	const char *end = path + len;
	while (path < end) {
		const char *sep = memmem(path, (size_t)(end - path), "__", 2);
		const char *part_end = sep ? sep : end;
		if (part_end == path)
			return false;
		if (!put_unescaped(o, path, (size_t)(part_end - path)))
			return false;
		us_name_puts(o, ".");
		path = sep ? sep + 2 : end;
	}
	return true;
}

bool us_demangle_ocaml(const char *raw, enum us_name_form form, struct us_name_out *o)
{
	const char *path = raw + strlen("caml");
	const char *value = find_value(path);
	if (!isupper((unsigned char)*path) || !value || !*value)
		return false;
	size_t sep = value[-1] == '.' ? 1 : 2, len = strlen(value);
	/* Functions without a name have nothing but the number. */
	if (form == US_NAME_SHORT && strncmp(value, "fun_", 4) != 0)
		len -= number_len(value);
	return put_path(o, path, (size_t)(value - path) - sep) &&
	       put_unescaped(o, value, len);
}

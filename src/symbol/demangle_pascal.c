/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle_pascal.c: Free Pascal 3.2, as seen in what it compiles.
 *
 *	UNIT_$$_PROC$TYPE$TYPE$$RESULT		a procedure of a unit
 *	P$PROGRAM_$$_...			of the program
 *	UNIT$_$CLASS_$_INNER_$__$$_METHOD...	of a class, object, record or helper
 *	UNIT$_$OUTER$TYPE_$$_PROC...		in a procedure
 *	...$_$CLASS_$_METHOD			a method there
 *	NAME$1$CRC01234567			NAME made from a generic with one type
 *	..._$$_$plus$TYPE$TYPE$$RESULT		an operator
 *	..._$$_PROC$crc01234567			the CRC of types that are too long
 *	UNIT_$$_init$, INIT$_$UNIT		initialization of the unit
 *	WRPR_$UNIT_$$_CLASS_$_INTERFACE_$_N_$_METHOD	a call through an interface
 *
 * Names are in upper case, what the compiler adds in lower case.
 */
#include "symbol/demangle_priv.h"

#include <ctype.h>
#include <string.h>

/* A piece of the name. */
struct piece {
	const char *at;
	size_t len;
};

static bool is(struct piece p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.at, text, p.len);
}

/* Cuts off the part of *rest before sep, if there is one; *rest continues behind it. */
static bool cut(struct piece *rest, const char *sep, struct piece *ret)
{
	const char *found = memmem(rest->at, rest->len, sep, strlen(sep));
	if (!found)
		return false;
	size_t before = (size_t)(found - rest->at);
	*ret = (struct piece){ rest->at, before };
	rest->at = found + strlen(sep);
	rest->len -= before + strlen(sep);
	return true;
}

/* The next part before a '$'; all of the rest if there is none. */
static struct piece next(struct piece *rest)
{
	struct piece p;
	if (cut(rest, "$", &p))
		return p;
	p = *rest;
	*rest = (struct piece){ p.at + p.len, 0 };
	return p;
}

static bool is_identifier(struct piece p)
{
	if (p.len > 4 && !memcmp(p.at, "fpc_", 4)) /* of the compiler's own library */
		return true;
	if (!p.len || isdigit((unsigned char)p.at[0]))
		return false;
	for (size_t i = 0; i < p.len; i++)
		if (!isupper((unsigned char)p.at[i]) &&
		    !isdigit((unsigned char)p.at[i]) && p.at[i] != '_')
			return false;
	return true;
}

static void put(struct us_name_out *o, struct piece p)
{
	us_name_put(o, p.at, p.len);
}

/* "$1$CRC01234567" in front of *rest: the types of a generic. */
static bool cut_generic(struct piece *rest, struct piece *ret_crc)
{
	struct piece r = *rest, count = next(&r), crc = next(&r);
	if (!count.len || count.len > 2 || crc.len != strlen("CRC01234567") ||
	    memcmp(crc.at, "CRC", 3) != 0)
		return false;
	for (size_t i = 0; i < count.len; i++)
		if (!isdigit((unsigned char)count.at[i]))
			return false;
	*rest = r;
	*ret_crc = crc;
	return true;
}

/* An identifier with the types of its generic; *rest: what follows it. */
static bool put_identifier(struct us_name_out *o, struct piece name, struct piece *rest)
{
	struct piece crc;
	if (!is_identifier(name))
		return false;
	put(o, name);
	if (cut_generic(rest, &crc)) {
		us_name_puts(o, "<");
		put(o, crc);
		us_name_puts(o, ">");
	}
	return true;
}

/* A class or an enclosing procedure, without its parameters.  If it has some, the
 * scopes between it and the innermost one cannot be distinguished from them and are
 * left out. */
static bool put_scope(struct us_name_out *o, struct piece p)
{
	struct piece name = next(&p);
	if (!put_identifier(o, name, &p))
		return false;
	us_name_puts(o, ".");
	return true;
}

/* "UNIT" or "P$PROGRAM", then "$_$" and the scopes around the procedure. */
static bool put_place(struct us_name_out *o, struct piece place)
{
	struct piece unit, inner = { "", 0 }, class;
	bool program = place.len > 2 && !memcmp(place.at, "P$", 2);
	if (program)
		place = (struct piece){ place.at + 2, place.len - 2 };
	if (cut(&place, "$_$", &unit))
		inner = place;
	else
		unit = place;
	if (!is_identifier(unit))
		return false;
	if (!program) {
		put(o, unit);
		us_name_puts(o, ".");
	}
	while (cut(&inner, "_$_", &class))
		if (!put_scope(o, class))
			return false;
	return !inner.len || put_scope(o, inner);
}

static const char *operator_of(struct piece word)
{
	static const char *const names[][2] = {
		{ "plus", "+" },
		{ "minus", "-" },
		{ "star", "*" },
		{ "slash", "/" },
		{ "starstar", "**" },
		{ "equal", "=" },
		{ "greater", ">" },
		{ "lower", "<" },
		{ "greater_or_equal", ">=" },
		{ "lower_or_equal", "<=" },
		{ "not_equal", "<>" },
		{ "sym_diff", "><" },
		{ "assign", ":=" },
		{ "explicit", "explicit" },
		{ "enumerator", "enumerator" },
		{ "implicit", "implicit" },
		{ "and", "and" },
		{ "or", "or" },
		{ "xor", "xor" },
		{ "not", "not" },
		{ "div", "div" },
		{ "mod", "mod" },
		{ "shl", "shl" },
		{ "shr", "shr" },
		{ "in", "in" },
		{ "inc", "inc" },
		{ "dec", "dec" },
		{ "is", "is" },
		{ "as", "as" },
		{ "initialize", "initialize" },
		{ "finalize", "finalize" },
		{ "addref", "addref" },
		{ "copy", "copy" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(word, names[i][0]))
			return names[i][1];
	return NULL;
}

static void put_type(struct us_name_out *o, struct piece type)
{
	static const char array[] = "array_of_";
	while (type.len > strlen(array) && !memcmp(type.at, array, strlen(array))) {
		us_name_puts(o, "array of ");
		type.at += strlen(array);
		type.len -= strlen(array);
	}
	if (is(type, "formal"))
		us_name_puts(o, "untyped");
	else
		put(o, type);
}

/* "$TYPE$TYPE$$RESULT", the first '$' cut off. */
static bool put_types(struct us_name_out *o, struct piece rest)
{
	us_name_puts(o, "(");
	for (bool first = true; rest.len; first = false) {
		struct piece type = next(&rest), crc;
		if (!type.len) {
			us_name_puts(o, "): ");
			type = next(&rest);
			put_type(o, type);
			return type.len > 0;
		}
		us_name_puts(o, first ? "" : ", ");
		put_type(o, type);
		if (cut_generic(&rest, &crc)) {
			us_name_puts(o, "<");
			put(o, crc);
			us_name_puts(o, ">");
		}
	}
	us_name_puts(o, ")");
	return true;
}

static bool put_procedure(struct us_name_out *o, struct piece p, enum us_name_form form)
{
	struct piece name;
	if (is(p, "init$") || is(p, "finalize$")) {
		us_name_puts(o, *p.at == 'i' ? "initialization" : "finalization");
		return true;
	}
	if (is(p, "$create") || is(p, "$destroy")) {
		us_name_puts(o,
			     p.at[1] == 'c' ? "class constructor" : "class destructor");
		return true;
	}
	name = next(&p);
	if (!name.len) {
		const char *op = operator_of(name = next(&p));
		if (!op)
			return false;
		us_name_puts(o, "operator ");
		us_name_puts(o, op);
	} else if (!put_identifier(o, name, &p)) {
		return false;
	}
	return form == US_NAME_SHORT || put_types(o, p);
}

/* The part of the unit that runs at its start or end. */
static bool put_unit_part(struct us_name_out *o, struct piece name)
{
	struct piece what;
	if (!cut(&name, "$_$", &what) || !is_identifier(name))
		return false;
	bool init = is(what, "INIT");
	if (!init && !is(what, "FINALIZE"))
		return false;
	put(o, name);
	us_name_puts(o, init ? ".initialization" : ".finalization");
	return true;
}

/* "UNIT_$$_CLASS_$_INTERFACE_$_N_$_" before the method that is called. */
static bool cut_wrapper(struct piece *name)
{
	static const char mark[] = "WRPR_$";
	struct piece part;
	if (name->len < strlen(mark) || memcmp(name->at, mark, strlen(mark)) != 0)
		return false;
	*name = (struct piece){ name->at + strlen(mark), name->len - strlen(mark) };
	return cut(name, "_$$_", &part) && cut(name, "_$_", &part) &&
	       cut(name, "_$_", &part) && cut(name, "_$_", &part);
}

bool us_demangle_pascal(const char *raw, enum us_name_form form, struct us_name_out *o)
{
	struct piece name = { raw, strlen(raw) }, place;
	bool wrapper = cut_wrapper(&name);
	if (!cut(&name, "_$$_", &place))
		return !wrapper && put_unit_part(o, name);
	if (memmem(name.at, name.len, "_$$_", 4) || !put_place(o, place) ||
	    !put_procedure(o, name, form))
		return false;
	if (wrapper)
		us_name_puts(o, " [wrapper]");
	return true;
}

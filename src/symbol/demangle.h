/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle.h: from names in symbol tables to names in the source.
 *
 *	_ZN3net6handleEPNS_6PacketE	net::handle(net::Packet*)
 *	_RNvCsbsFkZsjFIc5_1w4slow	w::slow
 *	_D3app4work1C1fMFiZi		app.work.C.f(int)
 *	camlStdlib__List__map_236	Stdlib.List.map
 *	PROCESS$_$TCPU_$__$$_GET$BYTE	PROCESS.TCPU.GET
 *
 * Names are hostile: a name that is too long, nested too deeply or not wholly
 * understood is left as it is.  The result is no safer to print than the name was
 * (base/text.h).
 */
#ifndef US_SYMBOL_DEMANGLE_H
#define US_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define US_MANGLED_MAX	 4096 /* bytes; longer names are left alone */
#define US_DEMANGLED_MAX 8192 /* with the NUL; longer results are dropped */

enum us_name_form {
	US_NAME_SHORT, /* the name that people use */
	US_NAME_LONG,  /* with what the name has to tell it from namesakes: the types of
			  a Pascal procedure's parameters, OCaml's number, the hash of a
			  Rust instance */
};

/*
 * Write the name that raw stands for to dst.  A compiler's clone keeps its mark:
 * "f(int) [clone .cold]".  Returns dst, or NULL: no scheme knows raw, or the result
 * does not fit.  Not thread-safe.
 */
const char *us_demangle(const char *raw, enum us_name_form form, char *dst,
			size_t size);

/*
 * Is the symbol raw called so?  Asks test for raw, then for each form of the name,
 * until it returns true.  any_case: the language takes the name in any case, and what
 * is shown may have another one (us_demangled_case).  Not thread-safe.
 */
typedef bool us_name_test(void *ctx, const char *name, bool any_case);
bool us_name_is(const char *raw, us_name_test *test, void *ctx);

/*
 * What a clone is called in every build, from its shown name: the compiler numbers
 * clones anew each time.  "f.constprop.1.cold" makes "f.constprop.cold", and "f(int)
 * [clone .llvm.17]" makes "f(int)".  False, and nothing in dst: the name has no such
 * number, or it does not fit.
 */
bool us_name_of_all_builds(const char *name, char *dst, size_t size);

/*
 * The path of a Rust function, from its symbol and its shown name, as both ways in
 * which rustc mangles have it: "k::work::<u64>" makes "k::work", and
 * "k::f::{closure#0}" makes "k::f::{{closure}}".  *ret_v0: the newer way.  False, and
 * nothing in dst: it is no Rust function, or does not fit.
 */
bool us_name_rust_path(const char *raw, const char *name, char *dst, size_t size,
		       bool *ret_v0);

/*
 * For a case-insensitive language: give the last part of a demangled name the case that
 * source has.  "TCPU.GET" and "Get" make "TCPU.Get".  Otherwise name is unchanged.
 */
void us_demangled_case(char *name, const char *source);

#endif

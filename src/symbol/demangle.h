/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle.h: from the names that compilers put into symbol tables to those that
 * people wrote.
 *
 *	_ZN3net6handleEPNS_6PacketE	net::handle(net::Packet*)
 *	_RNvCsbsFkZsjFIc5_1w4slow	w::slow
 *	_D3app4work1C1fMFiZi		app.work.C.f(int)
 *	camlStdlib__List__map_236	Stdlib.List.map
 *	PROCESS$_$TCPU_$__$$_GET$BYTE	PROCESS.TCPU.GET
 *
 * Names are hostile: what is too long, too deep or not wholly understood is left as it
 * is.  The result is no safer to print than the name was (base/text.h).
 */
#ifndef US_SYMBOL_DEMANGLE_H
#define US_SYMBOL_DEMANGLE_H

#include <stddef.h>

#define US_MANGLED_MAX	 4096 /* bytes; longer names are left alone */
#define US_DEMANGLED_MAX 8192 /* with the NUL; so are names that get longer */

enum us_name_form {
	US_NAME_SHORT, /* what a person calls it */
	US_NAME_LONG,  /* and what tells it from namesakes, where the name has it: the
			  types of a Pascal procedure's parameters, OCaml's number, the
			  hash of a Rust instance */
};

/*
 * The name that raw stands for, to dst.  A compiler's clone keeps its mark:
 * "f(int) [clone .cold]".  NULL: raw is nothing that a scheme knows, or what it stands
 * for does not fit; else dst.  Not thread-safe.
 */
const char *us_demangle(const char *raw, enum us_name_form form, char *dst,
			size_t size);

/*
 * Give the last part of a demangled name the case that source has: "TCPU.GET" and "Get"
 * make "TCPU.Get", for a language that knows no case.  Else name stays.
 */
void us_demangled_case(char *name, const char *source);

#endif

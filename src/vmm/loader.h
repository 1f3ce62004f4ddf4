/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader.h: a program that the dynamic loader was told to execute (ld.so(8)): a QEMU
 * that was unpacked somewhere, with libraries of its own.  To the kernel, and so in
 * /proc, the loader is what runs; its command line has the program's behind its own.
 */
#ifndef US_VMM_LOADER_H
#define US_VMM_LOADER_H

#include <stdbool.h>

/* Is a loader, by the last part of its path? */
bool us_is_loader(const char *path);
/* Which word names the program: 0, if the first is no loader, or executes none.  The
 * words are anybody's. */
unsigned us_loader_skip(unsigned argc, const char *const argv[]);
/* The same of a command that ends with NULL: from the program on. */
char *const *us_loader_program(char *const *argv);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture-file.h: captures kept in a file, registers and the stack above rsp, and
 * given back as a guest: memory with page tables that holds an ELF and one stack.
 */
#ifndef US_ORACLE_CAPTURE_FILE_H
#define US_ORACLE_CAPTURE_FILE_H

#include "base/err.h"
#include "guest/paging.h"

#include <stdio.h>

#define CAPTURE_WINDOW 16384 /* bytes of stack kept, at most */

struct saved {
	struct us_regs regs;
	us_gva base;
	uint32_t len;
	uint8_t bytes[CAPTURE_WINDOW];
};

/* Copy what a capture needs, while the guest is held. */
void saved_take(struct saved *ret, struct us_paging *p, const struct us_regs *regs);

/* 0, or -1 with the reason in errno.  The file is this host's alone. */
int saved_write(FILE *f, const struct saved *s);
int saved_read(FILE *f, struct saved *ret);

/* A guest of our own. */
struct replay;

US_MUST_CHECK int replay_new(const char *elf, struct replay **ret, struct us_err *e);
void replay_free(struct replay *r); /* accepts NULL */

/* Put the stack where it was, and *ret to the registers, with our page tables. false:
 * the memory is full. */
bool replay_load(struct replay *r, const struct saved *s, struct us_regs *ret);
struct us_mem *replay_mem(struct replay *r);

#endif

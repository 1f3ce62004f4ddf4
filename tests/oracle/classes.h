/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.h: two stacks of one moment: in what do they differ, and who is right?
 *
 * Each class is recognised by a rule, told from the tables and from the guest's
 * memory.  A difference that no rule knows is US_CLASS_UNEXPLAINED.
 */
#ifndef US_ORACLE_CLASSES_H
#define US_ORACLE_CLASSES_H

#include "dwfl-walk.h"
#include "unwind/unwind.h"

enum us_class {
	US_CLASS_EQUAL,
	US_CLASS_EQUAL_ROOT_OURS,
	US_CLASS_LONGER_NO_CFI,
	US_CLASS_LONGER_INTERRUPT,
	US_CLASS_LONGER_REGISTER,
	US_CLASS_LONGER_PAST_END,
	US_CLASS_DWFL_PAST_ROOT,
	US_CLASS_DWFL_GUESS_WRONG,
	US_CLASS_DWFL_GUESS_SKIPS,
	US_CLASS_DWFL_GUESS_ELSEWHERE,
	US_CLASS_TABLE_WRONG,
	US_CLASS_TABLE_BELOW,
	US_CLASS_THREAD_BEGINS,
	US_CLASS_EARLY_ROOT,
	US_CLASS_CUT_WHERE_GUESS,
	US_CLASS_DEPTH,
	US_CLASS_CUT_AT_ROOT,
	US_CLASS_CUT,
	US_CLASS_CUT_LATER,
	US_CLASS_CUT_BOTH,
	US_CLASS_UNEXPLAINED,
	US_N_CLASS,
};

/* How bad is it? */
enum us_class_fault {
	US_FAULT_NONE,	  /* we are right */
	US_FAULT_CUT,	  /* frames are missing, and we say so */
	US_FAULT_BLIND,	  /* we are wrong, but had neither symbols nor tables */
	US_FAULT_UNKNOWN, /* somebody is wrong */
};

struct us_class_info {
	const char *name;
	enum us_class_fault fault;
	const char *words; /* the rule, and who is right */
};

extern const struct us_class_info us_classes[US_N_CLASS];

/* Both stacks, and what tells them apart. */
struct pair {
	const struct us_stack *ours;
	const struct dwfl_stack *dwfl;
	struct dwfl_walk *walk;
	struct us_paging *paging;
	const struct us_regs *regs;
	const struct us_code_map *map; /* of the ELF */
	unsigned same; /* frames from the innermost on that agree; set by classify() */
};

enum us_class classify(struct pair *p);

#endif

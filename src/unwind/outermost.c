/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outermost.c: where a stack ends because nobody called.
 *
 * A thread begins with what its creator put on its stack, a kernel with what its loader
 * left there.  Code that mret, eret or iret enters finds a return address of another
 * function.  A truncated stack is better than a false end.  Therefore the rules for the
 * place have to be certain, and the word there must not be one that a CALL leaves.
 *
 * A program's first function is recognized by what is above it: its arguments and all
 * that the kernel passes with them (System V psABI for x86-64, 3.4.1; Linux does so on
 * all processors).  Most programs mark it in their tables, too; those of some C
 * libraries do not.
 */
#include "unwind/walk.h"

#define MAX_PUSHED    24 /* words that an entry may have pushed */
#define FIRST_ALIGN   16 /* of the stack that a program begins with ... */
#define FIRST_PUSHED  32 /* ... bytes that its first function may have pushed there */
#define MAX_ARGUMENTS (1 << 17)
#define MAX_VARIABLES 1024 /* of the environment */
#define MAX_AUX	      64   /* pairs */
#define MAX_AUX_TYPE  255

/* Types of pairs in the auxiliary vector. */
enum { AUX_END = 0, AUX_PAGE_SIZE = 6, AUX_ENTRY = 9 };

/* Three words are all that shows where 32-bit code of a kernel was interrupted.  Next
 * to a thread's stack, a pointer and two small numbers look like that; but the pointer
 * is one to data, or to a function. */
static bool is_likely(struct us_walk *w, const struct us_entry_frame *f)
{
	return w->word == 8 || (f->flags & US_PC_USER) ||
	       us_sites_is_inside(w->u->sites, f->pc);
}

/* What was taken for a function that never returns may be a part of an interrupt
 * handler.  Then its caller may be below what the interrupt pushed. */
static bool is_below_entry(struct us_walk *w, us_gva slot)
{
	struct us_entry_frame f;
	if (w->u->arch->link)
		return false;
	for (unsigned i = 0; i < MAX_PUSHED; i++)
		if (us_walk_entry_frame(w, slot + i * w->word, &f) && is_likely(w, &f))
			return true;
	return false;
}

/* Was it entered by the exception return, or the jump to another thread, of a function
 * that was called from there, or of the one there?  Then its return address is really
 * that function's. */
static bool is_left_by_exit(struct us_walk *w, const struct us_site *site,
			    struct us_site *at)
{
	struct us_sites *sites = w->u->sites;
	if (at->call != US_CALL_DIRECT || us_site_is_entry(site) ||
	    us_sites_leads(sites, at, site) != US_REACH_NEVER)
		return false;
	us_gva target = us_site_target(at);
	if (at->source != US_SITE_CODE)
		us_sites_analyse(sites, at);
	if (us_site_is_entry(at))
		return true;
	struct us_site *called = us_sites_find(sites, target, false, at);
	if (called->source != US_SITE_CODE)
		us_sites_analyse(sites, called);
	return called->exit == US_EXIT_IRET || called->exit == US_EXIT_SWITCH;
}

/* Was it entered by a jump behind that CALL?  Boot code calls a few functions, and then
 * jumps to the one that stays, with a stack that it has set up. */
static bool is_left_by_jump(struct us_walk *w, const struct us_site *site,
			    struct us_site *at)
{
	us_gva to;
	if (at->call != US_CALL_DIRECT || us_site_is_entry(site) ||
	    !us_sites_left(w->u->sites, at->pc, site, &to))
		return false;
	if (to)
		return true;
	/* Where the jump leads is not known: it leads here if the CALL does not, as
	 * what stays here for good was not entered in another way. */
	bool stays = site->outer == US_OUTER_STAYS || site->outer == US_OUTER_JUMP;
	return stays && us_sites_leads(w->u->sites, at, site) == US_REACH_NEVER;
}

/* Nobody returns to v, the word in the place of the return address. */
static bool is_no_caller(struct us_walk *w, const struct us_site *site, us_gva v)
{
	struct us_sites *sites = w->u->sites;
	bool stays = site->outer == US_OUTER_STAYS;
	us_gva start = us_site_start(site);
	if (v == 0)
		return true;
	struct us_site *at = us_sites_find(sites, v, true, w->site);
	if (at->call != US_CALL_NONE)
		return is_left_by_exit(w, site, at) || is_left_by_jump(w, site, at);
	/* It runs in the middle of something else, as a handler that was made to run
	 * there: the word is where that goes on. */
	if (us_sites_saves_all(sites, start))
		return false;
	/* It is there for when the thread ends; or the function was entered by a return
	 * to it. */
	if (v == start || us_site_start(us_sites_find(sites, v, false, at)) == v)
		return true;
	return (stays || !w->u->arch->link) && !us_site_is_known(at);
}

/* No memory is there according to the guest's page tables, whatever the copy holds. */
static bool is_nowhere(struct us_walk *w, us_gva slot)
{
	us_gpa at;
	uint8_t mode = w->space->mode;
	return mode != US_PAGING_UNKNOWN && mode != US_PAGING_OFF &&
	       !us_paging_translate(w->paging, w->space, slot, &at, NULL);
}

/* A trusted table gives the same word, or has no rule for the place; word is NULL if it
 * could not be read. */
static bool agrees_with_table(struct us_walk *w, const struct us_site *site,
			      const us_gva *word)
{
	struct us_cfi_row row;
	us_gva other;
	if (!us_sites_cfi(w->u->sites, site, &row) || row.untrusted)
		return true;
	if (!us_step_cfi_word(w, row.rule, &other))
		return !word;
	return word && *word == other;
}

static bool slot_says(struct us_walk *w, const struct us_site *site,
		      const struct us_code_rule *rule)
{
	us_gva slot = 0, word;
	bool found = w->u->arch->link ? us_step_link_word(w, rule, &slot, &word)
				      : us_step_code_slot(w, rule, &slot) &&
						us_walk_read(w, slot, &word);
	if (!agrees_with_table(w, site, found ? &word : NULL))
		return false;
	if (!slot)
		return found && is_no_caller(w, site, word); /* in a register */
	if (is_below_entry(w, slot))
		return false;
	return found ? is_no_caller(w, site, word)
		     : site->outer == US_OUTER_STAYS && is_nowhere(w, slot);
}

/* No symbol names its start: a jump has to have led there, whatever else is there. */
static bool jump_says(struct us_walk *w, const struct us_site *site,
		      const struct us_code_rule *rule)
{
	us_gva slot, word;
	return us_step_link_word(w, rule, &slot, &word) &&
	       is_left_by_jump(w, site, us_sites_find(w->u->sites, word, true, site));
}

static bool read_nth(struct us_walk *w, us_gva at, unsigned n, uint64_t *ret)
{
	return us_walk_read(w, us_walk_wrap(w, at + (us_gva)n * w->word), ret);
}

static bool is_page_size(uint64_t v)
{
	return v >= 4096 && v <= 1 << 16 && !(v & (v - 1));
}

/* The auxiliary vector: what the kernel tells a program about itself and the
 * machine. */
static bool is_auxiliary(struct us_walk *w, us_gva at, us_gva *ret_entry)
{
	bool pages = false;
	uint64_t type, value;
	*ret_entry = 0;
	for (unsigned i = 0; i < MAX_AUX && !(pages && *ret_entry); i++) {
		if (!read_nth(w, at, 2 * i, &type) || type == AUX_END ||
		    type > MAX_AUX_TYPE || !read_nth(w, at, 2 * i + 1, &value))
			return false;
		pages |= type == AUX_PAGE_SIZE && is_page_size(value);
		if (type == AUX_ENTRY)
			*ret_entry = value;
	}
	return pages && *ret_entry;
}

/* The count of the arguments, the arguments, 0, the environment, 0.  Programs change
 * what these point to, and remove variables: then there are more zeroes. */
static bool is_first_stack(struct us_walk *w, us_gva at, us_gva *ret_entry)
{
	uint64_t n, first, v;
	bool over = false;
	if (!us_walk_read(w, at, &n) || !n || n > MAX_ARGUMENTS ||
	    !read_nth(w, at, 1, &first) || !first ||
	    !read_nth(w, at, (unsigned)n + 1, &v) || v)
		return false;
	at += (n + 2) * w->word;
	for (unsigned i = 0; i < MAX_VARIABLES && read_nth(w, at, i, &v); i++) {
		if (v && over)
			return is_auxiliary(w, at + (us_gva)i * w->word, ret_entry);
		over |= v == 0;
	}
	return false;
}

/* Does the program's code lead from there to the CALL? */
static bool is_led_from(struct us_walk *w, us_gva entry)
{
	struct us_code_rule rule[2];
	const struct us_site *site = us_sites_find(w->u->sites, w->pc, true, w->site);
	return us_sites_from(w->u->sites, site, entry, rule) == US_REACH_FLOW;
}

/*
 * Behind a CALL of the program's first function: its arguments are above what it has
 * pushed, no word in between is a return address, and the kernel has entered the
 * program there.
 */
static bool is_first_of_program(struct us_walk *w)
{
	us_gva sp = w->reg[w->u->arch->sp], target, from = sp & -(us_gva)w->word;
	us_gva entry;
	uint64_t v;
	if (!w->after_call || !us_walk_knows(w, w->u->arch->sp) || from != sp)
		return false;
	for (us_gva at = from; at - from <= FIRST_PUSHED; at += w->word) {
		if (at % FIRST_ALIGN == 0 && is_first_stack(w, at, &entry))
			return is_led_from(w, entry);
		if (!us_walk_read(w, at, &v) ||
		    us_sites_call_before(w->u->sites, us_walk_strip(w, v), &target))
			return false;
	}
	return false;
}

/* Nobody has called what begins at v, and it leads nowhere. */
static bool is_trap(struct us_walk *w, us_gva v)
{
	struct us_sites *sites = w->u->sites;
	us_gva target;
	return v && us_sites_call_before(sites, v, &target) == US_CALL_NONE &&
	       us_site_start(us_sites_find(sites, v, false, w->site)) == v &&
	       us_sites_traps(sites, v);
}

/*
 * The first function of a program's fiber has the start of a function in the place of
 * its return address, for when it comes back: one that only traps.  If that one made a
 * system call, or called another, it could be what ends a signal, or a part of what has
 * called.
 */
static bool is_first_of_fiber(struct us_walk *w, struct us_site *site)
{
	us_gva slot, word;
	if (w->u->arch->link || !us_site_has_start(site) ||
	    site->source != US_SITE_CODE)
		return false;
	if (site->outer == US_OUTER_NEW)
		us_sites_judge(w->u->sites, site);
	if (site->outer != US_OUTER_RETURNS && site->outer != US_OUTER_STAYS)
		return false;
	const struct us_code_rule *rule =
		&site->rule[site->rule[0].base == US_BASE_NONE];
	return us_step_code_slot(w, rule, &slot) && us_walk_read(w, slot, &word) &&
	       agrees_with_table(w, site, &word) && is_trap(w, word);
}

/* Is the stack pointer what the code has loaded?  Firmware moves its stack to other
 * memory once it knows of any, by whole pages. */
static bool stands_at(const struct us_walk *w, us_gva sp)
{
	return us_walk_knows(w, US_X86_RSP) && (w->reg[US_X86_RSP] - sp) % 4096 == 0;
}

/* A thread is given a frame pointer of 0.  If it is none, the code may be a part of
 * another function that has a name of its own. */
static bool begins_frames(struct us_walk *w, const struct us_site *site)
{
	unsigned fp = w->u->arch->fp;
	return us_walk_knows(w, fp) && w->reg[fp] == 0 &&
	       agrees_with_table(w, site, NULL);
}

bool us_walk_is_root(struct us_walk *w, struct us_site *site)
{
	uint8_t end = w->end;
	bool root = false;
	if (w->flags & US_PC_USER) {
		/* At its first instructions, the link register is the kernel's. */
		root = is_first_of_program(w) || is_first_of_fiber(w, site) ||
		       us_sites_drops(w->u->sites, site);
		w->end = end;
		return root;
	}
	if (us_site_is_entry(site) || site->source != US_SITE_CODE)
		return false;
	if (site->outer == US_OUTER_NEW)
		us_sites_judge(w->u->sites, site);
	if (site->outer == US_OUTER_OWN)
		return true;
	if (site->outer == US_OUTER_AT)
		return stands_at(w, us_sites_own_sp(w->u->sites, site));
	if (site->outer <= US_OUTER_NO || !us_site_has_start(site))
		return false;
	if (site->outer == US_OUTER_RUNS)
		return begins_frames(w, site);
	const struct us_code_rule *rule = site->rule;
	rule = w->u->arch->link ? us_step_link_rule(w, rule)
				: &rule[rule[0].base == US_BASE_NONE];
	root = site->outer == US_OUTER_JUMP ? jump_says(w, site, rule)
					    : slot_says(w, site, rule);
	w->end = end;
	return root;
}

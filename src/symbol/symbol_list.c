/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol_list.c: see symbol_list.h. */
#include "symbol/symbol_list.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "symbol/made_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_BYTES (256U << 20)
#define MOST_LINES (4U << 20)
#define FAR	   (1ULL << 30) /* between two groups */
#define MOST_CODE  (1ULL << 20) /* of a function with an unknown end */
#define LAST_CODE  4096		/* of the last one */

struct line {
	struct us_made_symbol symbol; /* size 0: not stated */
	size_t number;
	bool function;
};

struct list {
	char *text; /* names point into it */
	struct line *v;
	size_t n, size;
	bool bare; /* without types, by its first line */
};

static void fini(struct list *l)
{
	free(l->text);
	free(l->v);
}

/* A hexadecimal number of at most 16 digits that a space ends. */
static bool take_number(char **at, uint64_t *ret)
{
	if (!strncmp(*at, "0x", 2))
		*at += 2;
	size_t n = strspn(*at, "0123456789abcdefABCDEF");
	if (!n || n > 16 || (*at)[n] != ' ')
		return false;
	*ret = strtoull(*at, NULL, 16);
	*at += n + 1;
	return true;
}

static bool parse(char *at, struct line *ret)
{
	*ret = (struct line){ 0 };
	if (!take_number(&at, &ret->symbol.address))
		return false;
	/* One letter is a type, even if it is also a digit. */
	if (at[0] && at[1] != ' ' && !take_number(&at, &ret->symbol.size))
		return false;
	if (!strchr("AaBbCcDdGgIiNnpRrSsTtuVvWw?-", at[0]) || !at[0] || at[1] != ' ' ||
	    (unsigned char)at[2] <= ' ')
		return false;
	ret->function = strchr("TtWwi", at[0]);
	ret->symbol.local = at[0] == 't';
	ret->symbol.weak = at[0] == 'W' || at[0] == 'w';
	ret->symbol.name = at + 2;
	return true;
}

/* ADDRESS NAME, as Bochs reads them and as xv6's Makefile writes them (kernel.sym). */
static bool parse_bare(char *at, struct line *ret)
{
	*ret = (struct line){ .function = true };
	if (!take_number(&at, &ret->symbol.address) || (unsigned char)at[0] <= ' ' ||
	    strchr(at, ' '))
		return false;
	ret->symbol.name = at;
	return true;
}

/* Sections, and files and constants, which objdump has at 0. */
static bool is_no_code(const struct line *bare)
{
	return bare->symbol.name[0] == '.' || !bare->symbol.address;
}

/* Lines without an address or a name, such as those between two files. */
static bool may_be_skipped(const char *line)
{
	size_t n = strspn(line, " ");
	return !line[n] || (n && strchr("UwvW", line[n]) && line[n + 1] == ' ');
}

static int add(struct list *l, const struct line *line)
{
	if (l->n == l->size) {
		size_t size = l->size ? 2 * l->size : 1024;
		struct line *v = size <= MOST_LINES
					 ? reallocarray(l->v, size, sizeof(*v))
					 : NULL;
		if (!v)
			return size <= MOST_LINES ? -ENOMEM : -E2BIG;
		l->v = v;
		l->size = size;
	}
	l->v[l->n] = *line;
	l->v[l->n].number = l->n;
	l->n++;
	return 0;
}

static int add_text(struct list *l, char *text)
{
	struct line line;
	if (!l->n && !l->bare)
		l->bare = !parse(text, &line);
	if (!(l->bare ? parse_bare : parse)(text, &line))
		return -ENOEXEC;
	return l->bare && is_no_code(&line) ? 0 : add(l, &line);
}

/* All lines must have one form, so no other text is taken for a list.  *ret_line: the
 * one that has not. */
static int parse_all(struct list *l, size_t *ret_line)
{
	char *next = l->text;
	for (*ret_line = 1; next; ++*ret_line) {
		char *line = strsep(&next, "\n");
		line[strcspn(line, "\r\t")] = '\0'; /* a module's name may follow */
		if (may_be_skipped(line))
			continue;
		int r = add_text(l, line);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_text(const char *path, struct list *l)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MOST_BYTES)
		return -ENOEXEC;
	size_t size = (size_t)st.st_size, n = 0;
	l->text = malloc(size + 1);
	if (!l->text)
		return -ENOMEM;
	while (n < size) {
		ssize_t got = pread(fd, l->text + n, size - n, (off_t)n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	l->text[n] = '\0';
	return strlen(l->text) == n ? 0 : -ENOEXEC;
}

static int by_address(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	if (x->symbol.address != y->symbol.address)
		return x->symbol.address < y->symbol.address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The bytes up to the next symbol at another address, of any kind. */
static uint64_t room_of(const struct list *l, size_t k, size_t next)
{
	uint64_t at = l->v[k].symbol.address;
	uint64_t room = next < l->n ? l->v[next].symbol.address - at : LAST_CODE;
	return room < MOST_CODE ? room : MOST_CODE;
}

/* The functions alone, with a size each.  Returns how many there are. */
static size_t take_functions(const struct list *l, struct us_made_symbol *ret)
{
	size_t n = 0, next = 0;
	for (size_t k = 0; k < l->n; k++) {
		while (next < l->n &&
		       l->v[next].symbol.address == l->v[k].symbol.address)
			next++;
		if (!l->v[k].function)
			continue;
		ret[n] = l->v[k].symbol;
		if (!ret[n].size)
			ret[n].size = room_of(l, k, next);
		if (ret[n].size <= UINT64_MAX - ret[n].address)
			n++;
	}
	return n;
}

/* The largest group without a large gap: where it begins, and how many. */
static size_t largest_group(const struct us_made_symbol *v, size_t n, size_t *ret_first)
{
	size_t best = 0, first = 0;
	for (size_t k = 0; k < n; k++) {
		if (k && v[k].address - v[k - 1].address > FAR)
			first = k;
		if (k + 1 - first > best) {
			best = k + 1 - first;
			*ret_first = first;
		}
	}
	return best;
}

static int make(const char *path, struct list *l, struct us_elf_image **ret,
		struct us_err *e)
{
	_cleanup_free_ struct us_made_symbol *v = calloc(l->n + 1, sizeof(*v));
	if (!v)
		return us_fail(e, -ENOMEM, "read symbols of %s: no memory", path);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_address);
	size_t first = 0, n = largest_group(v, take_functions(l, v), &first);
	if (!n)
		return us_fail(e, -ENOEXEC, "read symbols of %s: it lists no function",
			       path);
	const struct us_made_symbol *last = &v[first + n - 1];
	return us_made_elf_open(path, v + first, n, v[first].address,
				last->address + last->size, ret, e);
}

/* /proc/kallsyms shows no addresses to those who may not see them. */
static bool has_addresses(const struct list *l)
{
	for (size_t k = 0; k < l->n; k++)
		if (l->v[k].symbol.address)
			return true;
	return false;
}

static int read_list(const char *path, struct list *l, struct us_err *e)
{
	size_t line;
	int r = read_text(path, l);
	if (r == 0)
		r = parse_all(l, &line);
	if (r == -ENOEXEC && l->n)
		return us_fail(e, -EINVAL,
			       "read symbols of %s: line %zu is not as those before",
			       path, line);
	if (r == -ENOEXEC || (r == 0 && !l->n))
		return us_fail(e, -ENOEXEC,
			       "read symbols of %s: it is not what nm prints", path);
	if (r < 0)
		return us_fail(e, r, "read symbols of %s: %s", path, strerror(-r));
	if (has_addresses(l))
		return 0;
	us_fail(e, -EINVAL, "read symbols of %s: all addresses are 0", path);
	us_hint(e, "read /proc/kallsyms as root, in the guest");
	return -EINVAL;
}

int us_symbol_list_open(const char *path, struct us_elf_image **ret, struct us_err *e)
{
	struct list l = { 0 };
	int r = read_list(path, &l, e);
	if (r == 0)
		r = make(path, &l, ret, e);
	fini(&l);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_text.c: see syscall_text.h. */
#include "report/syscall_text.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

/* Linux: include/uapi/asm-generic/fcntl.h, mman-common.h; if ABIs differ, the
 * architecture's own files. */
#define AT_FDCWD_VALUE	(-100)
#define O_CREAT_VALUE	0100
#define O_TMPFILE_VALUE 020000000
#define O_ACCESS	3

struct flag {
	uint32_t bits;
	const char *name;
};

static const struct flag open_flags[] = {
	{ 0100, "O_CREAT" },
	{ 0200, "O_EXCL" },
	{ 0400, "O_NOCTTY" },
	{ 01000, "O_TRUNC" },
	{ 02000, "O_APPEND" },
	{ 04000, "O_NONBLOCK" },
	{ 04010000, "O_SYNC" },
	{ 010000, "O_DSYNC" },
	{ 020000, "O_ASYNC" },
	{ 01000000, "O_NOATIME" },
	{ 02000000, "O_CLOEXEC" },
	{ 010000000, "O_PATH" },
	{ 0, NULL },
};
static const struct flag x86_open_flags[] = {
	{ 020200000, "O_TMPFILE" }, { 040000, "O_DIRECT" },
	{ 0100000, "O_LARGEFILE" }, { 0200000, "O_DIRECTORY" },
	{ 0400000, "O_NOFOLLOW" },  { 0, NULL },
};
static const struct flag arm_open_flags[] = {
	{ 020040000, "O_TMPFILE" }, { 040000, "O_DIRECTORY" },
	{ 0100000, "O_NOFOLLOW" },  { 0200000, "O_DIRECT" },
	{ 0400000, "O_LARGEFILE" }, { 0, NULL },
};
static const struct flag prot_flags[] = {
	{ 1, "PROT_READ" },
	{ 2, "PROT_WRITE" },
	{ 4, "PROT_EXEC" },
	{ 0, NULL },
};
static const struct flag map_flags[] = {
	{ 0x3, "MAP_SHARED_VALIDATE" },
	{ 0x1, "MAP_SHARED" },
	{ 0x2, "MAP_PRIVATE" },
	{ 0x10, "MAP_FIXED" },
	{ 0x20, "MAP_ANONYMOUS" },
	{ 0x40, "MAP_32BIT" },
	{ 0x100, "MAP_GROWSDOWN" },
	{ 0x800, "MAP_DENYWRITE" },
	{ 0x1000, "MAP_EXECUTABLE" },
	{ 0x2000, "MAP_LOCKED" },
	{ 0x4000, "MAP_NORESERVE" },
	{ 0x8000, "MAP_POPULATE" },
	{ 0x10000, "MAP_NONBLOCK" },
	{ 0x20000, "MAP_STACK" },
	{ 0x40000, "MAP_HUGETLB" },
	{ 0x80000, "MAP_SYNC" },
	{ 0x100000, "MAP_FIXED_NOREPLACE" },
	{ 0, NULL },
};

const char *us_syscall_shown_name(const struct us_syscall *c,
				  char buf[static US_SYSCALL_NAME])
{
	const char *name = c->has_number ? us_syscall_name(c->abi, c->number) : "?";
	if (c->has_number && name && c->abi != US_ABI_I386)
		return name;
	if (!name)
		snprintf(buf, US_SYSCALL_NAME, "syscall_0x%" PRIx64, c->number);
	/* Programs of both widths run side by side. */
	if (name)
		snprintf(buf, US_SYSCALL_NAME, "%s", name);
	return buf;
}

static const char *args_of(const struct us_syscall *c)
{
	const char *args = c->has_number ? us_syscall_args(c->abi, c->number) : NULL;
	return args ? args : "xxxxxx";
}

/* open() has its argument with permissions only with O_CREAT. */
static unsigned n_arg(const struct us_syscall *c)
{
	const char *args = args_of(c), *flags = strchr(args, 'O');
	unsigned n = (unsigned)strlen(args);
	if (flags && flags[1] == 'o' &&
	    !(c->arg[flags - args] & (O_CREAT_VALUE | O_TMPFILE_VALUE)))
		n--;
	return n;
}

unsigned us_syscall_n_args(const struct us_syscall *c)
{
	return c->has_args ? n_arg(c) : 1; /* "?" */
}

static const struct us_syscall_text *text_of(const struct us_syscall *c,
					     unsigned n_text, unsigned arg)
{
	for (unsigned k = 0; k < n_text; k++)
		if (c->text[k].arg == arg)
			return &c->text[k];
	return NULL;
}

/* Memory that the call reads may not have been present when it was entered. */
unsigned us_syscall_n_before(const struct us_syscall *c)
{
	const char *args = args_of(c);
	unsigned n = us_syscall_n_args(c);
	for (unsigned i = 0; i < n; i++) {
		bool read = args[i] == 's' || args[i] == 'b';
		if (args[i] == 'B' ||
		    (read && c->arg[i] && !text_of(c, c->n_text_before, i)))
			return i;
	}
	return n;
}

/* The same letters as strace's. */
static void print_text(FILE *out, const struct us_syscall_text *t)
{
	static const char plain[] = "\t\n\v\f\r\"\\", letter[] = "tnvfr\"\\";
	fputc('"', out);
	for (unsigned i = 0; i < t->n; i++) {
		uint8_t b = t->bytes[i];
		const char *at = b ? strchr(plain, b) : NULL;
		bool digit = i + 1U < t->n && t->bytes[i + 1] >= '0' &&
			     t->bytes[i + 1] <= '7';
		if (at)
			fprintf(out, "\\%c", letter[at - plain]);
		else if (b >= 0x20 && b < 0x7f)
			fputc(b, out);
		else
			fprintf(out, digit ? "\\%03o" : "\\%o", b);
	}
	fputs(t->cut ? "\"..." : "\"", out);
}

static uint32_t print_flags(FILE *out, uint32_t value, const struct flag *f,
			    const char **separator)
{
	for (; f->name; f++)
		if ((value & f->bits) == f->bits) {
			fprintf(out, "%s%s", *separator, f->name);
			*separator = "|";
			value &= ~f->bits;
		}
	return value;
}

static void print_open_flags(FILE *out, const struct us_syscall *c, uint32_t value)
{
	static const char *const access[] = { "O_RDONLY", "O_WRONLY", "O_RDWR",
					      "O_ACCMODE" };
	const char *separator = "|";
	fputs(access[value & O_ACCESS], out);
	value = print_flags(out, value & ~(uint32_t)O_ACCESS,
			    c->abi == US_ABI_AARCH64 ? arm_open_flags : x86_open_flags,
			    &separator);
	value = print_flags(out, value, open_flags, &separator);
	if (value)
		fprintf(out, "|%#x", value);
}

static void print_set(FILE *out, uint32_t value, const struct flag *f, const char *none)
{
	const char *separator = "";
	uint32_t rest = print_flags(out, value, f, &separator);
	if (rest)
		fprintf(out, "%s%#x", separator, rest);
	else if (!*separator)
		fputs(none, out);
}

static void print_signal(FILE *out, int n)
{
	const char *name = n > 0 ? sigabbrev_np(n) : NULL;
	if (name)
		fprintf(out, "SIG%s", name);
	else
		fprintf(out, "%d", n);
}

static void print_address(FILE *out, const struct us_syscall *c, unsigned i)
{
	const struct us_syscall_text *t = text_of(c, c->n_text, i);
	if (t)
		print_text(out, t);
	else if (c->arg[i])
		fprintf(out, "0x%" PRIx64, c->arg[i]);
	else
		fputs("NULL", out);
}

static void print_arg(FILE *out, const struct us_syscall *c, unsigned i, char letter)
{
	static const char *const whence[] = { "SEEK_SET", "SEEK_CUR", "SEEK_END",
					      "SEEK_DATA", "SEEK_HOLE" };
	uint64_t a = c->arg[i];
	bool narrow = c->abi == US_ABI_I386;
	switch (letter) {
	case 'A':
		if ((int32_t)a == AT_FDCWD_VALUE) {
			fputs("AT_FDCWD", out);
			return;
		}
		fprintf(out, "%d", (int32_t)a);
		return;
	case 'd':
	case 'f':
		fprintf(out, "%d", (int32_t)a);
		return;
	case 'u':
		fprintf(out, "%" PRIu64, a);
		return;
	case 'l':
		fprintf(out, "%" PRId64, narrow ? (int32_t)a : (int64_t)a);
		return;
	case 'L':
		fprintf(out, "%" PRId64, (int64_t)(c->arg[i + 1] << 32 | (uint32_t)a));
		return;
	case 's':
	case 'b':
	case 'B':
	case 'p':
		print_address(out, c, i);
		return;
	case 'O':
		print_open_flags(out, c, (uint32_t)a);
		return;
	case 'P':
		print_set(out, (uint32_t)a, prot_flags, "PROT_NONE");
		return;
	case 'M':
		print_set(out, (uint32_t)a, map_flags, "MAP_FILE");
		return;
	case 'o':
		fprintf(out, "%#03o", (uint32_t)a);
		return;
	case 'S':
		print_signal(out, (int32_t)a);
		return;
	case 'W':
		if (a < sizeof(whence) / sizeof(whence[0])) {
			fputs(whence[a], out);
			return;
		}
		break;
	default:
		break;
	}
	fprintf(out, a ? "0x%" PRIx64 : "%" PRIu64, a);
}

void us_syscall_print_args(FILE *out, const struct us_syscall *c, unsigned first,
			   unsigned end)
{
	const char *args = args_of(c);
	unsigned n = n_arg(c);
	if (!c->has_args) {
		if (!first)
			fputc('?', out);
		return;
	}
	for (unsigned i = first; i < end && i < n; i++) {
		if (args[i] == 'H') /* its low half has shown it */
			continue;
		if (i)
			fputs(", ", out);
		print_arg(out, c, i, args[i]);
	}
}

static bool returns_address(const struct us_syscall *c)
{
	static const char *const names[] = { "mmap", "mmap2", "brk", "mremap",
					     "shmat" };
	const char *name = c->has_number ? us_syscall_name(c->abi, c->number) : NULL;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void print_value(FILE *out, const struct us_syscall *c)
{
	int error;
	if (!us_syscall_failed(c->value, &error)) {
		uint64_t mask = c->abi == US_ABI_I386 ? UINT32_MAX : UINT64_MAX;
		if (returns_address(c))
			fprintf(out, "0x%" PRIx64, (uint64_t)c->value & mask);
		else
			fprintf(out, "%" PRId64, c->value);
		return;
	}
	const char *name = strerrorname_np(error);
	if (name)
		fprintf(out, "-1 %s (%s)", name, strerrordesc_np(error));
	else
		fprintf(out, "-1 (errno %d)", error);
}

void us_syscall_print_result(FILE *out, const struct us_syscall *c)
{
	static const char *const ends[] = {
		[US_SYSCALL_OPEN] = "?",
		[US_SYSCALL_DONE] = "?",
		[US_SYSCALL_NO_RETURN] = "?",
		[US_SYSCALL_RESTARTED] = "? ERESTARTSYS (To be restarted)",
		[US_SYSCALL_THREAD_GONE] = "? <its thread is gone>",
		[US_SYSCALL_UNFINISHED] = "? <unfinished ...>",
	};
	if (c->end == US_SYSCALL_DONE && c->has_value)
		print_value(out, c);
	else
		fputs(ends[c->end], out);
}

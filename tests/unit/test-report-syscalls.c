/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls as text, where one is cut in two by another thread's: what was not known
 * at its entry is in the second part. */
#include "report/syscall_text.h"
#include "report/trace_format.h"
#include "trace/syscall_message.h"
#include "trace/syscalls.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ	 0
#define WRITE	 1
#define GETPID	 39
#define READLINK 89
#define A_STACK	 0xffffc90000004000U
#define B_STACK	 0xffffc90000008000U

struct out {
	struct us_trace_out trace;
	struct us_syscalls *s;
	const struct us_trace_format *format;
	char *text;
	size_t size;
	uint64_t now;
};

static void begin(struct out *x, const struct us_trace_format *f)
{
	*x = (struct out){ .format = f };
	x->trace.out = open_memstream(&x->text, &x->size);
	assert_non_null(x->trace.out);
	assert_int_equal(f->begin(&x->trace), 0);
	assert_int_equal(us_syscalls_new(&f->ops.calls, &x->trace, &x->s), 0);
}

static void end(struct out *x)
{
	assert_int_equal(us_syscalls_end(x->s, x->now), 0);
	assert_int_equal(x->format->end(&x->trace), 0);
	us_syscalls_free(x->s);
	fclose(x->trace.out);
}

static void tell(struct out *x, struct us_syscall_message m, uint64_t stack)
{
	uint8_t bytes[US_SYSCALL_MESSAGE];
	m.abi = US_ABI_X86_64;
	m.pc = 0x401002;
	m.sp = 0x7ffff000;
	m.root = m.thread = stack & 0xf000;
	m.stack = stack;
	size_t n = us_syscall_message_put(&m, bytes);
	x->now += 1000;
	assert_int_equal(us_syscalls_add(x->s, 0, x->now, x->now, bytes, n), 0);
}

static void call(struct out *x, uint64_t stack, struct us_syscall_message m)
{
	m.type = US_SYSCALL_ENTERED;
	m.has_number = true;
	tell(x, m, stack);
	m = (struct us_syscall_message){ .type = US_SYSCALL_ON_STACK };
	tell(x, m, stack);
}

static void come_back(struct out *x, uint64_t stack, struct us_syscall_message m)
{
	m.type = US_SYSCALL_RETURNED;
	tell(x, m, stack);
}

/* Another thread's whole call. */
static void cut(struct out *x)
{
	const struct us_syscall_message m = { .has_regs = true, .number = GETPID };
	call(x, B_STACK, m);
	come_back(x, B_STACK,
		  (struct us_syscall_message){ .has_regs = true, .value = 7 });
}

static struct us_syscall_message with_text(struct us_syscall_message m, uint8_t arg,
					   const char *text)
{
	m.text[m.n_text++] = (struct us_syscall_text){ .arg = arg,
						       .n = (uint16_t)strlen(text),
						       .bytes = (const uint8_t *)text };
	return m;
}

/* Its page was not there before the call itself has touched it. */
static const struct us_syscall_message readlink_call = {
	.has_regs = true, .number = READLINK, .arg = { 0x5c2c98, 0x7ffd, 4096 }
};
static const struct us_syscall_message readlink_return = {
	.has_regs = true, .has_number = true, .number = READLINK, .value = (uint64_t)-2
};

static void is_in(const struct out *x, const char *line)
{
	if (!strstr(x->text, line))
		fail_msg("no \"%s\" in:\n%s", line, x->text);
}

static void late_path(const struct us_trace_format *f, bool cuts,
		      const char *const *lines)
{
	struct out x;
	begin(&x, f);
	call(&x, A_STACK, readlink_call);
	if (cuts)
		cut(&x);
	come_back(&x, A_STACK, with_text(readlink_return, 0, "/proc/self/exe"));
	end(&x);
	for (; *lines; lines++)
		is_in(&x, *lines);
	free(x.text);
}

static void a_path_that_is_known_late(void **state)
{
	(void)state;
	late_path(&us_trace_format_strace, true,
		  (const char *const[]){
			  " readlink( <unfinished ...>\n", " getpid() = 7 <",
			  " <... readlink resumed>\"/proc/self/exe\", 0x7ffd, 4096) = "
			  "-1 ENOENT (No such file or directory) <",
			  NULL });
	late_path(&us_trace_format_strace, false,
		  (const char *const[]){ " readlink(\"/proc/self/exe\", 0x7ffd, 4096)"
					 " = -1 ENOENT",
					 NULL });
	late_path(&us_trace_format_graph, true,
		  (const char *const[]){ "/* readlink(...) */\n",
					 "/* readlink(\"/proc/self/exe\", 0x7ffd, 4096)"
					 " = -1 ENOENT",
					 NULL });
}

static void a_path_that_is_known_at_once(void **state)
{
	(void)state;
	struct out x;
	begin(&x, &us_trace_format_strace);
	call(&x, A_STACK, with_text(readlink_call, 0, "/link"));
	cut(&x);
	come_back(&x, A_STACK, with_text(readlink_return, 1, "ab"));
	end(&x);
	is_in(&x, " readlink(\"/link\" <unfinished ...>\n");
	is_in(&x, " <... readlink resumed>, \"ab\", 4096) = -1 ENOENT");
	free(x.text);
}

/* An address that leads nowhere, or no address: there is nothing to wait for but the
 * return. */
static void a_path_that_is_never_known(void **state)
{
	(void)state;
	struct out x;
	struct us_syscall_message null = { .has_regs = true,
					   .number = WRITE,
					   .arg = { 1, 0, 5 } };
	begin(&x, &us_trace_format_strace);
	call(&x, A_STACK, readlink_call);
	cut(&x);
	come_back(&x, A_STACK, readlink_return);
	call(&x, A_STACK, null);
	cut(&x);
	end(&x);
	is_in(&x, " readlink( <unfinished ...>\n");
	is_in(&x, " <... readlink resumed>0x5c2c98, 0x7ffd, 4096) = -1 ENOENT");
	is_in(&x, " write(1, NULL, 5 <unfinished ...>\n");
	is_in(&x, " <... write resumed>) = ? <unfinished ...>\n");
	free(x.text);
}

/* Where no register can be read. */
static void arguments_that_are_not_known(void **state)
{
	(void)state;
	struct out x;
	begin(&x, &us_trace_format_strace);
	call(&x, A_STACK, (struct us_syscall_message){ .number = READ });
	cut(&x);
	end(&x);
	is_in(&x, " read(? <unfinished ...>\n");
	is_in(&x, " <... read resumed>) = ? <unfinished ...>\n");
	free(x.text);
}

static void shows(const char *name, const uint64_t arg[US_SYSCALL_ARGS], int32_t value,
		  const char *want)
{
	struct us_syscall c = { .abi = US_ABI_I386,
				.end = US_SYSCALL_DONE,
				.has_number = true,
				.has_args = true,
				.has_value = true,
				.value = value };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_true(us_syscall_number(US_ABI_I386, name, &c.number));
	memcpy(c.arg, arg, sizeof(c.arg));
	us_syscall_print_args(out, &c, 0, us_syscall_n_args(&c));
	fputs(" = ", out);
	us_syscall_print_result(out, &c);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

/* The registers of 32-bit programs: addresses are not negative, numbers may be, and
 * those of 64 bits take two. */
static void numbers_of_32_bits(void **state)
{
	(void)state;
	shows("mmap2", (const uint64_t[6]){ 0, 4096, 3, 0x22, UINT32_MAX, 0 },
	      (int32_t)0xf7fd0000,
	      "NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0 = "
	      "0xf7fd0000");
	shows("mmap", (const uint64_t[6]){ 0xffbc0000, 9, 9, 9, 9, 9 }, -12,
	      "0xffbc0000 = -1 ENOMEM (Cannot allocate memory)");
	shows("lseek", (const uint64_t[6]){ 3, 4294967286, 1 }, 90,
	      "3, -10, SEEK_CUR = 90");
	shows("pread64", (const uint64_t[6]){ 3, 0x8000, 512, 0x80000000, 2, 7 }, 512,
	      "3, 0x8000, 512, 10737418240 = 512");
	shows("fallocate", (const uint64_t[6]){ 3, 0, 0, 1, UINT32_MAX, UINT32_MAX }, 0,
	      "3, 0, 4294967296, -1 = 0");
	shows("truncate64", (const uint64_t[6]){ 0x8000, 5, 0, 7, 7, 7 }, 0,
	      "0x8000, 5 = 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_that_is_known_late),
		cmocka_unit_test(a_path_that_is_known_at_once),
		cmocka_unit_test(a_path_that_is_never_known),
		cmocka_unit_test(arguments_that_are_not_known),
		cmocka_unit_test(numbers_of_32_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

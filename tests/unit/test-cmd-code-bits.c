/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How wide the code was that ran: what most captures say, of kernel and programs. */
#include "cmd/record/code_bits.h"
#include "profile/profile.h"

#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

struct recording {
	struct us_code_bits bits;
	struct us_writer *w;
	int fd;
};

static void begin(struct recording *r)
{
	*r = (struct recording){ .fd = memfd_create("recording", MFD_CLOEXEC) };
	assert_int_equal(us_writer_open(r->fd, &r->w, NULL), 0);
}

/* n captures of code of that width; the facts are written then. */
static void see(struct recording *r, unsigned n, unsigned bits, bool user)
{
	const struct us_regs regs = { .arch = US_ARCH_X86_64,
				      .bits = (uint8_t)bits,
				      .user = user };
	for (unsigned i = 0; i < n; i++)
		us_code_bits_add(&r->bits, &regs,
				 bits == 16 ? US_END_MODE : US_END_ROOT);
	assert_int_equal(us_code_bits_write(&r->bits, r->w, NULL), 0);
}

static void check(const struct us_profile *p, const char *key, const char *want)
{
	const char *value = us_profile_fact(p, key);
	if (want)
		assert_string_equal(value, want);
	else
		assert_null(value);
}

static void end(struct recording *r, const char *kernel, const char *programs,
		const char *not_unwound)
{
	struct us_profile *p;
	assert_int_equal(us_writer_end(r->w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", NULL),
			 0);
	us_writer_close(r->w);
	lseek(r->fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(r->fd, NULL, &p, NULL), 0);
	check(p, US_FACT_CODE_BITS, kernel);
	check(p, US_FACT_PROGRAM_BITS, programs);
	check(p, US_FACT_MODE_BITS, not_unwound);
	us_profile_free(p);
	close(r->fd);
}

/* Its loader's code is narrow, and the first that is seen. */
static void what_most_captures_say(void **state)
{
	(void)state;
	struct recording r;
	begin(&r);
	see(&r, 2, 32, false);
	see(&r, 5, 64, false);
	see(&r, 1, 32, false);
	see(&r, 9, 16, false);
	see(&r, 3, 32, true);
	end(&r, "64", "32", "16");
}

static void nothing_without_captures(void **state)
{
	(void)state;
	struct recording r;
	begin(&r);
	see(&r, 3, 0, false);
	const struct us_regs arm = { .arch = US_ARCH_AARCH64, .bits = 64 };
	us_code_bits_add(&r.bits, &arm, US_END_MODE);
	end(&r, NULL, NULL, NULL);
}

/* A boot sector; DOS below a monitor. */
static void only_16_bits(void **state)
{
	(void)state;
	struct recording r;
	begin(&r);
	see(&r, 2, 16, false);
	see(&r, 2, 16, true);
	end(&r, "16", "16", "16");
}

/* 32-bit code on a stack segment that does not begin at 0 is not unwound either. */
static void segments_that_are_not_flat(void **state)
{
	(void)state;
	struct recording r;
	const struct us_regs regs = { .arch = US_ARCH_X86_64, .bits = 32 };
	begin(&r);
	for (unsigned i = 0; i < 3; i++)
		us_code_bits_add(&r.bits, &regs, US_END_MODE);
	see(&r, 2, 16, false);
	end(&r, "32", NULL, "32");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_most_captures_say),
		cmocka_unit_test(nothing_without_captures),
		cmocka_unit_test(only_16_bits),
		cmocka_unit_test(segments_that_are_not_flat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
		us_code_bits_add(&r->bits, &regs);
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

static void end(struct recording *r, const char *kernel, const char *programs)
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
	end(&r, "64", "32");
}

static void nothing_without_captures(void **state)
{
	(void)state;
	struct recording r;
	begin(&r);
	see(&r, 3, 0, false);
	const struct us_regs arm = { .arch = US_ARCH_AARCH64, .bits = 64 };
	us_code_bits_add(&r.bits, &arm);
	see(&r, 2, 16, true);
	end(&r, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_most_captures_say),
		cmocka_unit_test(nothing_without_captures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

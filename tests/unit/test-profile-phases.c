/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a boot that was sampled: by time, first level of the tree, in order. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "report/report.h"

#include <sys/mman.h>
#include <unistd.h>

#define MS US_NS_PER_MS

struct recording {
	int fd;
	struct us_writer *w;
};

static void begin(struct recording *r)
{
	struct us_err e;
	r->fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(r->fd >= 0);
	assert_int_equal(us_writer_open(r->fd, &r->w, &e), 0);
	assert_int_equal(us_writer_fact(r->w, "hz", "1000", &e), 0);
}

static void fact(const struct recording *r, const char *key, const char *value)
{
	struct us_err e;
	assert_int_equal(us_writer_fact(r->w, key, value, &e), 0);
}

/* pc 0: no stack. */
static void add(const struct recording *r, unsigned ms, us_gva pc, us_gva caller)
{
	const us_gva stack[] = { pc, caller };
	struct us_err e;
	struct us_sample s = { .t_ns = ms * MS,
			       .state = US_VCPU_GUEST,
			       .end = pc ? US_END_ROOT : US_END_NONE,
			       .weight = 1 };
	assert_int_equal(us_writer_sample(r->w, &s, stack, NULL, pc ? 2 : 0, &e), 0);
}

/* The phases are told last, as they are found out. */
static void a_boot(struct recording *r)
{
	begin(r);
	for (unsigned i = 0; i < 6; i++)
		add(r, 1 + i, 0x1000, 0x1800);
	add(r, 10, 0x3000, 0x3800);
	add(r, 11, 0x1000, 0x3800); /* the same function, called by the kernel */
	add(r, 12, 0x3000, 0x3800);
	add(r, 19, 0, 0);
	add(r, 90, 0x9000, 0x9800); /* the boot is over */
	fact(r, "phase:2", "10000000 20000000 kernel");
	fact(r, "phase:1", "0 10000000 firmware");
}

static struct us_profile *profile_of(struct recording *r,
				     const struct us_profile_opts *o)
{
	struct us_record_stats s = { .elapsed_ns = 100 * MS };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	if (r->w)
		assert_int_equal(us_writer_end(r->w, &s, US_RECORD_INTERRUPTED,
					       "stopped by the user", &e),
				 0);
	us_writer_close(us_take(r->w));
	assert_int_equal(lseek(r->fd, 0, SEEK_SET), 0);
	if (us_profile_read(r->fd, o, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

static char *report(const struct us_profile *p, const char *format)
{
	char *text = NULL;
	size_t size;
	struct us_err e = { 0 };
	const struct us_report_opts o = { .sort = US_SORT_SELF };
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(us_report(p, us_format_by_name(format), &o, out, &e), 0);
	fclose(out);
	return text;
}

static void samples_are_of_their_time(void **state)
{
	struct recording r;
	(void)state;
	a_boot(&r);
	struct us_profile *p = profile_of(&r, NULL);
	char *text = report(p, "folded");
	assert_string_equal(text, "[firmware];0x17c0-0x17ff;0x1000-0x103f 6\n"
				  "[kernel];0x37c0-0x37ff;0x3000-0x303f 2\n"
				  "[kernel];0x37c0-0x37ff;0x1000-0x103f 1\n"
				  "[kernel];[no stack] 1\n");
	free(text);
	assert_int_equal(us_profile_summary(p)->running, 10);
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		assert_null(strstr(us_profile_warning(p, i), "ended early"));
	us_profile_free(p);
	close(r.fd);
}

static void as_a_table(void **state)
{
	struct recording r;
	(void)state;
	a_boot(&r);
	struct us_profile *p = profile_of(&r, NULL);
	char *text = report(p, "phases");
	const char *table = strstr(text, "       ms");
	assert_non_null(table);
	assert_string_equal(table,
			    "       ms         samples       %   phase, and the "
			    "functions that have "
			    "most of it\n"
			    "     10.0               6    60.0   [firmware]\n"
			    "                        6   100.0     0x1000-0x103f\n"
			    "     10.0               4    40.0   [kernel]\n"
			    "                        2    50.0     0x3000-0x303f\n"
			    "                        1    25.0     0x1000-0x103f\n"
			    "                        1    25.0     [no stack]\n");
	free(text);
	us_profile_free(p);
	close(r.fd);
}

/* The lighter one that was first stands first. */
static void in_the_order_of_time(void **state)
{
	struct recording r;
	(void)state;
	begin(&r);
	add(&r, 1, 0x1000, 0x1800);
	for (unsigned i = 0; i < 9; i++)
		add(&r, 20 + i, 0x3000, 0x3800);
	fact(&r, "phase:1", "0 10000000 <b>;x");
	fact(&r, "phase:2", "10000000 40000000 kernel");
	struct us_profile *p = profile_of(&r, NULL);
	char *text = report(p, "folded");
	assert_string_equal(text, "[<b>:x];0x17c0-0x17ff;0x1000-0x103f 1\n"
				  "[kernel];0x37c0-0x37ff;0x3000-0x303f 9\n");
	free(text);
	us_profile_free(p);
	/* What the user asks for holds: until beyond the end. */
	p = profile_of(&r, &(struct us_profile_opts){ .focus = "^\\[kernel\\]$" });
	assert_int_equal(us_profile_summary(p)->running, 9);
	us_profile_free(p);
	close(r.fd);
}

/* Facts are bytes of a file. */
static void facts_that_lie(void **state)
{
	static const struct {
		const char *key, *value;
	} lies[] = {
		{ "phase:", "0 1 x" },	  { "phase:0", "0 1 x" },
		{ "phase:13", "0 1 x" },  { "phase:99", "0 1 x" },
		{ "phase:1x", "0 1 x" },  { "phase:1", "" },
		{ "phase:1", "0 1" },	  { "phase:1", "zero one x" },
		{ "phase:-1", "0 1 x" },  { "phase:1 ", "0 1 x" },
		{ "phase:100", "0 1 x" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct recording r;
		size_t n;
		begin(&r);
		add(&r, 1, 0x1000, 0x1800);
		fact(&r, lies[i].key, lies[i].value);
		struct us_profile *p = profile_of(&r, NULL);
		us_profile_phases(p, &n);
		assert_int_equal(n, 0);
		assert_int_equal(us_profile_summary(p)->running, 1);
		char *text = report(p, "phases");
		assert_non_null(strstr(text, "no phases"));
		free(text);
		us_profile_free(p);
		close(r.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_of_their_time),
		cmocka_unit_test(as_a_table),
		cmocka_unit_test(in_the_order_of_time),
		cmocka_unit_test(facts_that_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

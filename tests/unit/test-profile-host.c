/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host and guest joined: what the host did stands above what the guest left it for. */
#include "unit.h"

#include "base/clock.h"
#include "report/report.h"

#include <sys/mman.h>
#include <unistd.h>

#define MS	US_NS_PER_MS
#define MAIN	0x1000
#define OUT	0x2000
#define COPY	0x3000
#define RUN	0x7f0000001000 /* of the VMM */
#define IOCTL	0xffffffff81000100
#define POLL	0xffffffff81000200
#define UNKNOWN 0xffffffff91000200

static bool name(void *ctx, us_gva pc, struct us_named *ret)
{
	static const struct us_named all[] = {
		{ RUN, 0x100, "run", "vmm" },
		{ IOCTL, 0x100, "ioctl", "[kernel]" },
		{ POLL, 0x100, "poll", "[kvm]" },
	};
	(void)ctx;
	for (size_t i = 0; i < 3; i++)
		if (pc - all[i].start < all[i].size) {
			*ret = all[i];
			return true;
		}
	return false;
}

static void add(struct us_writer *w, uint64_t t_ns, uint8_t state, size_t n,
		const us_gva *pc, const uint8_t *flags)
{
	struct us_err e;
	const struct us_sample s = {
		.t_ns = t_ns, .end = US_END_ROOT, .state = state, .weight = 10
	};
	assert_int_equal(us_writer_sample(w, &s, pc, flags, n, &e), 0);
}

/* The guest's OUT leaves it for port I/O, which the VMM or KVM deals with; its address
 * is a return address in another stack. */
static int record(bool host)
{
	const us_gva io = us_vm_exit_code(US_EXIT_PORT_IO, US_PLACE_VMM);
	const us_gva vmm[] = { OUT, MAIN, io, RUN + 16, RUN + 32 };
	const us_gva kvm[] = { OUT, MAIN, io, POLL + 16, IOCTL + 32, RUN + 32 };
	const us_gva no_stack[] = { io, UNKNOWN, IOCTL + 32 };
	static const uint8_t flags[] = { 0,	     0,		 US_PC_EXIT,
					 US_PC_HOST, US_PC_HOST, US_PC_HOST };
	struct us_err e;
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	us_writer_name_host_by(w, &(struct us_namer){ name, NULL });
	for (unsigned i = 0; i < 4; i++) {
		add(w, i * MS, US_VCPU_GUEST, 2, (us_gva[]){ COPY, MAIN }, NULL);
		add(w, i * MS, US_VCPU_GUEST, 3, (us_gva[]){ COPY, OUT, MAIN }, NULL);
		add(w, i * MS, US_VCPU_EXIT, host ? 5 : 3, vmm, flags);
		add(w, i * MS, US_VCPU_EXIT, host ? 6 : 3, kvm, flags);
		add(w, i * MS, US_VCPU_EXIT, host ? 3 : 1, no_stack, flags + 2);
		add(w, i * MS, US_VCPU_EXIT, 2, vmm, flags);
	}
	const struct us_record_stats s = { .elapsed_ns = 4 * MS };
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	return fd;
}

static char *report(int fd, const char *format, struct us_profile_opts o, bool *warned)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	char *text = NULL;
	size_t size;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(us_report(p, us_format_by_name(format), NULL, out, &e), 0);
	fclose(out);
	*warned = false;
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		*warned |= strstr(us_profile_warning(p, i), "record --host") != NULL;
	us_profile_free(p);
	return text;
}

static void must_have(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

#define AT_MAIN "0xfc0-0xfff" /* a return address, so the byte before it */

static void the_host_is_called_by_the_guest(void **state)
{
	bool warned;
	(void)state;
	int fd = record(true);
	char *text = report(fd, "folded", (struct us_profile_opts){ .host = true },
			    &warned);
	assert_false(warned);
	must_have(text, AT_MAIN ";0x2000-0x203f;[vm exit: port I/O, in the VMM];"
				"run;run 40\n");
	must_have(text, AT_MAIN ";0x2000-0x203f;[vm exit: port I/O, in the VMM];"
				"run;ioctl;poll 40\n");
	must_have(text, "\n[vm exit: port I/O, in the VMM];ioctl;"
			"0xffffffff91000200-0xffffffff9100023f 40\n");
	must_have(text, AT_MAIN ";0x2000-0x203f;[vm exit] 40\n");
	must_have(text, AT_MAIN ";0x1fc0-0x1fff;0x3000-0x303f 40\n");
	free(text);
	close(fd);
}

/* And as long as nobody asks, it is as if it had not been recorded. */
static void without_it_nothing_is_different(void **state)
{
	static const char *const formats[] = { "folded", "text", "json", "exits" };
	bool warned;
	(void)state;
	int with = record(true), without = record(false);
	for (size_t i = 0; i < 4; i++) {
		struct us_profile_opts none = { 0 };
		char *a = report(with, formats[i], none, &warned);
		char *b = report(without, formats[i], none, &warned);
		assert_false(warned);
		assert_string_equal(a, b);
		assert_null(strstr(a, "ioctl"));
		free(a);
		free(b);
	}
	close(with);
	close(without);
}

/* The table of exits is of the guest's functions, and the lines are the guest's. */
static void what_is_the_guests_stays(void **state)
{
	bool warned;
	(void)state;
	int with = record(true);
	char *a = report(with, "exits", (struct us_profile_opts){ 0 }, &warned);
	char *b = report(with, "exits", (struct us_profile_opts){ .host = true },
			 &warned);
	assert_string_equal(a, b);
	free(a);
	free(b);
	a = report(with, "qprofiler", (struct us_profile_opts){ 0 }, &warned);
	b = report(with, "qprofiler", (struct us_profile_opts){ .host = true },
		   &warned);
	assert_string_equal(a, b);
	free(a);
	free(b);
	close(with);
}

static void parts_and_foci_choose_by_the_guest(void **state)
{
	bool warned;
	(void)state;
	int fd = record(true);
	char *text = report(
		fd, "folded",
		(struct us_profile_opts){ .host = true, .part = US_PART_KERNEL },
		&warned);
	must_have(text, "run;ioctl;poll 40\n");
	free(text);
	text = report(fd, "folded",
		      (struct us_profile_opts){ .host = true, .part = US_PART_USER },
		      &warned);
	assert_null(strstr(text, "ioctl"));
	free(text);
	text = report(fd, "folded",
		      (struct us_profile_opts){ .host = true, .focus = "^poll$" },
		      &warned);
	must_have(text, "run;ioctl;poll 40\n");
	assert_null(strstr(text, "run;run"));
	free(text);
	close(fd);
}

static void a_recording_without_says_so(void **state)
{
	bool warned;
	(void)state;
	int fd = record(false);
	char *text = report(fd, "folded", (struct us_profile_opts){ .host = true },
			    &warned);
	assert_true(warned);
	free(text);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_is_called_by_the_guest),
		cmocka_unit_test(without_it_nothing_is_different),
		cmocka_unit_test(what_is_the_guests_stays),
		cmocka_unit_test(parts_and_foci_choose_by_the_guest),
		cmocka_unit_test(a_recording_without_says_so),
	};
	return cmocka_run_group_tests_name("report-host", tests, NULL, NULL);
}

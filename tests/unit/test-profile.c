/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings become profiles: what is counted, what is left out, what is warned of. */
#include "profile-recording.h"

#include "report/report.h"
#include "profile/trie.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void states_are_told_apart(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc[] = { COPY + 4, LOOP + 9, MAIN + 9 };
	begin(&r);
	for (unsigned i = 0; i < 100; i++) {
		add(&r, i * MS, US_VCPU_GUEST, 3, 3, pc);
		add(&r, i * MS, US_VCPU_EXIT, 1, 3, pc);
		add(&r, i * MS, US_VCPU_READY, 1, 0, NULL);
		add(&r, i * MS, US_VCPU_HALTED, 5, 0, NULL);
		add(&r, i * MS, US_VCPU_OFF, 2, 0, NULL);
	}
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	const struct us_profile_summary *s = us_profile_summary(p);
	assert_int_equal(s->running, 500);
	assert_int_equal(s->exit, 100);
	assert_int_equal(s->ready, 100);
	assert_int_equal(s->idle, 500);
	assert_int_equal(s->off, 200);
	assert_true(s->idle_low < 0.5 && s->idle_high > 0.5);
	assert_int_equal(func_at(p, COPY)->self, 300);
	assert_int_equal(func_at(p, COPY)->total, 400);
	assert_int_equal(func_named(p, US_FRAME_EXIT)->self, 100);
	assert_int_equal(func_named(p, US_FRAME_READY)->self, 100);
	assert_string_equal(func_at(p, COPY)->name, "0x3000-0x303f");
	check_tree(p);
	/* the program counter is the guest's even while the VMM works for it */
	size_t n;
	const struct us_profile_line *l = us_profile_lines(p, &n);
	assert_int_equal(n, 1);
	assert_int_equal(l[0].pc, COPY + 4);
	assert_int_equal(l[0].self, 400);
	us_profile_free(p);
	close(r.fd);
}

/* A caller's address is that behind its CALL, unless an interrupt broke it off. */
static void exact_addresses_are_named_as_they_are(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc[] = { COPY + 4, LOOP };
	const uint8_t exact[] = { 0, US_PC_EXACT };
	begin(&r);
	add_flagged(&r, MS, 2, pc, exact);
	add_flagged(&r, 2 * MS, 2, pc, exact);
	add_flagged(&r, 3 * MS, 2, pc, NULL);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(func_at(p, LOOP)->total, 2);
	assert_int_equal(func_at(p, LOOP - US_UNKNOWN_CODE_BYTES)->total, 1);
	check_tree(p);
	us_profile_free(p);
	close(r.fd);
}

static void recursion_counts_once(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc[] = { COPY, LOOP + 1, LOOP + 2, COPY + 3, LOOP + 2, MAIN + 1 };
	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		add(&r, i * MS, US_VCPU_GUEST, 1, 6, pc);
	add(&r, 11 * MS, US_VCPU_GUEST, 1, 1, pc + 5);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(func_at(p, LOOP)->total, 10);
	assert_int_equal(func_at(p, LOOP)->self, 0);
	assert_int_equal(func_at(p, COPY)->total, 10);
	/* a return address right at a boundary belongs to the call before it; a program
	 * counter does not */
	assert_int_equal(func_at(p, MAIN)->total, 11);
	check_tree(p);
	assert_true(warned(p, "only 11 samples"));
	us_profile_free(p);
	close(r.fd);
}

static void filters_choose_samples(void **state)
{
	(void)state;
	struct recording r;
	us_gva copy[] = { COPY, MAIN + 9 }, loop[] = { LOOP, MAIN + 9 };
	begin(&r);
	for (unsigned i = 0; i < 100; i++)
		add(&r, i * MS, US_VCPU_GUEST, 1, 2, i < 40 ? copy : loop);
	end(&r, US_RECORD_DONE, "");
	struct us_profile_opts o = { .vcpu_mask = 2 };
	struct us_profile *p = profile_of(&r, &o);
	assert_int_equal(us_profile_summary(p)->running, 50);
	assert_int_equal(us_profile_summary(p)->vcpu_mask, 2);
	us_profile_free(p);
	o = (struct us_profile_opts){ .from_ns = 30 * MS, .to_ns = 50 * MS };
	p = profile_of(&r, &o);
	assert_int_equal(func_at(p, COPY)->self, 10);
	assert_int_equal(func_at(p, LOOP)->self, 10);
	assert_int_equal(us_profile_summary(p)->first_ns, 30 * MS);
	us_profile_free(p);
	o = (struct us_profile_opts){ .focus = "^0x30" };
	p = profile_of(&r, &o);
	assert_int_equal(us_profile_summary(p)->running, 40);
	assert_int_equal(us_profile_summary(p)->unfocused, 60);
	assert_int_equal(func_at(p, MAIN)->total, 40);
	assert_int_equal(func_at(p, LOOP)->total, 0);
	check_tree(p);
	us_profile_free(p);
	close(r.fd);
}

static void bad_words_are_refused(void **state)
{
	(void)state;
	struct recording r;
	struct us_err e;
	struct us_profile *p;
	begin(&r);
	end(&r, US_RECORD_DONE, "");
	struct us_profile_opts o = { .focus = "a(b" };
	assert_int_equal(us_profile_read(r.fd, &o, &p, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "a(b"));
	assert_int_not_equal(e.hint[0], 0);
	const char *image = "/nowhere/at.elf@0x10";
	o = (struct us_profile_opts){ .images = &image, .n_image = 1 };
	assert_int_equal(lseek(r.fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(r.fd, &o, &p, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/nowhere/at.elf"));
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(us_profile_read(null, NULL, &p, NULL), -ENOEXEC);
	close(null);
	close(r.fd);
}

static void says_how_it_ended(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc = COPY;
	begin(&r);
	add(&r, 0, US_VCPU_HALTED, 1, 0, NULL);
	end(&r, US_RECORD_GUEST_GONE, "the VMM was killed");
	struct us_profile *p = profile_of(&r, NULL);
	assert_true(warned(p, "ended early: the VMM was killed"));
	assert_true(warned(p, "idle in every sample"));
	us_profile_free(p);
	assert_int_equal(ftruncate(r.fd, lseek(r.fd, 0, SEEK_END) - 3), 0);
	p = profile_of(&r, NULL);
	assert_true(warned(p, "is cut"));
	us_profile_free(p);
	close(r.fd);
	begin(&r);
	add(&r, 0, US_VCPU_GUEST, 1, 1, &pc);
	end(&r, US_RECORD_INTERRUPTED, "interrupted by Ctrl-C");
	p = profile_of(&r, NULL);
	assert_true(warned(p, "Ctrl-C"));
	us_profile_free(p);
	close(r.fd);
}

/* A recording of few samples of one state: what is said of it with these options. */
static void check_said(enum us_vcpu_state state, const struct us_profile_opts *o,
		       const char *words)
{
	struct recording r;
	us_gva pc = COPY;
	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		add(&r, i * MS, state, 1, state == US_VCPU_GUEST, &pc);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, o);
	print_message("# state %d: %s\n", state, words);
	assert_true(warned(p, words));
	us_profile_free(p);
	close(r.fd);
}

static void says_why_there_is_little(void **state)
{
	(void)state;
	const struct us_profile_opts focus = { .focus = "nothing" };
	const struct us_profile_opts user = { .part = US_PART_USER };
	const struct us_profile_opts filter = { .filter = { { US_BY_STATE, "exit" } },
						.n_filter = 1 };
	check_said(US_VCPU_GUEST, NULL, "only 10 samples of running code");
	check_said(US_VCPU_HALTED, NULL, "idle in every sample");
	check_said(US_VCPU_OFF, NULL, "its vCPUs off");
	check_said(US_VCPU_GUEST, &focus, "that the focus matches");
	check_said(US_VCPU_GUEST, &user, "in the part that was asked for");
	check_said(US_VCPU_GUEST, &filter, "no sample passes the filters");
}

/* A writer forgets stacks when it has seen too many, and writes them again. */
static void a_stack_written_twice_is_one(void **state)
{
	(void)state;
	struct us_trie t;
	assert_int_equal(us_trie_init(&t), 0);
	assert_int_equal(us_trie_add(&t, 0, MAIN, 0), 0);
	assert_int_equal(us_trie_add(&t, 1, COPY, 0), 0);
	assert_int_equal(us_trie_add(&t, 0, MAIN, 0), 0);
	assert_int_equal(us_trie_add(&t, 3, COPY, 0), 0);
	assert_int_equal(us_trie_add(&t, 0, COPY, 0), 0);
	assert_int_equal(us_trie_node_of(&t, 2), us_trie_node_of(&t, 4));
	assert_int_not_equal(us_trie_node_of(&t, 2), us_trie_node_of(&t, 5));
	assert_int_equal(t.nodes.n, 4);
	assert_int_equal(us_trie_node_of(&t, 6), US_TRIE_NONE);
	assert_int_equal(us_trie_add(&t, 6, COPY, 0), -EBADMSG);
	uint32_t number = 5;
	int rc = 0;
	for (unsigned i = 0; i < 2 * US_MAX_FRAMES && !rc; i++) {
		rc = us_trie_add(&t, number, MAIN + i, 0);
		number = (uint32_t)t.numbers.n - 1;
	}
	assert_int_equal(rc, -EBADMSG);
	us_trie_fini(&t);
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc = COPY;
	begin(&r);
	add(&r, 0, US_VCPU_GUEST, 1, 1, &pc);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	for (size_t i = 0; us_formats[i]; i++) {
		struct us_err e = { 0 };
		FILE *full = fopen("/dev/full", "w");
		assert_non_null(full);
		assert_int_equal(us_report(p, us_formats[i], NULL, full, &e), -ENOSPC);
		assert_non_null(strstr(e.msg, us_formats[i]->name));
		assert_int_not_equal(e.hint[0], 0);
		fclose(full);
		FILE *null = fopen("/dev/null", "w");
		assert_int_equal(us_report(p, us_formats[i], NULL, null, &e), 0);
		fclose(null);
	}
	us_profile_free(p);
	close(r.fd);
}

static void formats_are_found(void **state)
{
	(void)state;
	assert_ptr_equal(us_format_by_name("json"), &us_format_json);
	assert_null(us_format_by_name("svg"));
	assert_ptr_equal(us_format_by_suffix("a/b.html"), &us_format_html);
	assert_ptr_equal(us_format_by_suffix("x.folded"), &us_format_folded);
	assert_null(us_format_by_suffix(".html"));
	assert_null(us_format_by_suffix("html"));
}

static void every_cut_is_survived(void **state)
{
	(void)state;
	struct recording r;
	us_gva pc[] = { COPY + 4, LOOP + 9, MAIN + 9 };
	begin(&r);
	module(&r, "/nowhere/kernel.elf", US_MATCH_YES);
	for (unsigned i = 0; i < 20; i++)
		add(&r, i * MS, US_VCPU_GUEST, 1, 1 + i % 3, pc);
	end(&r, US_RECORD_DONE, "");
	off_t size = lseek(r.fd, 0, SEEK_END);
	for (off_t cut = size - 1; cut > 0; cut--) {
		struct us_profile *p = NULL;
		assert_int_equal(ftruncate(r.fd, cut), 0);
		assert_int_equal(lseek(r.fd, 0, SEEK_SET), 0);
		int rc = us_profile_read(r.fd, NULL, &p, NULL);
		assert_true(rc == 0 || rc == -ENOEXEC);
		if (!rc)
			check_tree(p);
		if (!rc)
			assert_true(us_profile_n_warning(p) > 0);
		us_profile_free(p);
	}
	close(r.fd);
}

/* A sample in the kernel, called by a program, and one in the program. */
static void parts_are_told_apart(void **state)
{
	(void)state;
	static const us_gva joined[] = { COPY, LOOP, MAIN }, alone[] = { LOOP, MAIN };
	static const uint8_t flags[] = { 0, US_PC_USER | US_PC_EXACT, US_PC_USER };
	static const struct {
		enum us_profile_part part;
		uint64_t running, other;
		size_t nodes;
		const char *words;
	} want[] = {
		{ US_PART_ALL, 3, 0, 4, "" },
		{ US_PART_KERNEL, 2, 1, 2, "only what ran in the kernel" },
		{ US_PART_USER, 1, 2, 3, "only what ran in programs (ring 3)" },
	};
	struct recording r;
	begin(&r);
	add_flagged(&r, 0, 3, joined, flags);
	add_flagged(&r, 1, 3, joined, flags);
	add_flagged(&r, 2, 2, alone, flags + 1);
	end(&r, US_RECORD_DONE, "");
	for (size_t i = 0; i < 3; i++) {
		struct us_profile_opts o = { .part = want[i].part };
		struct us_profile *p = profile_of(&r, &o);
		size_t n;
		us_profile_nodes(p, &n);
		assert_int_equal(us_profile_summary(p)->running, want[i].running);
		assert_int_equal(us_profile_summary(p)->other_part, want[i].other);
		assert_int_equal(us_profile_summary(p)->unfocused, 0);
		assert_int_equal(n, want[i].nodes);
		assert_string_equal(us_profile_filters(p), want[i].words);
		us_profile_free(p);
	}
	close(r.fd);
}

/* What was left the guest for stands outermost, and is a frame innermost. */
static void exits_say_what_for(void **state)
{
	const us_gva io = us_vm_exit_code(US_EXIT_PORT_IO, US_PLACE_VMM);
	const us_gva msr = us_vm_exit_code(US_EXIT_MSR, US_PLACE_HYPERVISOR);
	const us_gva stacks[][3] = { { COPY, MAIN, io },
				     { LOOP, MAIN, msr },
				     { COPY, MAIN, 0x7777777 } };
	const uint8_t flags[] = { 0, 0, US_PC_EXIT };
	const us_gva alone[] = { io };
	char *text = NULL;
	size_t size;
	struct us_err e;
	struct recording r;
	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 30; i++) {
		struct us_sample s = { .t_ns = i * MS,
				       .end = US_END_ROOT,
				       .state = US_VCPU_EXIT,
				       .weight = 1 };
		unsigned which = i < 20 ? 0 : i < 27 ? 1 : 2;
		assert_int_equal(us_writer_sample(r.w, &s, stacks[which], flags, 3, &e),
				 0);
	}
	struct us_sample s = { .t_ns = 30 * MS, .state = US_VCPU_EXIT, .weight = 4 };
	assert_int_equal(us_writer_sample(r.w, &s, alone, &flags[2], 1, &e), 0);
	add(&r, 31 * MS, US_VCPU_GUEST, 66, 2, (us_gva[]){ COPY, MAIN });
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(func_named(p, "[vm exit: port I/O, in the VMM]")->self, 24);
	assert_int_equal(func_named(p, "[vm exit: MSR, in KVM]")->self, 7);
	assert_int_equal(func_named(p, "[vm exit]")->self, 3); /* no such number */
	assert_int_equal(func_at(p, COPY)->self, 66);
	assert_int_equal(func_at(p, COPY)->total, 66 + 23);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(us_report(p, us_format_by_name("exits"), NULL, out, &e), 0);
	fclose(out);
	const char *first = strstr(text, "port I/O, in the VMM"), *second;
	assert_non_null(strstr(text, "34.00 % of the samples"));
	assert_non_null(first);
	second = strstr(text, "MSR, in KVM");
	assert_true(second > first);
	assert_non_null(strstr(second, "0x2000-0x203f"));
	assert_non_null(strstr(text, "[no stack]"));
	free(text);
	us_profile_free(p);
	close(r.fd);
}

/* A vCPU had halted by the time it stood: what it did before is what it does next. */
static void late_samples_have_the_next_stack(void **state)
{
	static const us_gva copy[] = { COPY, MAIN }, loop[] = { LOOP, MAIN };
	struct recording r;
	(void)state;
	begin(&r);
	add(&r, 1 * MS, US_VCPU_GUEST, 1, 0, NULL); /* vCPU 1 */
	add(&r, 2 * MS, US_VCPU_GUEST, 2, 0, NULL); /* vCPU 0 */
	add(&r, 3 * MS, US_VCPU_HALTED, 1, 0, NULL);
	add(&r, 5 * MS, US_VCPU_GUEST, 3, 0, NULL);
	add(&r, 6 * MS, US_VCPU_GUEST, 1, 2, loop);
	add(&r, 7 * MS, US_VCPU_GUEST, 1, 2, copy);
	add(&r, 9 * MS, US_VCPU_GUEST, 1, 2, loop);
	add(&r, 11 * MS, US_VCPU_GUEST, 1, 0, NULL);
	add(&r, 1013 * MS, US_VCPU_GUEST, 1, 2, copy); /* too far away */
	add(&r, 1015 * MS, US_VCPU_GUEST, 1, 0, NULL); /* there is no other */
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	const struct us_profile_summary *s = us_profile_summary(p);
	assert_int_equal(s->running, 12);
	assert_int_equal(s->late, 6);
	assert_int_equal(s->idle, 1);
	assert_int_equal(func_at(p, LOOP)->self, 1 + 2 + 1);
	assert_int_equal(func_at(p, COPY)->self, 1 + 1 + 3 + 1);
	assert_int_equal(func_named(p, US_FRAME_NO_STACK)->self, 2);
	us_profile_free(p);
	/* Of those that a focus leaves, as many as have its stack. */
	const struct {
		us_gva at;
		unsigned running, late;
	} focus[] = { { LOOP, 4, 2 }, { COPY, 6, 4 }, { 0x4000, 0, 0 } };
	for (size_t k = 0; k < sizeof(focus) / sizeof(*focus); k++) {
		char regex[32];
		snprintf(regex, sizeof(regex), "^0x%llx",
			 (unsigned long long)focus[k].at);
		p = profile_of(&r, &(struct us_profile_opts){ .focus = regex });
		assert_int_equal(us_profile_summary(p)->running, focus[k].running);
		assert_int_equal(us_profile_summary(p)->late, focus[k].late);
		us_profile_free(p);
	}
	close(r.fd);
}

/* More than are kept: none is lost. */
static void many_late_samples_are_all_counted(void **state)
{
	static const us_gva copy[] = { COPY, MAIN };
	struct recording r;
	(void)state;
	begin(&r);
	for (unsigned i = 1; i <= 400; i++)
		add(&r, 2 * i * MS, US_VCPU_GUEST, 1, 0, NULL);
	add(&r, 802 * MS, US_VCPU_GUEST, 1, 2, copy);
	end(&r, US_RECORD_DONE, "");
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(us_profile_summary(p)->running, 401);
	assert_int_equal(us_profile_summary(p)->late, 256);
	assert_int_equal(func_at(p, COPY)->self, 257);
	assert_int_equal(func_named(p, US_FRAME_NO_STACK)->self, 144);
	us_profile_free(p);
	close(r.fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_samples_have_the_next_stack),
		cmocka_unit_test(many_late_samples_are_all_counted),
		cmocka_unit_test(states_are_told_apart),
		cmocka_unit_test(exact_addresses_are_named_as_they_are),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(filters_choose_samples),
		cmocka_unit_test(bad_words_are_refused),
		cmocka_unit_test(says_how_it_ended),
		cmocka_unit_test(says_why_there_is_little),
		cmocka_unit_test(a_stack_written_twice_is_one),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(formats_are_found),
		cmocka_unit_test(parts_are_told_apart),
		cmocka_unit_test(every_cut_is_survived),
		cmocka_unit_test(exits_say_what_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

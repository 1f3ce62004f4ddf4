/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top shows on screens of any size, what its keys do, and what it prints. */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "cmd/top/layout.h"
#include "cmd/top/print.h"

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS US_NS_PER_MS

#define MAIN 0x1000
#define COPY 0x2000
#define SUM  0x3000

static bool name_it(void *ctx, us_gva pc, struct us_named *ret)
{
	static const struct us_named names[] = {
		{ MAIN, 256, "main", "linux" },
		/* A guest is free to call its functions what it likes. */
		{ COPY, 256, "copy_\033[31mbytes\302\233\342\200\256", "linux" },
		{ SUM, 256, "sum_\303\251l\303\251ments", "linux" },
	};
	unsigned *told = ctx;
	for (unsigned i = 0; i < 3; i++) {
		if (pc < names[i].start || pc >= names[i].start + 256 || *told >> i & 1)
			continue;
		*told |= 1U << i;
		*ret = names[i];
		return true;
	}
	return false;
}

/* A guest calls its programs what it likes, too. */
#define SERVER "ser\033[1mver"
static const struct us_task tasks[] = {
	{ .id = 1,
	  .pid = 107,
	  .tgid = 107,
	  .name = SERVER,
	  .process = SERVER,
	  .cgroup = "" },
	{ .id = 2,
	  .pid = 109,
	  .tgid = 108,
	  .name = "worker",
	  .process = "a.out",
	  .cgroup = "" },
};

/* Three quarters copy, in one thread, and a quarter sum, in another; n samples. */
static struct us_profile *profile_of(unsigned n)
{
	struct us_err e = { 0 };
	struct us_writer *w = NULL;
	struct us_profile *p = NULL;
	const struct us_record_stats stats = { .elapsed_ns = n * MS };
	const struct us_profile_opts o = { .processes = true, .by_vcpu = true };
	unsigned told = 0;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	us_writer_name_by(w, &(struct us_namer){ name_it, &told });
	for (unsigned i = 0; i < n; i++) {
		us_gva pc[] = { (i % 4 ? COPY : SUM) + 4, MAIN + 8, i % 4 ? 1 : 2 };
		const uint8_t flags[] = { 0, 0, US_PC_TASK };
		struct us_sample s = { .t_ns = i * MS,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		assert_int_equal(us_writer_sample(w, &s, pc, flags, 3, &e), 0);
	}
	for (unsigned k = 0; k < 2; k++)
		assert_int_equal(us_writer_task(w, &tasks[k], &e), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(fd, &o, &p, &e), 0);
	close(fd);
	return p;
}

/* All that a screen is made of. */
struct all {
	struct us_top_state state;
	struct us_profile *profile;
	struct us_top_rows rows;
	struct us_live_vcpu vcpu[80];
	struct us_record_stats stats;
	struct us_top_guest_row guest[30];
	struct us_top_picture picture;
	struct us_screen screen;
	char text[400][4 * 400]; /* of the screen, by row */
};

static void set_up(struct all *a, bool all)
{
	memset(a, 0, sizeof(*a));
	us_top_state_init(&a->state, all, 5000 * MS);
	a->profile = profile_of(400);
	a->stats = (struct us_record_stats){ .elapsed_ns = 400 * MS,
					     .vcpu_ns = 400 * MS,
					     .stolen_ns = MS,
					     .held_p50_ns = 11000,
					     .held_max_ns = 20000 };
	for (unsigned i = 0; i < 80; i++)
		a->vcpu[i] = (struct us_live_vcpu){ .seen = true,
						    .guest = 50,
						    .idle = 30,
						    .ready = 5,
						    .exit = 15,
						    .state = US_VCPU_HALTED };
	a->vcpu[0].exit_for[US_EXIT_PORT_IO][US_PLACE_VMM] = 10;
	a->vcpu[0].exit_for[US_EXIT_MEMORY][US_PLACE_HYPERVISOR] = 5;
	for (unsigned i = 0; i < 30; i++)
		a->guest[i] = (struct us_top_guest_row){ .name = i ? "other"
								   : "we\033b",
							 .cpu = 0.5,
							 .idle = 0.25,
							 .hottest = "copy\007",
							 .hottest_share = 0.75 };
	a->guest[29] = (struct us_top_guest_row){ .name = "gone", .words = "it ended" };
	a->picture = (struct us_top_picture){ .state = &a->state,
					      .guest = a->guest,
					      .n_guest = all ? 30 : 0,
					      .name = "demo \033]0;evil\007 guest",
					      .how = "kvm, 997 Hz",
					      .profile = a->profile,
					      .rows = &a->rows,
					      .vcpu = a->vcpu,
					      .n_vcpu = 2,
					      .now_ns = 400 * MS,
					      .stats = &a->stats,
					      .own_cpu = 0.013 };
}

static void tear_down(struct all *a)
{
	us_top_rows_fini(&a->rows);
	us_screen_fini(&a->screen);
	us_top_state_fini(&a->state);
	us_profile_free(a->profile);
}

static void rows(struct all *a)
{
	us_top_rows_fini(&a->rows);
	if (a->state.page == US_TOP_AROUND)
		assert_int_equal(us_top_around(a->profile, a->state.around, &a->rows),
				 0);
	else if (a->state.page == US_TOP_FUNCTIONS && a->state.rows)
		assert_int_equal(
			us_top_groups(a->profile, a->state.rows, a->state.sort,
				      a->state.filter[0] ? &a->state.match : NULL,
				      &a->rows),
			0);
	else if (a->state.page == US_TOP_FUNCTIONS)
		assert_int_equal(
			us_top_functions(a->profile, a->state.sort,
					 a->state.filter[0] ? &a->state.match : NULL,
					 &a->rows),
			0);
}

/* Nothing stands outside, and nothing in it moves the cursor; then as text. */
static void check_screen(struct all *a)
{
	const struct us_screen *s = &a->screen;
	memset(a->text, 0, sizeof(a->text));
	for (size_t i = 0; i < s->n; i++) {
		const struct us_piece *p = &s->v[i];
		size_t n = us_columns(p->text);
		assert_true(p->row < s->rows && p->col + n <= s->cols);
		for (const char *c = p->text; *c; c += us_utf8_len(c)) {
			assert_true(us_utf8_len(c) > 0);
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
			assert_true(s->utf8 || (unsigned char)*c < 0x80);
		}
		if (p->row < 400)
			us_append(a->text[p->row], sizeof(a->text[0]), "%s|", p->text);
	}
}

static void lay_out(struct all *a, unsigned n_row, unsigned n_col, bool utf8)
{
	rows(a);
	us_screen_begin(&a->screen, n_row, n_col, utf8);
	us_top_scroll(&a->state,
		      a->state.page == US_TOP_GUESTS ? a->picture.n_guest : a->rows.n,
		      us_top_page_rows(&a->picture, n_row));
	us_top_layout(&a->picture, &a->screen);
	check_screen(a);
}

static bool shows(const struct all *a, const char *what)
{
	for (size_t i = 0; i < 400; i++)
		if (strstr(a->text[i], what))
			return true;
	return false;
}

static void test_sizes(void **state)
{
	static const unsigned sizes[][2] = { { 24, 80 },  { 50, 200 }, { 5, 20 },
					     { 1, 1 },	  { 2, 300 },  { 60, 300 },
					     { 300, 10 }, { 12, 60 },  { 11, 59 },
					     { 24, 45 },  { 0, 0 } };
	static struct all a;
	(void)state;
	for (int all = 0; all < 2; all++) {
		set_up(&a, all);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			for (unsigned vcpus = 0; vcpus <= 80; vcpus += 16)
				for (int page = US_TOP_GUESTS; page <= US_TOP_HELP;
				     page++) {
					a.picture.n_vcpu = vcpus;
					a.state.page = (enum us_top_page)page;
					lay_out(&a, sizes[i][0], sizes[i][1], i % 2);
				}
		tear_down(&a);
	}
}

static void test_functions(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	assert_non_null(strstr(a.text[0], "demo ?]0;evil? guest"));
	assert_non_null(strstr(a.text[0], "last 5 s"));
	assert_non_null(strstr(a.text[1], "guest  50.0 %  idle  30.0 %"));
	assert_non_null(strstr(a.text[1], "waits for host 5.0 %"));
	assert_non_null(
		strstr(a.text[3], "0.25 % of the guest's time, 11 us a sample"));
	assert_non_null(strstr(a.text[3], "1.3 % of a host CPU"));
	assert_true(shows(&a, "copy_?[31mbytes??"));
	assert_true(shows(&a, "sum_\303\251l\303\251ments"));
	assert_true(shows(&a, "  75.0"));
	assert_true(shows(&a, "o save"));
	lay_out(&a, 24, 120, false);
	assert_true(shows(&a, "sum_?l?ments"));
	assert_true(shows(&a, "exits 15.0 %: port I/O 10.0 %, "));
	/* Too small for more than the table. */
	lay_out(&a, 5, 20, true);
	assert_true(shows(&a, "copy") && shows(&a, "75.0") && !shows(&a, "vCPU 0"));
	tear_down(&a);
}

static enum us_top_act press(struct all *a, unsigned key)
{
	const struct us_top_row *r = a->state.selected < a->rows.n
					     ? &a->rows.v[a->state.selected]
					     : NULL;
	const struct us_top_seen seen = {
		.n_row = a->state.page == US_TOP_GUESTS ? a->picture.n_guest
							: a->rows.n,
		.page = 10,
		.name = r && r->func ? r->func->name : NULL,
		.group = r && r->group ? r->group->name : NULL,
		.n_vcpu = 2,
		.file = "uniscope.data",
	};
	enum us_top_act act = us_top_press(&a->state, key, &seen);
	lay_out(a, 24, 80, true);
	return act;
}

static void type(struct all *a, const char *text)
{
	for (; *text; text++)
		press(a, (unsigned char)*text);
}

static void test_keys(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	assert_int_equal(press(&a, 's'), US_TOP_DRAW);
	assert_int_equal(a.state.sort, US_SORT_TOTAL);
	assert_string_equal(a.rows.v[0].func->name, "main");
	assert_true(shows(&a, "95 % (total)"));
	press(&a, 's');
	press(&a, 's');
	assert_int_equal(a.state.sort, US_SORT_SELF);
	/* All vCPUs, the first, the second, all. */
	assert_int_equal(press(&a, 'v'), US_TOP_RENEW);
	assert_int_equal(a.state.vcpu, 0);
	assert_true(shows(&a, "vCPU 0|") || shows(&a, ", vCPU 0"));
	press(&a, 'v');
	press(&a, 'v');
	assert_int_equal(a.state.vcpu, -1);
	/* 5, 15, 60 seconds, since the start, 1 second. */
	press(&a, 'w');
	assert_int_equal(a.state.window_ns, 15000 * MS);
	press(&a, 'w');
	press(&a, 'w');
	assert_int_equal(a.state.window_ns, 0);
	assert_true(shows(&a, "since the start"));
	press(&a, 'w');
	assert_int_equal(a.state.window_ns, 1000 * MS);
	assert_int_equal(press(&a, 'f'), US_TOP_DRAW);
	assert_true(shows(&a, "FROZEN"));
	assert_int_equal(press(&a, ' '), US_TOP_RENEW);
	assert_int_equal(press(&a, 'h'), US_TOP_DRAW);
	assert_true(shows(&a, "choose a row"));
	press(&a, US_KEY_ESCAPE);
	assert_int_equal(a.state.page, US_TOP_FUNCTIONS);
	assert_int_equal(press(&a, 't'), US_TOP_RENEW);
	assert_true(shows(&a, "stack of vCPU 0 now"));
	press(&a, 'v');
	assert_true(shows(&a, "stack of vCPU 1 now"));
	press(&a, US_KEY_ESCAPE);
	assert_int_equal(press(&a, 'q'), US_TOP_QUIT);
	assert_int_equal(press(&a, 0), US_TOP_DRAW);
	tear_down(&a);
}

static void test_drill(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	press(&a, US_KEY_DOWN);
	assert_int_equal(a.state.selected, 1);
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_RENEW);
	assert_int_equal(a.state.page, US_TOP_AROUND);
	assert_int_equal(a.rows.n, 5); /* three lines, main above sum, and sum */
	assert_string_equal(a.rows.v[1].func->name, "main");
	assert_string_equal(a.rows.v[3].func->name, "sum_\303\251l\303\251ments");
	press(&a, US_KEY_DOWN);
	press(&a, US_KEY_ENTER); /* main in the middle */
	assert_string_equal(a.state.around, "main");
	assert_int_equal(a.rows.n, 6); /* no caller; two callees */
	assert_true(a.rows.v[4].total > a.rows.v[5].total);
	press(&a, US_KEY_ESCAPE);
	assert_int_equal(a.state.page, US_TOP_FUNCTIONS);
	tear_down(&a);
}

static void test_filter(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	press(&a, '/');
	type(&a, "sumX");
	assert_true(shows(&a, "only names like: sumX_"));
	press(&a, US_KEY_BACKSPACE);
	press(&a, US_KEY_ENTER);
	assert_int_equal(a.rows.n, 1);
	assert_true(shows(&a, "/sum/"));
	/* 'q' is a character here. */
	press(&a, '/');
	type(&a, "q("); /* replaces "sum" */
	press(&a, US_KEY_ENTER);
	assert_true(shows(&a, "'q(': no regular expression"));
	assert_string_equal(a.state.filter, "sum"); /* as before */
	press(&a, '/');
	press(&a, 0x15);
	type(&a, "nothing");
	press(&a, US_KEY_ENTER);
	assert_true(shows(&a, "no function's name matches"));
	press(&a, '/');
	press(&a, 0x15);
	press(&a, US_KEY_ENTER);
	assert_int_equal(a.rows.n, 3);
	press(&a, '/');
	press(&a, US_KEY_ESCAPE);
	assert_int_equal(a.state.ask, US_TOP_ASK_NOTHING);
	/* As long as it can be typed, and not longer. */
	press(&a, '/');
	for (unsigned i = 0; i < 600; i++)
		press(&a, i % 2 ? 0x1f600 : 0xe9);
	for (unsigned i = 0; i < 600; i++)
		press(&a, US_KEY_BACKSPACE);
	assert_string_equal(a.state.text, "");
	tear_down(&a);
}

static void test_save(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	press(&a, 'o');
	assert_true(shows(&a, "save to: uniscope.data_"));
	press(&a, 0x15);
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_DRAW); /* no name */
	press(&a, 'o');
	press(&a, US_KEY_BACKSPACE);
	type(&a, "b");
	assert_true(shows(&a, "save to: uniscope.datb_")); /* edited */
	press(&a, US_KEY_ESCAPE);
	press(&a, 'o');
	type(&a, "/tmp/x y");
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_SAVE);
	assert_string_equal(a.state.text, "/tmp/x y");
	tear_down(&a);
}

static void test_guests(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, true);
	lay_out(&a, 24, 80, true);
	assert_non_null(strstr(a.text[0], "30 guests on this host"));
	assert_true(shows(&a, "we?b") && shows(&a, "copy?"));
	assert_int_equal(press(&a, US_KEY_END), US_TOP_DRAW);
	assert_int_equal(a.state.selected, 29);
	assert_true(shows(&a, "gone") && shows(&a, "it ended"));
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_ENTER);
	a.state.page = US_TOP_FUNCTIONS;
	assert_int_equal(press(&a, US_KEY_ESCAPE), US_TOP_RENEW);
	assert_int_equal(a.state.page, US_TOP_GUESTS);
	a.picture.n_guest = 0;
	lay_out(&a, 24, 80, true);
	assert_true(shows(&a, "waiting for one"));
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_DRAW);
	tear_down(&a);
}

/* Rows of processes and threads, and into one. */
static void test_groups(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	assert_int_equal(press(&a, 'p'), US_TOP_RENEW);
	assert_int_equal(a.state.rows, US_BY_PROCESS);
	assert_true(shows(&a, "process") && shows(&a, "ser?[1mver (107)"));
	assert_true(shows(&a, "  75.0") && shows(&a, "a.out (108)"));
	assert_false(shows(&a, "total %") || shows(&a, "file:line"));
	assert_int_equal(a.rows.n, 2);
	/* By name, and not by a total, which there is none of. */
	press(&a, 's');
	assert_int_equal(a.state.sort, US_SORT_NAME);
	assert_string_equal(a.rows.v[0].group->name, "a.out (108)");
	press(&a, 's');
	assert_int_equal(a.state.sort, US_SORT_SELF);
	press(&a, '/');
	type(&a, "out");
	press(&a, US_KEY_ENTER);
	assert_int_equal(a.rows.n, 1);
	press(&a, '/');
	press(&a, 0x15);
	type(&a, "nothing");
	press(&a, US_KEY_ENTER);
	assert_true(shows(&a, "no row's name matches the filter"));
	press(&a, '/');
	press(&a, 0x15);
	press(&a, US_KEY_ENTER);
	assert_int_equal(press(&a, 'p'), US_TOP_RENEW);
	assert_true(shows(&a, "thread") && shows(&a, "worker (109) of a.out (108)"));
	/* Into a thread: its functions, and back. */
	press(&a, US_KEY_DOWN);
	assert_int_equal(press(&a, US_KEY_ENTER), US_TOP_RENEW);
	assert_string_equal(a.state.of, "worker (109) of a.out (108)");
	assert_int_equal(a.state.of_by, US_BY_THREAD);
	assert_int_equal(a.state.rows, US_BY_NONE);
	assert_true(shows(&a, "worker (109)") && shows(&a, "function"));
	press(&a, US_KEY_ENTER); /* a function's callers, and back */
	assert_int_equal(a.state.page, US_TOP_AROUND);
	press(&a, US_KEY_ESCAPE);
	assert_int_equal(press(&a, US_KEY_ESCAPE), US_TOP_RENEW);
	assert_string_equal(a.state.of, "");
	assert_int_equal(a.state.rows, US_BY_THREAD);
	assert_int_equal(press(&a, US_KEY_ESCAPE), US_TOP_DRAW);
	/* From elsewhere too; then functions again. */
	press(&a, 't');
	press(&a, 'p');
	assert_int_equal(a.state.page, US_TOP_FUNCTIONS);
	assert_int_equal(a.state.rows, US_BY_NONE);
	tear_down(&a);
}

/* What tasks wait for: by a key, where they are looked at. */
static void test_waits(void **state)
{
	static struct all a;
	const struct us_wait_stats looks = { .looks = 4,
					     .cost_ns = 2 * MS,
					     .cost_max_ns = MS };
	(void)state;
	set_up(&a, false);
	lay_out(&a, 24, 80, true);
	assert_int_equal(press(&a, 'b'), US_TOP_DRAW);
	assert_true(shows(&a, "top --tasks"));
	a.state.tasks = true;
	a.picture.tasks = &looks;
	press(&a, 'p');
	press(&a, US_KEY_ENTER);
	assert_string_equal(a.state.of, SERVER " (107)");
	assert_int_equal(press(&a, 'b'), US_TOP_RENEW);
	assert_true(a.state.waits);
	assert_string_equal(a.state.of, "");
	assert_int_equal(a.state.rows, US_BY_PROCESS);
	lay_out(&a, 24, 200, true);
	assert_true(shows(&a, "what tasks wait for"));
	assert_true(shows(&a, "0.50 % of a host CPU, 1.0 ms the longest"));
	press(&a, 't');
	assert_int_equal(press(&a, 'b'), US_TOP_RENEW);
	assert_int_equal(a.state.page, US_TOP_FUNCTIONS);
	assert_false(a.state.waits);
	tear_down(&a);
}

static json_t *print_json(struct all *a, size_t limit)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	us_top_print_json(&a->picture, limit, out);
	fclose(out);
	assert_null(strchr(text, '\n'));
	assert_null(strchr(text, '\033'));
	json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	free(text);
	return j;
}

static void test_json(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	rows(&a);
	json_t *j = print_json(&a, SIZE_MAX);
	json_t *f = json_object_get(j, "functions");
	assert_int_equal(json_array_size(f), 3);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(f, 0), "self")), 300);
	assert_int_equal(json_array_size(json_object_get(j, "vcpus")), 2);
	json_decref(j);
	j = print_json(&a, 1);
	assert_int_equal(json_array_size(json_object_get(j, "functions")), 1);
	json_decref(j);
	tear_down(&a);
	set_up(&a, true);
	j = print_json(&a, SIZE_MAX);
	assert_int_equal(json_array_size(json_object_get(j, "guests")), 30);
	json_decref(j);
	tear_down(&a);
}

static void test_json_groups(void **state)
{
	static struct all a;
	(void)state;
	set_up(&a, false);
	a.state.rows = US_BY_THREAD;
	rows(&a);
	json_t *j = print_json(&a, SIZE_MAX);
	assert_string_equal(json_string_value(json_object_get(j, "group_by")),
			    "thread");
	assert_null(json_object_get(j, "functions"));
	json_t *all = json_object_get(j, "groups"), *one = json_array_get(all, 1);
	assert_int_equal(json_array_size(all), 2);
	assert_string_equal(json_string_value(json_object_get(one, "process")),
			    "a.out");
	assert_int_equal(json_integer_value(json_object_get(one, "pid")), 108);
	assert_int_equal(json_integer_value(json_object_get(one, "tid")), 109);
	assert_int_equal(json_integer_value(json_object_get(one, "samples")), 100);
	json_t *f = json_object_get(one, "functions");
	assert_int_equal(json_array_size(f), 2);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(f, 0), "self")), 100);
	json_decref(j);
	tear_down(&a);
}

static void test_text_groups(void **state)
{
	static struct all a;
	struct us_profile_opts only = { .pid = { 107 }, .n_pid = 1 };
	char *text = NULL;
	size_t size;
	(void)state;
	set_up(&a, false);
	a.state.rows = US_BY_PROCESS;
	a.state.only = &only;
	rows(&a);
	FILE *out = open_memstream(&text, &size);
	us_top_print(&a.picture, 10, out);
	fclose(out);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "samples          95 %   process\n"));
	assert_non_null(strstr(text, "   75.0        300 "));
	assert_non_null(strstr(text, "ser?[1mver (107)\n"));
	free(text);
	tear_down(&a);
}

static void test_text(void **state)
{
	static struct all a;
	char *text = NULL;
	size_t size;
	(void)state;
	for (int all = 0; all < 2; all++) {
		set_up(&a, all);
		rows(&a);
		FILE *out = open_memstream(&text, &size);
		us_top_print(&a.picture, 10, out);
		fclose(out);
		assert_null(strchr(text, '\033'));
		assert_null(strchr(text, '\007'));
		assert_non_null(strstr(text, all ? "we?b: copy?" : "copy_?[31mbytes"));
		free(text);
		tear_down(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_functions),
		cmocka_unit_test(test_keys),	    cmocka_unit_test(test_drill),
		cmocka_unit_test(test_filter),	    cmocka_unit_test(test_save),
		cmocka_unit_test(test_guests),	    cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),	    cmocka_unit_test(test_groups),
		cmocka_unit_test(test_waits),	    cmocka_unit_test(test_json_groups),
		cmocka_unit_test(test_text_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

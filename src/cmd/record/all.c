/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/record/all.c: see cmd/record/all.h. */
#include "cmd/record/all.h"

#include "base/clock.h"
#include "cmd/record/fleet.h"
#include "cmd/record/live_options.h"
#include "cmd/options.h"
#include "cmd/serving.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DIR "uniscope-guests"
#define SEARCH_NS   US_NS_PER_SEC /* between two searches for guests */

/* All guests of this host; the fleet comes first, for the callbacks. */
struct crowd {
	struct us_fleet fleet;
	const char *dir;
	uint64_t begin_ns;
	struct us_progress progress;
	char refusal[sizeof(((struct us_err *)0)->msg)]; /* the last that was printed */
};

/* Set by a signal handler, so it cannot be anything but global. */
static atomic_bool stop;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

/* --- guests come --- */

static struct crowd *crowd_of(struct us_member *m)
{
	return (struct crowd *)m->fleet;
}

static int open_output(struct us_member *m, struct us_err *e)
{
	return us_fleet_open_in(m, crowd_of(m)->dir, e);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Do they say the same but for numbers, such as pids? */
static bool is_same_reason(const char *a, const char *b)
{
	while (*a && *b) {
		if (is_digit(*a) && is_digit(*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

/* Guests that were started alike are refused alike: one reason is enough. */
static void tell_refused(struct us_member *m)
{
	struct crowd *c = crowd_of(m);
	struct us_err e = { 0 };
	bool same = is_same_reason(c->refusal, m->e.msg);
	us_progress_end(&c->progress);
	/* A guest that was refused before its name was read has none: the reason names
	 * it. */
	us_fail(&e, m->code, "not recorded: %s%s%s", m->text, *m->text ? ": " : "",
		same && *m->text ? "for the same reason" : m->e.msg);
	if (!same)
		us_hint(&e, "%s", m->e.hint);
	us_complain(&e);
	memcpy(c->refusal, m->e.msg, sizeof(c->refusal));
}

/* --- guests end --- */

/* Print each line after the guest's name. */
static void tell_lines(const struct us_member *m, char *text)
{
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		fprintf(stderr, "%s: %s\n", m->text, line);
	}
}

static void tell_notes(struct us_member *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = m->fleet->set->json ? NULL : open_memstream(&text, &size);
	if (!out)
		return;
	us_images_tell(&m->r->images, out);
	us_recording_tell_names(m->r, out);
	if (fclose(out) == 0)
		tell_lines(m, text);
	free(text);
}

static void tell_recorded(struct us_member *m)
{
	us_progress_end(&crowd_of(m)->progress);
	us_serve_over(m->user, m->code < 0 ? m->e.msg : m->end_words);
	m->user = NULL;
	tell_notes(m);
	if (!m->fleet->set->json) {
		printf("%s: %s: ", m->text, m->path);
		us_summary_print(&m->summary, stdout);
		fflush(stdout);
	}
	if (m->code < 0)
		us_complain(&m->e);
}

static void tell_start(struct us_member *m)
{
	struct us_serving *s = m->fleet->set->serving;
	us_progress_end(&crowd_of(m)->progress);
	us_recording_tell_start(m->r);
	m->cpu = US_VMM_CPU_UNKNOWN;
	if (s)
		m->user = us_serving_add(s, m->r);
}

/* --- all of them --- */

static void show_progress(struct crowd *c)
{
	struct us_fleet *f = &c->fleet;
	struct us_record_stats sum = { .elapsed_ns = us_now_ns() - c->begin_ns };
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->members.n; i++) {
		const struct us_record_stats *s = &f->members.v[i]->sums;
		sum.running += s->running;
		sum.idle += s->idle;
		sum.off += s->off;
		sum.lost += s->lost;
		sum.failed += s->failed;
		sum.stolen_ns += s->stolen_ns;
		sum.vcpu_ns += s->vcpu_ns;
	}
	pthread_mutex_unlock(&f->lock);
	c->progress.n_guest = f->n_running;
	us_progress_show(&c->progress, &sum);
}

static int record_until_over(struct crowd *c, struct us_err *e)
{
	struct us_fleet *f = &c->fleet;
	uint64_t search_ns = c->begin_ns + SEARCH_NS;
	int r = us_fleet_look(f, true, e);
	if (r < 0)
		return r;
	if (!f->n_running && !f->set->json)
		fputs("no guest runs on this host yet: waiting for one\n", stderr);
	while (f->n_running || !us_fleet_is_over(f)) {
		us_fleet_wait(f, search_ns, -1);
		us_fleet_heed(f);
		if (us_now_ns() < search_ns)
			continue;
		show_progress(c);
		if (f->set->serving)
			us_serving_renew(f);
		search_ns = us_now_ns() + SEARCH_NS;
		if (us_fleet_look(f, false, NULL) < 0)
			continue; /* try again next time */
	}
	return 0;
}

static void print_json(const struct us_fleet *f)
{
	struct us_json j = us_json_to(stdout);
	j.pretty = true;
	us_json_object(&j, NULL);
	for (int recorded = 1; recorded >= 0; recorded--) {
		us_json_array(&j, recorded ? "recordings" : "not_recorded");
		for (size_t i = 0; i < f->members.n; i++) {
			const struct us_member *m = f->members.v[i];
			if (m->recorded != recorded || (!recorded && !m->refused))
				continue;
			us_json_object(&j, NULL);
			us_json_str(&j, "guest", m->name);
			us_json_u64(&j, "pid", (uint64_t)m->pid);
			if (m->code < 0)
				us_json_str(&j, "why", m->e.msg);
			if (recorded)
				us_summary_json_members(&m->summary, &j);
			us_json_end(&j);
		}
		us_json_end(&j);
	}
	us_json_end(&j);
}

static int begin_server(const struct us_record_settings *s, struct us_err *e)
{
	const struct us_serve_opts o = { .live = true,
					 .all = true,
					 .full_paths = s->full_paths };
	if (!s->serving)
		return 0;
	int r = us_serving_open(s->serving, &o, e);
	if (r < 0)
		return r;
	us_serving_tell(s->serving, s->json ? stderr : stdout);
	return us_serving_begin(s->serving, e);
}

/* Keep the pages in the browser until the user presses Ctrl-C. */
static void serve_on(struct us_fleet *f)
{
	if (!atomic_load(f->stop))
		fputs("the pages stay until Ctrl-C\n", stderr);
	while (!atomic_load(f->stop))
		us_fleet_wait(f, us_now_ns() + SEARCH_NS, -1);
}

static void tell_next(unsigned n, const char *dir, const char *path)
{
	char words[2][US_STORE_MAX_PATH];
	printf("%u guest%s recorded in %s; next: uniscope report %s\n", n,
	       n == 1 ? "" : "s", us_shell_word(words[0], sizeof(words[0]), dir),
	       us_shell_word(words[1], sizeof(words[1]), path));
}

/* Print the result; an error if no guest was recorded. */
static int conclude(const struct crowd *c, struct us_err *e)
{
	const struct us_fleet *f = &c->fleet;
	const struct us_member *first = NULL, *failed = NULL;
	unsigned n = 0;
	for (size_t i = 0; i < f->members.n; i++) {
		const struct us_member *m = f->members.v[i];
		if (m->recorded && m->code == 0 && !n++)
			first = m;
		else if (m->code < 0)
			failed = m;
	}
	if (f->set->json)
		print_json(f);
	if (n && !f->set->json)
		tell_next(n, c->dir, first->path);
	if (n)
		return 0;
	int code = failed ? failed->code : -ENOENT;
	return us_fail(e, code,
		       failed ? "no guest was recorded"
			      : "no guest was seen on this host");
}

int us_record_all(const struct us_record_settings *s, struct us_err *e)
{
	static const struct us_fleet_ops ops = { open_output, tell_start, tell_recorded,
						 tell_refused };
	struct us_record_settings set = *s;
	struct crowd c = { .fleet = { .set = &set, .ops = &ops, .stop = &stop },
			   .dir = s->out ? s->out : DEFAULT_DIR,
			   .begin_ns = us_now_ns() };
	bool bounded = s->duration_ns && s->duration_ns < UINT64_MAX - c.begin_ns;
	c.fleet.end_ns = bounded ? c.begin_ns + s->duration_ns : UINT64_MAX;
	set.schedule.pause_ns = US_LIVE_PAUSE_ALL_NS;
	int r = us_fleet_init(&c.fleet, e);
	if (r == 0)
		r = us_fleet_make_dir(c.dir, e);
	if (r == 0) {
		us_fleet_catch_signals(&c.fleet.sleep_mask, on_signal);
		r = begin_server(s, e);
	}
	if (r == 0) {
		us_progress_begin(&c.progress, "all guests", s->duration_ns);
		r = record_until_over(&c, e);
		us_progress_end(&c.progress);
	}
	if (r == 0)
		r = conclude(&c, e);
	if (r == 0 && s->serving)
		serve_on(&c.fleet);
	us_fleet_fini(&c.fleet);
	return r;
}

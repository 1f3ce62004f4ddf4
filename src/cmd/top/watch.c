/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/watch.c: see cmd/top/watch.h. */
#include "cmd/rights.h"
#include "cmd/top/guest.h"
#include "cmd/top/print.h"
#include "cmd/top/term.h"
#include "cmd/top/watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/job_stop.h"
#include "base/vec.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_NS    (5 * US_NS_PER_SEC)
#define FIRST_NS     (400 * US_NS_PER_MS) /* until there is something to see */
#define SEARCH_NS    US_NS_PER_SEC
#define PRINT_ROWS   10
#define MOST_ENDED   20 /* ended guests that are still shown */
#define DEFAULT_FILE "uniscope.data"

/* The fleet comes first, for its callbacks. */
struct top {
	struct us_fleet fleet;
	const struct us_top_settings *set;
	struct us_top_state state;
	struct {
		struct us_top_guest **v;
		size_t n, cap;
	} guests;
	struct us_top_guest *at; /* the guest whose page is shown, or NULL */
	struct us_term *term;	 /* NULL: text or JSON */
	struct us_screen screen;
	/* For the picture: */
	struct us_top_rows rows, waits_rows;
	struct us_top_guest_row *row;
	uint64_t cpu_ns, wall_ns; /* when own_cpu was taken */
	double own_cpu;
	unsigned n_seen; /* guests */
	bool quit;
	int code; /* the exit code of the guest that the user named */
	struct us_err e;
};

/* Set by a signal handler, so it cannot be anything but global. */
static atomic_bool stop;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

/* --- guests --- */

static struct top *top_of(const struct us_member *m)
{
	return (struct top *)m->fleet;
}

/* Runs in the member's thread. */
static int open_output(struct us_member *m, struct us_err *e)
{
	const struct us_record_settings *s = &top_of(m)->set->record;
	if (!s->out)
		return us_output_temporary(&m->r->output, e);
	return s->all ? us_fleet_open_in(m, s->out, e)
		      : us_output_open(&m->r->output, s->out, e);
}

static int running_first(const void *a, const void *b)
{
	const struct us_top_guest *x = *(struct us_top_guest *const *)a;
	const struct us_top_guest *y = *(struct us_top_guest *const *)b;
	if (x->over != y->over)
		return x->over ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Put ended guests last, and keep only the latest of them. */
static void forget_ended(struct top *t)
{
	size_t n = 0, to = 0;
	for (size_t i = 0; i < t->guests.n; i++)
		n += t->guests.v[i]->over;
	for (size_t i = 0; i < t->guests.n; i++) {
		struct us_top_guest *g = t->guests.v[i];
		if (n > MOST_ENDED && g->over && g != t->at) {
			us_top_guest_fini(g);
			free(g);
			n--;
			continue;
		}
		t->guests.v[to++] = g;
	}
	t->guests.n = to;
	if (to)
		qsort(t->guests.v, to, sizeof(*t->guests.v), running_first);
}

static struct us_top_guest *guest_of(struct us_member *m)
{
	struct top *t = top_of(m);
	if (m->user)
		return m->user;
	struct us_top_guest *g = calloc(1, sizeof(*g));
	struct us_top_guest **slot = g ? us_vec_push(&t->guests) : NULL;
	if (!slot) {
		free(g);
		return NULL;
	}
	g->member = m;
	g->number = t->n_seen++;
	m->user = *slot = g;
	if (!t->set->record.all)
		t->at = g;
	return g;
}

static void begin_guest(struct us_member *m)
{
	struct top *t = top_of(m);
	struct us_top_guest *g = guest_of(m);
	struct us_err e = { 0 };
	if (!g)
		us_top_say(&t->state, true, "out of memory");
	else if (us_top_guest_begin(g, &e))
		us_top_say(&t->state, true, "%s", e.msg);
}

static void begun(struct us_member *m)
{
	begin_guest(m);
	if (!top_of(m)->set->record.all)
		us_rights_drop(&m->backend);
}

static void ended(struct us_member *m)
{
	struct top *t = top_of(m);
	begin_guest(m); /* a short recording may not have begun the guest yet */
	if (!m->user)
		return;
	us_top_guest_renew(m->user, &t->state, true);
	us_top_guest_end(m->user);
	m->user = NULL;
	forget_ended(t);
}

static void refused(struct us_member *m)
{
	struct top *t = top_of(m);
	if (!t->set->record.all) {
		t->code = m->code;
		t->e = m->e;
		t->quit = true;
		return;
	}
	struct us_top_guest *g = guest_of(m);
	if (g)
		us_top_guest_end(g);
	m->user = NULL;
	forget_ended(t);
}

static const struct us_fleet_ops fleet_ops = { open_output, begun, ended, refused };

/* --- what is shown --- */

static uint64_t process_cpu_ns(void)
{
	struct timespec x;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &x);
	return (uint64_t)x.tv_sec * US_NS_PER_SEC + (uint64_t)x.tv_nsec;
}

static void renew_own_cpu(struct top *t)
{
	uint64_t cpu = process_cpu_ns(), wall = us_now_ns();
	if (t->wall_ns && wall - t->wall_ns < US_NS_PER_SEC / 2)
		return;
	t->own_cpu = t->wall_ns
			     ? (double)(cpu - t->cpu_ns) / (double)(wall - t->wall_ns)
			     : -1;
	t->cpu_ns = cpu;
	t->wall_ns = wall;
}

static void renew(struct top *t, bool now)
{
	renew_own_cpu(t);
	if (t->state.page == US_TOP_GUESTS) {
		for (size_t i = 0; i < t->guests.n; i++)
			us_top_guest_glance(t->guests.v[i],
					    t->state.window_ns ? t->state.window_ns
							       : WINDOW_NS,
					    t->guests.n);
	} else if (t->at && !(t->at->over && t->at->profile && !now)) {
		us_top_guest_renew(t->at, &t->state, now);
	}
}

static void rows_of_guests(struct top *t, struct us_top_picture *p)
{
	struct us_top_guest_row *v = realloc(t->row, (t->guests.n + 1) * sizeof(*v));
	if (!v)
		return;
	t->row = v;
	for (size_t i = 0; i < t->guests.n; i++)
		v[i] = us_top_guest_row(t->guests.v[i]);
	p->guest = v;
	p->n_guest = t->guests.n;
}

static int rows_of(const struct us_top_state *s, const struct us_profile *p,
		   bool grouped, struct us_top_rows *ret)
{
	const regex_t *match = s->filter[0] ? &s->match : NULL;
	us_top_rows_fini(ret);
	if (!p)
		return 0;
	if (s->page == US_TOP_AROUND)
		return us_top_around(p, s->around, ret);
	if (s->rows == US_BY_NONE)
		return us_top_functions(p, s->sort, match, ret);
	return grouped ? us_top_groups(p, s->rows, s->sort, match, ret) : 0;
}

static int rows_of_guest(struct top *t)
{
	const struct us_top_state *s = &t->state;
	const struct us_top_guest *g = t->at;
	if (s->page == US_TOP_STACK) {
		us_top_rows_fini(&t->rows);
		return g->stack ? us_top_stack(g->stack, &t->rows) : 0;
	}
	int rc = rows_of(s, us_top_guest_shown(g, s), g->grouped, &t->rows);
	if (!rc && s->both)
		rc = rows_of(s, g->waits, g->grouped, &t->waits_rows);
	return rc;
}

static struct us_top_picture picture_of(struct top *t)
{
	static const struct us_record_stats none;
	struct us_top_picture p = { .state = &t->state,
				    .rows = &t->rows,
				    .stats = &none,
				    .own_cpu = t->own_cpu };
	const struct us_top_guest *g = t->at;
	if (t->state.page == US_TOP_GUESTS)
		rows_of_guests(t, &p);
	if (!g)
		return p;
	if (t->state.page != US_TOP_GUESTS && rows_of_guest(t))
		us_top_say(&t->state, true, "out of memory");
	p.name = g->name;
	p.how = g->how;
	p.over = g->over ? g->words : NULL;
	p.profile = us_top_guest_shown(g, &t->state);
	p.waits = t->state.both ? g->waits : NULL;
	p.waits_rows = &t->waits_rows;
	if (t->state.tasks && g->live)
		p.tasks = us_live_wait_stats(g->live);
	p.vcpu = g->vcpu;
	p.n_vcpu = g->n_vcpu;
	p.now_ns = g->live ? us_live_now_ns(g->live) : 0;
	p.stats = g->live ? us_live_stats(g->live) : &none;
	return p;
}

static size_t n_row(const struct us_top_picture *p)
{
	return p->state->page == US_TOP_GUESTS ? p->n_guest : p->rows->n;
}

static void draw(struct top *t)
{
	us_term_begin(t->term, &t->screen);
	struct us_top_picture p = picture_of(t);
	us_top_scroll(&t->state, n_row(&p), us_top_page_rows(&p, t->screen.rows));
	us_top_layout(&p, &t->screen);
	us_term_draw(t->term, &t->screen);
}

static void print(struct top *t)
{
	struct us_top_picture p = picture_of(t);
	const struct us_top_settings *s = t->set;
	size_t most = s->limited ? s->limit : s->record.json ? SIZE_MAX : PRINT_ROWS;
	if (s->record.json) {
		us_top_print_json(&p, most, stdout);
		putchar('\n');
	} else {
		us_top_print(&p, most, stdout);
	}
	if (fflush(stdout) != 0)
		t->quit = true; /* nobody reads the output any more */
}

/* --- keys --- */

static void save(struct top *t)
{
	const char *name = t->state.text;
	struct us_output o = { .fd = -1, .result_fd = -1 };
	struct us_err e = { 0 };
	if (!t->at || !t->at->live)
		return;
	int rc = us_output_open(&o, strcmp(name, DEFAULT_FILE) ? name : NULL, &e);
	if (!rc)
		rc = us_live_save(t->at->live, o.fd, &e);
	if (!rc)
		rc = us_output_convert(&o, true, &e);
	us_output_close(&o);
	if (rc)
		us_top_say(&t->state, true, "not saved to %s: %s", name, e.msg);
	else
		us_top_say(&t->state, false, "saved to %s", name);
}

static void enter_guest(struct top *t)
{
	if (t->state.selected >= t->guests.n)
		return;
	t->at = t->guests.v[t->state.selected];
	t->state.page = US_TOP_FUNCTIONS;
	t->state.of[0] = '\0';
	t->state.selected = t->state.first = t->state.last_selected = 0;
	renew(t, true);
}

static void act(struct top *t, enum us_top_act what)
{
	switch (what) {
	case US_TOP_QUIT:
		t->quit = true;
		break;
	case US_TOP_RENEW:
		renew(t, true);
		break;
	case US_TOP_SAVE:
		save(t);
		break;
	case US_TOP_ENTER:
		enter_guest(t);
		break;
	case US_TOP_DRAW:
		break;
	}
}

static void hear_keys(struct top *t)
{
	unsigned key;
	while (!t->quit && us_term_key(t->term, &key)) {
		struct us_top_picture p = picture_of(t);
		size_t at = t->state.selected;
		const struct us_top_row *r = at < t->rows.n && t->at ? &t->rows.v[at]
								     : NULL;
		const struct us_top_seen seen = {
			.n_row = n_row(&p),
			.page = us_top_page_rows(&p, t->screen.rows),
			.name = r && r->func ? r->func->name : NULL,
			.group = r && r->group ? r->group->name : NULL,
			.n_vcpu = p.n_vcpu,
			.file = DEFAULT_FILE,
		};
		act(t, us_top_press(&t->state, key, &seen));
	}
}

/* --- the whole --- */

static volatile sig_atomic_t asked_to_stop;

static void on_stop(int sig)
{
	(void)sig;
	asked_to_stop = 1;
}

/* Have only this thread, and only while it waits, take the terminal's signals: a new
 * size, and Ctrl-Z, before which the terminal must be given back. */
static void hear_terminal(sigset_t *sleep_mask)
{
	const struct sigaction a = { .sa_handler = on_stop };
	struct sigaction now;
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGWINCH);
	sigaddset(&mask, SIGTSTP);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	sigdelset(sleep_mask, SIGWINCH);
	sigdelset(sleep_mask, SIGTSTP);
	if (sigaction(SIGTSTP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &a, NULL);
}

static void stop_if_asked(struct top *t)
{
	if (!asked_to_stop)
		return;
	asked_to_stop = 0;
	if (t->term)
		us_term_leave(t->term);
	us_job_stop();
}

/* The terminal's window was closed.  A signal reports that, too, but not to a thread
 * that never waits: a closed terminal is always readable. */
static bool is_term_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static bool is_watching(const struct top *t)
{
	if (t->quit || us_fleet_is_over(&t->fleet))
		return false;
	bool gone = t->at && t->at->over && !t->set->record.all;
	return !gone || (t->term && !t->set->record.duration_ns);
}

static void show(struct top *t)
{
	if (t->term)
		draw(t);
	else if (t->at ? !t->at->over : t->state.page == US_TOP_GUESTS)
		print(t); /* the end of one is printed once, last */
}

/* Without a terminal there is plain text, and a note if the user did not ask for it. */
static void begin_term(struct top *t)
{
	const char *why = NULL;
	struct us_err e = { 0 };
	if (t->set->record.json)
		return;
	if (us_term_possible(&why) && us_term_open(&t->term, &e) < 0)
		why = e.msg;
	if (why)
		fprintf(stderr, "note: plain text: %s\n", why);
}

static void watch(struct top *t)
{
	bool all = t->set->record.all, once = false;
	uint64_t now = us_now_ns(), search_ns = now + SEARCH_NS;
	uint64_t next_ns = now + FIRST_NS;
	while (is_watching(t)) {
		uint64_t until = all && search_ns < next_ns ? search_ns : next_ns;
		us_fleet_wait(&t->fleet, until, t->term ? STDIN_FILENO : -1);
		stop_if_asked(t);
		us_fleet_heed(&t->fleet);
		if (!once && (t->at || all)) {
			once = true;
			begin_term(t);
			t->state.both = t->state.tasks && !t->term;
			next_ns = us_now_ns() + FIRST_NS;
		}
		if (t->term)
			hear_keys(t);
		t->quit |= t->term && is_term_gone();
		now = us_now_ns();
		if (all && now >= search_ns) {
			(void)!us_fleet_look(&t->fleet, false, NULL);
			search_ns = now + SEARCH_NS;
		}
		if (now >= next_ns) {
			renew(t, false);
			next_ns = now + t->set->interval_ns;
			show(t);
		} else if (t->term) {
			draw(t);
		}
	}
	if (!t->term && t->at && t->at->over && !t->quit)
		print(t); /* the end of the recording */
}

static void detach(struct top *t)
{
	us_term_close(t->term);
	t->term = NULL;
	atomic_store(&stop, true);
	while (t->fleet.n_running) {
		us_fleet_wait(&t->fleet, us_now_ns() + US_NS_PER_SEC, -1);
		us_fleet_heed(&t->fleet);
	}
}

static void top_fini(struct top *t)
{
	us_fleet_fini(&t->fleet);
	for (size_t i = 0; i < t->guests.n; i++) {
		us_top_guest_fini(t->guests.v[i]);
		free(t->guests.v[i]);
	}
	free(t->guests.v);
	free(t->row);
	us_top_rows_fini(&t->rows);
	us_top_rows_fini(&t->waits_rows);
	us_screen_fini(&t->screen);
	us_top_state_fini(&t->state);
}

static int start(struct top *t, struct us_err *e)
{
	const struct us_record_settings *s = &t->set->record;
	struct us_member *m;
	int rc = us_fleet_init(&t->fleet, e);
	if (!rc && s->all && s->out)
		rc = us_fleet_make_dir(s->out, e);
	if (rc)
		return rc;
	us_fleet_catch_signals(&t->fleet.sleep_mask, on_signal);
	hear_terminal(&t->fleet.sleep_mask);
	return s->all ? us_fleet_look(&t->fleet, true, e)
		      : us_fleet_target(&t->fleet, s->argc ? s->argv[0] : NULL, &m, e);
}

static void tell_next(const struct us_record_settings *r)
{
	char word[US_STORE_MAX_PATH];
	us_shell_word(word, sizeof(word), r->out);
	printf("wrote %s; next: uniscope report%s%s\n", word, r->all ? "" : " ",
	       r->all ? "" : word);
}

int us_top_watch(const struct us_top_settings *s, struct us_err *e)
{
	const struct us_record_settings *r = &s->record;
	struct top t = { .fleet = { .set = r, .ops = &fleet_ops, .stop = &stop },
			 .set = s,
			 .own_cpu = -1 };
	uint64_t now = us_now_ns();
	t.fleet.end_ns = r->all && r->duration_ns && r->duration_ns < UINT64_MAX - now
				 ? now + r->duration_ns
				 : UINT64_MAX;
	us_top_state_init(&t.state, r->all, s->window_ns);
	t.state.sort = s->sort;
	t.state.rows = s->rows;
	t.state.tasks = r->tasks_hz > 0;
	t.state.only = &s->only;
	if (s->filter)
		(void)us_top_filter(&t.state, s->filter); /* it was checked before */
	int rc = start(&t, e);
	if (rc == 0) {
		watch(&t);
		detach(&t);
	}
	if (rc == 0 && t.code < 0) {
		*e = t.e;
		rc = t.code;
	}
	if (rc == 0 && r->out && !r->json && isatty(STDOUT_FILENO))
		tell_next(r);
	top_fini(&t);
	return rc;
}

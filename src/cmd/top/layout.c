/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/layout.c: see cmd/top/layout.h. */
#include "cmd/top/layout.h"

#include "base/clock.h"
#include "base/text.h"
#include "report/columns.h"

#include <inttypes.h>
#include <string.h>

#define FEW_ROWS    12 /* of a screen: with fewer only the table has room */
#define NARROW	    60 /* columns: with fewer only shares and names */
#define BAR_COLUMNS 10
#define HOT	    0.10
#define LEAST_NAME  20

/* Where the parts of the screen are. */
struct frame {
	unsigned vcpus;	     /* lines */
	unsigned table, end; /* first row, with its header; row after its last */
	bool cost;
};

static struct frame frame_of(const struct us_top_picture *p, unsigned rows)
{
	struct frame f = { .table = 1, .end = rows > 1 ? rows - 1 : rows };
	bool one = p->state->page != US_TOP_GUESTS && p->state->page != US_TOP_HELP;
	if (rows < FEW_ROWS || !one)
		return f;
	unsigned most = (rows - FEW_ROWS) / 2 + 1;
	f.vcpus = p->n_vcpu < most ? p->n_vcpu : most;
	f.cost = true;
	f.table = 1 + f.vcpus + 1 + 1; /* the last one is an empty line */
	return f;
}

static size_t n_rows(const struct us_top_picture *p)
{
	return p->state->page == US_TOP_GUESTS ? p->n_guest : p->rows ? p->rows->n : 0;
}

size_t us_top_page_rows(const struct us_top_picture *p, unsigned rows)
{
	struct frame f = frame_of(p, rows);
	return f.end > f.table + 1 ? f.end - f.table - 1 : 1;
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100 * (double)part / (double)all : 0;
}

/* Append the most frequent reasons of exits. */
static void append_exits(const struct us_live_vcpu *v, uint64_t all, char *dst,
			 size_t size)
{
	uint64_t sum[US_N_EXIT] = { 0 };
	const char *then = ": ";
	for (unsigned i = 0; i < US_N_EXIT; i++)
		for (unsigned k = 0; k < US_N_PLACE; k++)
			sum[i] += v->exit_for[i][k];
	for (unsigned n = 0; n < 3; n++) {
		unsigned best = 0;
		for (unsigned i = 1; i < US_N_EXIT; i++)
			if (sum[i] > sum[best])
				best = i;
		if (!sum[best])
			break;
		us_append(dst, size, "%s%s %.1f %%", then,
			  us_exit_reason_name((enum us_exit_reason)best),
			  percent(sum[best], all));
		sum[best] = 0;
		then = ", ";
	}
}

char *us_top_vcpu_line(const struct us_live_vcpu *v, char *dst, size_t size)
{
	uint64_t all = v->guest + v->idle + v->ready + v->exit;
	dst[0] = '\0';
	if (!v->seen)
		snprintf(dst, size, "no sample yet");
	else if (!all)
		snprintf(dst, size, v->off ? "off" : "no sample in this time");
	if (!all)
		return dst;
	snprintf(dst, size, "guest %5.1f %%  idle %5.1f %%", percent(v->guest, all),
		 percent(v->idle, all));
	if (v->ready)
		us_append(dst, size, "  waits for host %.1f %%",
			  percent(v->ready, all));
	if (v->exit) {
		us_append(dst, size, "  exits %.1f %%", percent(v->exit, all));
		append_exits(v, all, dst, size);
	}
	return dst;
}

char *us_top_cost_line(const struct us_record_stats *s, double own_cpu, char *dst,
		       size_t size)
{
	snprintf(dst, size, "looking: ");
	if (!s->elapsed_ns)
		us_append(dst, size, "not known yet, ");
	else if (s->held_max_ns || s->stolen_ns)
		us_append(dst, size, "%.2f %% of the guest's time, ",
			  percent(s->stolen_ns, s->vcpu_ns));
	else
		us_append(dst, size, "guest not stopped, ");
	if (s->held_p50_ns)
		us_append(dst, size, "%.0f us a sample, ",
			  (double)s->held_p50_ns / 1e3);
	if (own_cpu >= 0)
		us_append(dst, size, "%.1f %% of a host CPU, ", 100 * own_cpu);
	us_append(dst, size, "%" PRIu64 " lost", s->lost);
	return dst;
}

void us_top_append_tasks(const struct us_wait_stats *t, uint64_t elapsed_ns, char *dst,
			 size_t size)
{
	us_append(dst, size,
		  "; at tasks: %" PRIu64
		  " looks, %.2f %% of a host CPU, %.1f ms the longest",
		  t->looks, percent(t->cost_ns, elapsed_ns),
		  (double)t->cost_max_ns / 1e6);
}

static void window_words(const struct us_top_picture *p, char *dst, size_t size)
{
	const struct us_top_state *s = p->state;
	double now = (double)p->now_ns / US_NS_PER_SEC;
	char of[sizeof(s->of)];
	if (s->window_ns)
		snprintf(dst, size, "last %g s", (double)s->window_ns / US_NS_PER_SEC);
	else
		snprintf(dst, size, "since the start, %.0f s", now);
	if (s->waits)
		us_append(dst, size, ", what tasks wait for");
	else if (s->vcpu >= 0)
		us_append(dst, size, ", vCPU %d", s->vcpu);
	if (s->of[0])
		us_append(dst, size, ", %.40s", us_printable(of, sizeof(of), s->of));
	if (us_top_is_filtered(s))
		us_append(dst, size, ", filtered");
	if (s->filter[0])
		us_append(dst, size, ", /%.40s/", s->filter);
}

static void put_title(const struct us_top_picture *p, struct us_screen *s)
{
	const struct us_top_state *t = p->state;
	char words[256];
	us_screen_fill(s, 0, US_STYLE_TITLE);
	if (t->page == US_TOP_GUESTS) {
		us_screen_putf(s, 0, 0, s->cols, US_STYLE_TITLE,
			       "uniscope top: %zu guest%s on this host", p->n_guest,
			       p->n_guest == 1 ? "" : "s");
		return;
	}
	window_words(p, words, sizeof(words));
	const char *mark = p->over ? "  ENDED" : t->frozen ? "  FROZEN" : "";
	unsigned need = (unsigned)(us_columns(words) + strlen(mark)) + 2;
	unsigned room = s->cols > need + LEAST_NAME ? s->cols - need : s->cols;
	char name[US_TOP_TEXT];
	snprintf(name, sizeof(name), "%s", p->name ? p->name : "");
	if (p->how && us_columns(name) + strlen(p->how) + 5 < room)
		us_append(name, sizeof(name), "  by %s", p->how);
	us_screen_put_name(s, 0, 0, room, US_STYLE_TITLE, name);
	if (room < s->cols)
		us_screen_putf(s, 0, room + 2, s->cols, US_STYLE_TITLE, "%s%s", words,
			       mark);
	else if (*mark && s->cols > 8)
		us_screen_put(s, 0, s->cols - 8, 8, US_STYLE_TITLE, mark);
}

static const char *const states[US_N_VCPU_STATE] = {
	[US_VCPU_GUEST] = "guest", [US_VCPU_EXIT] = "exit", [US_VCPU_READY] = "waits",
	[US_VCPU_HALTED] = "idle", [US_VCPU_OFF] = "off",
};

static const char *state_word(const struct us_live_vcpu *v)
{
	const char *word = v->seen && (unsigned)v->state < US_N_VCPU_STATE
				   ? states[v->state]
				   : NULL;
	return word ? word : "-";
}

static void put_vcpus(const struct us_top_picture *p, const struct frame *f,
		      struct us_screen *s)
{
	char line[512];
	for (unsigned i = 0; i < f->vcpus; i++) {
		bool last = i + 1 == f->vcpus && p->n_vcpu > f->vcpus;
		if (last) {
			us_screen_putf(s, 1 + i, 0, s->cols, US_STYLE_DIM,
				       "%u more vCPUs (v shows one)",
				       p->n_vcpu - f->vcpus + 1);
			break;
		}
		us_screen_putf(s, 1 + i, 0, s->cols, US_STYLE_PLAIN,
			       "vCPU %-3u now %-6s %s", i, state_word(&p->vcpu[i]),
			       us_top_vcpu_line(&p->vcpu[i], line, sizeof(line)));
	}
	us_top_cost_line(p->stats, p->own_cpu, line, sizeof(line));
	if (p->tasks)
		us_top_append_tasks(p->tasks, p->stats->elapsed_ns, line, sizeof(line));
	us_screen_put(s, 1 + f->vcpus, 0, s->cols, US_STYLE_DIM, line);
	if (p->profile && us_profile_n_warning(p->profile))
		us_screen_put(s, 2 + f->vcpus, 0, s->cols, US_STYLE_WARNING,
			      us_profile_warning(p->profile, 0));
	else if (p->profile && p->state->waits)
		us_screen_put(s, 2 + f->vcpus, 0, s->cols, US_STYLE_PLAIN,
			      us_report_waits_line(p->profile, line, sizeof(line)));
}

/* --- the table of functions --- */

struct columns {
	bool narrow;
	unsigned bar, name, place; /* where they begin; place: at the end if none */
};

/* Is it a table of processes or threads, which have no total and no place? */
static bool is_of_groups(const struct us_top_picture *p)
{
	return p->state->page == US_TOP_FUNCTIONS && p->state->rows != US_BY_NONE;
}

static struct columns columns_of(const struct us_top_picture *p,
				 const struct us_screen *s)
{
	struct columns c = { .narrow = s->cols < NARROW };
	char name[US_CELL_SIZE];
	unsigned widest = LEAST_NAME;
	c.bar = c.narrow ? 0 : 28;
	c.name = c.narrow ? 7 : c.bar + BAR_COLUMNS + 2;
	c.place = s->cols;
	if (c.narrow || s->cols < c.name + 2 * LEAST_NAME || is_of_groups(p))
		return c;
	for (size_t i = 0; p->rows && i < p->rows->n; i++) {
		const struct us_top_row *r = &p->rows->v[i];
		if (!r->func)
			continue;
		us_report_name_cell(r->func, name);
		unsigned n = (unsigned)us_columns(name) + r->indent;
		widest = n > widest ? n : widest;
	}
	unsigned most = (s->cols - c.name) * 3 / 5;
	c.place = c.name + (widest < most ? widest : most) + 2;
	return c;
}

static void put_header(const struct us_top_picture *p, const struct columns *c,
		       unsigned row, struct us_screen *s)
{
	if (p->state->page == US_TOP_STACK) {
		us_screen_putf(
			s, row, 0, s->cols, US_STYLE_BOLD,
			"stack of vCPU %u now, innermost first (v: the next, Esc: "
			"back)",
			p->state->stack_vcpu);
		return;
	}
	bool around = p->state->page == US_TOP_AROUND;
	bool by_total = us_top_by_total(p->state) || around;
	const char *word = is_of_groups(p) ? us_profile_by_name(p->state->rows)
			   : around	   ? "callers, callees"
					   : "function";
	if (c->narrow)
		us_screen_put(s, row, 0, s->cols, US_STYLE_BOLD,
			      by_total ? "total%" : " self%");
	else
		us_screen_putf(s, row, 0, s->cols, US_STYLE_BOLD, "%6s %7s %12s",
			       "self %", is_of_groups(p) ? "" : "total %",
			       by_total ? "95 % (total)" : "95 % (self)");
	us_screen_put(s, row, c->name,
		      c->place > c->name + 2 ? c->place - c->name - 2 : s->cols,
		      US_STYLE_BOLD, word);
	us_screen_put(s, row, c->place, s->cols, US_STYLE_BOLD, "file:line");
}

static enum us_style style_of(const struct us_top_row *r, bool selected, double key)
{
	return selected		       ? US_STYLE_SELECTED
	       : !r->func && !r->group ? US_STYLE_DIM
	       : key >= HOT	       ? US_STYLE_HOT
				       : US_STYLE_PLAIN;
}

static void put_figures(const struct us_top_row *r, double key, bool narrow, bool bar,
			unsigned row, enum us_style style, struct us_screen *s)
{
	char interval[32];
	if (narrow) {
		if (key >= 0)
			us_screen_putf(s, row, 0, 6, style, "%6.1f", 100 * key);
		return;
	}
	if (r->self >= 0)
		us_screen_putf(s, row, 0, 6, style, "%6.1f", 100 * r->self);
	if (r->total >= 0)
		us_screen_putf(s, row, 7, 7, style, "%7.1f", 100 * r->total);
	if (r->low <= r->high) {
		snprintf(interval, sizeof(interval), "%.1f-%.1f", 100 * r->low,
			 100 * r->high);
		us_screen_putf(s, row, 15, 12, style, "%12s", interval);
	}
	if (bar && key > 0)
		us_screen_bar(s, row, 28, BAR_COLUMNS, key);
}

static void put_row(const struct us_top_picture *p, const struct columns *c, size_t i,
		    unsigned row, struct us_screen *s)
{
	const struct us_top_row *r = &p->rows->v[i];
	const struct us_report_opts o = { 0 };
	bool selected = i == p->state->selected;
	bool by_total = us_top_by_total(p->state) || r->self < 0;
	double key = by_total ? r->total : r->self;
	enum us_style style = style_of(r, selected, key);
	char name[US_CELL_SIZE], place[US_CELL_SIZE] = "";
	bool figures = p->state->page != US_TOP_STACK;
	if (selected)
		us_screen_fill(s, row, style);
	if (figures)
		put_figures(r, key, c->narrow, !selected, row, style, s);
	if (r->func) {
		us_report_name_cell(r->func, name);
		us_report_place_cell(r->func, &o, place);
	} else if (r->group) {
		us_printable(name, sizeof(name), r->group->name);
	} else {
		snprintf(name, sizeof(name), "%s", r->text);
	}
	unsigned indent = c->narrow ? r->indent / 2 : r->indent;
	unsigned from = (figures ? c->name : c->narrow ? 0 : 2) + indent;
	unsigned to = c->place > 2 && c->place < s->cols ? c->place - 2 : s->cols;
	if (from < to)
		us_screen_put_name(s, row, from, to - from, style, name);
	if (c->place < s->cols)
		us_screen_put_path(s, row, c->place, s->cols - c->place, style, place);
}

static const char *nothing_words(const struct us_top_picture *p)
{
	switch (p->state->page) {
	case US_TOP_STACK:
		return "the vCPU is idle, or has not been seen yet";
	case US_TOP_AROUND:
		return "no sample has this function in this time (Esc: back)";
	default:
		break;
	}
	if (!p->profile)
		return p->state->waits ? "no task was looked at yet" : "no samples yet";
	if (p->state->filter[0] && us_profile_summary(p->profile)->running)
		return is_of_groups(p) ? "no row's name matches the filter (/)"
				       : "no function's name matches the filter (/)";
	if (p->state->waits)
		return "no task was seen to wait in this time";
	return us_profile_summary(p->profile)->idle ? "the guest is idle"
						    : "no samples in this time";
}

static void put_table(const struct us_top_picture *p, const struct frame *f,
		      struct us_screen *s)
{
	struct columns c = columns_of(p, s);
	unsigned row = f->table + 1;
	put_header(p, &c, f->table, s);
	if (!n_rows(p) && row < f->end)
		us_screen_put(s, row, 2, s->cols, US_STYLE_DIM, nothing_words(p));
	for (size_t i = p->state->first; i < n_rows(p) && row < f->end; i++)
		put_row(p, &c, i, row++, s);
}

/* --- all guests --- */

static void put_guest(const struct us_top_guest_row *g, bool selected, unsigned row,
		      unsigned name_columns, struct us_screen *s)
{
	enum us_style style = selected	 ? US_STYLE_SELECTED
			      : g->words ? US_STYLE_DIM
					 : US_STYLE_PLAIN;
	unsigned col = name_columns + 1;
	if (selected)
		us_screen_fill(s, row, style);
	us_screen_put_name(s, row, 0, name_columns, style, g->name);
	if (g->words) {
		us_screen_put(s, row, col, s->cols, style, g->words);
		return;
	}
	if (g->cpu >= 0)
		us_screen_putf(s, row, col, 7, style, "%7.1f", 100 * g->cpu);
	if (g->idle >= 0)
		us_screen_putf(s, row, col + 8, 7, style, "%7.1f", 100 * g->idle);
	if (!g->hottest)
		return;
	us_screen_putf(s, row, col + 16, 7, style, "%7.1f", 100 * g->hottest_share);
	if (s->cols > col + 25)
		us_screen_put_name(s, row, col + 25, s->cols - col - 25, style,
				   g->hottest);
}

static void put_guests(const struct us_top_picture *p, const struct frame *f,
		       struct us_screen *s)
{
	unsigned row = f->table + 1,
		 name = s->cols < NARROW ? s->cols / 3 : s->cols / 4;
	us_screen_put(s, f->table, 0, name, US_STYLE_BOLD, "guest");
	us_screen_putf(s, f->table, name + 1, s->cols, US_STYLE_BOLD, "%7s %7s %7s  %s",
		       "CPU %", "idle %", "self %", "hottest function");
	if (!p->n_guest && row < f->end)
		us_screen_put(s, row, 2, s->cols, US_STYLE_DIM,
			      "no guest runs on this host yet: waiting for one");
	for (size_t i = p->state->first; i < p->n_guest && row < f->end; i++)
		put_guest(&p->guest[i], i == p->state->selected, row++, name, s);
}

/* --- the rest --- */

static const char *const help_lines[] = {
	"up, down, PgUp, PgDn, g, G  choose a row (also k, j)",
	"Enter   the function's callers and callees; a guest or process: open it",
	"Esc     back",
	"s       sort by self, total, name",
	"p       rows: functions, or a Linux guest's processes or threads",
	"b       what tasks of a Linux guest wait for (--tasks), or what runs",
	"v       all vCPUs, or one: the next",
	"w       window: last 1, 5, 15, 60 s, since the start",
	"f       freeze, and go on (also the space bar)",
	"t       the stack of a vCPU now",
	"/       only functions whose name matches a regular expression",
	"o       save what was seen as a recording, for uniscope report",
	"q       quit (also Ctrl-C)",
	"",
	"self %: the function itself; total %: and what it calls. Shares are of the",
	"samples in which a vCPU had work; 95 % is the interval of statistical error.",
	"waits for host: ready to run, but the host CPU ran something else.",
	NULL,
};

static void put_help(const struct frame *f, struct us_screen *s)
{
	unsigned row = f->table;
	for (size_t i = 0; help_lines[i] && row < f->end; i++)
		us_screen_put(s, row++, 0, s->cols, US_STYLE_PLAIN, help_lines[i]);
}

static void put_foot(const struct us_top_picture *p, struct us_screen *s)
{
	const struct us_top_state *t = p->state;
	unsigned row = s->rows - 1;
	if (t->ask == US_TOP_ASK_FILTER)
		us_screen_putf(s, row, 0, s->cols, US_STYLE_BOLD,
			       "only names like: %s_", t->text);
	else if (t->ask == US_TOP_ASK_FILE)
		us_screen_putf(s, row, 0, s->cols, US_STYLE_BOLD, "save to: %s_",
			       t->text);
	else if (t->message[0])
		us_screen_put(s, row, 0, s->cols,
			      t->message_is_error ? US_STYLE_WARNING : US_STYLE_BOLD,
			      t->message);
	else if (p->over && t->page != US_TOP_GUESTS)
		us_screen_put(s, row, 0, s->cols, US_STYLE_WARNING, p->over);
	else if (t->page == US_TOP_GUESTS)
		us_screen_put(s, row, 0, s->cols, US_STYLE_DIM,
			      "q quit  h help  Enter go in");
	else
		us_screen_put(s, row, 0, s->cols, US_STYLE_DIM,
			      t->tasks ? "q quit  h help  s sort  p rows  b waits  "
					 "w window  v vCPU  t stack  / filter"
				       : "q quit  h help  s sort  p rows  w window  "
					 "v vCPU  t stack  / filter  o save");
}

void us_top_layout(const struct us_top_picture *p, struct us_screen *s)
{
	struct frame f = frame_of(p, s->rows);
	if (!s->rows || !s->cols)
		return;
	put_title(p, s);
	if (f.vcpus || f.cost)
		put_vcpus(p, &f, s);
	if (p->state->page == US_TOP_HELP)
		put_help(&f, s);
	else if (p->state->page == US_TOP_GUESTS)
		put_guests(p, &f, s);
	else
		put_table(p, &f, s);
	if (s->rows > 1)
		put_foot(p, s);
}

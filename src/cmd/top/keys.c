/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/keys.c: see cmd/top/keys.h. */
#include "cmd/top/keys.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

void us_top_state_init(struct us_top_state *s, bool all, uint64_t window_ns)
{
	*s = (struct us_top_state){ .all = all,
				    .page = all ? US_TOP_GUESTS : US_TOP_FUNCTIONS,
				    .sort = US_SORT_SELF,
				    .window_ns = window_ns,
				    .vcpu = -1 };
}

void us_top_state_fini(struct us_top_state *s)
{
	if (s->filter[0])
		regfree(&s->match);
	s->filter[0] = '\0';
}

void us_top_say(struct us_top_state *s, bool error, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(s->message, sizeof(s->message), fmt, ap);
	va_end(ap);
	s->message_is_error = error;
}

bool us_top_filter(struct us_top_state *s, const char *text)
{
	regex_t re;
	char why[128];
	if (!*text) {
		us_top_state_fini(s);
		return true;
	}
	int rc = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &re, why, sizeof(why));
		us_top_say(s, true, "'%.80s': no regular expression: %.120s", text,
			   why);
		return false;
	}
	us_top_state_fini(s);
	s->match = re;
	snprintf(s->filter, sizeof(s->filter), "%s", text);
	return true;
}

bool us_top_is_filtered(const struct us_top_state *s)
{
	return s->only && (s->only->n_pid || s->only->n_filter);
}

bool us_top_by_total(const struct us_top_state *s)
{
	return s->sort == US_SORT_TOTAL && s->rows == US_BY_NONE;
}

void us_top_scroll(struct us_top_state *s, size_t n, size_t page)
{
	page = page ? page : 1;
	if (s->selected >= n)
		s->selected = n ? n - 1 : 0;
	if (s->first > s->selected)
		s->first = s->selected;
	if (s->selected - s->first >= page)
		s->first = s->selected - page + 1;
	if (s->first + page > n)
		s->first = n > page ? n - page : 0;
}

static void go_to(struct us_top_state *s, enum us_top_page page)
{
	if (s->page == US_TOP_FUNCTIONS)
		s->last_selected = s->selected;
	s->page = page;
	s->selected = page == US_TOP_FUNCTIONS ? s->last_selected : 0;
	s->first = 0;
}

/* --- the foot of the screen --- */

static void ask(struct us_top_state *s, enum us_top_ask what, const char *text)
{
	s->ask = what;
	s->offered = true;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

static void rub_out(char *text)
{
	size_t n = strlen(text);
	while (n && (text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static void type(struct us_top_state *s, unsigned key)
{
	char utf8[5] = "";
	if (key < 0x80) {
		utf8[0] = (char)key;
	} else if (key < 0x800) {
		utf8[0] = (char)(0xc0 | key >> 6);
		utf8[1] = (char)(0x80 | (key & 0x3f));
	} else if (key < 0x10000) {
		utf8[0] = (char)(0xe0 | key >> 12);
		utf8[1] = (char)(0x80 | (key >> 6 & 0x3f));
		utf8[2] = (char)(0x80 | (key & 0x3f));
	} else {
		utf8[0] = (char)(0xf0 | key >> 18);
		utf8[1] = (char)(0x80 | (key >> 12 & 0x3f));
		utf8[2] = (char)(0x80 | (key >> 6 & 0x3f));
		utf8[3] = (char)(0x80 | (key & 0x3f));
	}
	if (strlen(s->text) + strlen(utf8) < sizeof(s->text))
		us_append(s->text, sizeof(s->text), "%s", utf8);
}

static enum us_top_act answer(struct us_top_state *s)
{
	enum us_top_ask what = s->ask;
	s->ask = US_TOP_ASK_NOTHING;
	if (what == US_TOP_ASK_FILE && s->text[0])
		return US_TOP_SAVE;
	if (what == US_TOP_ASK_FILTER && us_top_filter(s, s->text))
		s->selected = s->first = 0;
	return US_TOP_DRAW;
}

static enum us_top_act press_asked(struct us_top_state *s, unsigned key)
{
	switch (key) {
	case US_KEY_ENTER:
		return answer(s);
	case US_KEY_ESCAPE:
		s->ask = US_TOP_ASK_NOTHING;
		break;
	case US_KEY_BACKSPACE:
		rub_out(s->text);
		break;
	case 0x15: /* Ctrl-U */
		s->text[0] = '\0';
		break;
	default:
		if (key < ' ' || key == 0x7f || key >= US_KEY_UP)
			return US_TOP_DRAW;
		if (s->offered)
			s->text[0] = '\0';
		type(s, key);
	}
	s->offered = false;
	return US_TOP_DRAW;
}

/* --- the rest --- */

static enum us_top_act move(struct us_top_state *s, unsigned key,
			    const struct us_top_seen *seen)
{
	size_t at = s->selected, page = seen->page ? seen->page : 1;
	switch (key) {
	case US_KEY_UP:
	case 'k':
		at -= at > 0;
		break;
	case US_KEY_DOWN:
	case 'j':
		at++;
		break;
	case US_KEY_PAGE_UP:
		at = at > page ? at - page : 0;
		break;
	case US_KEY_PAGE_DOWN:
		at += page;
		break;
	case US_KEY_HOME:
	case 'g':
		at = 0;
		break;
	default:
		at = seen->n_row;
	}
	s->selected = at;
	us_top_scroll(s, seen->n_row, page);
	return US_TOP_DRAW;
}

static enum us_top_act leave_group(struct us_top_state *s)
{
	s->of[0] = '\0';
	s->rows = s->of_by;
	s->selected = s->first = 0;
	return US_TOP_RENEW;
}

static enum us_top_act enter_group(struct us_top_state *s, const char *group)
{
	snprintf(s->of, sizeof(s->of), "%s", group);
	s->of_by = s->rows;
	s->rows = US_BY_NONE;
	s->selected = s->first = 0;
	return US_TOP_RENEW;
}

static enum us_top_act back(struct us_top_state *s)
{
	switch (s->page) {
	case US_TOP_HELP:
		s->page = s->before_help;
		return US_TOP_RENEW;
	case US_TOP_AROUND:
	case US_TOP_STACK:
		go_to(s, US_TOP_FUNCTIONS);
		return US_TOP_RENEW;
	case US_TOP_FUNCTIONS:
		if (s->of[0])
			return leave_group(s);
		if (!s->all)
			return US_TOP_DRAW;
		go_to(s, US_TOP_GUESTS);
		s->frozen = false;
		s->vcpu = -1;
		return US_TOP_RENEW;
	default:
		return US_TOP_DRAW;
	}
}

static enum us_top_act enter(struct us_top_state *s, const struct us_top_seen *seen)
{
	if (s->page == US_TOP_GUESTS) {
		if (!seen->n_row)
			return US_TOP_DRAW;
		return US_TOP_ENTER;
	}
	if (s->page == US_TOP_HELP)
		return back(s);
	if (seen->group && s->page == US_TOP_FUNCTIONS)
		return enter_group(s, seen->group);
	if (!seen->name || s->page == US_TOP_STACK)
		return US_TOP_DRAW;
	snprintf(s->around, sizeof(s->around), "%s", seen->name);
	go_to(s, US_TOP_AROUND);
	return US_TOP_RENEW;
}

static enum us_top_act next_vcpu(struct us_top_state *s, const struct us_top_seen *seen)
{
	if (s->page == US_TOP_STACK)
		s->stack_vcpu = seen->n_vcpu ? (s->stack_vcpu + 1) % seen->n_vcpu : 0;
	else
		s->vcpu = s->vcpu + 1 < (int)seen->n_vcpu ? s->vcpu + 1 : -1;
	return US_TOP_RENEW;
}

static enum us_top_act stack_page(struct us_top_state *s)
{
	if (s->page == US_TOP_STACK)
		return back(s);
	if (s->vcpu >= 0)
		s->stack_vcpu = (unsigned)s->vcpu;
	go_to(s, US_TOP_STACK);
	return US_TOP_RENEW;
}

static enum us_top_act next_window(struct us_top_state *s)
{
	static const unsigned seconds[] = { 1, 5, 15, 60 };
	uint64_t now = s->window_ns;
	s->window_ns = now ? 0 : seconds[0] * US_NS_PER_SEC;
	for (size_t i = sizeof(seconds) / sizeof(*seconds); now && i-- > 0;)
		if (seconds[i] * US_NS_PER_SEC > now)
			s->window_ns = seconds[i] * US_NS_PER_SEC;
	return US_TOP_RENEW;
}

static enum us_top_act next_rows(struct us_top_state *s)
{
	if (s->page != US_TOP_FUNCTIONS)
		go_to(s, US_TOP_FUNCTIONS);
	s->rows = s->rows == US_BY_NONE	     ? US_BY_PROCESS
		  : s->rows == US_BY_PROCESS ? US_BY_THREAD
					     : US_BY_NONE;
	s->selected = s->first = 0;
	return US_TOP_RENEW;
}

/* Switch between what tasks wait for and what runs. */
static enum us_top_act next_profile(struct us_top_state *s)
{
	if (!s->tasks) {
		us_top_say(s, false,
			   "uniscope top --tasks 4 shows what tasks of a Linux guest "
			   "wait for");
		return US_TOP_DRAW;
	}
	if (s->page != US_TOP_FUNCTIONS)
		go_to(s, US_TOP_FUNCTIONS);
	s->waits = !s->waits;
	if (s->of[0]) /* waiting tasks have other names in a container */
		s->rows = s->of_by;
	s->of[0] = '\0';
	s->selected = s->first = 0;
	return US_TOP_RENEW;
}

static enum us_top_act next_sort(struct us_top_state *s)
{
	bool total = s->rows == US_BY_NONE;
	s->sort = s->sort == US_SORT_SELF    ? total ? US_SORT_TOTAL : US_SORT_NAME
		  : s->sort == US_SORT_TOTAL ? US_SORT_NAME
					     : US_SORT_SELF;
	s->selected = s->first = 0;
	return US_TOP_DRAW;
}

static enum us_top_act help(struct us_top_state *s)
{
	if (s->page == US_TOP_HELP)
		return back(s);
	s->before_help = s->page;
	s->page = US_TOP_HELP;
	return US_TOP_DRAW;
}

/* Keys of one guest's pages. */
static enum us_top_act press_guest(struct us_top_state *s, unsigned key,
				   const struct us_top_seen *seen)
{
	switch (key) {
	case 's':
		return next_sort(s);
	case 'p':
		return next_rows(s);
	case 'b':
		return next_profile(s);
	case 'v':
		return next_vcpu(s, seen);
	case 't':
		return stack_page(s);
	case 'w':
		return next_window(s);
	case 'f':
	case ' ':
		s->frozen = !s->frozen;
		return s->frozen ? US_TOP_DRAW : US_TOP_RENEW;
	case '/':
		ask(s, US_TOP_ASK_FILTER, s->filter);
		return US_TOP_DRAW;
	case 'o':
		ask(s, US_TOP_ASK_FILE, seen->file);
		return US_TOP_DRAW;
	default:
		return US_TOP_DRAW;
	}
}

enum us_top_act us_top_press(struct us_top_state *s, unsigned key,
			     const struct us_top_seen *seen)
{
	if (s->ask != US_TOP_ASK_NOTHING)
		return press_asked(s, key);
	s->message[0] = '\0';
	switch (key) {
	case 'q':
		return US_TOP_QUIT;
	case 'h':
	case '?':
		return help(s);
	case US_KEY_ENTER:
	case US_KEY_RIGHT:
		return enter(s, seen);
	case US_KEY_ESCAPE:
	case US_KEY_BACKSPACE:
	case US_KEY_LEFT:
		return back(s);
	case US_KEY_UP:
	case US_KEY_DOWN:
	case US_KEY_PAGE_UP:
	case US_KEY_PAGE_DOWN:
	case US_KEY_HOME:
	case US_KEY_END:
	case 'k':
	case 'j':
	case 'g':
	case 'G':
		return move(s, key, seen);
	default:
		return s->page == US_TOP_GUESTS || s->page == US_TOP_HELP
			       ? US_TOP_DRAW
			       : press_guest(s, key, seen);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate_text.c: source and disassembly with samples, for people. */
#include "report/annotate.h"
#include "report/columns.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define HOT_PERCENT 10
#define BOLD	    "\033[1m"
#define YELLOW	    "\033[33m"
#define RED	    "\033[31m"
#define DIM	    "\033[2m"
#define RESET	    "\033[0m"
#define TAB	    8
#define INLINED	    ",  inlined" /* around a name */

struct writer {
	const struct us_annotation *a;
	const struct us_report_opts *o;
	bool callers;
	FILE *out;
};

static const char *paint(const struct writer *w, const char *code)
{
	return w->o->colour ? code : "";
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* A tab is no control character in a source. */
static void print_source(const struct writer *w, const char *before, const char *text)
{
	char line[1024], safe[1024];
	size_t n = 0;
	for (; *text && n + TAB + 1 < sizeof(line); text++) {
		size_t spaces = *text == '\t' ? TAB - n % TAB : 0;
		if (spaces) {
			memset(line + n, ' ', spaces);
			n += spaces;
		} else if (*text != '\r') {
			line[n++] = *text;
		}
	}
	while (n && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	if (n)
		fprintf(w->out, "%s%s", before, us_printable(safe, sizeof(safe), line));
}

__attribute__((__format__(__printf__, 2, 3))) static void note(const struct writer *w,
							       const char *fmt, ...)
{
	char line[1200];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	us_report_wrap(w->out, w->o, DIM, "# ", "#   ", line);
}

static void print_warning(const struct writer *w, const char *text)
{
	us_report_wrap(w->out, w->o, YELLOW, "# warning: ", "#   ", text);
}

static void print_warnings(const struct writer *w)
{
	const struct us_annotation *a = w->a;
	for (size_t i = 0; i < us_profile_n_warning(a->p); i++)
		print_warning(w, us_profile_warning(a->p, i));
	if (a->blocks)
		print_warning(w,
			      "samples stand at the first instruction of a block of "
			      "code: they "
			      "are of the whole block, which a line at the left marks");
	if (a->source_newer)
		print_warning(
			w, "a source is newer than the image: its lines may be others");
	if (a->cut)
		print_warning(w, "the function is larger than what is shown");
}

static bool has_lines(const struct us_annotation *a)
{
	for (size_t i = 0; i < a->lines.n; i++)
		if (a->lines.v[i].line)
			return true;
	return false;
}

static void print_header(const struct writer *w)
{
	const struct us_annotation *a = w->a;
	uint64_t all = us_profile_summary(a->p)->running;
	char line[1024];
	/* Leave out the last line: it says what shares refer to, which here is the
	 * function. */
	for (unsigned i = 0; us_report_header_line(a->p, i + 1, line, sizeof(line));
	     i++) {
		us_report_header_line(a->p, i, line, sizeof(line));
		note(w, "%s", line);
	}
	print_warnings(w);
	note(w, "%.600s: 0x%" PRIx64 " to 0x%" PRIx64 " of %.200s", a->name, a->start,
	     a->start + a->size - 1, a->module);
	if (a->raw && strcmp(a->raw, a->name) != 0)
		note(w, "in the image: %.1000s", a->raw);
	note(w, "%" PRIu64 " samples in it: %.1f %% of the %" PRIu64 " that ran",
	     a->self, percent(a->self, all), all);
	if (a->no_source)
		note(w,
		     "no source at %.800s: --source-prefix OLD=NEW or --source DIR "
		     "says where it is",
		     a->no_source);
	if (!has_lines(a))
		note(w, "the image has no lines for it");
	if (a->bytes_only)
		note(w, "no disassembler for this code: showing bytes only");
}

static void print_numbers(const struct writer *w, uint64_t self, uint64_t called,
			  uint64_t hottest)
{
	double share = percent(self, w->a->self);
	bool hot = share >= HOT_PERCENT;
	fprintf(w->out, "%s%s",
		paint(w, hot	? RED
			 : self ? ""
				: DIM),
		self && self == hottest ? ">" : " ");
	fprintf(w->out, "%7.1f %10" PRIu64, share, self);
	if (w->callers)
		fprintf(w->out, " %10" PRIu64, called);
	fprintf(w->out, "%s", paint(w, hot || !self ? RESET : ""));
}

static void print_titles(const struct writer *w, const char *what)
{
	fprintf(w->out, "\n%s%8s %10s%s  %s%s\n", paint(w, BOLD), "percent", "samples",
		w->callers ? "    callers" : "", what, paint(w, RESET));
}

/* "kernel/sched.c:12, pick_next inlined", in at most width columns. */
static void place_text(const struct writer *w, const struct us_annotated_line *l,
		       bool with_line, size_t width, char dst[static US_CELL_SIZE])
{
	char buffer[US_PATH_SIZE], func[US_CELL_SIZE] = "", line[16] = "";
	const char *path = "?";
	if (l->file && w->o->full_paths)
		path = us_path_full(l->dir, l->file, buffer);
	else if (l->file)
		path = us_profile_path(w->a->p, w->a->module, l->dir, l->file, buffer);
	us_printable(dst, US_CELL_SIZE / 2, path);
	if (with_line && l->line)
		snprintf(line, sizeof(line), ":%" PRIu32, l->line);
	if (l->func) {
		us_printable(func, US_CELL_SIZE / 3, l->func);
		us_shorten_middle(func, sizeof(func), width / 2);
	}
	size_t used = strlen(line) + us_columns(func) + (*func ? strlen(INLINED) : 0);
	if (!w->o->full_paths)
		us_shorten_left(dst, US_CELL_SIZE, width > used ? width - used : 1);
	size_t at = strlen(dst);
	snprintf(dst + at, US_CELL_SIZE - at, "%s%s%s%s", line, *func ? ", " : "", func,
		 *func ? " inlined" : "");
}

static bool same_place(const struct us_annotated_line *a,
		       const struct us_annotated_line *b)
{
	return a->file == b->file && a->func == b->func;
}

static void print_lines(const struct writer *w)
{
	const struct us_annotation *a = w->a;
	const size_t indent = w->callers ? 30 : 19;
	char place[US_CELL_SIZE];
	print_titles(w, "source");
	for (size_t i = 0; i < a->lines.n; i++) {
		const struct us_annotated_line *l = &a->lines.v[i];
		if (!i || !same_place(l, l - 1)) {
			place_text(w, l, false, us_report_columns(w->o) - indent - 2,
				   place);
			fprintf(w->out, "%*s  %s%s%s\n", (int)indent, "",
				paint(w, BOLD), place, paint(w, RESET));
		}
		if (l->has_code)
			print_numbers(w, l->self, l->called, a->hottest_line);
		else
			fprintf(w->out, "%*s", (int)indent, "");
		if (l->line)
			fprintf(w->out, "  %5" PRIu32, l->line);
		else
			fputs("      ?", w->out);
		if (l->text)
			print_source(w, "  ", l->text);
		fputc('\n', w->out);
	}
}

/* The line at the left of the instructions that share one count. */
static const char *block_mark(const struct us_annotation *a, size_t i)
{
	uint32_t block = a->insns.v[i].block;
	bool before = i && a->insns.v[i - 1].block == block;
	bool after = i + 1 < a->insns.n && a->insns.v[i + 1].block == block;
	if (!a->blocks)
		return "";
	if (!block)
		return "  ";
	return before ? (after ? "│ " : "└ ") : (after ? "┌ " : "─ ");
}

static void print_bytes(const struct writer *w, const struct us_insn *i)
{
	for (unsigned k = 0; k < i->len; k++)
		fprintf(w->out, "%s%02x", k ? " " : "", i->bytes[k]);
}

static void print_line_heading(const struct writer *w,
			       const struct us_annotated_insn *i)
{
	const struct us_annotated_line *l = &w->a->lines.v[i->line];
	if (!l->file && !l->line)
		return;
	const size_t indent = w->callers ? 30 : 19;
	char place[US_CELL_SIZE];
	place_text(w, l, true, us_report_columns(w->o) - indent - 4, place);
	fprintf(w->out, "%*s  %s; %s", (int)indent, "", paint(w, DIM), place);
	if (i->call_line)
		fprintf(w->out, " in line %" PRIu32, i->call_line);
	if (l->text)
		print_source(w, "  ", l->text + strspn(l->text, " \t"));
	fprintf(w->out, "%s\n", paint(w, RESET));
}

static void print_insns(const struct writer *w)
{
	const struct us_annotation *a = w->a;
	char text[256];
	print_titles(w, a->bytes_only ? "address: bytes" : "address: instruction");
	for (size_t k = 0; k < a->insns.n; k++) {
		const struct us_annotated_insn *i = &a->insns.v[k];
		if (!k || i[-1].line != i->line || i[-1].call_line != i->call_line)
			print_line_heading(w, i);
		print_numbers(w, i->self, i->called, a->hottest);
		fprintf(w->out, "  %s0x%" PRIx64 ":  ", block_mark(a, k), i->i.addr);
		if (i->i.text[0])
			fputs(us_printable(text, sizeof(text), i->i.text), w->out);
		else
			print_bytes(w, &i->i);
		fputc('\n', w->out);
	}
}

int us_annotation_text(const struct us_annotation *a, const struct us_report_opts *o,
		       bool callers, FILE *out, struct us_err *e)
{
	struct writer w = { a, o, callers, out };
	print_header(&w);
	if (has_lines(a))
		print_lines(&w);
	print_insns(&w);
	return us_report_flush(out, "annotation", e);
}

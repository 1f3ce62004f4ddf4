/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c: see options.h. */
#include "cmd/options.h"
#include "cmd/folder.h"

#include "base/clock.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/text.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64
#define ROW_ID	    (2 * US_OPTION_LONG)

static size_t n_options(const struct us_cmd *cmd)
{
	size_t n = 0;
	while (cmd->options[n].name)
		n++;
	return n;
}

/* Options without a letter have a number, from the command or from their row. */
static int id_of(const struct us_cmd *cmd, size_t i)
{
	return cmd->options[i].id ? cmd->options[i].id : ROW_ID + (int)i;
}

static const struct us_option *option_of(const struct us_cmd *cmd, int id)
{
	for (size_t i = 0; cmd->options[i].name; i++)
		if (id_of(cmd, i) == id)
			return &cmd->options[i];
	return NULL;
}

static bool is_optional(const struct us_option *o)
{
	return o->arg && o->arg[0] == '[';
}

static bool has_letter(const struct us_option *o)
{
	return o->id && o->id < US_OPTION_LONG;
}

static int arg_of(const struct us_option *o)
{
	return !o->arg		? no_argument
	       : is_optional(o) ? optional_argument
				: required_argument;
}

static bool has_command(const struct us_cmd *cmd)
{
	return strstr(cmd->args, "ARGS...");
}

/* If true, options after an argument would be a VMM's, with the -- forgotten. */
static bool has_command_alone(const struct us_cmd *cmd)
{
	return has_command(cmd) && !strstr(cmd->args, "TARGET");
}

/* getopt's two descriptions of the table, with -h added. */
static void describe(const struct us_cmd *cmd, char *letters,
		     struct option longs[MAX_OPTIONS + 2])
{
	size_t n = n_options(cmd);
	if (has_command_alone(cmd))
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (size_t i = 0; i < n; i++) {
		const struct us_option *o = &cmd->options[i];
		longs[i] = (struct option){ .name = o->name,
					    .has_arg = arg_of(o),
					    .val = id_of(cmd, i) };
		if (!has_letter(o))
			continue;
		*letters++ = (char)o->id;
		if (o->arg)
			*letters++ = ':';
		if (is_optional(o))
			*letters++ = ':';
	}
	*letters = '\0';
	longs[n] = (struct option){ .name = "help", .val = 'h' };
	longs[n + 1] = (struct option){ 0 };
}

/* Suggest the option that was meant, and list the options. */
static void no_such_option(const struct us_cmd *cmd, const char *what)
{
	char word[64] = "", question[64], name[MAX_OPTIONS][32];
	if (!strncmp(what, "--", 2))
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(what, "="), what);
	struct us_nearest near = us_nearest_to(word);
	for (size_t i = 0; i < n_options(cmd); i++) {
		snprintf(name[i], sizeof(name[i]), "--%s", cmd->options[i].name);
		us_nearest_try(&near, name[i]);
	}
	const char *help = us_nearest_question(&near, question, sizeof(question));
	if (!help[0] && has_command(cmd))
		help = "; a VMM's own options go after --";
	us_usage(cmd, "%s: no such option%s; options are: %s", what, help, near.list);
}

static bool add_image(const struct us_cmd *cmd, const char *value,
		      struct us_symbol_files *f)
{
	if (f->n_image == US_MAX_IMAGES) {
		us_usage(cmd, "-e %s: at most %d", value, US_MAX_IMAGES);
		return false;
	}
	f->image[f->n_image++] = value;
	return true;
}

/* A folder whose disk does not answer now may answer before it is needed. */
static bool is_folder(const struct us_cmd *cmd, const char *option, const char *value)
{
	enum us_folder found = us_folder_look(value);
	if (found == US_FOLDER_NONE)
		us_usage(cmd, "%s %s: no folder of that name", option, value);
	if (found == US_FOLDER_SILENT)
		fprintf(stderr,
			"note: %s %s did not answer in %d s: is its disk there?\n      "
			"uniscope may have to wait for it, or do without it.\n",
			option, value, US_FOLDER_WAIT_S);
	return found != US_FOLDER_NONE;
}

static bool add_folder(const struct us_cmd *cmd, const char *value,
		       struct us_symbol_files *f)
{
	if (f->dirs.n == US_MAX_DIRS) {
		us_usage(cmd, "--symbols: at most %d folders", US_MAX_DIRS);
		return false;
	}
	if (!is_folder(cmd, "--symbols", value))
		return false;
	f->dir[f->dirs.n++] = value;
	f->dirs.dir = f->dir;
	return true;
}

static bool set_root(const struct us_cmd *cmd, const char *value,
		     struct us_symbol_files *f)
{
	if (!is_folder(cmd, "--root", value))
		return false;
	f->dirs.root = value;
	return true;
}

/* The library reads servers from the environment only. */
static bool set_server(const struct us_cmd *cmd, const char *value)
{
	if (strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0) {
		us_usage(cmd,
			 "--debuginfod %s: must be a URL such as "
			 "https://debuginfod.debian.net",
			 value);
		return false;
	}
	return setenv("DEBUGINFOD_URLS", value, 1) == 0;
}

static bool add_argument(struct us_options *o, const char *name, char *value)
{
	if (o->n_named == US_MAX_ARGUMENTS) {
		us_usage(o->cmd, "%s %s: at most %d", name, value, US_MAX_ARGUMENTS);
		return false;
	}
	o->named[o->n_named++] = value;
	return true;
}

/* Each has left at least one word free before the arguments. */
static void put_named_first(struct us_options *o)
{
	for (int i = o->n_named; i > 0; i--) {
		*--o->rest = o->named[i - 1];
		o->n_rest++;
	}
}

static void bad_value(const char *option, const char *text, const char *want)
{
	char shown[80];
	us_printable(shown, sizeof(shown), text);
	fprintf(stderr, "uniscope: %s %s: %s\n", option, shown, want);
}

/* 0 would mean without an end. */
static bool parse_span(const char *option, const char *value, uint64_t *ret_ns)
{
	if (!us_parse_duration(option, value, ret_ns))
		return false;
	if (*ret_ns)
		return true;
	bad_value(option, value, "must be more than 0");
	return false;
}

/* False: the error was reported. */
static bool take(struct us_options *o, const struct us_option *row, char *value)
{
	void *into = (char *)o->settings + row->offset;
	char name[40];
	if (has_letter(row))
		snprintf(name, sizeof(name), "-%c", row->id);
	else
		snprintf(name, sizeof(name), "--%s", row->name);
	switch (row->kind) {
	case US_OPTION_FLAG:
		*(bool *)into = true;
		return true;
	case US_OPTION_TEXT:
		*(const char **)into = value;
		return true;
	case US_OPTION_TIME:
		return parse_span(name, value, into);
	case US_OPTION_VCPUS:
		return us_narrow_vcpus("--vcpu", value, value, into);
	case US_OPTION_IMAGE:
		return add_image(o->cmd, value, into);
	case US_OPTION_FOLDER:
		return add_folder(o->cmd, value, into);
	case US_OPTION_ROOT:
		return set_root(o->cmd, value, into);
	case US_OPTION_SERVER:
		return set_server(o->cmd, value);
	case US_OPTION_ARGUMENT:
		return add_argument(o, name, value);
	case US_OPTION_OWN:
		break;
	}
	return o->set(o->settings, row->id, value);
}

/* getopt's answer is not an option of the table. */
static int refuse(const struct us_options *o, int c, int at)
{
	/* getopt has skipped words that are not options. */
	while (at + 1 < o->argc && (o->argv[at][0] != '-' || !o->argv[at][1]))
		at++;
	const char *what = at < o->argc ? o->argv[at] : "";
	if (c == 'h') {
		us_print_help(o->cmd);
		return US_EXIT_OK;
	}
	if (c == ':')
		us_usage(o->cmd, "%s needs a value", what);
	else
		no_such_option(o->cmd, what);
	return US_EXIT_USAGE;
}

/* getopt moves arguments that come before a -- after it. */
static int n_behind_dashes(const struct us_options *o)
{
	int at = 1;
	while (at < o->argc && strcmp(o->argv[at], "--") != 0)
		at++;
	return o->argc - at - 1;
}

bool us_options_read(struct us_options *o, int *ret_exit)
{
	char letters[2 * MAX_OPTIONS + 8];
	struct option longs[MAX_OPTIONS + 2];
	int c, at, n_command = n_behind_dashes(o);
	describe(o->cmd, letters, longs);
	opterr = 0;
	for (at = optind = 1;
	     (c = getopt_long(o->argc, o->argv, letters, longs, NULL)) != -1;
	     at = optind) {
		const struct us_option *row = option_of(o->cmd, c);
		*ret_exit = row ? US_EXIT_USAGE : refuse(o, c, at);
		if (!row || !take(o, row, optarg))
			return false;
	}
	o->rest = o->argv + optind;
	o->n_rest = o->argc - optind;
	o->command = !strcmp(o->argv[optind - 1], "--");
	put_named_first(o);
	if (!o->command || !has_command(o->cmd) || o->n_rest <= n_command)
		return true;
	*ret_exit = us_usage(o->cmd, "%s, or -- and a command, not both", o->rest[0]);
	return false;
}

bool us_options_one(const struct us_options *o, const char *what, const char **ret,
		    int *ret_exit)
{
	if (o->n_rest > 1) {
		*ret_exit = us_usage(o->cmd, "one %s, not %s", what, o->rest[1]);
		return false;
	}
	if (o->n_rest)
		*ret = o->rest[0];
	return true;
}

bool us_options_none(const struct us_options *o, int *ret_exit)
{
	if (!o->n_rest)
		return true;
	*ret_exit = us_usage(o->cmd, "takes no argument such as %s", o->rest[0]);
	return false;
}

int us_usage(const struct us_cmd *cmd, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "uniscope %s: %s\n", cmd->name, us_printable_inplace(text));
	fprintf(stderr, "usage: uniscope %s %s\n", cmd->name, cmd->args);
	fprintf(stderr, "try `uniscope %s --help`\n", cmd->name);
	return US_EXIT_USAGE;
}

bool us_is_regex_in(const struct us_cmd *cmd, const char *option, const char *value,
		    const char *regex)
{
	regex_t re;
	char why[128];
	int r = regcomp(&re, regex, REG_EXTENDED | REG_NOSUB);
	if (r == 0) {
		regfree(&re);
		return true;
	}
	regerror(r, &re, why, sizeof(why));
	us_usage(cmd, "%s %s: %s", option, value, why);
	return false;
}

bool us_is_regex(const struct us_cmd *cmd, const char *option, const char *value)
{
	return us_is_regex_in(cmd, option, value, value);
}

static bool parse_number(const char *option, const char *text, const char *unit,
			 double least, double most, double *ret)
{
	char want[96];
	double v;
	if (us_quantity_number(text, unit, &v) && v >= least && v <= most) {
		*ret = v;
		return true;
	}
	snprintf(want, sizeof(want), "must be a number from %.10g to %.10g", least,
		 most);
	bad_value(option, text, want);
	return false;
}

bool us_parse_double(const char *option, const char *text, double least, double most,
		     double *ret)
{
	return parse_number(option, text, NULL, least, most, ret);
}

bool us_parse_rate(const char *option, const char *text, double least, double most,
		   double *ret)
{
	return parse_number(option, text, "Hz", least, most, ret);
}

bool us_parse_percent(const char *option, const char *text, double least, double most,
		      double *ret)
{
	return parse_number(option, text, "%", least, most, ret);
}

bool us_parse_duration(const char *option, const char *text, uint64_t *ret_ns)
{
	if (us_quantity_time(text, ret_ns))
		return true;
	bad_value(option, text, "must be a time such as 5, 2.5s, 300ms or 1h30m");
	return false;
}

/* "8K", "2G": the largest unit that leaves no rest. */
static const char *size_text(uint64_t n, char *ret, size_t size)
{
	int unit = 0;
	for (; n && n % 1024 == 0 && unit < 4; unit++)
		n /= 1024;
	snprintf(ret, size, "%llu%.*s", (unsigned long long)n, unit > 0,
		 &" KMGT"[unit]);
	return ret;
}

bool us_parse_size(const char *option, const char *text, uint64_t least, uint64_t most,
		   uint64_t *ret)
{
	char want[96], a[24], b[24];
	uint64_t n;
	if (us_quantity_bytes(text, &n) && n >= least && n <= most) {
		*ret = n;
		return true;
	}
	snprintf(want, sizeof(want), "must be a size from %s to %s",
		 size_text(least, a, sizeof(a)), size_text(most, b, sizeof(b)));
	bad_value(option, text, want);
	return false;
}

/* "0,2-3": bit n for vCPU n. */
static bool parse_vcpus(const char *text, uint64_t *ret_mask)
{
	uint64_t mask = 0;
	const char *p = text;
	while (*p) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;
		if (end == p || *p == '-' || *p == '+')
			break;
		if (*end == '-') {
			p = end + 1;
			last = strtoul(p, &end, 10);
		}
		if (end == p || first > last || last > 63)
			break;
		for (unsigned long i = first; i <= last; i++)
			mask |= 1ULL << i;
		if (!*end) {
			*ret_mask = mask;
			return true;
		}
		if (*end != ',')
			break;
		p = end + 1;
	}
	return false;
}

bool us_narrow_vcpus(const char *option, const char *text, const char *list,
		     uint64_t *mask)
{
	uint64_t only;
	if (!parse_vcpus(list, &only)) {
		bad_value(option, text,
			  "must be a list of vCPUs such as 0 or 0,2-3 (0 to 63)");
		return false;
	}
	if (*mask && !(*mask & only)) {
		bad_value(option, text, "none of these is in the lists before it");
		return false;
	}
	*mask = *mask ? *mask & only : only;
	return true;
}

void us_complain(const struct us_err *e)
{
	char text[sizeof(e->msg) + sizeof(e->hint)];
	fprintf(stderr, "uniscope: %s\n", us_printable(text, sizeof(text), e->msg));
	if (e->hint[0])
		fprintf(stderr, "  try: %s\n",
			us_printable(text, sizeof(text), e->hint));
}

int us_exit_code(int err)
{
	switch (-err) {
	case 0:
		return US_EXIT_OK;
	case ENOENT:
	case EEXIST:
	case ESRCH:
	case EACCES:
	case EPERM:
	case ENODEV:
	case ECONNREFUSED:
		return US_EXIT_NO_GUEST;
	default:
		return US_EXIT_FAILED;
	}
}

static void print_option(const struct us_option *o)
{
	char left[64];
	bool letter = has_letter(o);
	/* What is between the brackets of "[ADDRESS]". */
	const char *arg = is_optional(o) ? o->arg + 1 : o->arg ? o->arg : "";
	int length = (int)strcspn(arg, is_optional(o) ? "]" : "");
	snprintf(left, sizeof(left), "%s%c%s --%s%s%.*s%s", letter ? "-" : " ",
		 letter ? o->id : ' ', letter ? "," : " ", o->name,
		 is_optional(o) ? "[="
		 : o->arg	? " "
				: "",
		 length, arg, is_optional(o) ? "]" : "");
	printf("  %-28s %s\n", left, o->help);
}

void us_print_help(const struct us_cmd *cmd)
{
	printf("uniscope %s: %s\n\nusage: uniscope %s %s\n", cmd->name, cmd->summary,
	       cmd->name, cmd->args);
	if (strstr(cmd->args, "TARGET"))
		puts("\nTARGET is a process id, a guest's name, qmp:PATH, "
		     "qmp:HOST:PORT,\n"
		     "gdb:PATH, gdb:HOST:PORT or xen:DOMAIN; none means the one guest "
		     "on "
		     "this host.");
	puts("\noptions:");
	for (const struct us_option *o = cmd->options; o->name; o++)
		print_option(o);
	print_option(
		&(struct us_option){ .id = 'h', .name = "help", .help = "this text" });
	puts("\nexamples:");
	for (const char *const *e = cmd->examples; *e; e++)
		printf("  %s\n      %s\n", *e, *e + strlen(*e) + 1);
	printf("\nMore: man uniscope-%s\n", cmd->name);
}

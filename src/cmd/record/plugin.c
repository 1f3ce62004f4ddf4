/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/record/plugin.c: see cmd/record/plugin.h. */
#include "cmd/record/plugin.h"

#include "base/cleanup.h"
#include "vmm/cmdline.h"
#include "vmm/host.h"
#include "vmm/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Documentation/arch/x86/boot.rst: the magic number of a kernel's setup header. */
#define LINUX_MAGIC	   "HdrS"
#define LINUX_MAGIC_OFFSET 0x202

static bool is_asked_for(const struct us_record_settings *s)
{
	return s->backend && !strcmp(s->backend, "plugin");
}

static bool is_left_to_us(const struct us_record_settings *s)
{
	return !s->backend || !strcmp(s->backend, "auto");
}

/* Does the command line have QEMU emulate the guest? */
static bool is_emulated(char *const argv[])
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	char vmm[32];
	unsigned argc = 0;
	argv = us_loader_program(argv);
	while (argv[argc])
		argc++;
	us_vmm_name(argv[0], vmm, sizeof(vmm));
	/* The scripts "kvm" and "qemu-kvm" add -enable-kvm. */
	return c && !strcmp(vmm, "qemu") && strstr(argv[0], "qemu-system-") &&
	       us_cmdline_parse(vmm, argc, (const char *const *)argv, c) &&
	       c->accel == US_ACCEL_TCG;
}

/* A Linux that moves itself when it starts is not where its symbols say. */
static bool moves_itself(const struct us_plugin_run *r, char *const argv[])
{
	char magic[4] = "";
	_cleanup_close_ int fd = open(r->guest.kernel, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool is_linux = fd >= 0 &&
			pread(fd, magic, sizeof(magic), LINUX_MAGIC_OFFSET) ==
				sizeof(magic) &&
			!memcmp(magic, LINUX_MAGIC, sizeof(magic));
	for (; is_linux && *argv; argv++)
		if (strstr(*argv, "nokaslr"))
			return false;
	return is_linux;
}

/* Without names of functions the other backends show more. */
static int knows_functions(const struct us_record_plugin *p,
			   const struct us_record_settings *s, struct us_err *e)
{
	if (!p->run.n_function)
		return us_fail(e, -ENOENT,
			       "no symbols of the guest are known before it starts "
			       "(-e ELF)");
	if (moves_itself(&p->run, s->argv))
		return us_fail(e, -ENOENT,
			       "Linux moves its kernel when it starts (nokaslr)");
	return 0;
}

static int prepare(struct us_record_plugin *p, const struct us_record_settings *s,
		   struct us_err *e)
{
	const char *program = us_loader_program(s->argv)[0];
	if (!us_host_takes_plugins(program))
		return us_fail(e, -ENOTSUP, "%.100s takes no plugins", program);
	p->asked = (struct us_plugin_asked){ .symbols = &s->symbols, .argv = s->argv };
	int r = us_plugin_run_prepare(&p->run, &p->asked, e);
	if (r == 0 && !is_asked_for(s))
		r = knows_functions(p, s, e);
	if (r < 0)
		return r;
	p->command.verb = "record";
	p->command.dir = p->run.dir;
	p->command.functions = p->run.n_function > 0;
	return us_plugin_command_make(&p->command, s->argv, e);
}

int us_record_plugin_prepare(struct us_record_plugin *p,
			     const struct us_record_settings *s, struct us_err *e)
{
	e->msg[0] = '\0';
	if (!is_asked_for(s) && !(is_left_to_us(s) && is_emulated(s->argv)))
		return 0;
	if (s->tasks_hz > 0 && !is_asked_for(s)) {
		us_fail(e, -EOPNOTSUPP,
			"it does not read the guest's memory (--tasks)");
		return 0;
	}
	int r = prepare(p, s, e);
	if (r == 0)
		return 1;
	us_record_plugin_fini(p);
	return is_asked_for(s) ? us_wrap(e, "backend plugin") : 0;
}

int us_record_plugin_write(const struct us_record_settings *s, struct us_err *e)
{
	static struct us_record_plugin p; /* large: paths and tables */
	static char *none;
	p.asked = (struct us_plugin_asked){ .symbols = &s->symbols,
					    .argv = &none,
					    .dir = s->prepare };
	int r = us_plugin_run_prepare(&p.run, &p.asked, e);
	p.command.dir = p.run.dir;
	p.command.functions = p.run.n_function > 0;
	if (r == 0)
		r = us_plugin_command_word(&p.command, e);
	if (r == 0)
		printf("-plugin %s\n", p.command.word);
	us_record_plugin_fini(&p);
	return r;
}

bool us_record_plugin_refused(const struct us_record_plugin *p)
{
	char path[US_PLUGIN_PATH];
	if (!p->command.argv)
		return false;
	us_plugin_run_path(&p->run, "counts", path);
	return access(path, F_OK) < 0;
}

void us_record_plugin_fini(struct us_record_plugin *p)
{
	free(p->command.argv);
	us_plugin_run_fini(&p->run);
	*p = (struct us_record_plugin){ 0 };
}

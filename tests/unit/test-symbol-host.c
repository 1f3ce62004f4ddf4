/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a host's kernel, by what /proc/kallsyms would say. */
#include "unit.h"

#include "symbol/host_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file with this text; read it, and close it. */
static int read_text(struct us_host_symbols *k, const char *text, struct us_err *e)
{
	char path[64];
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = us_host_symbols_read(k, path, e);
	close(fd);
	return r;
}

static void must_be(const struct us_host_symbols *k, us_hva pc, const char *name,
		    const char *module)
{
	const struct us_host_symbol *s = us_host_symbols_find(k, pc);
	assert_non_null(s);
	assert_string_equal(k->text + s->name, name);
	assert_string_equal(k->text + s->module, module);
}

static void functions_are_found(void **state)
{
	struct us_host_symbols k;
	struct us_err e;
	(void)state;
	assert_int_equal(read_text(&k,
				   "ffffffffc0000100 t run\t[kvm]\n"
				   "ffffffffc0000000 T first\t[kvm]\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T begin\n"
				   "ffffffff81000100 D data\n"
				   "ffffffff81000200 W weak\n"
				   "0000000000001000 A per_cpu\n"
				   "nonsense\n\n"
				   "ffffffff81000300 t last_of_kernel\n",
				   &e),
			 0);
	must_be(&k, 0xffffffff81000000, "begin", "[kernel]");
	must_be(&k, 0xffffffff810001ff, "begin", "[kernel]");
	must_be(&k, 0xffffffff81000200, "weak", "[kernel]");
	must_be(&k, 0xffffffffc0000010, "first", "[kvm]");
	must_be(&k, 0xffffffffc0000110, "run", "[kvm]");
	assert_null(us_host_symbols_find(&k, 0xffffffff80ffffff));
	assert_null(us_host_symbols_find(&k, 0xffffffffc0100000));
	assert_null(us_host_symbols_find(&k, 0x1000));
	assert_non_null(us_host_symbols_named(&k, "weak"));
	assert_null(us_host_symbols_named(&k, "data"));
	us_host_symbols_fini(&k);
}

static void hidden_addresses_are_told(void **state)
{
	struct us_host_symbols k;
	struct us_err e;
	(void)state;
	assert_int_equal(read_text(&k,
				   "0000000000000000 T _stext\n"
				   "0000000000000000 T begin\n",
				   &e),
			 -EPERM);
	assert_non_null(strstr(e.msg, "hides"));
	assert_non_null(strstr(e.hint, "sudo"));
	assert_int_equal(us_host_symbols_read(&k, "/nothing/of/the/kind", &e), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found),
		cmocka_unit_test(hidden_addresses_are_told),
	};
	return cmocka_run_group_tests_name("symbol-host", tests, NULL, NULL);
}

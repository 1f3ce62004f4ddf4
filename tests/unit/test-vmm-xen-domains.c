/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of Xen's domains, with each libxenstore that there may be. */
#include "fake-xen.h"

/* NULL: none is there. */
static const char *library;
static bool answers;

/* ---- A host with that library ---- */

const struct us_xen_calls *__wrap_us_xen_calls(void);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *handle, const char *name);
void *__real_dlsym(void *handle, const char *name);

const struct us_xen_calls *__wrap_us_xen_calls(void)
{
	return &fake_calls;
}

void *__wrap_dlopen(const char *name, int flags)
{
	(void)flags;
	return library && !strcmp(name, library) ? &library : NULL;
}

static void *store_open(unsigned long flags)
{
	(void)flags;
	return answers ? &answers : NULL;
}

static void store_close(void *handle)
{
	assert_ptr_equal(handle, &answers);
}

static void *store_read(void *handle, uint32_t transaction, const char *path,
			unsigned *len)
{
	(void)handle;
	(void)transaction;
	*len = 3;
	return strcmp(path, "/local/domain/7/name") ? NULL : strdup("web");
}

static char **store_directory(void *handle, uint32_t transaction, const char *path,
			      unsigned *n)
{
	static char number[] = "7";
	char **ret = malloc(sizeof(*ret));
	(void)handle;
	(void)transaction;
	(void)path;
	assert_non_null(ret);
	ret[0] = number;
	*n = 1;
	return ret;
}

static void *symbol_of_store(const char *name)
{
	const struct {
		const char *name;
		void *of;
	} all[] = {
		{ "xs_open", (void *)(uintptr_t)store_open },
		{ "xs_close", (void *)(uintptr_t)store_close },
		{ "xs_read", (void *)(uintptr_t)store_read },
		{ "xs_directory", (void *)(uintptr_t)store_directory },
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, name))
			return all[i].of;
	return NULL;
}

/* A sanitizer that is linked into this program asks too, before it is ready itself. */
__attribute__((no_sanitize("address", "undefined"))) void *
__wrap_dlsym(void *handle, const char *name)
{
	return handle == &library ? symbol_of_store(name) : __real_dlsym(handle, name);
}

/* ---- The tests ---- */

static int select_on(const char *with, bool answering, const char *text,
		     struct us_err *e)
{
	struct us_xen_list l = { 0 };
	struct us_xen_guest g;
	library = with;
	answers = answering;
	fake_setup(1);
	assert_int_equal(us_xen_list_scan(&l, e), 0);
	assert_int_equal(l.n, 1);
	int r = us_xen_select(&l, text, &g, e);
	us_xen_list_fini(&l);
	return r;
}

static void each_library_has_the_names(void **state)
{
	struct us_err e = { 0 };
	(void)state;
	assert_int_equal(select_on("libxenstore.so.4", true, "web", &e), 0);
	assert_int_equal(select_on("libxenstore.so.3.0", true, "web", &e), 0);
	assert_int_equal(select_on("libxenstore.so.4", true, "db", &e), -ENOENT);
	assert_non_null(strstr(e.msg, "there is no domain xen:db"));
}

static void without_names_no_domain_is_denied(void **state)
{
	struct us_err e = { 0 };
	(void)state;
	assert_int_equal(select_on(NULL, true, "web", &e), -ENOENT);
	assert_null(strstr(e.msg, "no domain"));
	assert_non_null(strstr(e.msg, "there is no libxenstore"));
	assert_non_null(strstr(e.hint, "libxenstore4"));
	assert_int_equal(select_on("libxenstore.so.4", false, "web", &e), -ENOENT);
	assert_non_null(strstr(e.msg, "xenstore does not answer"));
	/* Numbers are known. */
	assert_int_equal(select_on(NULL, true, "7", &e), 0);
	assert_int_equal(select_on(NULL, true, "8", &e), -ENOENT);
	assert_non_null(strstr(e.msg, "there is no domain xen:8"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_library_has_the_names),
		cmocka_unit_test(without_names_no_domain_is_denied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

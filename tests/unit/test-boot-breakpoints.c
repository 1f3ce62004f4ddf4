/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breakpoints of a boot, with a stub whose guest has a loader where its kernel will be.
 */
#include "unit.h"

#include "base/clock.h"
#include "boot/breakpoints.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRY 0x10000cULL

static const uint8_t kernel[US_WATCH_CODE] = { 0x89, 0xc3, 0x31, 0xc0, 0x31, 0xd2,
					       0x89, 0xd6, 0x89, 0xd7, 0x89, 0xd5,
					       0x0f, 0xa2, 0x39, 0xc1 };

/* ---- The stub, in a process of its own ---- */

struct page {
	unsigned
		n_loader; /* times that a loader runs at ENTRY before the kernel does */
	bool blind;	  /* memory cannot be read */
	uint32_t cs;	  /* its code segment begins at 16 times this, if it is real */
	uint64_t cr0;
	atomic_uint steps, passed; /* how often it came by; breakpoint set or not */
	atomic_bool armed;
};

struct stub {
	int fd;
	struct page *page;
	uint64_t pc;
};

static void say(const struct stub *s, const char *body)
{
	char out[1200];
	unsigned sum = 0;
	for (const char *p = body; *p; p++)
		sum += (unsigned char)*p;
	snprintf(out, sizeof(out), "$%s#%02x", body, sum & 255);
	send(s->fd, out, strlen(out), MSG_NOSIGNAL);
}

static void say_hex(const struct stub *s, const void *bytes, size_t n)
{
	char hex[80];
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
	say(s, hex);
}

static void say_code(const struct stub *s)
{
	uint8_t code[US_WATCH_CODE];
	memcpy(code, kernel, sizeof(code));
	bool loader = atomic_load(&s->page->passed) <= s->page->n_loader;
	for (size_t i = 0; i < sizeof(code); i++)
		code[i] ^= loader || i < 4 ? 0x55 : 0; /* the kernel has changed some */
	if (s->page->blind)
		say(s, "E14");
	else
		say_hex(s, code, sizeof(code));
}

/* The first time the guest stands at its first instruction, with a breakpoint there. */
static void run(struct stub *s)
{
	if (s->pc == 0xfff0) {
		s->pc = 0;
		say(s, "S05");
		return;
	}
	while (atomic_load(&s->page->passed) <= s->page->n_loader) {
		atomic_fetch_add(&s->page->passed, 1);
		s->pc = ENTRY - (s->page->cr0 ? 0 : (uint64_t)s->page->cs << 4);
		if (atomic_load(&s->page->armed)) {
			say(s, "S05");
			return;
		}
	}
}

static void answer(struct stub *s, const char *body)
{
	if (!strcmp(body, "?")) {
		say(s, "S05");
	} else if (!strncmp(body, "qXfer", 5)) {
		say(s, "l<target/>");
	} else if (!strcmp(body, "p10")) {
		say_hex(s, &s->pc, 8);
	} else if (!strcmp(body, "p12")) {
		say_hex(s, &s->page->cs, 4);
	} else if (!strcmp(body, "p1b")) {
		say_hex(s, &s->page->cr0, 8);
	} else if (body[0] == 'p') {
		say(s, "E14");
	} else if (body[0] == 'Z' || body[0] == 'z') {
		if (strtoull(body + 3, NULL, 16) == ENTRY)
			atomic_store(&s->page->armed, body[0] == 'Z');
		say(s, "OK");
	} else if (body[0] == 'm') {
		say_code(s);
	} else if (!strcmp(body, "s")) {
		atomic_fetch_add(&s->page->steps, 1);
		s->pc += atomic_load(&s->page->armed) ? 0 : 2;
		say(s, "S05");
	} else if (!strcmp(body, "c")) {
		run(s);
	} else {
		say(s, "");
	}
}

static void serve(struct stub *s)
{
	char body[256], c;
	size_t n = 0;
	int state = 0; /* 0: outside, 1: in a packet, 2, 3: its checksum */
	while (recv(s->fd, &c, 1, 0) == 1) {
		if (state == 0 && c == '$')
			state = 1, n = 0;
		else if (state == 1 && c == '#')
			state = 2;
		else if (state == 1 && n < sizeof(body) - 1)
			body[n++] = c;
		else if (state == 2)
			state = 3;
		else if (state == 3) {
			state = 0;
			body[n] = '\0';
			send(s->fd, "+", 1, MSG_NOSIGNAL);
			answer(s, body);
		}
	}
}

/* ---- The test ---- */

struct scene {
	struct page *page;
	pid_t pid;
	char dir[32], path[64];
	struct us_boot_breakpoints *b;
};

static uint32_t code_segment;
static uint64_t control = 1;

static void scene_open(struct scene *s, unsigned n_loader, bool blind)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	strcpy(s->dir, "/tmp/us-break-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/stub", s->dir);
	strcpy(a.sun_path, s->path);
	s->page = mmap(NULL, sizeof(*s->page), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(s->page, MAP_FAILED);
	s->page->n_loader = n_loader;
	s->page->blind = blind;
	s->page->cs = code_segment;
	s->page->cr0 = control;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct stub stub = { accept(fd, NULL, NULL), s->page, 0xfff0 };
		serve(&stub);
		_exit(0);
	}
	close(fd);
}

static void scene_close(struct scene *s)
{
	us_boot_breakpoints_close(s->b);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	unlink(s->path);
	rmdir(s->dir);
	munmap(s->page, sizeof(*s->page));
}

/* How many stops until the point is hit; 0: it is not. */
static unsigned stops(struct scene *s, unsigned n_loader, bool exact, bool blind)
{
	static struct us_boot_plan plan;
	struct us_err e = { 0 };
	struct us_boot_hit hit = { .point = SIZE_MAX };
	plan.n = 1;
	plan.point[0].kind = US_BOOT_ENTRY;
	plan.point[0].n_address = 1;
	plan.point[0].address[0] = ENTRY;
	plan.point[0].has_expected[0] = exact;
	memcpy(plan.point[0].expected[0], kernel, sizeof(kernel));
	scene_open(s, n_loader, blind);
	assert_int_equal(us_boot_breakpoints_open(s->path, &s->b, &e), 0);
	assert_int_equal(us_boot_breakpoints_set(s->b, &plan, &e), 0);
	assert_int_equal(us_boot_breakpoints_go(s->b, &e), 0);
	struct pollfd p = { us_boot_breakpoints_fd(s->b), POLLIN, 0 };
	for (unsigned n = 0; poll(&p, 1, 1000) == 1;) {
		int r = us_boot_breakpoints_hear(s->b, &hit, &e);
		assert_true(r >= 0);
		n += r == 1;
		if (r == 1)
			assert_true(hit.go_ns > hit.at_ns);
		if (hit.point == 0)
			return n;
	}
	return 0;
}

static void a_loader_is_passed(void **state)
{
	(void)state;
	struct scene s;
	assert_int_equal(stops(&s, 0, true, false), 1);
	assert_int_equal(atomic_load(&s.page->steps), 0);
	scene_close(&s);
	assert_int_equal(stops(&s, 3, true, false), 4);
	assert_int_equal(atomic_load(&s.page->steps), 3);
	assert_false(atomic_load(&s.page->armed));
	scene_close(&s);
}

/* It is then not known when the kernel is there: better no time than a wrong one. */
static void a_loader_that_loops_there_is_given_up(void **state)
{
	(void)state;
	struct scene s;
	assert_int_equal(stops(&s, 1000, true, false), 0);
	assert_in_range(atomic_load(&s.page->steps), 10, 100);
	assert_int_equal(atomic_load(&s.page->passed), 1001);
	assert_false(atomic_load(&s.page->armed));
	scene_close(&s);
}

static void without_code_the_address_is_enough(void **state)
{
	(void)state;
	struct scene s;
	assert_int_equal(stops(&s, 3, false, false), 1);
	scene_close(&s);
	assert_int_equal(stops(&s, 3, true, true), 1);
	scene_close(&s);
}

/* The stub gives the place in the segment. */
static void a_segment_of_real_mode_is_added(void **state)
{
	(void)state;
	struct scene s;
	code_segment = 0xffff;
	control = 0;
	assert_int_equal(stops(&s, 0, true, false), 1);
	scene_close(&s);
	control = 1; /* then its number says nothing */
	assert_int_equal(stops(&s, 0, true, false), 1);
	scene_close(&s);
	code_segment = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loader_is_passed),
		cmocka_unit_test(a_loader_that_loops_there_is_given_up),
		cmocka_unit_test(without_code_the_address_is_enough),
		cmocka_unit_test(a_segment_of_real_mode_is_added),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

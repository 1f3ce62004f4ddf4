/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder against the truth: a program is run one instruction at a time, calls
 * and returns are booked, and at every instruction the unwound stack must be the
 * booked one.
 */
#include "unit.h"

#include "base/cleanup.h"
#include "symbol/elf_cfi.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <sched.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DEPTH   512
#define MAX_STACKS  4
#define USER32_CS   0x23 /* of a 32-bit program under a 64-bit Linux */
#define STACK_SHIFT 20	 /* threads of the program are told apart by their stack */

/* --- the truth --- */

struct shadow {
	uint64_t where; /* upper bits of rsp */
	unsigned n;
	uint64_t ret[MAX_DEPTH]; /* outermost first */
	uint64_t slot[MAX_DEPTH];
};

struct truth {
	struct shadow stack[MAX_STACKS];
	unsigned n;
	uint64_t lo[2], hi[2]; /* of the stacks of the program's own threads */
};

static uint64_t where_is(const struct truth *t, uint64_t sp)
{
	for (int i = 0; i < 2; i++)
		if (sp > t->lo[i] && sp <= t->hi[i])
			return t->lo[i];
	return 0;
}

static struct shadow *shadow_of(struct truth *t, uint64_t sp)
{
	uint64_t where = where_is(t, sp);
	for (unsigned i = 0; i < t->n; i++)
		if (t->stack[i].where == where)
			return &t->stack[i];
	assert_true(t->n < MAX_STACKS);
	t->stack[t->n] = (struct shadow){ .where = where };
	return &t->stack[t->n++];
}

/* --- the program under test --- */

struct child {
	pid_t pid;
	struct us_code_map map;
	us_gva *start;
	unsigned word; /* bytes */
};

static bool read_child(void *ctx, uint64_t va, void *buf, size_t len)
{
	const struct child *c = ctx;
	struct iovec here = { buf, len }, there = { (void *)va, len };
	return process_vm_readv(c->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static int by_address(const void *a, const void *b)
{
	us_gva x = *(const us_gva *)a, y = *(const us_gva *)b;
	return x < y ? -1 : x > y;
}

static void read_text(const GElf_Shdr *sh, struct us_code_map *map)
{
	us_gva end = sh->sh_addr + sh->sh_size;
	if (!map->text_start || sh->sh_addr < map->text_start)
		map->text_start = sh->sh_addr;
	if (end > map->text_end)
		map->text_end = end;
}

static void read_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct child *c,
		       const char *object, uint64_t *ret_address)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_size / sh->sh_entsize;
	GElf_Sym sym;
	c->start = calloc(n, sizeof(*c->start));
	assert_non_null(c->start);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(gelf_getsym(data, (int)i, &sym));
		unsigned type = GELF_ST_TYPE(sym.st_info);
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && sym.st_value)
			c->start[c->map.n++] = sym.st_value;
		if (object && name && strcmp(name, object) == 0)
			*ret_address = sym.st_value;
	}
}

/* The code map and, by the name given, one object's address. */
static void read_symbols(const char *path, struct child *c, const char *object,
			 uint64_t *ret_address)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	c->word = gelf_getclass(elf) == ELFCLASS64 ? 8 : 4;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		assert_non_null(gelf_getshdr(scn, &sh));
		if (sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR))
			read_text(&sh, &c->map);
		if (sh.sh_type == SHT_SYMTAB)
			read_table(elf, scn, &sh, c, object, ret_address);
	}
	elf_end(elf);
	qsort(c->start, c->map.n, sizeof(*c->start), by_address);
	size_t unique = 0;
	for (size_t i = 0; i < c->map.n; i++)
		if (!unique || c->start[unique - 1] != c->start[i])
			c->start[unique++] = c->start[i];
	c->map.n = unique;
	c->map.start = c->start;
}

/* Both on one CPU: a step is then a switch, not a wake-up of the other CPU. */
static void stay_here(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* -errno if it cannot be executed. */
static pid_t start_child(const char *path)
{
	stay_here();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		int null = open("/dev/null", O_WRONLY);
		dup2(null, 1);
		execl(path, path, (char *)NULL);
		_exit(errno);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return -WEXITSTATUS(status);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
	return pid;
}

/* --- comparing --- */

struct score {
	unsigned long steps, whole, cut, wrong, no_caller;
	unsigned long ends[US_N_END];
};

struct unwinding {
	const char *what;
	bool by_tables; /* call frame information besides */
	struct us_cfi cfi;
	struct us_cfi_table *table;
	struct us_unwinder *u;
	struct us_mem *mem;
	struct us_paging paging;
	struct score score;
};

static void show(const struct us_stack *out, const struct shadow *want,
		 const char *what, const char *program)
{
	print_message("# %s, %s: end %s, got %u of %u\n", program, what,
		      us_unwind_end_name(out->end), out->n, want->n + 1);
	for (unsigned i = 0; i < out->n || i < want->n + 1; i++)
		print_message("#   %#lx (%s) %#lx\n",
			      i < out->n ? (unsigned long)out->pc[i] : 0,
			      i < out->n ? us_frame_how_name(out->how[i]) : "",
			      i == 0		? (unsigned long)out->pc[0]
			      : i < want->n + 1 ? (unsigned long)want->ret[want->n - i]
						: 0);
}

static void compare(struct unwinding *w, const struct us_regs *regs,
		    const struct shadow *want, const char *program)
{
	static struct us_stack out;
	us_paging_new_sample(&w->paging);
	us_unwind(w->u, &w->paging, regs, &out);
	struct score *s = &w->score;
	bool wrong = out.n < 1 || out.pc[0] != regs->pc || out.n > want->n + 1;
	for (unsigned i = 1; i < out.n && !wrong; i++)
		wrong = out.pc[i] != want->ret[want->n - i];
	/* A stack that is said to be whole must be. */
	wrong |= out.end == US_END_ROOT && out.n < want->n + 1;
	s->steps++;
	s->wrong += wrong;
	s->ends[out.end]++;
	if (!wrong && out.n == want->n + 1)
		s->whole++;
	else if (!wrong)
		s->cut++;
	if (!wrong && out.n == 1 && want->n > 0)
		s->no_caller++;
	bool verbose = getenv("US_TEST_VERBOSE");
	if ((wrong && s->wrong <= 3) ||
	    (verbose && !wrong && out.n != want->n + 1 && s->cut <= 20))
		show(&out, want, w->what, program);
}

/* What the instruction about to run does: 'c'all, 'r'et, 'f'ar ret, or 0. */
static char flow_of(const uint8_t *code, unsigned word)
{
	size_t i = 0;
	while (i < 8 && (code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x3e ||
			 code[i] == 0x66 || code[i] == 0x67 ||
			 (word == 8 && (code[i] & 0xf0) == 0x40)))
		i++;
	if (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2))
		return 'c';
	if (code[i] == 0xcb)
		return 'f';
	return code[i] == 0xc3 || code[i] == 0xc2 ? 'r' : 0;
}

static void book(struct truth *t, char flow, const struct child *c,
		 const struct user_regs_struct *before,
		 const struct user_regs_struct *now)
{
	if (flow == 'c' && now->rsp == before->rsp - c->word) {
		struct shadow *s = shadow_of(t, now->rsp);
		assert_true(s->n < MAX_DEPTH);
		s->slot[s->n] = now->rsp;
		s->ret[s->n] = 0;
		assert_true(read_child((void *)c, now->rsp, &s->ret[s->n], c->word));
		s->n++;
	} else if (flow == 'r' || flow == 'f') {
		struct shadow *s = shadow_of(t, before->rsp);
		while (s->n > 0 && s->slot[s->n - 1] <= before->rsp)
			s->n--;
	}
}

static struct us_regs regs_of(const struct user_regs_struct *r)
{
	return (struct us_regs){
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		.gpr[US_X86_R10] = r->r10,
		.gpr[US_X86_R13] = r->r13,
		.gpr[US_X86_R11] = r->r11,
		.gpr[US_X86_RAX] = r->rax,
		.gpr[US_X86_RCX] = r->rcx,
		.gpr[US_X86_RDI] = r->rdi,
		.valid = 1 << US_X86_R10 | 1 << US_X86_R13 | 1 << US_X86_RCX |
			 1 << US_X86_RDI | 1 << US_X86_R11 | 1 << US_X86_RAX,
		.bits = r->cs == USER32_CS ? 32 : 64,
		.user = true,
		.space.mode = US_PAGING_UNKNOWN,
	};
}

/* All of the program is in one table, where it was linked. */
static void read_tables(const char *path, struct unwinding *w)
{
	struct us_elf_file f;
	struct us_cfi_table_info info;
	struct us_err e;
	assert_int_equal(us_elf_file_open(path, &f, &e), 0);
	assert_int_equal(us_elf_cfi_read(&f, NULL, &w->table, NULL, &e), 0);
	us_elf_file_close(&f);
	us_cfi_table_info(w->table, &info);
	assert_true(info.n_row > 0);
	assert_int_equal(us_cfi_place(&w->cfi, w->table, 0, US_CFI_ANY_ROOT), 0);
}

static void start_unwinding(struct unwinding *w, struct child *c, const char *path,
			    bool with_map)
{
	w->mem->read_gva = read_child;
	w->mem->ctx = c;
	us_mem_init(w->mem);
	us_paging_init(&w->paging, w->mem);
	if (w->by_tables)
		read_tables(path, w);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, with_map ? &c->map : NULL,
					 w->by_tables ? &w->cfi : NULL, &w->u),
			 0);
}

/* Run the program, at most max instructions; -errno if it could not be started. */
static int run(const char *path, const char *program, struct unwinding *w, size_t n,
	       unsigned long skip_first, unsigned long max)
{
	struct child c = { 0 };
	static struct truth truth;
	uint64_t stacks = 0;
	memset(&truth, 0, sizeof(truth));
	read_symbols(path, &c, "stack_of", &stacks);
	for (int i = 0; stacks && i < 2; i++) {
		truth.lo[i] = stacks + (uint64_t)i * 1024 * c.word;
		truth.hi[i] = truth.lo[i] + 1024 * c.word;
	}
	c.pid = start_child(path);
	if (c.pid < 0) {
		free(c.start);
		return c.pid;
	}
	for (size_t i = 0; i < n; i++)
		start_unwinding(&w[i], &c, path, i == 0);
	struct user_regs_struct r, before;
	assert_int_equal(ptrace(PTRACE_GETREGS, c.pid, NULL, &r), 0);
	int status = 0;
	unsigned long steps = 0;
	for (; steps < max; steps++) {
		uint8_t code[16] = { 0 };
		struct us_regs regs = regs_of(&r);
		struct iovec here = { code, 16 }, there = { (void *)r.rip, 16 };
		process_vm_readv(c.pid, &here, 1, &there, 1, 0);
		for (size_t i = 0; i < n && steps >= skip_first; i++)
			compare(&w[i], &regs, shadow_of(&truth, r.rsp), program);
		before = r;
		if (ptrace(PTRACE_SINGLESTEP, c.pid, NULL, NULL) != 0 ||
		    waitpid(c.pid, &status, 0) != c.pid || !WIFSTOPPED(status))
			break;
		assert_int_equal(ptrace(PTRACE_GETREGS, c.pid, NULL, &r), 0);
		book(&truth, flow_of(code, c.word), &c, &before, &r);
	}
	if (WIFSTOPPED(status)) {
		kill(c.pid, SIGKILL);
		waitpid(c.pid, &status, 0);
	} else {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	for (size_t i = 0; i < n; i++) {
		us_unwinder_free(w[i].u);
		us_cfi_table_free(w[i].table);
	}
	free(c.start);
	return 0;
}

static void report(const struct unwinding *w, const char *program)
{
	const struct score *s = &w->score;
	print_message("# %-28s %-8s %7lu steps: %lu whole, %lu cut, %lu wrong, %lu "
		      "without a caller\n",
		      program, w->what, s->steps, s->whole, s->cut, s->wrong,
		      s->no_caller);
}

static bool shell(const char *command)
{
	int status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Compile stepped.c; false if there is no such compiler. */
static bool compile(const char *compiler, const char *flags, char *path, size_t size)
{
	char command[1024], source[512];
	const char *root = getenv("US_SOURCE_ROOT");
	snprintf(source, sizeof(source), "%s/tests/unit/stepped.c", root ? root : ".");
	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", compiler);
	if (!shell(command) || access(source, R_OK) != 0)
		return false;
	snprintf(path, size, "/tmp/uniscope-stepped-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "%s %s -w -g0 -fno-stack-protector -fcf-protection=none -fno-pie "
		 "-static -nostdlib -o %s %s",
		 compiler, flags, path, source);
	if (shell(command))
		return true;
	unlink(path);
	return false;
}

static struct us_mem mems[2];

static void reset(struct unwinding w[2])
{
	memset(mems, 0, sizeof(mems));
	memset(w, 0, 2 * sizeof(*w));
	w[0].what = "map";
	w[0].mem = &mems[0];
	w[1].what = "no map";
	w[1].mem = &mems[1];
}

struct totals {
	unsigned long programs, steps, cut[2], wrong[2], no_caller[2];
};

static void add(struct totals *t, const struct unwinding w[2])
{
	t->programs++;
	t->steps += w[0].score.steps;
	for (int i = 0; i < 2; i++) {
		t->cut[i] += w[i].score.cut;
		t->wrong[i] += w[i].score.wrong;
		t->no_caller[i] += w[i].score.no_caller;
	}
}

/* Stacks are right or wrong without it as well; it finds what one program has. */
#ifdef __SANITIZE_ADDRESS__
#define MOST_VARIANTS 1
#else
#define MOST_VARIANTS 16
#endif

static void step_variants(const char *const flags[], size_t n, bool by_tables,
			  struct totals *t)
{
	static const char *const compilers[] = { "gcc", "clang-14" };
	for (size_t i = 0; i < 2 * n && i < 2 * MOST_VARIANTS; i++) {
		char path[64], program[128];
		static struct unwinding w[2];
		const char *compiler = compilers[i % 2];
		if (!compile(compiler, flags[i / 2], path, sizeof(path))) {
			print_message("# %s %s: not built\n", compiler, flags[i / 2]);
			continue;
		}
		snprintf(program, sizeof(program), "%s %s", compiler, flags[i / 2]);
		reset(w);
		w[0].by_tables = by_tables;
		int r = run(path, program, w, 2, 0, 100000);
		unlink(path);
		if (r == -ENOEXEC) {
			print_message("# %s: the host's kernel cannot execute it\n",
				      program);
			continue;
		}
		assert_int_equal(r, 0);
		report(&w[0], program);
		report(&w[1], program);
		add(t, w);
	}
	print_message("# %lu programs, %lu instructions; with a map: %lu wrong, %lu "
		      "cut; without: %lu wrong, %lu cut\n",
		      t->programs, t->steps, t->wrong[0], t->cut[0], t->wrong[1],
		      t->cut[1]);
}

static void with_frame_pointers(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"-O0 -fno-omit-frame-pointer",
		"-O1 -fno-omit-frame-pointer -DFRAMED_SWITCH",
		"-O2 -fno-omit-frame-pointer",
		"-Os -fno-omit-frame-pointer",
		"-O2 -fno-omit-frame-pointer -fcf-protection=full -mno-red-zone",
		"-O1 -fno-omit-frame-pointer -fstack-clash-protection",
	};
	struct totals t = { 0 };
	step_variants(flags, sizeof(flags) / sizeof(*flags), false, &t);
	if (t.programs == 0) {
		print_message("# SKIP: no compiler\n");
		return;
	}
	assert_int_equal(t.wrong[0], 0);
	assert_int_equal(t.wrong[1], 0);
	assert_int_equal(t.cut[0], 0);
	assert_int_equal(t.no_caller[0], 0);
	assert_int_equal(t.no_caller[1], 0);
}

static void without_frame_pointers(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"-O1 -fomit-frame-pointer",
		"-O2 -fomit-frame-pointer",
		"-Oz -fomit-frame-pointer",
		"-O2 -fomit-frame-pointer -fstack-clash-protection",
	};
	struct totals t = { 0 };
	step_variants(flags, sizeof(flags) / sizeof(*flags), false, &t);
	if (t.programs == 0) {
		print_message("# SKIP: no compiler\n");
		return;
	}
	assert_int_equal(t.wrong[0], 0);
	assert_int_equal(t.wrong[1], 0);
}

static void narrow(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"-m32 -O0 -fno-omit-frame-pointer",
		"-m32 -O2 -fno-omit-frame-pointer",
		"-m32 -Os -fno-omit-frame-pointer",
		"-m32 -O1 -fomit-frame-pointer",
		"-m32 -O2 -fomit-frame-pointer",
		"-m32 -O2 -fomit-frame-pointer -fstack-clash-protection",
	};
	struct totals t = { 0 };
	step_variants(flags, sizeof(flags) / sizeof(*flags), false, &t);
	if (t.programs == 0) {
		print_message("# SKIP: no compiler, or no kernel, for i386\n");
		skip();
	}
	assert_int_equal(t.wrong[0], 0);
	assert_int_equal(t.wrong[1], 0);
	assert_int_equal(t.cut[0], 0);
}

/* i386 numbers its registers otherwise: esp is 4 and ebp 5. */
static void narrow_by_tables(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"-m32 -fasynchronous-unwind-tables -O2 -fomit-frame-pointer",
		"-m32 -fasynchronous-unwind-tables -Os -fno-omit-frame-pointer",
	};
	struct totals t = { 0 };
	step_variants(flags, sizeof(flags) / sizeof(*flags), true, &t);
	if (t.programs == 0) {
		print_message("# SKIP: no compiler, or no kernel, for i386\n");
		skip();
	}
	assert_int_equal(t.wrong[0], 0);
	assert_int_equal(t.cut[0], 0);
}

/* Any static program, for a long run by hand: US_TEST_STEP_FILE, US_TEST_STEP_MAX. */
static void a_given_program(void **state)
{
	(void)state;
	const char *path = getenv("US_TEST_STEP_FILE");
	const char *max = getenv("US_TEST_STEP_MAX"),
		   *from = getenv("US_TEST_STEP_FROM");
	static struct unwinding w[2];
	reset(w);
	assert_int_equal(run(path, path, w, 2, from ? strtoul(from, NULL, 0) : 0,
			     max ? strtoul(max, NULL, 0) : 100000),
			 0);
	report(&w[0], path);
	report(&w[1], path);
	assert_int_equal(w[0].score.wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_frame_pointers),
		cmocka_unit_test(without_frame_pointers),
		cmocka_unit_test(narrow),
		cmocka_unit_test(narrow_by_tables),
	};
	static const struct CMUnitTest given[] = { cmocka_unit_test(a_given_program) };
	if (getenv("US_TEST_STEP_FILE"))
		return cmocka_run_group_tests(given, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

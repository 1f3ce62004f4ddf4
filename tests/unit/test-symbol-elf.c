/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which symbols are kept of a real ELF file, how far they reach, what is refused. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/elf_file.h"
#include "symbol/elf_image.h"
#include "symbol/span_map.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>

static const char assembly[] =
	"	.section .text.a,\"ax\"\n"
	"	.globl alpha, _alpha, __alpha\n"
	"	.weak alpha_weak\n"
	"	.type alpha, @function\n"
	"alpha: _alpha: __alpha: alpha_weak: alpha_label:\n"
	"	.fill 16, 1, 0x90\n"
	"	.size alpha, 16\n"
	"	.size _alpha, 16\n"
	"	.fill 16, 1, 0xcc\n"
	"no_size:\n" /* to the next symbol */
	"	.fill 8, 1, 0x90\n"
	".Lhidden: .fill 8, 1, 0x90\n"
	"	.type outer, @function\n"
	"outer:	.fill 8, 1, 0x90\n"
	"local_inside: .fill 8, 1, 0x90\n"
	"	.globl global_inside\n"
	"global_inside: .fill 8, 1, 0x90\n"
	"	.type nested, @function\n"
	"nested: .fill 8, 1, 0x90\n"
	"	.size nested, 8\n"
	"	.fill 8, 1, 0x90\n"
	"	.size outer, . - outer\n"
	"	.fill 8, 1, 0x90\n"
	"\"$x\": .fill 4, 1, 0x90\n"
	"\"$d.12\": .fill 4, 1, 0x90\n"
	"\"$dollar\": .fill 8, 1, 0x90\n"
	"last:	.fill 24, 1, 0x90\n" /* to the end of the section */
	"absolute = 0x401004\n"
	"	.data\n"
	"	.type data_func, @function\n"
	"data_func: .fill 8, 1, 1\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

static struct us_elf_image *open_image(const char *name)
{
	struct us_elf_image *i = NULL;
	struct us_err e = { 0 };
	int r = us_elf_image_open(in_work_dir(name), &i, &e);
	if (r < 0)
		fail_msg("%s: %s", name, e.msg);
	return i;
}

static void expect_at(const struct us_elf_image *i, uint64_t addr, const char *name,
		      uint64_t start, uint64_t size)
{
	const struct us_elf_symbol *s = us_elf_image_find(i, addr);
	if (!name) {
		assert_null(s);
		return;
	}
	assert_non_null(s);
	assert_string_equal(s->name, name);
	assert_int_equal(s->addr, start);
	assert_int_equal(s->size, size);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void expect_other_names(const struct us_elf_image *i, uint64_t addr,
			       const char *want)
{
	const char *name[8], *one;
	char got[256] = "";
	size_t n = 0;
	while (n < 8 && (one = us_elf_image_other_name(i, addr, n)))
		name[n++] = one;
	qsort(name, n, sizeof(*name), compare_names);
	for (size_t k = 0; k < n; k++) {
		strncat(got, k ? " " : "", sizeof(got) - strlen(got) - 1);
		strncat(got, name[k], sizeof(got) - strlen(got) - 1);
	}
	assert_string_equal(got, want);
}

static void check_assembly(const char *file)
{
	const uint64_t a = 0x401000;
	struct us_elf_image *i = open_image(file);
	expect_at(i, a - 1, NULL, 0, 0);
	expect_at(i, a, "alpha", a, 16);
	expect_at(i, a + 15, "alpha", a, 16);
	expect_at(i, a + 16, NULL, 0, 0);
	expect_at(i, a + 32, "no_size", a + 32, 16);
	expect_at(i, a + 47, "no_size", a + 32, 16);
	expect_at(i, a + 48, "outer", a + 48, 40);
	expect_at(i, a + 56, "outer", a + 48, 40);
	expect_at(i, a + 64, "global_inside", a + 64, 8);
	expect_at(i, a + 72, "nested", a + 72, 8);
	expect_at(i, a + 80, "outer", a + 48, 40);
	expect_at(i, a + 88, NULL, 0, 0);
	expect_at(i, a + 96, NULL, 0, 0);
	expect_at(i, a + 104, "$dollar", a + 104, 8);
	expect_at(i, a + 135, "last", a + 112, 24);
	expect_at(i, a + 136, NULL, 0, 0);
	size_t n;
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	assert_int_equal(n, 7);
	for (size_t k = 1; k < n; k++)
		assert_true(s[k - 1].addr < s[k].addr);
	expect_other_names(i, a, "__alpha _alpha alpha_label alpha_weak");
	expect_other_names(i, a + 32, "");
	expect_other_names(i, a + 56, ""); /* a label in a function is no symbol */
	uint64_t start, end;
	assert_true(us_elf_image_text(i, &start, &end));
	assert_int_equal(start, a);
	assert_int_equal(end, a + 136);
	us_elf_image_close(i);
}

/* NASM's local labels have the function's name before a dot, and no function a size. */
static void labels_of_nasm(void **state)
{
	static const char text[] = "	.globl copy, copy.other\n"
				   "copy:	.fill 8, 1, 0x90\n"
				   "copy.loop: .fill 8, 1, 0x90\n"
				   "copy.done: .fill 8, 1, 0x90\n"
				   "helper: .fill 8, 1, 0x90\n"
				   "helper.loop: .fill 8, 1, 0x90\n"
				   "copy.other: .fill 8, 1, 0x90\n"
				   "helpers.loop: .fill 8, 1, 0x90\n";
	const uint64_t a = 0x401000;
	(void)state;
	write_file("n.s", text, sizeof(text) - 1);
	need("as -o n.o n.s && ld -e copy -Ttext=0x401000 -o n n.o");
	struct us_elf_image *i = open_image("n");
	expect_at(i, a, "copy", a, 24);
	expect_at(i, a + 23, "copy", a, 24);
	expect_at(i, a + 39, "helper", a + 24, 16);
	expect_at(i, a + 40, "copy.other", a + 40, 8);
	expect_at(i, a + 48, "helpers.loop", a + 48, 8);
	us_elf_image_close(i);
}

static void assembly_symbols(void **state)
{
	(void)state;
	write_file("a.s", assembly, sizeof(assembly) - 1);
	need("as -o a.o a.s && ld -e alpha -Ttext=0x401000 --build-id=sha1 -o a a.o");
	check_assembly("a");
	need("as --32 -o a32.o a.s && ld -m elf_i386 -e alpha -Ttext=0x401000 -o a32 "
	     "a32.o");
	check_assembly("a32");
	/* As GNU Mach is given to QEMU. */
	need("objcopy -O elf32-i386 a a64as32");
	check_assembly("a64as32");
}

static void stripped_and_dynamic(void **state)
{
	(void)state;
	size_t n;
	static const char c[] =
		"int f(int a) { return a; } int main() { return f(1); }";
	write_file("f.c", c, sizeof(c) - 1);
	need("cc -rdynamic -o dyn f.c && strip -o stripped dyn && "
	     "objcopy --only-keep-debug dyn debug");
	struct us_elf_image *i = open_image("stripped");
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	bool some = false;
	for (size_t k = 0; k < n; k++)
		some |= !strcmp(s[k].name, "main");
	assert_true(some);
	us_elf_image_close(i);
	/* What has no size goes as far as is known, which is nowhere here. */
	static const char asm_[] = ".globl lone\n.type lone,@function\nlone: ret\n"
				   ".skip 64,0x90\nnop\n";
	write_file("lone.s", asm_, sizeof(asm_) - 1);
	for (unsigned k = 0; k < 2; k++) {
		need("cc -shared -nostdlib -o lone.so lone.s && %s lone.so",
		     k ? "strip" : "true");
		i = open_image("lone.so");
		s = us_elf_image_symbols(i, &n);
		for (size_t at = 0; at < n; at++)
			if (!strcmp(s[at].name, "lone"))
				assert_true(k ? s[at].size == 1 : s[at].size > 64);
		us_elf_image_close(i);
	}
	need("cc -static -o static f.c && strip -o bare static");
	i = open_image("bare");
	us_elf_image_symbols(i, &n);
	assert_int_equal(n, 0);
	us_elf_image_close(i);
	i = open_image("debug"); /* its code has no bytes */
	us_elf_image_symbols(i, &n);
	assert_true(n > 0);
	us_elf_image_close(i);
}

static void no_sections(void **state)
{
	(void)state;
	need("test -e a");
	size_t len, n;
	uint64_t start, end;
	uint8_t *b = load_file("a", &len);
	memset(b + 0x28, 0, 8); /* e_shoff */
	write_file("nosect", b, len);
	free(b);
	struct us_elf_image *i = open_image("nosect");
	us_elf_image_symbols(i, &n);
	assert_int_equal(n, 0);
	assert_true(us_elf_image_text(i, &start, &end));
	assert_int_equal(start, 0x401000);
	assert_int_equal(end, 0x401000 + 136);
	us_elf_image_build_id(i, &n);
	assert_int_equal(n, 20); /* by the segment of notes */
	us_elf_image_close(i);
}

/* Boot code in low memory, and the kernel in the higher half. */
static void no_sections_two_segments(void **state)
{
	(void)state;
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[3];
		uint8_t code[64];
	} f = {
		.h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		       .e_type = ET_EXEC,
		       .e_machine = EM_X86_64,
		       .e_phoff = sizeof(f.h),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 3 },
		.p = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X },
		       { .p_type = PT_LOAD, .p_flags = PF_R | PF_W },
		       { .p_type = PT_LOAD, .p_flags = PF_R | PF_X } },
	};
	static const uint64_t at[] = { 0x100000, 0xffffffff80200000,
				       0xffffffff80100000 };
	for (size_t k = 0; k < 3; k++) {
		Elf64_Phdr *p = &f.p[k];
		p->p_vaddr = at[k];
		p->p_offset = offsetof(typeof(f), code);
		p->p_filesz = p->p_memsz = sizeof(f.code);
	}
	write_file("twosegs", (const uint8_t *)&f, sizeof(f));
	struct us_elf_image *i = open_image("twosegs");
	const struct us_elf_file *e = us_elf_image_file(i);
	assert_int_equal(e->n_code, 2);
	assert_non_null(us_elf_file_code(e, at[0]));
	assert_null(us_elf_file_code(e, at[1]));
	assert_non_null(us_elf_file_code(e, at[2] + 63));
	us_elf_image_close(i);
}

static void build_id(void **state)
{
	(void)state;
	need("test -e a && readelf -n a | sed -n 's/.*Build ID: //p' | tr -d '\\n' > "
	     "id");
	size_t len, n;
	uint8_t *want = load_file("id", &n);
	struct us_elf_image *i = open_image("a");
	const uint8_t *id = us_elf_image_build_id(i, &len);
	assert_int_equal(len, 20);
	char hex[41] = "";
	for (size_t k = 0; k < len; k++)
		sprintf(hex + 2 * k, "%02x", id[k]);
	assert_string_equal(hex, (char *)want);
	free(want);
	us_elf_image_close(i);
	i = open_image("a32");
	us_elf_image_build_id(i, &len);
	assert_int_equal(len, 0);
	us_elf_image_close(i);
}

static void refuse(const char *name, int code, const char *words)
{
	struct us_elf_image *i = NULL;
	struct us_err e = { 0 };
	assert_int_equal(us_elf_image_open(in_work_dir(name), &i, &e), code);
	assert_null(i);
	assert_int_equal(e.code, code);
	if (!strstr(e.msg, words) && !strstr(e.hint, words))
		fail_msg("%s: '%s' says nothing of '%s'", name, e.msg, words);
	assert_non_null(strstr(e.msg, name));
}

static void refused(void **state)
{
	(void)state;
	uint8_t boot[0x400] = { 0 };
	write_file("empty", "", 0);
	write_file("short", "\177ELF\2\1\1 and here it ends", 24);
	write_file("text", "#!/bin/sh\necho no kernel\n", 25);
	write_file("gz", "\x1f\x8b\x08 and much more of it", 24);
	memcpy(boot + 0x202, "HdrS", 4);
	write_file("bzImage", boot, sizeof(boot));
	refuse("empty", -ENOEXEC, "not an ELF");
	refuse("short", -EBADMSG, "cut");
	refuse("text", -ENOEXEC, "not an ELF");
	refuse("gz", -ENOEXEC, "gunzip");
	refuse("bzImage", -ENOEXEC, "vmlinux");
	refuse("", -ENOEXEC, "regular");
	refuse("missing", -ENOENT, "No such file");
	need("test -e a.o && mkfifo fifo && head -c 1200 a > cut");
	refuse("a.o", -ENOEXEC, "object file");
	refuse("fifo", -ENOEXEC, "regular");
	refuse("cut", -EBADMSG, "claims bytes");
}

static void set_of_images(void **state)
{
	(void)state;
	need("test -e a && test -e a32");
	struct us_symbols *s;
	struct us_frame f[4];
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	assert_int_equal(us_symbols_lookup(s, 0x401000, false, f, 4), 0);
	assert_int_equal(us_symbols_add(s, open_image("a"), 0xffffffff80000000, NULL),
			 0);
	assert_int_equal(us_symbols_add(s, open_image("a32"), 0, NULL), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(us_symbols_lookup(s, 0xffffffff80401008, false, f, 4),
				 1);
		assert_string_equal(f[0].func, "alpha");
		assert_string_equal(f[0].module, "a");
		assert_int_equal(f[0].start, 0xffffffff80401000);
		assert_int_equal(us_symbols_lookup(s, 0x401010, true, f, 4), 1);
		assert_string_equal(f[0].func, "alpha");
		assert_string_equal(f[0].module, "a32");
		assert_int_equal(us_symbols_lookup(s, 0x401010, false, f, 4), 1);
		assert_null(f[0].func);
		assert_string_equal(f[0].module, "a32");
		assert_int_equal(us_symbols_lookup(s, 0x401000, true, f, 4), 0);
		assert_int_equal(us_symbols_lookup(s, 0x401000, false, f, 0), 0);
	}
	us_gva *starts;
	size_t n;
	assert_int_equal(us_symbols_function_starts(s, &starts, &n), 0);
	assert_int_equal(n, 14);
	assert_int_equal(starts[0], 0x401000);
	assert_int_equal(starts[7], 0xffffffff80401000);
	free(starts);
	us_symbols_free(s);
	us_symbols_free(NULL);
}

/* Against the plain reading of the rule, on spans of every shape. */
static void spans_by_brute_force(void **state)
{
	(void)state;
	uint32_t seed = 1;
	for (int round = 0; round < 2000; round++) {
		struct us_span span[12], kept[12];
		size_t n = (size_t)round % 13;
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			uint64_t start = seed >> 16 & 31;
			span[i] = (struct us_span){ start, start + (seed >> 24 & 15),
						    (uint32_t)i };
		}
		memcpy(kept, span, sizeof(kept));
		struct us_span_map m;
		assert_int_equal(us_span_map_build(span, n, &m), 0);
		for (uint64_t at = 0; at < 50; at++) {
			const struct us_span *best = NULL;
			for (size_t i = 0; i < n; i++) {
				const struct us_span *k = &kept[i];
				if (at < k->start || at >= k->end)
					continue;
				if (!best || k->start > best->start ||
				    (k->start == best->start && k->end <= best->end))
					best = k;
			}
			assert_int_equal(us_span_map_find(&m, at),
					 best ? best->value : US_SPAN_NONE);
		}
		us_span_map_fini(&m);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_by_brute_force),
		cmocka_unit_test(assembly_symbols),
		cmocka_unit_test(labels_of_nasm),
		cmocka_unit_test(stripped_and_dynamic),
		cmocka_unit_test(no_sections),
		cmocka_unit_test(no_sections_two_segments),
		cmocka_unit_test(build_id),
		cmocka_unit_test(refused),
		cmocka_unit_test(set_of_images),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's own ELF file: where its structs have their members, by DWARF that gcc and
 * clang write and by BTF that pahole makes of it; is it the kernel that runs; symbols.
 */
#include "unit.h"

#include "kernel-structs.h"
#include "linux/mappings.h"
#include "linux/page_cache.h"
#include "linux/vmlinux.h"
#include "linux/who.h"
#include "symbol/dwarf_types.h"
#include "toolchain.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINKED	 0xffffffff81000000ULL
#define BIAS	 0x4600000ULL
#define MEM_SIZE (64U << 10)
#define FLIPS	 3000

static const struct where {
	const char *type, *path;
	uint32_t offset, size;
} where[] = {
#define IN(prefix, s, path)                                                            \
	{                                                                              \
#s, #path, offsetof(prefix s, path), sizeof(((prefix s *)0)->path)     \
	}
#define AT(s, path) IN(struct, s, path)
	AT(task_struct, thread_info.cpu),
	AT(task_struct, __state),
	AT(task_struct, on_cpu),
	AT(task_struct, se.sum_exec_runtime),
	AT(task_struct, se.load),
	AT(task_struct, tasks),
	AT(task_struct, pid),
	AT(task_struct, comm),
	AT(task_struct, thread),
	AT(task_struct, thread.sp),
	AT(task_struct, thread.tls_array),
	AT(task_struct, thread.ds),
	AT(task_struct, nvcsw),
	AT(task_struct, start_boottime),
	AT(signal_struct, thread_head),
	IN(union, thread_union, stack),
	AT(inactive_task_frame, ret_addr),
	AT(mm_struct, mm_mt.ma_root),
	AT(mm_struct, pgd),
	AT(mm_struct, map_count),
	AT(mm_struct, context.vdso),
	AT(kthread, full_name),
	AT(upid, nr),
	AT(pid, level),
	AT(pid, numbers),
	AT(css_set, subsys),
	AT(css_set, dfl_cgrp),
	AT(cgroup_subsys_state, cgroup),
	AT(cgroup, level),
	AT(cgroup, kn),
	AT(kernfs_node, name),
	AT(maple_range_64, pivot),
	AT(maple_range_64, slot),
	AT(maple_arange_64, slot),
	AT(maple_arange_64, gap),
	AT(vm_area_struct, vm_flags),
	AT(vm_area_struct, vm_file),
	AT(mount, mnt),
	AT(mount, mnt_mountpoint),
	AT(dentry, d_name.len),
	AT(dentry, d_name.name),
	AT(file, f_path.dentry),
	AT(file, f_mapping),
	AT(address_space, i_pages.xa_head),
	AT(xa_node, shift),
	AT(xa_node, slots),
	AT(page, index),
	AT(folio, index),
	AT(module, list),
	AT(module, name),
	AT(module, core_layout.text_size),
	AT(module, arch.orc_unwind),
	AT(mod_kallsyms, num_symtab),
};
#define N_WHERE (sizeof(where) / sizeof(where[0]))

static const char source[] =
	"#define ALL(X) X(task_struct) X(signal_struct) X(inactive_task_frame) "
	"X(mm_struct) X(kthread) X(upid) X(pid) X(css_set) X(cgroup) X(kernfs_node) "
	"X(cgroup_subsys_state) "
	"X(maple_range_64) X(maple_arange_64) X(vm_area_struct) X(file) X(dentry) "
	"X(vfsmount) X(mount) X(address_space) X(xa_node) X(folio) X(page) X(module) "
	"X(mod_kallsyms)\n"
	"#include \"kernel-structs.h\"\n"
	"#define X(s) struct s a_##s;\n"
	"ALL(X)\n"
	"union thread_union init_stack;\n"
	"struct task_struct init_task = { .comm = \"swapper\" };\n"
	"static int in_file = 5;\n"
	"int get(int k) { return in_file + k; }\n"
	"int work(int k) { for (int n = 0; n < k; n++) in_file += n * k; "
	"return get(in_file); }\n"
	"__asm__(\".globl a_cpu_s\\n.set a_cpu_s, 0x40\\n\");\n";
/* The unit before it has some of the structs without their members. */
static const char before[] = "__asm__(\".text\\n.globl _text\\n_text:\\n\"\n"
			     "\".skip 64\\n.globl _stext\\n_stext:\\n\");\n"
			     "struct task_struct; struct module;\n"
			     "struct holder { struct task_struct *t; struct module *m; "
			     "} holder;\n";

static const struct us_linux_place place = { .start = LINKED + BIAS, .size = 1U << 20 };

/* Linked as a kernel is, at the upper end; false: that cannot be done here. */
static bool build_by(const char *cc, const char *flags, const char *ld,
		     const char *name)
{
	const char *root = getenv("US_SOURCE_ROOT");
	return run(
		"for f in before k; do %s -c -O1 %s -I%s/tests/unit -fno-pic "
		"-fno-asynchronous-unwind-tables -o $f.o $f.c 2>/dev/null || exit 1; "
		"done; ld -static -e _text -Ttext-segment=0x%llx -z noexecstack %s "
		"-o %s before.o k.o",
		cc, flags, root ? root : ".", (unsigned long long)LINKED, ld, name);
}

static int begin(void **state)
{
	if (enter_work_dir(state) < 0)
		return -1;
	write_file("k.c", source, sizeof(source) - 1);
	write_file("before.c", before, sizeof(before) - 1);
	return 0;
}

#define need_kernel(cc, flags, ld, name)                                               \
	do {                                                                           \
		if (!build_by(cc, flags, ld, name)) {                                  \
			print_message("# SKIP: does not work here: %s %s\n", cc,       \
				      flags);                                          \
			skip();                                                        \
		}                                                                      \
	} while (0)

struct bed {
	struct us_elf_image *image;
	struct us_linux_place place;
	uint8_t memory[MEM_SIZE]; /* from LINKED + BIAS on, as it is loaded */
	struct us_region region;
	struct us_mem mem;
	struct us_paging paging;
	struct us_space space;
	struct us_vmlinux found;
};

static struct bed *open_bed(const char *name)
{
	struct bed *b = calloc(1, sizeof(*b));
	assert_non_null(b);
	b->place = place;
	b->place.arch = us_linux_arch(US_ARCH_X86_64);
	assert_int_equal(us_elf_image_open(in_work_dir(name), &b->image, NULL), 0);
	const struct us_elf_file *f = us_elf_image_file(b->image);
	for (size_t k = 0; k < f->n_segment; k++) {
		const struct us_elf_segment *s = &f->segment[k];
		uint64_t at = s->vaddr - LINKED;
		if (s->type == PT_LOAD && at < MEM_SIZE && s->filesz <= MEM_SIZE - at)
			memcpy(b->memory + at, f->bytes + s->offset, s->filesz);
	}
	b->region = (struct us_region){ .start = LINKED + BIAS,
					.size = MEM_SIZE,
					.host = b->memory };
	b->mem = (struct us_mem){ .region = &b->region, .n_region = 1 };
	us_mem_init(&b->mem);
	us_paging_init(&b->paging, &b->mem);
	b->space.mode = US_PAGING_OFF;
	return b;
}

static int find(struct bed *b, us_gva text)
{
	const struct us_elf_image *const all[] = { b->image };
	const struct us_vmlinux_search w = { .file = all,
					     .n_file = 1,
					     .place = &b->place,
					     .text = text,
					     .p = &b->paging,
					     .s = &b->space };
	us_paging_new_sample(&b->paging);
	return us_vmlinux_open(&w, &b->found);
}

static void close_bed(struct bed *b)
{
	us_vmlinux_close(&b->found);
	us_elf_image_close(b->image);
	free(b);
}

static void are_where(const struct us_btf *b, const char *how)
{
	unsigned wrong = 0;
	for (size_t k = 0; k < N_WHERE; k++) {
		struct us_btf_member m = { 0 };
		bool ok = us_btf_path(b, where[k].type, where[k].path, &m);
		if (ok && m.offset == where[k].offset && m.size == where[k].size)
			continue;
		print_error("%s: %s.%s: %s at %u of %u, not at %u of %u\n", how,
			    where[k].type, where[k].path, ok ? "found" : "not found",
			    m.offset, m.size, where[k].offset, where[k].size);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(us_btf_size(b, us_btf_struct(b, "task_struct")),
			 sizeof(struct task_struct));
	assert_int_equal(us_btf_size(b, us_btf_struct(b, "page")), sizeof(struct page));
}

/* All that is read of a kernel is among the structs that are asked for. */
static void say_all(const struct us_btf *b)
{
	const struct us_kallsyms none = { 0 };
	const struct us_linux_arch *arch = us_linux_arch(US_ARCH_X86_64);
	struct us_linux_tasks_layout tasks;
	struct us_linux_who_layout who;
	struct us_linux_mappings_layout mappings;
	struct us_page_cache_layout cache;
	assert_true(us_linux_tasks_layout(b, &none, arch, &tasks));
	assert_true(tasks.has_cpu && tasks.has_names && tasks.lists_switches);
	assert_int_equal(tasks.stack_size, sizeof(union thread_union));
	assert_int_equal(tasks.pc, offsetof(struct inactive_task_frame, ret_addr));
	assert_true(us_linux_who_layout(b, &none, &tasks, &who));
	assert_true(who.has_inner && who.has_cgroup && who.runtime);
	assert_true(who.has_controllers && who.n_subsys == 14);
	assert_true(us_linux_mappings_layout(b, &mappings));
	assert_true(mappings.tree && mappings.has_vdso);
	assert_true(us_page_cache_layout(b, &cache));
	assert_int_equal(cache.page_size, sizeof(struct page));
}

/* The kernel's file is found, and its types say where the members are. */
static void read_types_of(const char *name)
{
	struct bed *b = open_bed(name);
	struct us_btf types;
	uint8_t *bytes;
	const char *why = "";
	assert_int_equal(find(b, 0), 0);
	assert_ptr_equal(b->found.image, b->image);
	assert_int_equal(b->found.bias, BIAS);
	assert_int_equal(us_vmlinux_types(&b->found, &types, &bytes, &why), 0);
	are_where(&types, name);
	say_all(&types);
	us_btf_close(&types);
	free(bytes);
	close_bed(b);
}

#define BUILD_ID "--build-id"

static void by_compiler(const char *cc, const char *const *flags, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		need_kernel(cc, flags[k], BUILD_ID, "kernel");
		read_types_of("kernel");
	}
}

static void types_of_gcc(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"-g -gdwarf-5",		  "-g -gdwarf-4",
		"-g -gdwarf-3",		  "-g -gdwarf-5 -gz=zlib",
		"-g -gdwarf-5 -gdwarf64", "-g -gdwarf-4 -fdebug-types-section"
	};
	by_compiler("gcc", flags, sizeof(flags) / sizeof(flags[0]));
}

static void types_of_clang(void **state)
{
	(void)state;
	static const char *const flags[] = { "-g -gdwarf-5", "-g -gdwarf-4" };
	by_compiler("clang-14", flags, sizeof(flags) / sizeof(flags[0]));
}

/* What Linux's build makes of the same DWARF, of every member that the test knows. */
static void types_of_pahole(void **state)
{
	(void)state;
	struct us_elf_file f;
	struct us_btf b;
	need("pahole --version >/dev/null 2>&1");
	need_kernel("gcc", "-g -gdwarf-5", BUILD_ID, "kernel");
	need("pahole -J kernel 2>/dev/null");
	assert_int_equal(us_elf_file_open(in_work_dir("kernel"), &f, NULL), 0);
	const struct us_elf_section *s = us_elf_file_section(&f, ".BTF");
	assert_non_null(s);
	assert_int_equal(us_btf_open(f.bytes + s->offset, s->size, &b), 0);
	are_where(&b, "pahole");
	say_all(&b);
	us_btf_close(&b);
	us_elf_file_close(&f);
	read_types_of("kernel");
}

static int why_not(struct bed *b, const char **ret_why)
{
	struct us_btf types;
	uint8_t *bytes;
	return us_vmlinux_types(&b->found, &types, &bytes, ret_why);
}

/* Each says what it lacks. */
static void types_missing(void **state)
{
	(void)state;
	static const struct {
		const char *how, *said;
	} all[] = {
		{ "strip -g kernel -o other", "has no debug information (DWARF)" },
		{ "objcopy --rename-section .debug_str=.debug_other kernel other",
		  "has debug information without task_struct" },
	};
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		const char *why = "";
		need_kernel("gcc", "-g", BUILD_ID, "kernel");
		need("%s", all[k].how);
		struct bed *b = open_bed("other");
		assert_int_equal(find(b, 0), 0);
		assert_int_equal(why_not(b, &why), -ENOENT);
		assert_string_equal(why, all[k].said);
		close_bed(b);
	}
}

/* Only the build that runs, wherever it lies. */
static void which_file(void **state)
{
	(void)state;
	need_kernel("gcc", "-g", BUILD_ID, "kernel");
	struct bed *b = open_bed("kernel");
	us_gva text = us_elf_image_file(b->image)->code[0].start + BIAS;
	assert_int_equal(find(b, text), 0);
	assert_int_equal(b->found.bias, BIAS);
	us_vmlinux_close(&b->found);
	/* A table of functions alone may know the other name of its text. */
	assert_int_equal(find(b, text + 64), 0);
	assert_int_equal(b->found.bias, BIAS);
	us_vmlinux_close(&b->found);
	/* Not where its text is said to be; and nowhere in a smaller place. */
	assert_int_equal(find(b, text + 4096), -ENOENT);
	assert_string_equal(b->found.another, "kernel");
	b->place.start += 4096;
	assert_int_equal(find(b, 0), -ENOENT);
	b->place.start -= 4096;
	/* Of another build. */
	b->memory[us_elf_image_build_id_at(b->image) - LINKED] ^= 1;
	assert_int_equal(find(b, 0), -ENOENT);
	assert_int_equal(find(b, text), -ENOENT);
	assert_string_equal(b->found.another, "kernel");
	close_bed(b);
	/* Without a build-id its code tells, where it is known to be. */
	need_kernel("gcc", "-g", "--build-id=none", "kernel");
	b = open_bed("kernel");
	assert_int_equal(find(b, 0), -ENOENT);
	assert_int_equal(find(b, text), 0);
	us_vmlinux_close(&b->found);
	memset(b->memory + (text - LINKED - BIAS), 0xcc, 4096);
	assert_int_equal(find(b, text), -ENOENT);
	close_bed(b);
}

/* A program is no kernel, whatever memory has. */
static void not_a_kernel(void **state)
{
	(void)state;
	need_kernel("gcc", "-g -D_text=text -Dinit_task=first", BUILD_ID, "kernel");
	struct bed *b = open_bed("kernel");
	assert_int_equal(find(b, 0), -ENOENT);
	assert_null(b->found.another);
	close_bed(b);
	need_kernel("gcc", "-g", BUILD_ID, "kernel");
	need("strip kernel");
	b = open_bed("kernel");
	assert_int_equal(find(b, 0), -ENOENT);
	close_bed(b);
}

static char letter(const struct us_kallsyms *k, const char *name)
{
	const struct us_kallsym *s = us_kallsyms_named(k, name);
	return s ? s->type : '\0';
}

static void symbols(void **state)
{
	(void)state;
	need_kernel("gcc", "-g", BUILD_ID, "kernel");
	struct bed *b = open_bed("kernel");
	const struct us_kallsyms *k = &b->found.symbols;
	us_gva end;
	assert_int_equal(find(b, 0), 0);
	for (size_t i = 1; i < k->n; i++)
		assert_true(k->v[i - 1].addr <= k->v[i].addr);
	assert_int_equal(letter(k, "work"), 'T');
	assert_int_equal(letter(k, "init_task"), 'D');
	assert_int_equal(letter(k, "in_file"), 'd');
	assert_null(us_kallsyms_named(k, "k.c"));
	/* A place in each CPU's area, which moves with nothing. */
	assert_int_equal(us_kallsyms_address(k, "a_cpu_s"), 0x40);
	us_gva at = us_kallsyms_address(k, "work");
	assert_true(at > LINKED + BIAS && at < LINKED + BIAS + MEM_SIZE);
	assert_string_equal(us_kallsym_name(k, us_kallsyms_find(k, at + 3, &end)),
			    "work");
	assert_null(us_kallsyms_find(k, us_kallsyms_address(k, "in_file"), &end));
	const char *task = (const char *)b->memory +
			   (us_kallsyms_address(k, "init_task") - LINKED - BIAS);
	assert_string_equal(task + offsetof(struct task_struct, comm), "swapper");
	close_bed(b);
}

/* Of one file after the other a byte of its debug information is another. */
static void damaged(void **state)
{
	(void)state;
	static const char *const names[] = { "task_struct", "mm_struct", "folio",
					     "pid" };
	static const char *const sections[] = { ".debug_info", ".debug_abbrev",
						".debug_str" };
	struct us_dwarf_types t;
	struct us_elf_file f;
	size_t size;
	need_kernel("gcc", "-g -gdwarf-5", BUILD_ID, "kernel");
	uint8_t *all = load_file("kernel", &size);
	assert_int_equal(us_elf_file_open(in_work_dir("kernel"), &f, NULL), 0);
	uint32_t seed = 1;
	unsigned found = 0;
	for (unsigned k = 0; k < FLIPS; k++) {
		const struct us_elf_section *s = us_elf_file_section(&f,
								     sections[k % 3]);
		struct us_elf_file g = f;
		seed = seed * 1664525 + 1013904223;
		size_t at = s->offset + (seed >> 8) % s->size;
		struct us_btf b;
		g.area = malloc(f.area_size);
		assert_non_null(g.area);
		memcpy(g.area, f.area, f.area_size);
		g.area[US_ELF_SPARE + at] ^= (uint8_t)(1 + (seed & 0x7f));
		g.bytes = g.area + US_ELF_SPARE;
		if (us_dwarf_types_read(&g, names, 4, &t) == 0 &&
		    us_btf_open(t.bytes, t.size, &b) == 0) {
			found += us_btf_struct(&b, "task_struct") != 0;
			us_btf_close(&b);
		}
		free(t.bytes);
		free(g.area);
	}
	assert_in_range(found, FLIPS / 4, FLIPS - 1);
	us_elf_file_close(&f);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_of_gcc),	   cmocka_unit_test(types_of_clang),
		cmocka_unit_test(types_of_pahole), cmocka_unit_test(types_missing),
		cmocka_unit_test(which_file),	   cmocka_unit_test(not_a_kernel),
		cmocka_unit_test(symbols),	   cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, begin, leave_work_dir);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with symbols beside an image that has none: found where builds leave them, and
 * taken only if they are of the same build. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/beside.h"
#include "symbol/beside_walk.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
	"static volatile int sink;\n"
	"#define ROUND(n) for (int i = 0; i < (n); i++) sink = sink * x - VALUE + i;\n"
	"__attribute__((noinline)) int work(int x) { ROUND(9) ROUND(x) return x; }\n"
	"__attribute__((noinline)) int more(int x) { ROUND(x) ROUND(7) return sink; }\n"
	"void _start(void) { for (;;) sink = work(VALUE) + more(sink); }\n";

/* full: the linked kernel; other: of another build, as large; both in src/, and nothing
 * of theirs elsewhere. */
static void build(const char *id)
{
	need("rm -rf * && mkdir -p src os/build/deep/boot os/.debug");
	write_file("src/a.c", source, sizeof(source) - 1);
	for (int value = 1; value <= 2; value++)
		need("cd src && cc -g -O1 -static -nostdlib -fno-pie -no-pie "
		     "-Wl,--build-id=%s -DVALUE=%d -o %s a.c",
		     id, value, value == 1 ? "full" : "other");
}

/* "NAME how" of what is found, or "none", or "none, not NAME". */
static const char *found(const char *image)
{
	static char text[256];
	struct us_elf_file f = { 0 };
	struct us_beside b;
	struct us_err e;
	bool elf = us_elf_file_open(in_work_dir(image), &f, &e) == 0;
	int r = us_beside_find(in_work_dir(image), elf ? &f : NULL, &b);
	size_t from = strlen(work_dir) + 1;
	assert_int_equal(r, b.n ? 0 : -ENOENT);
	if (b.n)
		snprintf(text, sizeof(text), "%s: %s%s", b.v[0].path + from,
			 us_beside_match_name(b.v[0].match), b.n > 1 ? ", more" : "");
	else
		snprintf(text, sizeof(text), "none%s%s", b.refused ? ", not " : "",
			 b.refused ? b.refused + from : "");
	us_beside_fini(&b);
	us_elf_file_close(&f);
	return text;
}

#define FOUND(image, text) assert_string_equal(found(image), text)

static void stripped_beside_its_symbols(void **state)
{
	(void)state;
	static const struct {
		const char *image, *symbols;
	} names[] = {
		{ "os/app", "os/app.dbg" },
		{ "os/kernel", "os/kernel.debug" },
		{ "os/kernel", "os/.debug/kernel.debug" },
		{ "os/kernel.elf", "os/kernel" },
		{ "os/loader-stripped.elf", "os/loader.elf" },
		{ "os/x_qemu-x86_64", "os/x_qemu-x86_64.dbg" },
		{ "os/kernel.elf", "os/build/deep.elf" },
		{ "os/build/deep/boot/image", "os/vmlinux" },
		{ "os/build/kernel.stripped", "os/kernel.sym" },
	};
	build("none");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char want[128];
		snprintf(want, sizeof(want), "%s: the same code", names[i].symbols);
		need("strip -o %s src/full && cp src/full %s", names[i].image,
		     names[i].symbols);
		FOUND(names[i].image, want);
		need("cp src/other %s", names[i].symbols);
		assert_int_equal(strncmp(found(names[i].image), "none", 4), 0);
		need("rm %s %s", names[i].image, names[i].symbols);
	}
}

/* An .iso at the top of the project, and where Zig, cargo, meson and others put the
 * kernel. */
static void where_builds_leave_it(void **state)
{
	(void)state;
	static const char *const folders[] = {
		"os/kernel/zig-out/bin",
		"os/zig-out/bin",
		"os/target/x86_64-unknown-none/release",
		"os/kernel/target/x86_64-kernel",
		"os/builddir",
		"os/bin-x86_64",
		"os/cmake-build-debug",
		"os/build-arm64/kernel",
	};
	build("none");
	need("(head -c 100000 /dev/zero; cat src/full; echo end) > os/os.iso");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char want[128];
		snprintf(want, sizeof(want), "%s/krnl: the same code", folders[i]);
		need("mkdir -p %s && cp src/full %s/krnl", folders[i], folders[i]);
		FOUND("os/os.iso", want);
		need("rm %s/krnl", folders[i]);
	}
	need("mkdir -p os/any-thing && cp src/full os/any-thing/krnl");
	FOUND("os/os.iso", "none");
}

/* Objects are no images, and the folder comes before those in it. */
static void among_many_objects(void **state)
{
	(void)state;
	build("none");
	need("mkdir -p os/obj && cc -DVALUE=1 -c -o src/a.o src/a.c && "
	     "for i in $(seq 300); do cp src/a.o os/obj/$i.o; done && "
	     "for i in $(seq 300); do cp src/other os/obj/$i.elf; done && "
	     "(head -c 100000 /dev/zero; cat src/full; echo end) > os/os.iso && "
	     "cp src/full os/zz.elf");
	FOUND("os/os.iso", "os/zz.elf: the same code, more");
	need("rm os/zz.elf os/obj/*.elf && cp src/full os/obj/krnl");
	FOUND("os/os.iso", "os/obj/krnl: the same code");
}

static void by_the_build_id_if_both_have_one(void **state)
{
	(void)state;
	build("sha1");
	need("strip -o os/app src/full && "
	     "objcopy --only-keep-debug src/full os/build/any.debug && "
	     "objcopy --only-keep-debug src/other os/app.debug");
	FOUND("os/app", "os/build/any.debug: the same build-id");
	need("rm os/build/any.debug");
	FOUND("os/app", "none, not os/app.debug");
}

/* Multiboot wants 32 bits, whatever the kernel is. */
static void boot_image_of_fewer_bits(void **state)
{
	(void)state;
	build("none");
	need("objcopy -O elf32-i386 src/full os/app32 && strip os/app32 && "
	     "cp src/full os/app.dbg");
	FOUND("os/app32", "os/app.dbg: the same code");
}

static void no_elf_file(void **state)
{
	(void)state;
	build("none");
	need("objcopy -O binary src/full os/kernel.bin && cp src/full os/kernel.elf && "
	     "cp src/other os/kernel-old.elf");
	FOUND("os/kernel.bin", "os/kernel.elf: the same code, more");
	/* As in an .iso or a disk: the file whole, somewhere. */
	need("rm os/kernel-old.elf && "
	     "(head -c 100000 /dev/zero; cat src/full; echo end) > os/os.iso && "
	     "cp os/kernel.elf os/build/copy.elf");
	FOUND("os/os.iso", "os/kernel.elf: the same code");
	/* Compressed in another way, it shows nothing: the guest has to. */
	need("bzip2 -c src/full > os/kernel.bz2");
	FOUND("os/kernel.bz2", "os/kernel.elf: nothing shows its build");
}

static void le32(FILE *f, long at, uint32_t v)
{
	fseek(f, at, SEEK_SET);
	fwrite(&v, sizeof(v), 1, f);
}

/* x86's boot image around a compressed file. */
static void bzimage(const char *packed, const char *image)
{
	struct stat st;
	FILE *f;
	need("(head -c 2560 /dev/zero; cat %s; head -c 999 /dev/zero) > %s", packed,
	     image);
	assert_int_equal(stat(in_work_dir(packed), &st), 0);
	f = fopen(in_work_dir(image), "r+");
	assert_non_null(f);
	le32(f, 0x1f0, 3 << 8); /* sectors of its start, but one */
	le32(f, 0x202, 0x53726448);
	le32(f, 0x248, 512); /* from the end of these */
	le32(f, 0x24c, (uint32_t)st.st_size);
	fclose(f);
}

/* gzip, xz, zstd. */
static bool is_built_in(unsigned form)
{
#ifndef US_HAVE_LZMA
	if (form == 1)
		return false;
#endif
#ifdef US_HAVE_ZSTD
	return form < 2 || !system("zstd --version >/dev/null 2>&1");
#else
	return form < 2;
#endif
}

static void a_boot_image_by_what_is_in_it(void **state)
{
	(void)state;
	static const char *const by[] = { "gzip -c", "xz --check=crc32 -c",
					  "zstd -qc" };
	for (unsigned i = 0; i < 2 * sizeof(by) / sizeof(*by); i++) {
		bool id = i % 2;
		build(id ? "sha1" : "none");
		if (!is_built_in(i / 2))
			continue;
		need("strip -o stripped src/full && %s stripped > packed && "
		     "mkdir -p os/arch/x86/boot && cp src/full os/vmlinux && "
		     "cp src/other os/vmlinux.old",
		     by[i / 2]);
		bzimage("packed", "os/arch/x86/boot/bzImage");
		FOUND("os/arch/x86/boot/bzImage", id ? "os/vmlinux: the same build-id"
						     : "os/vmlinux: the same code");
		need("cp packed os/Image.gz");
		FOUND("os/Image.gz", id ? "os/vmlinux: the same build-id"
					: "os/vmlinux: the same code");
		need("cp src/other os/vmlinux && mkdir -p b/boot && "
		     "cp os/arch/x86/boot/bzImage b/boot/vmlinuz-6.1.0 && "
		     "cp src/other b/boot/vmlinux-6.1.0");
		FOUND("b/boot/vmlinuz-6.1.0", "none, not b/boot/vmlinux-6.1.0");
		need("cp src/full b/boot/vmlinux-6.1.0-dbg");
		FOUND("b/boot/vmlinuz-6.1.0",
		      id ? "b/boot/vmlinux-6.1.0-dbg: the same build-id"
			 : "b/boot/vmlinux-6.1.0-dbg: the same code");
	}
}

/* Where distributions keep vmlinux depends on the version. */
static void the_version_of_a_packaged_kernel(void **state)
{
	(void)state;
	static const struct {
		const char *path, *version;
	} cases[] = {
		{ "/boot/vmlinuz-6.1.0-9-amd64", "6.1.0-9-amd64" },
		{ "vmlinuz-6.1", "6.1" },
		{ "/usr/lib/modules/6.17.1-300.fc43.x86_64/vmlinuz",
		  "6.17.1-300.fc43.x86_64" },
		{ "modules/6.1/vmlinuz", "6.1" },
		{ "/usr/lib/mymodules/6.1/vmlinuz", "" },
		{ "/usr/lib/modules/6.1/vmlinuz.old", "" },
		{ "/modules/vmlinuz", "" },
		{ "/vmlinuz", "" },
		{ "vmlinuz", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *version = "";
		size_t n = us_kernel_version_of(cases[i].path, &version);
		assert_int_equal(n, strlen(cases[i].version));
		assert_memory_equal(version, cases[i].version, n);
	}
}

/* An image for a processor that boots bytes. */
static void compressed_bytes(void **state)
{
	(void)state;
	build("none");
	need("objcopy -O binary src/full bytes && gzip -c bytes > os/Image.gz && "
	     "cp src/full os/vmlinux");
	FOUND("os/Image.gz", "os/vmlinux: the same code");
}

/* Its header lies, or what is in it is damaged. */
static void damaged_payloads(void **state)
{
	(void)state;
	build("none");
	need("gzip -c src/full > packed && cp src/full os/vmlinux");
	bzimage("packed", "os/bzImage");
	static const struct {
		long at;
		uint32_t v;
	} lies[] = { { 0x248, 0xffffffff }, { 0x248, 0x7fffffff }, { 0x24c, 0 },
		     { 0x24c, 40 },	    { 0x24c, 0xffffffff }, { 0x1f0, 0xff00 },
		     { 2560, 0x00088b1f },  { 2600, 0xdeadbeef } };
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		need("cp os/bzImage os/lie");
		FILE *f = fopen(in_work_dir("os/lie"), "r+");
		assert_non_null(f);
		le32(f, lies[i].at, lies[i].v);
		fclose(f);
		found("os/lie");
	}
	need("head -c 500 os/bzImage > os/lie");
	FOUND("os/lie", "os/vmlinux: nothing shows its build");
}

static void nothing_that_could_hang_or_mislead(void **state)
{
	(void)state;
	build("none");
	need("strip -o os/app src/full && mkfifo os/app.dbg && ln -s . os/build/out && "
	     "ln -s /dev/zero os/app.debug && ln -s nowhere os/app.sym && "
	     "head -c 600 src/full > os/app.elf && strip -o os/app.elf2 src/full");
	FOUND("os/app", "none");
	need("ln -s ../src/full os/app.sym2");
	FOUND("os/app", "os/app.sym2: the same code");
	FOUND("os/not-there", "none");
}

/* Files that lie near by chance: this program itself, and any beside a UEFI program,
 * whose code is not packed. */
static void nothing_that_cannot_be_it(void **state)
{
	static uint8_t image[4096];
	char own[512];
	(void)state;
	build("none");
	write_file("os/image", image, sizeof(image));
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	assert_true(n > 0);
	own[n] = '\0';
	assert_int_equal(symlink(own, in_work_dir("os/image.elf")), 0);
	FOUND("os/image", "none");
	need("rm os/image.elf && cp src/full os/tool");
	FOUND("os/image", "os/tool: nothing shows its build");
	memcpy(image, "MZ", 2);
	write_file("os/image", image, sizeof(image));
	FOUND("os/image", "none");
	need("cat src/full >>os/image"); /* as gnu-efi's objcopy: all code of it */
	FOUND("os/image", "os/tool: the same code");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stripped_beside_its_symbols),
		cmocka_unit_test(where_builds_leave_it),
		cmocka_unit_test(among_many_objects),
		cmocka_unit_test(by_the_build_id_if_both_have_one),
		cmocka_unit_test(boot_image_of_fewer_bits),
		cmocka_unit_test(no_elf_file),
		cmocka_unit_test(a_boot_image_by_what_is_in_it),
		cmocka_unit_test(the_version_of_a_packaged_kernel),
		cmocka_unit_test(compressed_bytes),
		cmocka_unit_test(damaged_payloads),
		cmocka_unit_test(nothing_that_could_hang_or_mislead),
		cmocka_unit_test(nothing_that_cannot_be_it),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}

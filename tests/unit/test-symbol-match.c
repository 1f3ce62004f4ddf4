/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is this the ELF that the guest runs?  Against made-up guest memory. */
#include "unit.h"

#include "symbol/image_find.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_AT	 0x100000 /* where it is linked */
#define TEXT_LEN 0x40000
#define BIAS	 0x200000

struct note {
	Elf64_Nhdr header;
	char name[4];
	uint8_t id[20];
};

struct bed {
	uint8_t *text;	/* of the file */
	uint8_t *guest; /* gpa TEXT_AT + BIAS on */
	struct us_elf_image *image;
	struct us_region region[2];
	struct us_mem mem;
	struct us_paging paging;
	struct us_image_match match;
	bool same;
};

/* One segment of random bytes, no sections.  note: where in it the build-id's note is;
 * 0: it has none. */
static struct us_elf_image *make_noted(const uint8_t *text, size_t len, uint32_t flags,
				       uint64_t note)
{
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_phoff = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = note ? 2 : 1 };
	Elf64_Phdr p[2] = { { .p_type = PT_LOAD,
			      .p_flags = flags,
			      .p_offset = sizeof(h) + sizeof(p),
			      .p_vaddr = TEXT_AT,
			      .p_filesz = len,
			      .p_memsz = len },
			    { .p_type = PT_NOTE,
			      .p_offset = sizeof(h) + sizeof(p) + note,
			      .p_vaddr = TEXT_AT + note,
			      .p_filesz = sizeof(struct note),
			      .p_align = 4 } };
	struct us_elf_image *i = NULL;
	char path[64];
	int fd = memfd_create("image", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	assert_int_equal(write(fd, p, sizeof(p)), sizeof(p));
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(us_elf_image_open(path, &i, NULL), 0);
	close(fd);
	return i;
}

static struct us_elf_image *make_image(const uint8_t *text, size_t len)
{
	return make_noted(text, len, PF_R | PF_X, 0);
}

static void make_bed(struct bed *b, size_t len)
{
	memset(b, 0, sizeof(*b));
	b->text = malloc(TEXT_LEN);
	b->guest = malloc(TEXT_LEN);
	assert_true(b->text && b->guest);
	uint32_t seed = 7;
	for (size_t i = 0; i < TEXT_LEN; i++) {
		seed = seed * 1103515245 + 12345;
		b->text[i] = seed >> 24 & 0x3f;
	}
	memcpy(b->guest, b->text, TEXT_LEN);
	b->image = make_image(b->text, len);
	b->region[0] = (struct us_region){ .start = TEXT_AT + BIAS,
					   .size = TEXT_LEN,
					   .host = b->guest };
	b->mem = (struct us_mem){ .region = b->region, .n_region = 1 };
	us_mem_init(&b->mem);
	us_paging_init(&b->paging, &b->mem);
}

static void free_bed(struct bed *b)
{
	us_elf_image_close(b->image);
	free(b->text);
	free(b->guest);
}

static bool compare(struct bed *b, us_gva at)
{
	static const struct us_space identity = { .mode = US_PAGING_OFF };
	us_paging_new_sample(&b->paging);
	return us_elf_image_compare(b->image, BIAS, at, &b->paging, &identity,
				    &b->match, &b->same);
}

static void equal_and_patched(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	assert_true(compare(&b, TEXT_AT + BIAS + 0x1234));
	assert_true(b.same);
	assert_int_equal(b.match.compared, 65);
	assert_int_equal(b.match.equal, 65);
	assert_int_equal(b.match.unmapped, 0);
	/* As Linux does: 5 bytes at the start and 5 at the end of each function. */
	for (size_t i = 0; i + 64 < TEXT_LEN; i += 64)
		memset(b.guest + i, 0x90, 10);
	assert_true(compare(&b, 0));
	assert_true(b.same);
	assert_int_equal(b.match.equal, 64);
	free_bed(&b);
}

static void not_the_same(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	memset(b.guest, 0, TEXT_LEN);
	assert_true(compare(&b, 0));
	assert_false(b.same);
	assert_int_equal(b.match.equal, 0);
	/* The same code 16 bytes further, as in another build. */
	memcpy(b.guest + 16, b.text, TEXT_LEN - 16);
	assert_true(compare(&b, 0));
	assert_false(b.same);
	assert_int_equal(b.match.equal, 0);
	/* Another build that differs from a third of the way on. */
	memcpy(b.guest, b.text, TEXT_LEN / 3);
	assert_true(compare(&b, 0));
	assert_false(b.same);
	assert_true(b.match.equal > 15 && b.match.equal < 25);
	free_bed(&b);
}

static void boot_code_is_gone(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	memset(b.guest, 0, TEXT_LEN / 8); /* freed and used for something else */
	assert_true(compare(&b, 0));
	assert_true(b.same);
	assert_int_equal(b.match.compared - b.match.equal, 8);
	/* Or unmapped. */
	b.region[0].start += TEXT_LEN / 2;
	b.region[0].size -= TEXT_LEN / 2;
	b.region[0].host += TEXT_LEN / 2;
	assert_true(compare(&b, TEXT_AT + BIAS + TEXT_LEN - 1));
	assert_true(b.same);
	assert_int_equal(b.match.unmapped, 32);
	free_bed(&b);
}

static void too_little_to_judge(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	b.region[0].size = TEXT_LEN / 64 * 7; /* 7 pieces */
	assert_false(compare(&b, 0));
	assert_int_equal(b.match.compared, 7);
	assert_int_equal(b.match.unmapped, 57);
	b.region[0].size = TEXT_LEN / 64 * 8;
	assert_true(compare(&b, 0));
	/* In firmware: what little is mapped is not the kernel's yet. */
	memset(b.guest, 0, TEXT_LEN);
	b.region[0].size = TEXT_LEN / 64 * 31;
	assert_false(compare(&b, 0));
	b.region[0].size = TEXT_LEN / 64 * 32;
	assert_true(compare(&b, 0));
	assert_false(b.same);
	b.mem.n_region = 0;
	assert_false(compare(&b, 0));
	assert_int_equal(b.match.compared, 0);
	free_bed(&b);
}

/* Little is mapped, but the guest executes something else there. */
static void executes_other_code(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	b.region[0].size = TEXT_LEN / 64 * 12;
	memset(b.guest, 0xf4, TEXT_LEN);
	assert_false(compare(&b, 0));
	assert_true(compare(&b, TEXT_AT + BIAS + 0x1234));
	assert_false(b.same);
	/* Even if that page alone is mapped. */
	b.region[0].size = 0x2000;
	assert_false(compare(&b, 0));
	assert_true(compare(&b, TEXT_AT + BIAS + 0x1234));
	assert_false(b.same);
	/* Not where it executes code outside of the image, or nothing is mapped. */
	assert_false(compare(&b, TEXT_AT + BIAS - 0x1000));
	assert_false(compare(&b, TEXT_AT + BIAS + 0x5000));
	/* A kernel that patched two fifths of what it executes: this tells little. */
	memcpy(b.guest, b.text, TEXT_LEN);
	for (size_t i = 0; i < 0x2000; i += 10)
		memset(b.guest + i, 0x90, 4);
	assert_false(compare(&b, TEXT_AT + BIAS + 0x1234));
	free_bed(&b);
}

static void put_note(uint8_t *text, uint64_t at, uint8_t id)
{
	struct note n = { { 4, sizeof(n.id), NT_GNU_BUILD_ID }, "GNU", { id } };
	memcpy(text + at, &n, sizeof(n));
}

/* An image whose note is at NOTE_AT, of a guest that has none there. */
#define NOTE_AT 0x5010
static void make_noted_bed(struct bed *b, uint32_t flags)
{
	make_bed(b, TEXT_LEN);
	us_elf_image_close(b->image);
	put_note(b->text, NOTE_AT, 1);
	put_note(b->text, NOTE_AT + 0x800, 9); /* of a file that it holds */
	put_note(b->guest, NOTE_AT + 0x800, 9);
	b->image = make_noted(b->text, TEXT_LEN, flags, NOTE_AT);
}

static bool is_same_with_note(struct bed *b, int64_t off, uint8_t id)
{
	uint8_t old[sizeof(struct note)], *at = b->guest + NOTE_AT + off;
	memcpy(old, at, sizeof(old));
	put_note(b->guest, (uint64_t)(NOTE_AT + off), id);
	assert_true(compare(b, 0));
	memcpy(at, old, sizeof(old));
	assert_int_equal(b->match.other_build, !b->same);
	return b->same;
}

static void another_build_moved_its_note(void **state)
{
	static const int64_t off[] = { -0x3000, -0x18, 4,     0x2c,
				       0x3e4,	0x400, 0xfd0, 0x3f00 };
	(void)state;
	struct bed b;
	make_noted_bed(&b, PF_R | PF_X);
	assert_true(compare(&b, 0)); /* discarded */
	assert_true(b.same);
	assert_true(is_same_with_note(&b, 0, 1));
	assert_false(is_same_with_note(&b, 0, 2));
	for (size_t k = 0; k < sizeof(off) / sizeof(*off); k++) {
		assert_true(is_same_with_note(&b, off[k], 1));
		assert_false(is_same_with_note(&b, off[k], 2));
	}
	assert_true(is_same_with_note(&b, 0x10000, 2)); /* far away */
	free_bed(&b);
	/* What was freed may hold anything. */
	make_noted_bed(&b, PF_R | PF_W | PF_X);
	assert_true(is_same_with_note(&b, 0x2c, 2));
	assert_false(is_same_with_note(&b, 0, 2));
	free_bed(&b);
}

static void small_image(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, 300); /* two pieces, and a crumb */
	assert_true(compare(&b, 0));
	assert_true(b.same);
	assert_int_equal(b.match.compared, 2);
	free_bed(&b);
	make_bed(&b, 40);
	assert_true(compare(&b, 0));
	assert_true(b.same);
	assert_int_equal(b.match.compared, 1);
	b.guest[3] ^= 1;
	assert_true(compare(&b, 0));
	memset(b.guest, 0xff, 40);
	assert_true(compare(&b, 0));
	assert_false(b.same);
	free_bed(&b);
}

/* Padding would be equal in any guest. */
static void padding_tells_nothing(void **state)
{
	(void)state;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	us_elf_image_close(b.image);
	memset(b.text, 0, TEXT_LEN);
	memset(b.guest, 0, TEXT_LEN);
	b.image = make_image(b.text, TEXT_LEN);
	assert_false(compare(&b, TEXT_AT + BIAS));
	assert_int_equal(b.match.compared, 0);
	us_elf_image_close(b.image);
	b.text[TEXT_LEN / 2 + 300] = 1; /* one piece that is not padding */
	b.image = make_image(b.text, TEXT_LEN);
	assert_true(compare(&b, 0));
	assert_int_equal(b.match.compared, 1);
	free_bed(&b);
}

/* Windows around some program counters of the guest. */
static size_t look_around(struct bed *b, struct us_find_window *w, size_t n)
{
	static const struct us_space identity = { .mode = US_PAGING_OFF };
	size_t have = 0;
	us_paging_new_sample(&b->paging);
	for (size_t k = 0; k < n; k++)
		have += us_find_window_read(&w[have], &b->paging, &identity,
					    TEXT_AT + BIAS + 0x1235 + k * 0x3211);
	return have;
}

static void found_where_it_is(void **state)
{
	(void)state;
	struct us_find_window w[8];
	struct us_image_found f;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	assert_int_equal(look_around(&b, w, 8), 8);
	assert_true(us_elf_image_search(b.image, w, 8, false, &f));
	assert_int_equal(f.bias, BIAS);
	assert_int_equal(f.votes, 8);
	assert_int_equal(f.others, 0);
	/* Patched: each tenth byte. */
	for (size_t i = 0; i < TEXT_LEN; i += 10)
		b.guest[i] ^= 0x55;
	look_around(&b, w, 8);
	assert_true(us_elf_image_search(b.image, w, 8, false, &f));
	assert_int_equal(f.votes, 8);
	/* At an odd place: only the search at every byte finds it. */
	memcpy(b.guest + 37, b.text, TEXT_LEN - 37);
	look_around(&b, w, 8);
	assert_false(us_elf_image_search(b.image, w, 8, false, &f));
	assert_true(us_elf_image_search(b.image, w, 8, true, &f));
	assert_int_equal(f.bias, BIAS + 37);
	assert_int_equal(f.votes, 8);
	free_bed(&b);
}

static void never_a_guess(void **state)
{
	(void)state;
	struct us_find_window w[8];
	struct us_image_found f;
	struct bed b;
	make_bed(&b, TEXT_LEN);
	us_elf_image_close(b.image);
	/* The text is there twice in the file: no window tells which. */
	memcpy(b.text + TEXT_LEN / 2, b.text, TEXT_LEN / 2);
	b.image = make_image(b.text, TEXT_LEN);
	assert_int_equal(look_around(&b, w, 8), 8);
	assert_false(us_elf_image_search(b.image, w, 8, false, &f));
	assert_false(us_elf_image_search(b.image, w, 8, true, &f));
	us_elf_image_close(b.image);
	/* Half of the windows say one place and half another. */
	for (size_t i = 0; i < TEXT_LEN; i++)
		b.text[i] = b.guest[i];
	memcpy(b.guest + 4096, b.text, TEXT_LEN / 2);
	b.image = make_image(b.text, TEXT_LEN);
	b.region[0].size = TEXT_LEN;
	look_around(&b, w, 8);
	memcpy(b.guest, b.text, TEXT_LEN);
	look_around(&b, w, 4);
	assert_true(us_elf_image_search(b.image, w, 8, false, &f));
	assert_true(f.ambiguous);
	/* Code that is not the image's, and bytes that tell nothing. */
	for (size_t i = 0; i < TEXT_LEN; i++)
		b.guest[i] = (uint8_t)(b.text[i] * 7 + i);
	assert_int_equal(look_around(&b, w, 8), 8);
	assert_false(us_elf_image_search(b.image, w, 8, true, &f));
	memset(b.guest, 0x90, TEXT_LEN);
	assert_int_equal(look_around(&b, w, 8), 0);
	assert_false(us_elf_image_search(b.image, w, 0, true, &f));
	free_bed(&b);
}

/* Checked again and again: a change is seen, sooner or later. */
static void checked_again(void **state)
{
	static const struct us_space identity = { .mode = US_PAGING_OFF };
	(void)state;
	struct bed b;
	unsigned differs = 0;
	make_bed(&b, TEXT_LEN);
	us_paging_new_sample(&b.paging);
	for (unsigned turn = 0; turn < 100; turn++)
		assert_int_equal(us_elf_image_check(b.image, BIAS, 0, turn, &b.paging,
						    &identity),
				 US_CHECK_SAME);
	memset(b.guest + TEXT_LEN / 3, 0, TEXT_LEN / 16);
	us_paging_new_sample(&b.paging);
	for (unsigned turn = 0; turn < 64; turn++)
		differs += us_elf_image_check(b.image, BIAS, 0, turn, &b.paging,
					      &identity) == US_CHECK_DIFFERS;
	assert_true(differs >= 4);
	assert_int_equal(us_elf_image_check(b.image, BIAS,
					    TEXT_AT + BIAS + TEXT_LEN / 3 + 500, 0,
					    &b.paging, &identity),
			 US_CHECK_DIFFERS);
	assert_int_equal(us_elf_image_check_at(b.image, BIAS,
					       TEXT_AT + BIAS + TEXT_LEN / 3 + 500,
					       &b.paging, &identity),
			 US_CHECK_DIFFERS);
	assert_int_equal(us_elf_image_check_at(b.image, BIAS, TEXT_AT + BIAS, &b.paging,
					       &identity),
			 US_CHECK_SAME);
	assert_int_equal(
		us_elf_image_check_at(b.image, BIAS, TEXT_AT - 1, &b.paging, &identity),
		US_CHECK_UNKNOWN);
	b.mem.n_region = 0;
	us_paging_new_sample(&b.paging);
	assert_int_equal(us_elf_image_check(b.image, BIAS, 0, 0, &b.paging, &identity),
			 US_CHECK_UNKNOWN);
	free_bed(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_and_patched),
		cmocka_unit_test(not_the_same),
		cmocka_unit_test(boot_code_is_gone),
		cmocka_unit_test(too_little_to_judge),
		cmocka_unit_test(executes_other_code),
		cmocka_unit_test(another_build_moved_its_note),
		cmocka_unit_test(small_image),
		cmocka_unit_test(padding_tells_nothing),
		cmocka_unit_test(found_where_it_is),
		cmocka_unit_test(never_a_guess),
		cmocka_unit_test(checked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is this the ELF that the guest runs?  Against made-up guest memory. */
#include "unit.h"

#include "symbol/elf_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_AT	 0x100000 /* where it is linked */
#define TEXT_LEN 0x40000
#define BIAS	 0x200000

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

/* One segment of random bytes, no sections. */
static struct us_elf_image *make_image(const uint8_t *text, size_t len)
{
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_phoff = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1 };
	Elf64_Phdr p = { .p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = sizeof(h) + sizeof(p),
			 .p_vaddr = TEXT_AT,
			 .p_filesz = len,
			 .p_memsz = len };
	struct us_elf_image *i = NULL;
	char path[64];
	int fd = memfd_create("image", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write(fd, &h, sizeof(h)), sizeof(h));
	assert_int_equal(write(fd, &p, sizeof(p)), sizeof(p));
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(us_elf_image_open(path, &i, NULL), 0);
	close(fd);
	return i;
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_and_patched),
		cmocka_unit_test(not_the_same),
		cmocka_unit_test(boot_code_is_gone),
		cmocka_unit_test(too_little_to_judge),
		cmocka_unit_test(small_image),
		cmocka_unit_test(padding_tells_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

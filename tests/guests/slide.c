/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slide.c: an image that moves itself.
 */
#include "machine.h"
#include "paging.h"
#include "text.h"

u64 image_slide;

/* The pages are the same ones: what is written here is there.  (The address of data is
 * partly in the code, and stays what it was.) */
void slide_image(void)
{
	static struct text line;
	extern char text_start[], image_top[];
	u64 slide = SLIDE_BASE + (read_tsc() * 0x9e3779b97f4a7c15 >> 55) * PAGE_SIZE;

	for (u64 page = (u64)text_start; page < (u64)image_top; page += PAGE_SIZE)
		map_page(page + slide, gpa_of((void *)page));
	image_slide = slide;
	line.len = 0;
	text_string(&line, "SLIDE ");
	text_hex(&line, slide);
	text_char(&line, '\n');
	serial_write(line.data, line.len);
}

/* Code may count addresses from its own: in data they are as they were linked. */
void hide_linked_text(void)
{
	extern char text_start[], text_end[];
	static char *volatile linked[] = { text_start, text_end };

	for (u64 page = (u64)linked[0]; page + PAGE_SIZE <= (u64)linked[1];
	     page += PAGE_SIZE) {
		*page_entry(page) = 0;
		flush_tlb_page(page);
	}
}

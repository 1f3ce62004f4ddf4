/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format.h: the numbers of the file format, for the writer, the reader and their
 * tests.  docs/format.md is the specification.
 */
#ifndef US_STORE_FORMAT_H
#define US_STORE_FORMAT_H

#include "store/store.h"

#define US_STORE_MAGIC	   "UNISCOPE" /* 8 bytes, no NUL */
#define US_STORE_VERSION   1U
#define US_STORE_HEAD	   16U	       /* magic, u32 version, u32 flags */
#define US_CHUNK_HEAD	   12U	       /* u32 type, u32 size, u32 crc32c */
#define US_CHUNK_WRITE_MAX (64U << 10) /* payload bytes that the writer makes */
#define US_CHUNK_READ_MAX  (16U << 20) /* payload bytes that a reader accepts */
#define US_FACT_KEY_MAX	   64U	       /* bytes without the NUL */

#define US_FOURCC(a, b, c, d)                                                          \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum us_chunk_type {
	US_CHUNK_FACT = US_FOURCC('F', 'A', 'C', 'T'),
	US_CHUNK_MODULE = US_FOURCC('M', 'O', 'D', 'L'),
	US_CHUNK_PROCESS = US_FOURCC('P', 'R', 'O', 'C'),
	US_CHUNK_TASK = US_FOURCC('T', 'A', 'S', 'K'),
	US_CHUNK_WAITER = US_FOURCC('W', 'T', 'S', 'K'),
	US_CHUNK_WAITS = US_FOURCC('W', 'A', 'I', 'T'),
	US_CHUNK_WAIT_STATS = US_FOURCC('W', 'S', 'U', 'M'),
	US_CHUNK_PROGRAM_FILE = US_FOURCC('P', 'F', 'I', 'L'),
	US_CHUNK_MAPPING = US_FOURCC('P', 'M', 'A', 'P'),
	US_CHUNK_PROGRAM_SYMBOLS = US_FOURCC('P', 'S', 'Y', 'M'),
	US_CHUNK_IMAGE_SYMBOLS = US_FOURCC('I', 'S', 'Y', 'M'),
	US_CHUNK_FLAGS = US_FOURCC('F', 'L', 'A', 'G'),
	US_CHUNK_SYMBOLS = US_FOURCC('S', 'Y', 'M', 'B'),
	US_CHUNK_STACKS = US_FOURCC('S', 'T', 'A', 'K'),
	US_CHUNK_HOST_STACKS = US_FOURCC('H', 'S', 'T', 'K'),
	US_CHUNK_HOST_SAMPLES = US_FOURCC('H', 'S', 'A', 'M'),
	US_CHUNK_HOST_SYMBOLS = US_FOURCC('H', 'S', 'Y', 'M'),
	US_CHUNK_SAMPLES = US_FOURCC('S', 'A', 'M', 'P'),
	US_CHUNK_COUNTED = US_FOURCC('C', 'A', 'L', 'L'),
	US_CHUNK_EVENT_FUNCTIONS = US_FOURCC('E', 'F', 'U', 'N'),
	US_CHUNK_EVENTS = US_FOURCC('E', 'V', 'N', 'T'),
	US_CHUNK_EVENTS_UNTIL = US_FOURCC('E', 'T', 'I', 'L'),
	US_CHUNK_STATS = US_FOURCC('S', 'T', 'A', 'T'),
	US_CHUNK_END = US_FOURCC('E', 'N', 'D', ' '),
};

#define US_SYMBOL_MODULE_MAX 64U /* bytes without the NUL */
#define US_SYMBOL_NAME_MAX   1023U
#define US_PROGRAM_NAME_MAX  255U
#define US_MODULE_TAIL	     28U   /* bytes behind the path: u32, three u64 */
#define US_MODULE_TAIL_HASH  36U   /* ... and the hash of its code */
#define US_PROCESS_HEAD	     29U   /* bytes before the name: three u64, u32, u8 */
#define US_MAPPING_SIZE	     65U   /* bytes: two u32, seven u64, u8 */
#define US_PROCESS_NAME_MAX  63U   /* bytes without the NUL */
#define US_TASK_HEAD	     57U   /* bytes before the names */
#define US_TASK_CGROUP_MAX   255U  /* bytes without the NUL */
#define US_TASK_KERNEL	     1U	   /* of its flags */
#define US_WAITER_HEAD	     13U   /* bytes before the names: three u32, u8 */
#define US_WAIT_MAX	     26U   /* bytes: varints of 64, 8, 8, 32 and 32 bits */
#define US_TIME_UNIT_NS	     1000U /* of the times of samples */
#define US_STACKS_FIRST	     4U	   /* bytes before the first node: u32 first id */
/* All known flags. */
#define US_PC_FLAGS    (US_PC_USER | US_PC_EXACT | US_PC_SPACE | US_PC_EXIT | US_PC_TASK)
#define US_NODE_MAX    15U /* bytes: varint of 32 bits, varint of 64 bits */
#define US_FLAG_MAX    6U  /* bytes: varint of 32 bits, u8 */
#define US_SAMPLE_MAX  24U /* bytes: varints of 64, 23, 33 and 32 bits */
#define US_COUNTED_MAX 40U /* bytes: varints of 32 and three of 64 bits */
#define US_HOST_MAX    10U /* bytes: two varints of 32 bits */

/* The tag of a sample: end in bits 0 to 3, state in 4 to 6, vCPU from 7 on. */
#define US_TAG_END_BITS	  4
#define US_TAG_STATE_BITS 3
#define US_TAG_VCPU_SHIFT (US_TAG_END_BITS + US_TAG_STATE_BITS)

/* The statistics are stored in the order of the struct's members. */
#define US_STATS_FIELDS (sizeof(struct us_record_stats) / sizeof(uint64_t))
_Static_assert(US_STATS_FIELDS == 15, "docs/format.md has fifteen");
#define US_WAIT_STATS_FIELDS (sizeof(struct us_wait_stats) / sizeof(uint64_t))
_Static_assert(US_WAIT_STATS_FIELDS == 16, "docs/format.md has sixteen");
_Static_assert(US_N_END <= 1 << US_TAG_END_BITS, "does not fit the tag");
_Static_assert(US_N_VCPU_STATE <= 1 << US_TAG_STATE_BITS, "does not fit the tag");

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GDB remote packets. */
#include "unit.h"

#include "backend/gdb/client.h"

static struct us_gdb_parser parser;

static enum us_gdb_event feed(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	return us_gdb_parse(&parser, &at, at + strlen(text));
}

static void packets_are_decoded(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	assert_int_equal(feed("+"), US_GDB_ACK);
	assert_int_equal(feed("-"), US_GDB_NAK);
	assert_int_equal(feed("$OK#9a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "OK");
	assert_int_equal(feed("$O"), US_GDB_MORE);
	assert_int_equal(feed("K#9"), US_GDB_MORE);
	assert_int_equal(feed("A"), US_GDB_PACKET_END);
	assert_int_equal(feed("%Stop:T02#96"), US_GDB_NOTE);
	assert_int_equal(feed("$#00"), US_GDB_PACKET_END);
	assert_int_equal(parser.len, 0);
}

static void runs_and_escapes_are_undone(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	/* The GDB manual's example: "0* " is "0000". */
	assert_int_equal(feed("$0* #7a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "0000");
	assert_int_equal(feed("$a}\x03"
			      "b#43"),
			 US_GDB_PACKET_END);
	assert_string_equal(parser.body, "a#b");
}

static void broken_packets_are_refused(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	assert_int_equal(feed("$OK#9b"), US_GDB_BAD);
	assert_int_equal(feed("$OK#zz"), US_GDB_BAD);
	assert_int_equal(feed("$* #4a"), US_GDB_BAD); /* a run of nothing */
	assert_int_equal(feed("$lost$OK#9a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "OK");

	/* Longer than any packet may be, by bytes and by a bomb of runs. */
	assert_int_equal(feed("$"), US_GDB_MORE);
	for (unsigned i = 0; i <= US_GDB_PACKET / 8; i++)
		assert_int_equal(feed("00000000"), US_GDB_MORE);
	assert_int_equal(feed("#00"), US_GDB_BAD);
	assert_int_equal(feed("$0"), US_GDB_MORE);
	for (unsigned i = 0; i < 2000; i++)
		assert_int_equal(feed("*~"), US_GDB_MORE);
	assert_int_equal(feed("#00"), US_GDB_BAD);
	assert_true(parser.len <= US_GDB_PACKET);
	assert_int_equal(feed("$OK#9a"), US_GDB_PACKET_END);
}

static void stop_replies_are_told(void **state)
{
	(void)state;
	assert_int_equal(us_gdb_stop_kind("T02thread:01;", 13), US_GDB_STOPPED);
	assert_int_equal(us_gdb_stop_kind("S05", 3), US_GDB_STOPPED);
	assert_int_equal(us_gdb_stop_kind("W00", 3), US_GDB_GONE);
	assert_int_equal(us_gdb_stop_kind("X09", 3), US_GDB_GONE);
	assert_int_equal(us_gdb_stop_kind("OK", 2), US_GDB_NOT_STOP);
	assert_int_equal(us_gdb_stop_kind("4350", 4), US_GDB_NOT_STOP);
	assert_int_equal(us_gdb_stop_kind("T", 1), US_GDB_NOT_STOP);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_decoded),
		cmocka_unit_test(runs_and_escapes_are_undone),
		cmocka_unit_test(broken_packets_are_refused),
		cmocka_unit_test(stop_replies_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

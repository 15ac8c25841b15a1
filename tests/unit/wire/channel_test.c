/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"

#define LARGE 50000u /* bytes: they are not copied, and the stream takes them bit by bit */

static struct rogue r, server;
static uint8_t value[LARGE], sink[LARGE];

/* MK-I2, H4: not a reset, that would say nothing. */
static void a_newer_client_is_told_the_version(void **state)
{
    (void)state;
    uint8_t hello[61] = {'M', 'K', 'V', '1', 2, 1, [11] = 41, [20] = 1};
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    r.raw = true;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    rogue_send_bytes(&r, hello, sizeof hello);
    small_run(w, SECOND / 10);
    assert_int_equal(r.raw_received, 20);
    assert_true(r.closed);
    assert_int_equal(small_logged(w, PAIR_SERVER, "unsupported_version: it speaks a newer"), 1);
    small_world_free(w);
}

/* Two channels that are ready; the server's wants payload in `sink`. */
static struct small_world *joined(void)
{
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    memset(&server, 0, sizeof server);
    rogue_start(w, PAIR_SERVER, &server, WIRE_SERVER);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    assert_true(wire_channel_is_ready(r.channel));
    for (size_t i = 0; i < LARGE; i++)
        value[i] = (uint8_t)(i * 31 >> 3);
    memset(sink, 0, sizeof sink);
    server.sink = sink;
    return w;
}

static enum fabric_error send_bulk(uint64_t id, uint32_t length)
{
    const struct wire_message m = {.type = WIRE_BULK, .id = id, .length = length, .data = value};
    return rogue_send(&r, &m);
}

static void send_ping(void)
{
    assert_int_equal(rogue_send(&r, &(const struct wire_message){.type = WIRE_PING}), 0);
}

/* However short the stream is; and what follows it arrives too. */
static void a_payload_arrives_where_it_is_wanted(void **state)
{
    (void)state;
    struct small_world *w = joined();
    assert_int_equal(send_bulk(1, LARGE), 0);
    assert_true(wire_channel_is_sending(r.channel));
    assert_true(wire_channel_is_busy(r.channel));
    assert_in_range(wire_channel_queued(r.channel), LARGE - 3000, LARGE);
    assert_int_equal(send_bulk(2, LARGE), ERR_QUEUE_FULL); /* one after the other */
    assert_int_equal(send_bulk(3, 100), 0);                /* this one is copied */
    send_ping();
    small_run(w, SECOND / 10);
    assert_false(wire_channel_is_sending(r.channel));
    assert_int_equal(wire_channel_queued(r.channel), 0);
    assert_int_equal(server.sunk, LARGE + 100);
    assert_memory_equal(sink, value, LARGE);
    assert_non_null(rogue_last(&server, WIRE_PING));
    small_world_free(w);
}

static void a_payload_that_is_not_wanted_is_thrown_away(void **state)
{
    (void)state;
    struct small_world *w = joined();
    static const uint8_t nothing[LARGE];
    server.sink = NULL;
    assert_int_equal(send_bulk(1, LARGE), 0);
    send_ping();
    small_run(w, SECOND / 10);
    assert_int_equal(server.sunk, 0);
    assert_memory_equal(sink, nothing, LARGE);
    assert_non_null(rogue_last(&server, WIRE_BULK));
    assert_non_null(rogue_last(&server, WIRE_PING));
    assert_false(server.closed);
    small_world_free(w);
}

/* MK-A4: the receiver's memory is its own again in the middle of a payload. */
static void nothing_is_written_after_what_comes_is_discarded(void **state)
{
    (void)state;
    struct small_world *w = joined();
    assert_int_equal(send_bulk(1, LARGE), 0);
    small_run(w, SECOND / 20000);
    const size_t before = server.sunk;
    assert_in_range(before, 1, LARGE - 1);
    wire_channel_discard(server.channel);
    memset(sink, 0x55, sizeof sink);
    send_ping();
    small_run(w, SECOND / 10);
    for (size_t i = 0; i < LARGE; i++)
        assert_int_equal(sink[i], 0x55);
    assert_int_equal(server.sunk, before);
    assert_non_null(rogue_last(&server, WIRE_PING));
    small_world_free(w);
}

/* MK-A4: and so is the sender's, which may use it for something else. */
static void nothing_is_read_after_what_is_left_was_kept(void **state)
{
    (void)state;
    static uint8_t before[LARGE];
    struct small_world *w = joined();
    memcpy(before, value, LARGE);
    assert_int_equal(send_bulk(1, LARGE), 0);
    small_run(w, SECOND / 20000);
    assert_true(wire_channel_is_sending(r.channel));
    wire_channel_keep(r.channel);
    wire_channel_keep(r.channel); /* as often as one likes */
    memset(value, 0x55, sizeof value);
    send_ping();
    small_run(w, SECOND / 10);
    assert_int_equal(server.sunk, LARGE);
    assert_memory_equal(sink, before, LARGE);
    assert_non_null(rogue_last(&server, WIRE_PING));
    small_world_free(w);
}

/* In the middle of a payload it is no orderly end. */
static void a_stream_that_ends_inside_a_payload_is_named(void **state)
{
    (void)state;
    struct small_world *w = joined();
    static struct wire_message m;
    bool got;
    assert_int_equal(send_bulk(1, LARGE), 0);
    small_run(w, SECOND / 20000);
    r.holds = true;
    small_run(w, SECOND / 10);
    assert_in_range(server.sunk, 1, LARGE - 1);
    wire_channel_close(r.channel, false);
    r.channel = NULL;
    r.stream.id = 0;
    assert_int_equal(wire_channel_next(server.channel, &m, &got), ERR_FRAME_INVALID);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_client_is_told_the_version),
        cmocka_unit_test(a_payload_arrives_where_it_is_wanted),
        cmocka_unit_test(a_payload_that_is_not_wanted_is_thrown_away),
        cmocka_unit_test(nothing_is_written_after_what_comes_is_discarded),
        cmocka_unit_test(nothing_is_read_after_what_is_left_was_kept),
        cmocka_unit_test(a_stream_that_ends_inside_a_payload_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

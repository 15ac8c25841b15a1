/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/aborts.h"
#include "tests/support/little_stream.h"

#define SECOND UINT64_C(1000000000)

static struct little_stream little;

static int up(void **state)
{
    (void)state;
    little_stream_up(&little, 1);
    return 0;
}

static int down(void **state)
{
    (void)state;
    little_stream_down(&little);
    return 0;
}

static void open_one(void)
{
    little_stream_connect(&little);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].connected, 1);
    assert_non_null(little.ends[1].stream);
}

static enum fabric_error listen_at(const char *address, char *bound)
{
    struct stream_listener *listener;
    return stream_listen(little.b, address, &little.owner, 1, &listener, bound);
}

static void hosts_have_addresses_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(stream_host_name(little.a), "a");
    assert_int_equal(stream_host_address(little.a), 0x0a000001);
    assert_int_equal(stream_host_address(little.b), 0x0a000002);
    struct stream_host *c = stream_host_add(little.net, "c", 0x0a000003);
    struct stream_host *d = stream_host_add(little.net, "d", 0);
    assert_int_equal(stream_host_address(c), 0x0a000003);
    assert_int_equal(stream_host_address(d), 0x0a000004);
}

static void a_second_a(void *context)
{
    (void)context;
    stream_host_add(little.net, "a", 0);
}

static void the_address_of_a(void *context)
{
    (void)context;
    stream_host_add(little.net, "another", 0x0a000001);
}

static void names_and_addresses_are_unique(void **state)
{
    (void)state;
    assert_true(aborts(a_second_a, NULL));
    assert_true(aborts(the_address_of_a, NULL));
}

static void a_listener_is_bound_as_asked(void **state)
{
    char bound[FABRIC_NAME_MAX], again[FABRIC_NAME_MAX];
    (void)state;
    assert_int_equal(listen_at("10.0.0.2:80", bound), FABRIC_OK);
    assert_string_equal(bound, "10.0.0.2:80");
    assert_int_equal(listen_at("10.0.0.2:80", bound), ERR_ADDRESS_IN_USE);
    assert_int_equal(listen_at("0.0.0.0:80", bound), ERR_ADDRESS_IN_USE);
    assert_int_equal(listen_at("[::]:81", bound), FABRIC_OK);
    assert_string_equal(bound, "0.0.0.0:81");
    assert_int_equal(listen_at("b:81", bound), ERR_ADDRESS_IN_USE);
    assert_int_equal(listen_at("b:0", bound), FABRIC_OK);
    assert_int_equal(listen_at("localhost:0", again), FABRIC_OK);
    assert_memory_equal(bound, "10.0.0.2:", 9);
    assert_string_not_equal(bound, again);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",          "b",          ":80",          "b:",           "b:port",
        "b:65536",   "b:99999999", "b:80 ",        "10.0.0.1:80",  "10.0.0.256:80",
        "10.0.0:80", "nobody:80",  "[fe80::1]:80", "10.0.0.2.1:80"};
    char bound[FABRIC_NAME_MAX], huge[100];
    struct stream *stream;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(listen_at(wrong[i], bound), ERR_INVALID_ARGUMENT);
    memset(huge, 'x', sizeof(huge));
    memcpy(huge + 90, ":80", 4);
    assert_int_equal(stream_connect(little.a, huge, &little.owner, 0, &stream),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(stream_connect(little.a, "b:0", &little.owner, 0, &stream),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(stream_connect(little.a, "a/b:1", &little.owner, 0, &stream),
                     ERR_INVALID_ARGUMENT);
}

static void a_stream_connects_and_knows_its_peer(void **state)
{
    char peer[FABRIC_NAME_MAX];
    (void)state;
    little_stream_connect(&little);
    assert_int_equal(little_stream_send(&little, 0, "x", 1), 0); /* not yet */
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].connected, 1);
    assert_int_equal(little.ends[0].writable, 1);
    assert_int_equal(stream_peer(little.ends[0].stream, peer), FABRIC_OK);
    assert_string_equal(peer, "10.0.0.2:7000");
    assert_int_equal(stream_peer(little.ends[1].stream, peer), FABRIC_OK);
    assert_memory_equal(peer, "10.0.0.1:", 9);
    stream_set_tag(little.ends[1].stream, 1);
    assert_int_equal(stream_tag(little.ends[1].stream), 1);
    stream_cut(little.net, little.a, little.b);
    assert_int_equal(stream_peer(little.ends[0].stream, peer), ERR_PEER_GONE);
}

/* The error of a stream from a to `address`, and when it was told. */
static enum fabric_error fails(const char *address, uint64_t *after)
{
    struct little_end *end = &little.ends[0];
    uint64_t begin = sim_now(little.sim);
    *end = (struct little_end){0};
    assert_int_equal(stream_connect(little.a, address, &little.owner, 0, &end->stream), FABRIC_OK);
    while (!end->closed && !end->connected && sim_now(little.sim) - begin < 300 * SECOND)
        assert_true(sim_step(little.sim));
    *after = sim_now(little.sim) - begin;
    little_stream_close(&little, 0, false);
    return end->error;
}

static void who_does_not_listen_is_unreachable(void **state)
{
    uint64_t after;
    (void)state;
    assert_int_equal(fails("b:7001", &after), ERR_UNREACHABLE);
    assert_in_range(after, 1, SECOND / 100);
    assert_int_equal(fails("nobody:7000", &after), ERR_UNREACHABLE);
    assert_in_range(after, 1, SECOND / 100);
    assert_int_equal(fails("10.0.0.9:7000", &after), ERR_UNREACHABLE);
    stream_listener_close(little.listener);
    assert_int_equal(fails("b:7000", &after), ERR_UNREACHABLE);
    assert_in_range(after, 1, SECOND / 100);
}

static void a_host_without_power_is_unreachable_after_a_while(void **state)
{
    uint64_t after;
    (void)state;
    stream_host_set_power(little.b, false);
    assert_int_equal(fails("b:7000", &after), ERR_UNREACHABLE);
    assert_in_range(after, 3 * SECOND, 4 * SECOND);
    stream_host_set_power(little.b, true);
    open_one();
}

static void a_blocked_connect_is_tried_again_and_times_out(void **state)
{
    uint64_t after;
    (void)state;
    stream_block(little.net, little.a, little.b, true);
    assert_int_equal(fails("b:7000", &after), ERR_TIMEOUT);
    assert_in_range(after, 127 * SECOND, 128 * SECOND);
    little_stream_connect(&little);
    little_stream_run(&little, 10 * SECOND);
    assert_int_equal(little.ends[0].connected + little.ends[0].closed, 0);
    stream_block(little.net, little.a, little.b, false);
    little_stream_run(&little, 6 * SECOND); /* the next one, 15 s after the first */
    assert_int_equal(little.ends[0].connected, 1);
}

static void a_host_reaches_itself_by_any_of_its_names(void **state)
{
    static const char *const names[] = {"b:7000",     "localhost:7000", "127.0.0.1:7000",
                                        "[::1]:7000", "[::]:7000",      "10.0.0.2:7000"};
    (void)state;
    stream_block(little.net, little.b, NULL, true); /* of no concern */
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        little.ends[0] = little.ends[1] = (struct little_end){0};
        assert_int_equal(
            stream_connect(little.b, names[i], &little.owner, 0, &little.ends[0].stream), 0);
        little_stream_run(&little, SECOND);
        assert_int_equal(little.ends[0].connected, 1);
        little_stream_close(&little, 0, false);
        little_stream_close(&little, 1, true);
    }
}

static void a_block_stops_bytes_and_loses_none(void **state)
{
    char got[16] = {0};
    bool over;
    (void)state;
    open_one();
    struct stream_host *c = stream_host_add(little.net, "c", 0);
    stream_block(little.net, c, NULL, true); /* of no concern */
    stream_block(little.net, little.b, little.a, true);
    size_t count = little_stream_send(&little, 0, "0123456789", 10);
    while (count < 10)
        count += little_stream_send(&little, 0, "0123456789" + count, 10 - count);
    little_stream_run(&little, 100 * SECOND);
    assert_int_equal(little.ends[1].readable, 0);
    stream_block(little.net, little.b, little.a, false);
    little_stream_run(&little, 100 * SECOND); /* the back-off had grown to at most that */
    assert_int_equal(little_stream_drain(&little, 1, got, 10, &over), 10);
    assert_string_equal(got, "0123456789");
}

static void what_is_never_answered_is_given_up(void **state)
{
    (void)state;
    open_one();
    while (little_stream_send(&little, 0, "x", 1) == 0)
        ;
    stream_block(little.net, little.a, NULL, true);
    little_stream_run(&little, 920 * SECOND);
    assert_int_equal(little.ends[0].closed, 0);
    little_stream_run(&little, 10 * SECOND);
    assert_int_equal(little.ends[0].closed, 1);
    assert_int_equal(little.ends[0].error, ERR_TIMEOUT);
    assert_int_equal(little.ends[1].closed, 0); /* an idle end hears nothing */
}

/* How long `bytes` take. */
static uint64_t transfer(size_t bytes)
{
    static char data[16384];
    bool over;
    uint64_t begin = sim_now(little.sim);
    size_t sent = 0, received = 0;
    while (received < bytes) {
        size_t out = little_stream_send(&little, 0, data, bytes - sent);
        size_t in = little_stream_recv(&little, 1, data, sizeof(data), &over);
        sent += out;
        received += in;
        if (out + in == 0)
            assert_true(sim_step(little.sim));
    }
    return sim_now(little.sim) - begin;
}

static void a_slow_path_takes_its_time(void **state)
{
    (void)state;
    open_one();
    assert_in_range(transfer(10000), 1000, SECOND / 100);
    stream_slow(little.net, little.a, NULL, 10000, 0); /* bytes per second */
    assert_in_range(transfer(10000), SECOND, SECOND + SECOND / 100);
    stream_slow(little.net, little.a, NULL, 0, SECOND / 4);
    assert_in_range(transfer(1), SECOND / 4, SECOND / 4 + SECOND / 100);
    stream_slow(little.net, little.a, NULL, 0, 0);
    assert_in_range(transfer(10000), 1000, SECOND / 100);
}

static void a_cut_breaks_both_ends_and_only_the_streams_between_them(void **state)
{
    (void)state;
    struct stream_host *c = stream_host_add(little.net, "c", 0);
    open_one();
    stream_cut(little.net, little.a, c);
    assert_int_equal(little.ends[0].closed + little.ends[1].closed, 0);
    stream_cut(little.net, little.b, little.a);
    assert_int_equal(little.ends[0].closed, 1);
    assert_int_equal(little.ends[1].closed, 1);
    assert_int_equal(little.ends[0].error, ERR_PEER_GONE);
    assert_int_equal(little.ends[1].error, ERR_PEER_GONE);
    little_stream_close(&little, 0, false);
    little_stream_close(&little, 1, true);
    little_stream_connect(&little); /* not established: nothing to cut */
    stream_cut(little.net, little.a, NULL);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].connected, 1);
}

static void a_host_that_lost_power_tells_nobody(void **state)
{
    (void)state;
    open_one();
    stream_host_set_power(little.b, false);
    little_stream_close(&little, 1, true); /* as its owner does when the program is gone */
    little_stream_run(&little, 100 * SECOND);
    assert_int_equal(little.ends[0].closed, 0);
    while (little_stream_send(&little, 0, "x", 1) == 0)
        ;
    little_stream_run(&little, 100 * SECOND);
    assert_int_equal(little.ends[0].closed, 0);
    stream_host_set_power(little.b, true);
    little_stream_run(&little, 200 * SECOND);
    assert_int_equal(little.ends[0].closed, 1); /* it is back and knows of no such stream */
    assert_int_equal(little.ends[0].error, ERR_PEER_GONE);
}

static void a_stream_closed_while_connecting_is_gone(void **state)
{
    (void)state;
    little_stream_connect(&little);
    little_stream_close(&little, 0, false);
    little_stream_run(&little, SECOND);
    assert_null(little.ends[1].stream);
    little_stream_connect(&little);
    while (!little.ends[1].stream)
        assert_true(sim_step(little.sim));
    little_stream_close(&little, 0, false); /* accepted, but not yet told so */
    char byte;
    bool over;
    assert_int_equal(little_stream_drain(&little, 1, &byte, 1, &over), 0);
    assert_true(over);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

static void without_a_link_nothing_passes_and_nothing_is_lost(void **state)
{
    char buf[64];
    bool over;
    (void)state;
    open_one();
    stream_host_set_link(little.b, false);
    stream_host_set_link(little.b, false);
    assert_int_equal(little_stream_send(&little, 0, "hello", 5), 5);
    little_stream_run(&little, 30 * SECOND);
    assert_int_equal(little_stream_recv(&little, 1, buf, sizeof(buf), &over), 0);
    stream_host_set_link(little.a, false);
    stream_host_set_link(little.b, true);
    little_stream_run(&little, 30 * SECOND);
    assert_int_equal(little_stream_recv(&little, 1, buf, sizeof(buf), &over), 0);
    stream_host_set_link(little.a, true);
    little_stream_run(&little, 130 * SECOND); /* when its back-off ends */
    assert_int_equal(little_stream_drain(&little, 1, buf, sizeof(buf), &over), 5);
}

static void who_has_no_link_reaches_nobody_but_itself(void **state)
{
    struct stream *stream;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct little_end *end = &little.ends[0];
        memset(end, 0, sizeof(*end));
        stream_host_set_link(i ? little.b : little.a, false);
        uint64_t before = sim_now(little.sim);
        little_stream_connect(&little);
        little_stream_run(&little, 10 * SECOND);
        assert_int_equal(end->error, ERR_UNREACHABLE);
        assert_in_range(end->time - before, 3 * SECOND, 4 * SECOND);
        little_stream_close(&little, 0, true);
        stream_host_set_link(little.a, true);
    }
    memset(&little.ends[0], 0, sizeof(little.ends[0]));
    assert_int_equal(stream_connect(little.b, "b:7000", &little.owner, 0, &stream), FABRIC_OK);
    little.ends[0].stream = stream;
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].connected, 1);
}

/* ns until a megabyte is through. */
static uint64_t time_of_a_megabyte(uint32_t a, uint32_t b)
{
    static char block[65536];
    struct little_stream one;
    size_t sent = 0, got = 0;
    bool over;
    little_stream_open(&one, 7);
    stream_host_set_mtu(one.a, a);
    stream_host_set_mtu(one.b, b);
    uint64_t before = sim_now(one.sim);
    while (got < 1u << 20) {
        size_t left = (1u << 20) - sent;
        sent += little_stream_send(&one, 0, block, left < sizeof(block) ? left : sizeof(block));
        little_stream_run(&one, 1000);
        got += little_stream_recv(&one, 1, block, sizeof(block), &over);
    }
    uint64_t took = sim_now(one.sim) - before;
    little_stream_down(&one);
    return took;
}

static void small_packets_take_longer_and_the_smaller_end_decides(void **state)
{
    (void)state;
    uint64_t plain = time_of_a_megabyte(0, 0), large = time_of_a_megabyte(65520, 65520);
    uint64_t small = time_of_a_megabyte(2044, 2044), mixed = time_of_a_megabyte(65520, 2044);
    assert_true(plain <= large);
    assert_true(small > large + 50000);
    assert_true(mixed > large + 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hosts_have_addresses_of_their_own),
        TEST(names_and_addresses_are_unique),
        TEST(a_listener_is_bound_as_asked),
        TEST(what_is_no_address_is_refused),
        TEST(a_stream_connects_and_knows_its_peer),
        TEST(who_does_not_listen_is_unreachable),
        TEST(a_host_without_power_is_unreachable_after_a_while),
        TEST(a_blocked_connect_is_tried_again_and_times_out),
        TEST(a_host_reaches_itself_by_any_of_its_names),
        TEST(a_block_stops_bytes_and_loses_none),
        TEST(what_is_never_answered_is_given_up),
        TEST(a_slow_path_takes_its_time),
        TEST(a_cut_breaks_both_ends_and_only_the_streams_between_them),
        TEST(a_host_that_lost_power_tells_nobody),
        TEST(a_stream_closed_while_connecting_is_gone),
        TEST(without_a_link_nothing_passes_and_nothing_is_lost),
        TEST(who_has_no_link_reaches_nobody_but_itself),
        TEST(small_packets_take_longer_and_the_smaller_end_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

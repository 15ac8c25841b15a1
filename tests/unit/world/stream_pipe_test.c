/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tests/support/little_stream.h"

#define SECOND UINT64_C(1000000000)
#define SEEDS 40
#define LONG 1000000

static struct little_stream little;
static uint8_t sent[LONG], got[LONG];

static void fill(void)
{
    for (size_t i = 0; i < LONG; i++)
        sent[i] = (uint8_t)(i * 7 + i / 251);
}

/* Moves LONG bytes, each end doing what it can when it is told to. */
static size_t carry_all(void)
{
    size_t out = 0, in = 0;
    bool over = false;
    while (in < LONG) {
        int writable = little.ends[0].writable, readable = little.ends[1].readable;
        out += little_stream_send(&little, 0, sent + out, LONG - out);
        size_t more = little_stream_recv(&little, 1, got + in, 7777, &over);
        in += more;
        while (more == 0 && little.ends[0].writable == writable &&
               little.ends[1].readable == readable) {
            if (!sim_step(little.sim))
                return in;
        }
    }
    return in;
}

static void bytes_arrive_in_order_and_once(void **state)
{
    (void)state;
    fill();
    for (uint64_t seed = 0; seed < 4; seed++) {
        memset(got, 0, LONG);
        little_stream_open(&little, seed);
        assert_int_equal(carry_all(), LONG);
        assert_memory_equal(sent, got, LONG);
        little_stream_down(&little);
    }
}

/* All that is there at this moment. */
static size_t take_now(uint8_t *to)
{
    size_t total = 0, more;
    bool over;
    do {
        more = little_stream_recv(&little, 1, to + total, LONG - total, &over);
        total += more;
    } while (more);
    return total;
}

static void one_send_is_split_and_two_are_merged(void **state)
{
    int split = 0, merged = 0;
    bool over;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        little_stream_open(&little, seed);
        size_t whole = little_stream_send(&little, 0, "0123456789", 10);
        while (!little.ends[1].readable && sim_step(little.sim))
            ;
        split += take_now(got) < whole;
        little_stream_run(&little, SECOND);
        (void)little_stream_drain(&little, 1, got, 100, &over);
        size_t first = little_stream_send(&little, 0, "abc", 3);
        size_t second = little_stream_send(&little, 0, "def", 3);
        while (!little.ends[1].readable && sim_step(little.sim))
            ;
        little_stream_run(&little, SECOND);
        size_t count = little_stream_recv(&little, 1, got, 100, &over);
        merged += first && second && count > first;
        little_stream_down(&little);
    }
    assert_in_range(split, 3, SEEDS / 2);
    assert_in_range(merged, 10, SEEDS);
}

static void segments_are_cut_anywhere_and_joined(void **state)
{
    int cut = 0, joined = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t in = 0, out = 0;
        little_stream_open(&little, seed);
        for (int i = 0; i < 10; i++) /* ten sends in one moment */
            out += little_stream_send(&little, 0, sent, 100);
        while (in < out) { /* each arrival is taken at once */
            size_t segment = take_now(got);
            in += segment;
            cut += segment % 100 != 0;
            joined += segment > 100;
            if (segment == 0)
                assert_true(sim_step(little.sim));
        }
        little_stream_down(&little);
    }
    assert_int_not_equal(cut, 0);
    assert_in_range(joined, SEEDS / 2, 10 * SEEDS);
}

static void a_receive_may_be_short(void **state)
{
    int shorter = 0;
    bool over;
    (void)state;
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        little_stream_open(&little, seed);
        size_t count = little_stream_send(&little, 0, sent, 1000);
        little_stream_run(&little, SECOND); /* all of it is there */
        assert_int_equal(little.ends[1].readable, count != 0);
        size_t more = count ? little_stream_recv(&little, 1, got, 1000, &over) : 0;
        shorter += more < count;
        if (more == count) {
            assert_int_equal(little_stream_recv(&little, 1, got, 1000, &over), 0);
            assert_false(over);
        }
        little_stream_down(&little);
    }
    assert_in_range(shorter, 2, SEEDS);
}

static void a_send_may_be_short_and_is_followed_by_writable(void **state)
{
    int shorter = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        little_stream_open(&little, seed);
        bool taken = little_stream_send(&little, 0, sent, 1000) == 1000;
        little_stream_run(&little, SECOND);
        assert_int_equal(little.ends[0].writable, !taken);
        shorter += !taken;
        little_stream_down(&little);
    }
    assert_in_range(shorter, 1, SEEDS);
}

static void a_stream_pushes_back_until_the_peer_receives(void **state)
{
    size_t out = 0, in = 0;
    bool over;
    (void)state;
    fill();
    little_stream_open(&little, 3);
    for (int i = 0; i < 1000; i++) {
        out += little_stream_send(&little, 0, sent + out, LONG - out);
        little_stream_run(&little, SECOND);
    }
    assert_in_range(out, 16384, 262144); /* a window, whatever the time */
    int writable = little.ends[0].writable;
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].writable, writable);
    while (in < out)
        in += little_stream_recv(&little, 1, got + in, out - in, &over);
    assert_memory_equal(sent, got, out);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].writable, writable + 1);
    assert_int_not_equal(little_stream_send(&little, 0, sent, 10), 0);
    little_stream_down(&little);
}

static void a_half_close_ends_one_direction_after_its_bytes(void **state)
{
    bool over;
    (void)state;
    fill();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        little_stream_open(&little, seed);
        size_t count = little_stream_send(&little, 0, sent, 5000);
        stream_shutdown(little.ends[0].stream);
        stream_shutdown(little.ends[0].stream); /* once more says nothing new */
        assert_int_equal(little_stream_drain(&little, 1, got, LONG, &over), count);
        assert_true(over);
        assert_memory_equal(sent, got, count);
        assert_false(little.ends[0].closed || little.ends[1].closed);
        count = little_stream_send(&little, 1, sent, 6000);
        assert_int_equal(little_stream_drain(&little, 0, got, LONG, &over), count);
        assert_false(over);
        stream_shutdown(little.ends[1].stream);
        assert_int_equal(little_stream_drain(&little, 0, got, LONG, &over), 0);
        assert_true(over);
        assert_int_equal(little.ends[0].writable + little.ends[0].closed, 0);
        little_stream_down(&little);
    }
}

static void a_stream_is_shut_before_it_is_connected(void **state)
{
    bool over;
    (void)state;
    little_stream_up(&little, 1);
    little_stream_connect(&little);
    stream_shutdown(little.ends[0].stream);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].connected, 1);
    assert_int_equal(little_stream_drain(&little, 1, got, 10, &over), 0);
    assert_true(over);
    little_stream_down(&little);
}

static void a_close_still_delivers(void **state)
{
    bool over;
    (void)state;
    fill();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        little_stream_open(&little, seed);
        size_t count = little_stream_send(&little, 0, sent, 16000);
        little_stream_close(&little, 0, false);
        assert_int_equal(little_stream_drain(&little, 1, got, LONG, &over), count);
        assert_true(over);
        assert_memory_equal(sent, got, count);
        assert_int_equal(little.ends[1].closed, 0);
        little_stream_down(&little);
    }
}

static void who_sends_to_a_closed_end_hears_of_it(void **state)
{
    size_t accepted;
    bool over;
    (void)state;
    little_stream_open(&little, 1);
    little_stream_close(&little, 1, false);
    assert_int_equal(little_stream_drain(&little, 0, got, 10, &over), 0);
    assert_true(over);
    assert_int_equal(little_stream_send(&little, 0, sent, 1000), 1000);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[0].closed, 1);
    assert_int_equal(little.ends[0].error, ERR_PEER_GONE);
    assert_int_equal(stream_send(little.ends[0].stream, sent, 1, &accepted), ERR_PEER_GONE);
    little_stream_close(&little, 0, false);
    little_stream_down(&little);
}

/* Bytes that came through although the sender threw them away. */
static size_t reset_after_sending(uint64_t seed)
{
    size_t received = 0;
    bool over;
    little_stream_open(&little, seed);
    size_t count = little_stream_send(&little, 0, sent, 10000);
    little_stream_close(&little, 0, true);
    little_stream_run(&little, SECOND);
    assert_int_equal(little.ends[1].closed, 1);
    assert_int_equal(little.ends[1].error, ERR_PEER_GONE);
    size_t total = 0;
    while (stream_recv(little.ends[1].stream, got + total, LONG, &received, &over) == FABRIC_OK) {
        assert_false(over); /* a reset is no end */
        total += received;
    }
    assert_in_range(total, 0, count);
    assert_memory_equal(sent, got, total);
    little_stream_down(&little);
    return total;
}

static void a_reset_loses_data(void **state)
{
    int none = 0, some = 0;
    (void)state;
    fill();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t total = reset_after_sending(seed);
        none += total == 0;
        some += total > 0 && total < 9000;
    }
    assert_in_range(none, SEEDS / 4, SEEDS - 5); /* also what had arrived */
    assert_in_range(some, 5, SEEDS);
}

static void a_reset_may_lose_what_had_arrived(void **state)
{
    int lost = 0;
    bool over;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        little_stream_open(&little, seed);
        size_t count = little_stream_send(&little, 0, sent, 100);
        little_stream_run(&little, SECOND);
        little_stream_close(&little, 0, true);
        little_stream_run(&little, SECOND);
        lost += count && little_stream_recv(&little, 1, got, 100, &over) == 0;
        little_stream_down(&little);
    }
    assert_in_range(lost, 8, SEEDS - 8);
}

static void an_owner_may_close_whenever_it_is_told(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        little_stream_up(&little, seed);
        little.ends[seed % 2].quits = true;
        little_stream_connect(&little);
        little_stream_run(&little, SECOND);
        assert_null(little.ends[seed % 2].stream);
        little_stream_down(&little);
        little_stream_open(&little, seed);
        little.ends[1].quits = true;
        (void)little_stream_send(&little, 0, sent, 16384); /* READABLE */
        little_stream_run(&little, SECOND);
        little_stream_down(&little);
        little_stream_open(&little, seed);
        little.ends[0].quits = little.ends[1].quits = true; /* CLOSED */
        stream_cut(little.net, little.a, NULL);
        assert_null(little.ends[0].stream);
        assert_null(little.ends[1].stream);
        little_stream_down(&little);
    }
}

static uint64_t run_of(uint64_t seed)
{
    little_stream_up(&little, seed);
    sim_trace_start(little.sim, NULL, NULL);
    little_stream_connect(&little);
    little_stream_run(&little, SECOND);
    (void)carry_all();
    little_stream_close(&little, 0, true);
    little_stream_run(&little, SECOND);
    uint64_t hash = sim_trace_hash(little.sim) ^ sim_draws(little.sim);
    little_stream_down(&little);
    return hash;
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++)
        assert_int_equal(run_of(seed), run_of(seed));
    assert_int_not_equal(run_of(1), run_of(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_in_order_and_once),
        cmocka_unit_test(one_send_is_split_and_two_are_merged),
        cmocka_unit_test(segments_are_cut_anywhere_and_joined),
        cmocka_unit_test(a_receive_may_be_short),
        cmocka_unit_test(a_send_may_be_short_and_is_followed_by_writable),
        cmocka_unit_test(a_stream_pushes_back_until_the_peer_receives),
        cmocka_unit_test(a_half_close_ends_one_direction_after_its_bytes),
        cmocka_unit_test(a_stream_is_shut_before_it_is_connected),
        cmocka_unit_test(a_close_still_delivers),
        cmocka_unit_test(who_sends_to_a_closed_end_hears_of_it),
        cmocka_unit_test(a_reset_loses_data),
        cmocka_unit_test(a_reset_may_lose_what_had_arrived),
        cmocka_unit_test(an_owner_may_close_whenever_it_is_told),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

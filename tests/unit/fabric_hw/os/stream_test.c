/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance suite cannot see of real sockets: names, closes with bytes in both
 * directions, loops of others. HA-1.8. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric_hw/os/stream.h"
#include "tests/support/os_bed.h"

#define CHUNK 60000u

static struct os_bed bed;
static struct fabric *f;
static fabric_listener listener;
static char bound[FABRIC_ADDRESS_MAX];
static fabric_stream client, server;

static int setup(void **state)
{
    (void)state;
    os_bed_open(&bed, NULL);
    f = bed.f;
    return (int)fabric_listen(f, "127.0.0.1:0", 1, &listener, bound);
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return 0;
}

static void connect_to(const char *address)
{
    bool connected = false, accepted = false;
    assert_int_equal(fabric_connect(f, address, 2, &client), FABRIC_OK);
    while (!connected || !accepted) {
        struct fabric_event event;
        assert_true(os_bed_next(&bed, os_bed_now(&bed) + OS_BED_PATIENCE, &event));
        assert_int_not_equal(event.type, FABRIC_EVENT_CLOSED);
        connected = connected || event.type == FABRIC_EVENT_CONNECTED;
        accepted = accepted || event.type == FABRIC_EVENT_ACCEPTED;
        if (event.type == FABRIC_EVENT_ACCEPTED)
            server = event.u.stream.stream;
    }
}

static size_t send_some(fabric_stream stream, size_t length)
{
    static const uint8_t bytes[CHUNK];
    size_t accepted = 0;
    assert_true(length <= CHUNK);
    assert_int_equal(fabric_stream_send(f, stream, bytes, length, &accepted), FABRIC_OK);
    return accepted;
}

/* Receives until the end; fails on anything else. */
static size_t receive_all(fabric_stream stream)
{
    static uint8_t buf[CHUNK];
    size_t total = 0, got;
    bool end = false;
    while (!end) {
        assert_int_equal(fabric_stream_recv(f, stream, buf, sizeof(buf), &got, &end), FABRIC_OK);
        total += got;
        if (got == 0 && !end)
            os_bed_await(&bed, FABRIC_EVENT_READABLE);
    }
    return total;
}

static void a_name_is_looked_up(void **state)
{
    char address[FABRIC_ADDRESS_MAX];
    (void)state;
    snprintf(address, sizeof(address), "localhost%.20s", strrchr(bound, ':'));
    connect_to(address);
    assert_int_equal(send_some(client, 3), 3);
    assert_int_equal(fabric_stream_close(f, client, false), FABRIC_OK);
    assert_int_equal(receive_all(server), 3);
}

static void a_name_that_nobody_has_is_unreachable(void **state)
{
    (void)state;
    assert_int_equal(fabric_connect(f, "no-such-host.invalid:80", 2, &client), FABRIC_OK);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_CLOSED);
    assert_int_equal(event.u.stream.stream.id, client.id);
    assert_int_equal(event.u.stream.error, ERR_UNREACHABLE);
    assert_non_null(strstr(os_bed_said(&bed), "no-such-host.invalid"));
}

static void a_stream_may_be_closed_while_its_name_is_looked_up(void **state)
{
    (void)state;
    assert_int_equal(fabric_connect(f, "no-such-host.invalid:80", 2, &client), FABRIC_OK);
    assert_int_equal(fabric_stream_close(f, client, false), FABRIC_OK);
    assert_int_equal(fabric_connect(f, "no-such-host.invalid:80", 3, &client), FABRIC_OK);
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_CLOSED).u.stream.cookie, 3);
}

/* MK-K3: whoever connects tries again and again. */
static void an_unknown_name_is_said_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fabric_connect(f, "no-such-host.invalid:80", 2, &client), FABRIC_OK);
        os_bed_await(&bed, FABRIC_EVENT_CLOSED);
    }
    const char *said = strstr(os_bed_said(&bed), "no-such-host.invalid");
    assert_non_null(said);
    assert_null(strstr(said + 1, "no-such-host.invalid"));
    assert_int_equal(fabric_connect(f, "neither-this.invalid:80", 2, &client), FABRIC_OK);
    os_bed_await(&bed, FABRIC_EVENT_CLOSED);
    assert_non_null(strstr(os_bed_said(&bed), "neither-this.invalid"));
}

/* The kernel alone would reset the connection, and what was accepted would be lost. */
static void what_was_accepted_arrives_though_the_peer_talks_on(void **state)
{
    (void)state;
    connect_to(bound);
    size_t sent = send_some(client, CHUNK);
    assert_int_equal(send_some(server, CHUNK), CHUNK);
    os_bed_await(&bed, FABRIC_EVENT_READABLE);
    assert_int_equal(fabric_stream_close(f, client, false), FABRIC_OK);
    (void)send_some(server, 1000);
    assert_int_equal(receive_all(server), sent);
}

static void a_peer_that_never_stops_is_cut_off(void **state)
{
    struct fabric_event event = {.type = FABRIC_EVENT_READABLE};
    (void)state;
    connect_to(bound);
    assert_int_equal(fabric_stream_close(f, client, false), FABRIC_OK);
    for (size_t i = 0; i < 10000 && event.type != FABRIC_EVENT_CLOSED; i++) {
        static const uint8_t bytes[CHUNK];
        size_t accepted;
        if (fabric_stream_send(f, server, bytes, CHUNK, &accepted) != FABRIC_OK)
            break;
        if (!os_bed_next(&bed, os_bed_now(&bed) + 1000000, &event))
            event.type = FABRIC_EVENT_READABLE;
    }
    uint8_t byte;
    size_t got;
    bool end;
    assert_int_equal(fabric_stream_recv(f, server, &byte, 1, &got, &end), ERR_PEER_GONE);
}

static void a_socket_of_a_drained_stream_is_given_back(void **state)
{
    (void)state;
    connect_to(bound);
    assert_int_equal(fabric_stream_close(f, client, false), FABRIC_OK);
    assert_non_null(os_of(f)->streams->next);
    assert_int_equal(receive_all(server), 0);
    assert_int_equal(fabric_stream_close(f, server, false), FABRIC_OK);
    for (size_t i = 0; i < 1000 && os_of(f)->streams; i++) {
        struct fabric_event event;
        (void)os_bed_next(&bed, os_bed_now(&bed) + 20000000, &event);
    }
    assert_null(os_of(f)->streams);
}

static void a_loop_of_the_callers_hears_of_bytes_timers_and_wakes(void **state)
{
    static const enum fabric_event_type expected[] = {FABRIC_EVENT_READABLE, FABRIC_EVENT_TIMER,
                                                      FABRIC_EVENT_WOKEN};
    struct pollfd watched = {os_fabric_descriptor(f), POLLIN, 0};
    struct fabric_event event;
    fabric_timer timer;
    (void)state;
    connect_to(bound);
    while (os_bed_next(&bed, 0, &event))
        continue;
    for (size_t i = 0; i < 3; i++) {
        if (i == 0)
            send_some(client, 1);
        else if (i == 1)
            assert_int_equal(fabric_timer_set(f, os_bed_now(&bed) + 2000000, 0, &timer), FABRIC_OK);
        else
            fabric_wake(f);
        do {
            assert_int_equal(poll(&watched, 1, 20000), 1);
        } while (!os_bed_next(&bed, 0, &event));
        assert_int_equal(event.type, expected[i]);
        assert_false(os_bed_next(&bed, 0, &event));
    }
    watched.events = POLLIN;
    assert_int_equal(poll(&watched, 1, 0), 0); /* and is silent when there is nothing */
}

static void ipv6_works_where_the_machine_has_it(void **state)
{
    (void)state;
    fabric_listener six = {0};
    if (fabric_listen(f, "[::1]:0", 1, &six, bound) != FABRIC_OK)
        skip();
    assert_memory_equal(bound, "[::1]:", 6);
    connect_to(bound);
    char peer[FABRIC_ADDRESS_MAX];
    assert_int_equal(fabric_stream_peer(f, client, peer), FABRIC_OK);
    assert_string_equal(peer, bound);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_is_looked_up),
        TEST(a_name_that_nobody_has_is_unreachable),
        TEST(an_unknown_name_is_said_once),
        TEST(a_stream_may_be_closed_while_its_name_is_looked_up),
        TEST(what_was_accepted_arrives_though_the_peer_talks_on),
        TEST(a_peer_that_never_stops_is_cut_off),
        TEST(a_socket_of_a_drained_stream_is_given_back),
        TEST(a_loop_of_the_callers_hears_of_bytes_timers_and_wakes),
        TEST(ipv6_works_where_the_machine_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

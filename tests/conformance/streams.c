/* SPDX-License-Identifier: Apache-2.0 */
/* Control streams: bytes and their ends. HA-1.8. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/kit.h"

#define MEGABYTE ((size_t)1 << 20)

struct ends {
    fabric_listener listener;
    char address[FABRIC_NAME_MAX];
    fabric_stream client, server;
};

static void listen_on_any_port(struct kit *kit, size_t node, struct ends *ends)
{
    char wanted[FABRIC_ADDRESS_MAX], bound[FABRIC_ADDRESS_MAX];
    const char *ip = bench_backend.address(kit->bench, node);
    snprintf(wanted, sizeof(wanted), "%s:0", ip);
    assert_int_equal(fabric_listen(kit->nodes[node].f, wanted, 5, &ends->listener, bound),
                     FABRIC_OK);
    assert_non_null(strrchr(bound, ':'));
    assert_string_not_equal(strrchr(bound, ':'), ":0");
    snprintf(ends->address, sizeof(ends->address), "%.40s%.20s", ip, strrchr(bound, ':'));
}

/* Node 0 connects to node 1. */
static struct ends connect_ends(struct kit *kit)
{
    struct ends ends;
    listen_on_any_port(kit, 1, &ends);
    assert_int_equal(fabric_connect(kit->nodes[0].f, ends.address, 9, &ends.client), FABRIC_OK);
    kit_await(kit, &kit->nodes[0], FABRIC_EVENT_CONNECTED, 0);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[1], FABRIC_EVENT_ACCEPTED, 0);
    assert_int_equal(event->u.stream.listener.id, ends.listener.id);
    ends.server = event->u.stream.stream;
    return ends;
}

struct flow {
    struct fabric *from, *to;
    fabric_stream out, in;
    uint8_t *source, *sink;
    size_t length, sent, got;
    bool end, failed;
};

/* Sends and receives what goes now. */
static bool flow_is_done(void *context)
{
    struct flow *flow = context;
    size_t moved;
    do {
        moved = 0;
        if (!flow->failed && flow->sent < flow->length &&
            fabric_stream_send(flow->from, flow->out, flow->source + flow->sent,
                               flow->length - flow->sent, &moved) != FABRIC_OK)
            flow->failed = true;
        flow->sent += moved;
    } while (moved > 0 && flow->sent < flow->length);
    do {
        moved = 0;
        if (fabric_stream_recv(flow->to, flow->in, flow->sink + flow->got,
                               flow->length + 1 - flow->got, &moved, &flow->end) != FABRIC_OK)
            return true;
        flow->got += moved;
    } while (moved > 0 && flow->got <= flow->length);
    return flow->end || flow->got >= flow->length;
}

static struct flow make_flow(struct kit_node *from, struct kit_node *to, fabric_stream out,
                             fabric_stream in, size_t length)
{
    struct flow flow = {from->f, to->f, out, in,    malloc(length), malloc(length + 1),
                        length,  0,     0,   false, false};
    kit_fill(flow.source, length, (uint32_t)from->index + 1);
    return flow;
}

static void finish_flow(struct kit *kit, struct flow *flow)
{
    assert_true(kit_until(kit, flow_is_done, flow));
    assert_int_equal(flow->got, flow->length);
    assert_memory_equal(flow->source, flow->sink, flow->length);
    free(flow->source);
    free(flow->sink);
}

static void a_megabyte_passes_whole_in_either_direction(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    struct flow there =
        make_flow(&kit->nodes[0], &kit->nodes[1], ends.client, ends.server, MEGABYTE);
    finish_flow(kit, &there);
    struct flow back =
        make_flow(&kit->nodes[1], &kit->nodes[0], ends.server, ends.client, MEGABYTE);
    finish_flow(kit, &back);
}

static void a_short_send_is_followed_by_writable(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    struct flow flow =
        make_flow(&kit->nodes[0], &kit->nodes[1], ends.client, ends.server, 16 * MEGABYTE);
    size_t accepted;
    do { /* nobody receives: at last it takes no more */
        assert_int_equal(fabric_stream_send(flow.from, flow.out, flow.source + flow.sent,
                                            flow.length - flow.sent, &accepted),
                         FABRIC_OK);
        flow.sent += accepted;
        kit_pass(kit, KIT_SECOND / 100);
    } while (accepted > 0 && flow.sent < flow.length);
    assert_true(flow.sent < flow.length);
    size_t before = kit_count(&kit->nodes[0], FABRIC_EVENT_WRITABLE);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_WRITABLE), before);
    finish_flow(kit, &flow);
    assert_true(kit_count(&kit->nodes[0], FABRIC_EVENT_WRITABLE) > before);
}

static void half_a_stream_can_be_closed(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    struct flow there = make_flow(&kit->nodes[0], &kit->nodes[1], ends.client, ends.server, 5000);
    flow_is_done(&there);
    assert_int_equal(there.sent, 5000);
    assert_int_equal(fabric_stream_shutdown(kit->nodes[0].f, ends.client), FABRIC_OK);
    there.length++; /* one more is never sent: waits for the end */
    there.sent = there.length;
    there.sink = realloc(there.sink, there.length + 1);
    assert_true(kit_until(kit, flow_is_done, &there));
    assert_true(there.end);
    assert_int_equal(there.got, 5000);
    free(there.source);
    free(there.sink);
    struct flow back = make_flow(&kit->nodes[1], &kit->nodes[0], ends.server, ends.client, 5000);
    finish_flow(kit, &back);
}

static void what_was_accepted_arrives_after_an_orderly_close(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    struct flow flow = make_flow(&kit->nodes[0], &kit->nodes[1], ends.client, ends.server, 20000);
    size_t accepted;
    assert_int_equal(fabric_stream_send(flow.from, flow.out, flow.source, flow.length, &accepted),
                     FABRIC_OK);
    flow.sent = flow.length = accepted;
    assert_true(accepted > 0);
    assert_int_equal(fabric_stream_close(flow.from, ends.client, false), FABRIC_OK);
    finish_flow(kit, &flow);
}

static void a_reset_is_told_as_peer_gone(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    uint8_t byte = 0;
    size_t moved;
    bool end;
    assert_int_equal(fabric_stream_close(kit->nodes[0].f, ends.client, true), FABRIC_OK);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[1], FABRIC_EVENT_CLOSED, 0);
    assert_int_equal(event->u.stream.stream.id, ends.server.id);
    assert_int_equal(event->u.stream.error, ERR_PEER_GONE);
    assert_int_equal(fabric_stream_send(kit->nodes[1].f, ends.server, &byte, 1, &moved),
                     ERR_PEER_GONE);
    assert_int_equal(fabric_stream_recv(kit->nodes[1].f, ends.server, &byte, 1, &moved, &end),
                     ERR_PEER_GONE);
    assert_int_equal(fabric_stream_close(kit->nodes[1].f, ends.server, false), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(&kit->nodes[1], FABRIC_EVENT_CLOSED), 1);
}

static void where_nobody_listens_the_connection_closes_by_name(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends;
    listen_on_any_port(kit, 1, &ends);
    assert_int_equal(fabric_listener_close(kit->nodes[1].f, ends.listener), FABRIC_OK);
    assert_int_equal(fabric_connect(kit->nodes[0].f, ends.address, 9, &ends.client), FABRIC_OK);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[0], FABRIC_EVENT_CLOSED, 0);
    assert_int_equal(event->u.stream.stream.id, ends.client.id);
    assert_int_equal(event->u.stream.cookie, 9);
    assert_int_equal(event->u.stream.error, ERR_UNREACHABLE);
    assert_int_equal(kit_count(&kit->nodes[0], FABRIC_EVENT_CONNECTED), 0);
}

static void addresses_in_use_and_nonsense_are_refused(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends;
    fabric_listener second = {0};
    fabric_stream stream = {0};
    char bound[FABRIC_ADDRESS_MAX];
    static const char *const nonsense[] = {"", "here", "10.0.0.1", "10.0.0.1:99999", ":", "x:y"};
    listen_on_any_port(kit, 1, &ends);
    assert_int_equal(fabric_listen(kit->nodes[1].f, ends.address, 0, &second, bound),
                     ERR_ADDRESS_IN_USE);
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        assert_int_equal(fabric_listen(kit->nodes[1].f, nonsense[i], 0, &second, bound),
                         ERR_INVALID_ARGUMENT);
        assert_int_equal(fabric_connect(kit->nodes[0].f, nonsense[i], 0, &stream),
                         ERR_INVALID_ARGUMENT);
    }
    assert_int_equal(second.id + stream.id, 0);
}

static void cookies_are_the_listeners_until_replaced(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    size_t accepted;
    char peer[FABRIC_ADDRESS_MAX];
    assert_int_equal(kit_event(&kit->nodes[1], FABRIC_EVENT_ACCEPTED, 0)->u.stream.cookie, 5);
    assert_int_equal(kit_event(&kit->nodes[0], FABRIC_EVENT_CONNECTED, 0)->u.stream.cookie, 9);
    assert_int_equal(fabric_stream_set_cookie(kit->nodes[1].f, ends.server, 6), FABRIC_OK);
    assert_int_equal(fabric_stream_send(kit->nodes[0].f, ends.client, "x", 1, &accepted),
                     FABRIC_OK);
    const struct fabric_event *event = kit_await(kit, &kit->nodes[1], FABRIC_EVENT_READABLE, 0);
    assert_int_equal(event->u.stream.cookie, 6);
    assert_int_equal(fabric_stream_peer(kit->nodes[0].f, ends.client, peer), FABRIC_OK);
    assert_string_equal(peer, ends.address);
    assert_int_equal(fabric_stream_peer(kit->nodes[1].f, ends.server, peer), FABRIC_OK);
    const char *ip = bench_backend.address(kit->bench, 0);
    assert_memory_equal(peer, ip, strlen(ip));
    char local[FABRIC_ADDRESS_MAX], netdev[FABRIC_NAME_MAX];
    assert_int_equal(fabric_stream_local(kit->nodes[0].f, ends.client, local, netdev), FABRIC_OK);
    assert_string_equal(local, peer);
    assert_int_equal(fabric_stream_local(kit->nodes[1].f, ends.server, local, netdev), FABRIC_OK);
    assert_string_equal(local, ends.address);
}

static void after_close_no_event_of_it_comes(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    size_t accepted, before = kit->nodes[1].event_count;
    assert_int_equal(fabric_stream_send(kit->nodes[0].f, ends.client, "x", 1, &accepted),
                     FABRIC_OK);
    assert_int_equal(fabric_stream_close(kit->nodes[1].f, ends.server, false), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit->nodes[1].event_count, before);
}

static void accepted_streams_outlive_their_listener(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP);
    struct ends ends = connect_ends(kit);
    assert_int_equal(fabric_listener_close(kit->nodes[1].f, ends.listener), FABRIC_OK);
    struct flow flow = make_flow(&kit->nodes[0], &kit->nodes[1], ends.client, ends.server, 9000);
    finish_flow(kit, &flow);
}

static void a_killed_program_closes_its_streams(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, FABRIC_CAP_TCP | FABRIC_CAP_PROCESS_KILL);
    connect_ends(kit);
    kit_inject(kit, 1, BENCH_KILL);
    for (size_t i = 0; i < 30 && !kit_event(&kit->nodes[0], FABRIC_EVENT_CLOSED, 0) &&
                       !kit_event(&kit->nodes[0], FABRIC_EVENT_READABLE, 0);
         i++)
        kit_pass(kit, KIT_SECOND); /* the kernel of the dead program says so: an end or a reset */
    assert_true(kit_event(&kit->nodes[0], FABRIC_EVENT_CLOSED, 0) ||
                kit_event(&kit->nodes[0], FABRIC_EVENT_READABLE, 0));
}

static void without_streams_they_are_refused_by_name(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    char bound[FABRIC_ADDRESS_MAX];
    fabric_listener listener = {0};
    fabric_stream stream = {0};
    enum fabric_error expected = kit->caps & FABRIC_CAP_TCP ? FABRIC_OK : ERR_NOT_SUPPORTED;
    assert_int_equal(fabric_listen(kit->nodes[0].f, "0.0.0.0:0", 0, &listener, bound), expected);
    assert_int_equal(fabric_connect(kit->nodes[0].f, "10.0.0.1:1", 0, &stream), expected);
}

int kit_stream_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_megabyte_passes_whole_in_either_direction),
        CASE(a_short_send_is_followed_by_writable),
        CASE(half_a_stream_can_be_closed),
        CASE(what_was_accepted_arrives_after_an_orderly_close),
        CASE(a_reset_is_told_as_peer_gone),
        CASE(where_nobody_listens_the_connection_closes_by_name),
        CASE(addresses_in_use_and_nonsense_are_refused),
        CASE(cookies_are_the_listeners_until_replaced),
        CASE(after_close_no_event_of_it_comes),
        CASE(accepted_streams_outlive_their_listener),
        CASE(a_killed_program_closes_its_streams),
        CASE(without_streams_they_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}

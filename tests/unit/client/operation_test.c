/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"

#define PUT "\"op\":\"put\",\"key\":\"k\",\"size\":100000,\"seed\":7"
#define GET "\"op\":\"get\",\"key\":\"k\",\"size\":100000,\"seed\":7"

static struct small_world *connected(const char *transport)
{
    struct small_world *w = pair_new(transport);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    return w;
}

/* MK-F4, A4: the deadline is the operation's own, and nothing is lent any more when it is told. */
static void a_failure_is_reported_only_when_nothing_can_land(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct small_world *w = connected("rdma");
        pair_has(pair_do(w, PUT), "\"ok\":true");
        small_delay(w, 5 * SECOND);
        uint64_t before = small_now(w);
        const char *line = pair_do(w, i ? PUT ",\"timeout_ms\":1000" : GET ",\"timeout_ms\":1000");
        pair_has(line, "\"class\":\"failed:timeout\"");
        assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 0);
        assert_true(small_now(w) - before >= SECOND);
        assert_true(small_now(w) - before < SECOND + SECOND / 100);
        small_run(w, 10 * SECOND);
        small_world_free(w);
    }
}

/* MK-A4: a PUT is READ and a GET is WRITTEN; a server that errs cannot do the other. */
static void what_is_lent_serves_its_operation_only(void **state)
{
    (void)state;
    static const char *const commands[] = {"{\"id\":41," PUT "}", "{\"id\":42," GET "}"};
    static const uint32_t rights[] = {FABRIC_ACCESS_REMOTE_READ, FABRIC_ACCESS_REMOTE_WRITE};
    struct small_world *w = connected("rdma");
    small_delay(w, SECOND);
    for (unsigned i = 0; i < 2; i++) {
        small_command(w, PAIR_CLIENT, commands[i]);
        small_run(w, SECOND / 10);
        assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 1);
        assert_int_equal(small_rights(w, PAIR_CLIENT), rights[i]);
        pair_has(small_until(w, PAIR_CLIENT, i ? "\"id\":42" : "\"id\":41", 9 * SECOND),
                 "\"ok\":true");
    }
    small_world_free(w);
}

/* MK-A4: another way is tried only when the first one can touch nothing any more. */
static void a_retry_by_another_way_comes_after_the_revocation(void **state)
{
    (void)state;
    struct small_world *w = connected("auto");
    small_cut(w, PAIR_SERVER, true);
    pair_has(pair_do(w, PUT), "\"class\":\"fell_back\"");
    assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 0);
    assert_int_equal(small_logged(w, PAIR_CLIENT, "WARN fallback_tcp"), 1);
    pair_has(pair_do(w, GET), "\"equal\":true");
    small_world_free(w);
}

/* MK-A4, CASE-Z9: bytes that are not those of the PUT never become a block. */
static void a_put_whose_tag_is_wrong_never_becomes_visible(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    small_corrupt(w, 1);
    const char *line = pair_do(w, PUT);
    pair_has(line, "\"error\":\"tag_mismatch\"");
    pair_has(line, "\"class\":\"corrupted\"");
    pair_has(pair_do(w, GET), "\"error\":\"not_found\"");
    small_command(w, PAIR_SERVER, "{\"id\":1,\"op\":\"status\"}");
    pair_has(small_until(w, PAIR_SERVER, "\"op\":\"status\"", SECOND), "\"tag_mismatches\":1");
    small_world_free(w);
}

/* The READ is done, the operation is closed before the server commits: it must not. */
static void a_closed_put_never_becomes_visible(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    small_completion_delay(w, 3 * SECOND);
    pair_has(pair_do(w, PUT ",\"timeout_ms\":1000"), "\"class\":\"failed:timeout\"");
    small_completion_delay(w, 1000);
    small_run(w, 10 * SECOND);
    pair_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"found\":false");
    small_world_free(w);
}

static void a_reader_notices_a_wrong_byte(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    pair_has(pair_do(w, PUT), "\"ok\":true");
    small_corrupt(w, 1);
    const char *line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":100000");
    pair_has(line, "\"class\":\"corrupted\"");
    small_world_free(w);
}

static void a_buffer_that_is_too_small_gets_the_needed_size_and_no_byte(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    pair_has(pair_do(w, PUT), "\"ok\":true");
    const char *line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":99999");
    pair_has(line, "\"error\":\"buffer_too_small\"");
    pair_has(line, "100000 is needed");
    small_world_free(w);
}

static void operations_wait_for_a_server_that_comes_back(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    small_stop(w, PAIR_SERVER);
    small_run(w, SECOND);
    pair_has(pair_do(w, GET ",\"timeout_ms\":2000"), "\"class\":\"unreachable\"");
    small_command(w, PAIR_CLIENT, "{\"id\":77," PUT "}");
    assert_int_equal(pair_server(w, ""), 0);
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":77", 20 * SECOND), "\"class\":\"rdma\"");
    small_world_free(w);
}

static void a_lost_stream_is_opened_again_and_the_operation_goes_on(void **state)
{
    (void)state;
    static const char *const transports[] = {"rdma", "auto", "tcp"};
    for (unsigned i = 0; i < 3; i++) {
        struct small_world *w = pair_new(transports[i]);
        pair_has(pair_do(w, PUT), "\"ok\":true");
        small_command(w, PAIR_CLIENT, "{\"id\":78," GET "}");
        small_reset_streams(w, PAIR_SERVER);
        pair_has(small_until(w, PAIR_CLIENT, "\"id\":78", 20 * SECOND), "\"equal\":true");
        assert_int_equal(small_logged(w, PAIR_CLIENT, "fallback_tcp"), 0);
        small_world_free(w);
    }
}

static void a_device_that_vanishes_and_returns_serves_again(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        struct small_world *w = pair_new("rdma");
        pair_has(pair_do(w, PUT), "\"class\":\"rdma\"");
        small_delay(w, SECOND / 10);
        small_command(w, PAIR_CLIENT, "{\"id\":79," GET "}");
        small_run(w, SECOND / 100);
        small_port(w, node)->gone = true;
        small_async(w, node, FABRIC_ASYNC_DEVICE_FATAL, 0);
        small_run(w, SECOND / 100);
        small_port(w, node)->gone = false;
        assert_non_null(small_until(w, PAIR_CLIENT, "\"id\":79", 60 * SECOND));
        small_delay(w, 1000);
        small_run(w, 40 * SECOND);
        pair_has(pair_do(w, GET), "\"class\":\"rdma\"");
        small_world_free(w);
    }
}

/* MK-B4, CASE-R1: an answer of an earlier generation configures nothing. */
static void a_late_answer_never_configures_a_newer_link(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    static struct rogue r;
    memset(&r, 0, sizeof r);
    rogue_start(w, PAIR_SERVER, &r, WIRE_SERVER);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    small_run(w, SECOND / 10);
    struct wire_message m = {.type = WIRE_WELCOME, .lanes = 1, .operations = 9, .rails = 1};
    assert_int_equal(rogue_send(&r, &m), 0);
    small_run(w, SECOND / 10);
    const struct wire_message *request = rogue_last(&r, WIRE_LINK_REQUEST);
    assert_non_null(request);
    struct wire_message accept = {.type = WIRE_LINK_ACCEPT,
                                  .generation = request->generation,
                                  .address = request->address,
                                  .qp_num = 5};
    accept.address.max_rd_atomic = 16;
    accept.address.max_dest_rd_atomic = 0;
    small_port(w, PAIR_CLIENT)->attr.lid = 0x30;
    small_async(w, PAIR_CLIENT, FABRIC_ASYNC_LID_CHANGE, 1);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_send(&r, &accept), 0); /* late */
    small_run(w, SECOND / 10);
    assert_null(rogue_last(&r, WIRE_LINK_READY));
    pair_has(pair_do(w, "\"op\":\"status\""), "\"stale\":1");
    accept.generation = rogue_last(&r, WIRE_LINK_REQUEST)->generation;
    assert_int_equal(rogue_send(&r, &accept), 0);
    small_run(w, SECOND / 10);
    assert_non_null(rogue_last(&r, WIRE_LINK_READY));
    small_world_free(w);
}

/* Messages that no server sends end the connection, by name. */
static void a_server_that_breaks_the_protocol_is_left(void **state)
{
    (void)state;
    static const enum wire_type types[] = {WIRE_PUT, WIRE_LINK_READY, WIRE_WELCOME};
    for (unsigned i = 0; i < 3; i++) {
        struct small_world *w = small_world_new(2);
        static struct rogue r;
        memset(&r, 0, sizeof r);
        rogue_start(w, PAIR_SERVER, &r, WIRE_SERVER);
        assert_int_equal(pair_client(w, "tcp", ""), 0);
        small_run(w, SECOND / 10);
        struct wire_message m = {
            .type = WIRE_WELCOME, .lanes = 1, .operations = 9, .rails = 1, .key_length = 1};
        assert_int_equal(rogue_send(&r, &m), 0);
        m.type = types[i];
        m.way = WIRE_WAY_RC;
        assert_int_equal(rogue_send(&r, &m), 0);
        small_run(w, SECOND / 20);
        assert_true(r.closed);
        assert_int_equal(small_logged(w, PAIR_CLIENT, "frame_invalid"), 1);
        small_world_free(w);
    }
}

/* The length of an answer is checked against the room before a byte is taken. */
static void an_answer_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct small_world *w = small_world_new(2);
        static struct rogue r;
        static const uint8_t data[200];
        memset(&r, 0, sizeof r);
        rogue_start(w, PAIR_SERVER, &r, WIRE_SERVER);
        assert_int_equal(pair_client(w, "tcp", ""), 0);
        small_run(w, SECOND / 10);
        struct wire_message m = {.type = WIRE_WELCOME, .lanes = 1, .operations = 9, .rails = 1};
        assert_int_equal(rogue_send(&r, &m), 0);
        small_command(w, PAIR_CLIENT, "{\"id\":1,\"op\":\"get\",\"key\":\"k\",\"size\":100}");
        small_run(w, SECOND / 10);
        const struct wire_message *get = rogue_last(&r, WIRE_GET);
        assert_non_null(get);
        struct wire_message answer = {.type = WIRE_RESULT, .id = get->id};
        answer.length = i ? 100 : 101;
        assert_int_equal(rogue_send(&r, &answer), 0);
        struct wire_message bulk = {
            .type = WIRE_BULK, .id = get->id, .length = sizeof data, .data = data};
        rogue_send(&r, &bulk);
        small_run(w, SECOND / 20);
        assert_true(r.closed);
        small_world_free(w);
    }
}

static void an_operation_expires_also_while_its_window_is_being_opened(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    small_lend(w, 5 * SECOND, FABRIC_OK);
    uint64_t before = small_now(w);
    pair_has(pair_do(w, PUT ",\"timeout_ms\":1000"), "\"class\":\"failed:timeout\"");
    assert_true(small_now(w) - before < SECOND + SECOND / 100);
    assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 0);
    small_lend(w, 0, FABRIC_OK);
    small_run(w, 10 * SECOND);
    pair_round(w, "rdma");
    small_world_free(w);
}

static void memory_that_cannot_be_lent_leaves_tcp(void **state)
{
    (void)state;
    struct small_world *w = connected("auto");
    small_lend(w, 1000, ERR_RESOURCES_EXHAUSTED);
    pair_round(w, "fell_back");
    assert_int_equal(small_open(w, PAIR_CLIENT, "window"), 0);
    small_world_free(w);
    w = small_world_new(2); /* nor for the probe */
    small_lend(w, 1000, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(pair_server(w, ""), 0);
    assert_int_equal(pair_client(w, "auto", ""), 0);
    pair_round(w, "fell_back");
    small_world_free(w);
}

/* Keys may be guessed; where memory lies may not. */
/* Each piece of memory somewhere else; what one peer was told helps with no other. */
static void nobody_can_guess_where_memory_is_lent(void **state)
{
    (void)state;
    struct small_world *w = connected("rdma");
    pair_has(pair_do(w, PUT), "\"ok\":true");
    uint64_t first = small_iova(w, PAIR_CLIENT, 0), second = small_iova(w, PAIR_CLIENT, 1);
    assert_int_equal(first % 4096, 0);
    assert_int_equal(second % 4096, 0);
    assert_true(first > UINT64_C(1) << 40); /* but for one chance in four million */
    assert_true(second > UINT64_C(1) << 40);
    uint64_t apart = first > second ? first - second : second - first;
    assert_true(apart > UINT64_C(1) << 40); /* none is beside another, as counting would have it */
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_reported_only_when_nothing_can_land),
        cmocka_unit_test(what_is_lent_serves_its_operation_only),
        cmocka_unit_test(a_retry_by_another_way_comes_after_the_revocation),
        cmocka_unit_test(a_put_whose_tag_is_wrong_never_becomes_visible),
        cmocka_unit_test(a_closed_put_never_becomes_visible),
        cmocka_unit_test(a_reader_notices_a_wrong_byte),
        cmocka_unit_test(a_buffer_that_is_too_small_gets_the_needed_size_and_no_byte),
        cmocka_unit_test(operations_wait_for_a_server_that_comes_back),
        cmocka_unit_test(a_lost_stream_is_opened_again_and_the_operation_goes_on),
        cmocka_unit_test(a_device_that_vanishes_and_returns_serves_again),
        cmocka_unit_test(a_late_answer_never_configures_a_newer_link),
        cmocka_unit_test(a_server_that_breaks_the_protocol_is_left),
        cmocka_unit_test(an_operation_expires_also_while_its_window_is_being_opened),
        cmocka_unit_test(memory_that_cannot_be_lent_leaves_tcp),
        cmocka_unit_test(nobody_can_guess_where_memory_is_lent),
        cmocka_unit_test(an_answer_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

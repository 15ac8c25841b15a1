/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/server/server.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/small_world_inside.h"

#define PUT "\"op\":\"put\",\"size\":100000,\"seed\":7,\"key\":"
#define GET "\"op\":\"get\",\"size\":100000,\"seed\":7,\"key\":"
#define MS (SECOND / 1000)

/* Both ends have DC; `client` is the client's device. */
static struct small_world *dc_pair(const char *rdma, bool client)
{
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->dc = true;
    small_port(w, PAIR_CLIENT)->dc = client;
    assert_int_equal(pair_server(w, rdma), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    return w;
}

static struct server *server_of(struct small_world *w)
{
    return w->nodes[PAIR_SERVER]->state;
}

/* MK-A5: queue pairs grow with the nodes. */
static void a_client_has_one_target_and_the_server_its_pool(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: dc, num_dcis: 3", true);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    pair_round(w, "rdma");
    assert_int_equal(small_open(w, PAIR_CLIENT, "qp"), 1);
    assert_int_equal(small_open(w, PAIR_CLIENT, "srq"), 1);
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 3);
    assert_int_equal(small_open(w, PAIR_SERVER, "ah"), 1);
    const char *metrics;
    assert_int_equal(small_http(w, PAIR_SERVER, "GET", "/v1/metrics", &metrics), 200);
    pair_has(metrics, "\nmemkv_links{transport=\"dc\"} 1\n");
    pair_has(metrics, "\nmemkv_dc_initiators{rail=\"mlx5_0:1\"} 3\n");
    small_stop(w, PAIR_CLIENT);
    small_run(w, SECOND);
    assert_int_equal(small_open(w, PAIR_SERVER, "ah"), 0);
    assert_int_equal(small_open(w, PAIR_SERVER, "qp"), 3);
    small_world_free(w);
}

static void without_a_target_rc_serves_unless_dc_must(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: auto", false);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"transport\":\"rc\"", SECOND));
    pair_round(w, "rdma");
    assert_int_equal(small_open(w, PAIR_SERVER, "ah"), 0);
    small_world_free(w);
    w = dc_pair("transport: dc", false);
    pair_has(pair_do(w, PUT "\"a\",\"timeout_ms\":1000"), "\"error\":\"dc_unsupported\"");
    assert_int_equal(small_logged(w, PAIR_SERVER, "found no DC target at the client"), 1);
    small_world_free(w);
}

/* An event of one initiator is nobody's fault: it recovers, and what it had is posted again. */
static void an_initiator_that_the_device_calls_broken_recovers(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: dc, num_dcis: 2", true);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    small_delay(w, 5 * MS);
    small_command(w, PAIR_CLIENT, "{\"id\":77," PUT "\"a\"}");
    small_run(w, 2 * MS);
    small_pair_async(w, PAIR_SERVER, FABRIC_ASYNC_QP_FATAL);
    pair_has(small_until(w, PAIR_CLIENT, "\"id\":77", SECOND), "\"class\":\"rdma\"");
    small_delay(w, 0);
    pair_has(pair_do(w, GET "\"a\""), "\"equal\":true");
    struct server *s = server_of(w);
    assert_int_equal(s->dc.recoveries, 1);
    assert_true(s->dc.flushed >= 1);
    assert_int_equal(s->posts[0], 0);
    assert_int_equal(small_logged(w, PAIR_SERVER, "connection lost"), 0);
    small_world_free(w);
}

/* MK-A4: a key that was taken back ends the operation that had it. Who does nothing else ends his
 * link, because each time an initiator breaks that others want. */
static void keys_that_were_taken_back_end_a_link_only_at_last(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: dc, num_dcis: 2", true);
    pair_has(pair_do(w, PUT "\"a\""), "\"class\":\"rdma\"");
    for (uint32_t i = 0; i <= SERVER_DC_REFUSALS; i++) {
        assert_int_equal(small_logged(w, PAIR_SERVER, "connection lost: remote_access"), 0);
        small_delay(w, 60 * MS); /* a suspect needs it twice: for its proof, and for the data */
        pair_has(pair_do(w, i ? GET "\"a\",\"timeout_ms\":90" : GET "\"a\",\"timeout_ms\":20"),
                 "\"class\":\"failed:timeout\"");
        small_delay(w, 0);
        small_run(w, 200 * MS);
    }
    assert_int_equal(small_logged(w, PAIR_SERVER, "connection lost: remote_access"), 1);
    assert_true(server_of(w)->dc.recoveries >= SERVER_DC_REFUSALS);
    assert_int_equal(server_of(w)->posts[0], 0);
    pair_round(w, "rdma");
    small_world_free(w);
}

/* Success between makes it start anew. */
static void a_success_forgives_what_was_taken_back(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: dc, num_dcis: 2", true);
    pair_has(pair_do(w, PUT "\"a\""), "\"class\":\"rdma\"");
    for (uint32_t i = 0; i <= SERVER_DC_REFUSALS; i++) {
        small_delay(w, 60 * MS);
        pair_has(pair_do(w, GET "\"a\",\"timeout_ms\":20"), "\"class\":\"failed:timeout\"");
        small_delay(w, 0);
        small_run(w, 200 * MS);
        pair_has(pair_do(w, GET "\"a\""), "\"equal\":true");
    }
    assert_int_equal(small_logged(w, PAIR_SERVER, "connection lost"), 0);
    assert_true(server_of(w)->dc.proofs >= SERVER_DC_REFUSALS); /* it answers before it is served */
    small_world_free(w);
}

static void verbs_of_dc_that_fail_end_in_rc_or_by_name(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    small_port(w, PAIR_SERVER)->dc = small_port(w, PAIR_CLIENT)->dc = true;
    small_fail(w, PAIR_CLIENT, FABRIC_OP_SRQ_CREATE, 1, 100, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(pair_server(w, "transport: auto"), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"transport\":\"rc\"", SECOND));
    assert_int_equal(small_logged(w, PAIR_CLIENT, "no DC target; RC is offered alone"), 1);
    small_world_free(w);
    w = small_world_new(2);
    small_port(w, PAIR_SERVER)->dc = small_port(w, PAIR_CLIENT)->dc = true;
    small_fail(w, PAIR_SERVER, FABRIC_OP_AH_CREATE, 1, 1, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(pair_server(w, "transport: auto"), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    assert_non_null(small_until(w, PAIR_SERVER, "\"reason\":\"resources_exhausted\"", SECOND));
    assert_non_null(small_until(w, PAIR_CLIENT, "\"transport\":\"dc\"", SECOND));
    pair_round(w, "rdma");
    small_world_free(w);
}

/* What others wait for at most is made of this. */
/* The pools of a rail are one for each path MTU, and each is spoken of by itself. */
static void a_pool_that_is_not_whole_is_said(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(3);
    for (uint32_t node = 0; node < 3; node++)
        small_port(w, node)->dc = true;
    small_fail(w, PAIR_SERVER, FABRIC_OP_QP_CREATE, 3, 1, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(pair_server(w, "transport: dc, num_dcis: 3"), 0);
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND / 2));
    assert_int_equal(small_logged(w, PAIR_SERVER, "2 of 3 DC initiators could be made"), 1);
    small_fail(w, PAIR_SERVER, FABRIC_OP_QP_CREATE, 2, 1, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(small_start(w, 2, &memkv_client_program,
                                 "{servers: [\"10.0.0.1:9900\"], auth_key: " PAIR_KEY
                                 ", transport: rdma, mtu: 2048}"),
                     0);
    assert_non_null(small_until(w, 2, "\"state\":\"up\"", SECOND / 4));
    assert_int_equal(small_logged(w, PAIR_SERVER, "1 of 3 DC initiators could be made"), 1);
    small_world_free(w);
}

static void a_hold_is_six_ack_timeouts_and_doubles_for_who_answers_between(void **state)
{
    (void)state;
    struct small_world *w = dc_pair("transport: dc", true);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    struct server *s = server_of(w);
    struct server_link link = {.dc = {.used = true}};
    const uint64_t hold = 6 * (4096ull << RAIL_ACK_TIMEOUT) + 10 * 16 * 1024;
    assert_int_equal(server_dc_hold(s, &link), hold);
    link.dc.taken_back = 2;
    assert_int_equal(server_dc_hold(s, &link), 4 * hold);
    link.dc.taken_back = 100;
    assert_int_equal(server_dc_hold(s, &link), 8 * hold);
    link.dc.suspect = true;
    assert_int_equal(server_dc_hold(s, &link), hold);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_has_one_target_and_the_server_its_pool),
        cmocka_unit_test(without_a_target_rc_serves_unless_dc_must),
        cmocka_unit_test(an_initiator_that_the_device_calls_broken_recovers),
        cmocka_unit_test(keys_that_were_taken_back_end_a_link_only_at_last),
        cmocka_unit_test(a_success_forgives_what_was_taken_back),
        cmocka_unit_test(verbs_of_dc_that_fail_end_in_rc_or_by_name),
        cmocka_unit_test(a_pool_that_is_not_whole_is_said),
        cmocka_unit_test(a_hold_is_six_ack_timeouts_and_doubles_for_who_answers_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

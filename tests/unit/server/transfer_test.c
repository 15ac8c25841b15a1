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

/* The completion queue is as deep as the contract asks: no more posts are under way than it holds,
 * and who found it full goes on when somebody's completion made room. */
static void no_more_is_posted_than_the_completion_queue_holds(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    struct server *s = w->nodes[PAIR_SERVER]->state;
    s->posts[0] = RAIL_CQ_DEPTH - 1; /* as others' posts would leave it */
    small_delay(w, SECOND / 1000);
    small_command(w, PAIR_CLIENT, "{\"id\":77," PUT "\"a\"}");
    small_command(w, PAIR_CLIENT, "{\"id\":88," PUT "\"b\"}");
    for (uint32_t i = 0; i < 40; i++) {
        small_run(w, SECOND / 2000);
        assert_true(s->posts[0] <= RAIL_CQ_DEPTH);
    }
    pair_has(pair_do(w, GET "\"a\""), "\"equal\":true");
    pair_has(pair_do(w, GET "\"b\""), "\"equal\":true");
    assert_int_equal(s->posts[0], RAIL_CQ_DEPTH - 1);
    small_world_free(w);
}

/* A probe is a post like any other: it waits for room, and a link is up when it has had its turn.
 */
static void a_probe_waits_for_room_in_the_completion_queue(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    assert_int_equal(pair_server(w, "devices: [mlx5_0]"), 0);
    struct server *s = w->nodes[PAIR_SERVER]->state;
    s->posts[0] = RAIL_CQ_DEPTH; /* as others' posts would leave it */
    assert_int_equal(pair_client(w, "rdma", ""), 0);
    for (uint32_t i = 0; i < 40; i++) {
        small_run(w, SECOND / 1000);
        assert_true(s->posts[0] <= RAIL_CQ_DEPTH);
    }
    struct server_transfer *t = s->waiting[0].first;
    assert_non_null(t);
    assert_int_equal(t->kind, SERVER_PROBE);
    assert_int_equal(t->outstanding, 0);
    s->posts[0] = RAIL_CQ_DEPTH - 1;
    assert_ptr_equal(server_transfer_waited(s, 0), t);
    server_probe_resume(s, t);
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    s->posts[0] = 0;
    pair_round(w, "rdma");
    small_world_free(w);
}

/* A refused post never left: it is posted again, or it ends by name. */
static void a_refused_post_is_no_lost_one(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 4; nth++) {
        struct small_world *w = pair_new("rdma");
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
        small_fail(w, PAIR_SERVER, FABRIC_OP_QP_POST_SEND, nth, 1, ERR_QUEUE_FULL);
        const char *line = pair_do(w, PUT "\"a\"");
        /* With nothing under way no completion would ever go on with it. */
        pair_has(line, nth == 1 ? "\"class\":\"failed:queue_full\"" : "\"class\":\"rdma\"");
        pair_round(w, "rdma");
        struct server *s = w->nodes[PAIR_SERVER]->state;
        assert_int_equal(s->posts[0], 0);
        assert_int_equal(s->counters.tag_mismatches, 0);
        small_world_free(w);
    }
}

/* MK-I3: status and metrics count what somebody got. */
static void what_was_cancelled_is_not_counted_as_moved(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    pair_has(pair_do(w, PUT "\"a\""), "\"class\":\"rdma\"");
    small_completion_delay(w, 5 * SECOND); /* the bytes are there, but nobody knows */
    pair_has(pair_do(w, GET "\"a\",\"timeout_ms\":1000"), "\"class\":\"failed:timeout\"");
    small_run(w, 10 * SECOND);
    small_command(w, PAIR_SERVER, "{\"id\":9,\"op\":\"status\"}");
    const char *line = small_until(w, PAIR_SERVER, "\"id\":9", SECOND);
    pair_has(line, "\"puts\":1,\"gets\":0,\"rdma_read_bytes\":100000,\"rdma_write_bytes\":0");
    const char *metrics;
    assert_int_equal(small_http(w, PAIR_SERVER, "GET", "/v1/metrics", &metrics), 200);
    pair_has(metrics, "\nmemkv_read_total{transport=\"rdma\"} 0\n");
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_cancelled_is_not_counted_as_moved),
        cmocka_unit_test(no_more_is_posted_than_the_completion_queue_holds),
        cmocka_unit_test(a_probe_waits_for_room_in_the_completion_queue),
        cmocka_unit_test(a_refused_post_is_no_lost_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

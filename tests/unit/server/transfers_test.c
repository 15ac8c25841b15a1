/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/server/server.h"
#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"
#include "tests/support/small_world_inside.h"

static struct rogue r;

/* The real server, and a rogue client that has as many PUTs open as one may have. */
static struct small_world *met_full(struct wire_message *put)
{
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    *put = (struct wire_message){.type = WIRE_PUT, .length = 60, .key = "key", .key_length = 3};
    for (put->id = 1; put->id <= SERVER_CONNECTION_TRANSFERS; put->id++)
        assert_int_equal(rogue_send(&r, put), 0);
    small_run(w, SECOND / 10);
    assert_null(rogue_last(&r, WIRE_RESULT));
    return w;
}

static void one_client_has_a_bounded_number_of_transfers(void **state)
{
    (void)state;
    struct wire_message put;
    struct small_world *w = met_full(&put);
    assert_int_equal(rogue_send(&r, &put), 0);
    small_run(w, SECOND / 10);
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->id, put.id);
    assert_int_equal(rogue_last(&r, WIRE_RESULT)->error, ERR_QUEUE_FULL);
    small_world_free(w);
}

static void one_client_has_a_bounded_number_of_deletions(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    struct server_connection *c = ((struct server *)w->nodes[PAIR_SERVER]->state)->connections[0];
    const struct wire_message m = {.type = WIRE_DELETE, .id = 1, .key = "k", .key_length = 1};
    for (unsigned less = 0; less < 2; less++) {
        c->deletions = SERVER_CONNECTION_TRANSFERS - less; /* wait for a medium */
        assert_int_equal(rogue_send(&r, &m), 0);
        small_run(w, SECOND / 10);
        assert_int_equal(rogue_last(&r, WIRE_RESULT)->error, less ? FABRIC_OK : ERR_QUEUE_FULL);
    }
    small_world_free(w);
}

/* Whatever ends while one walks, the walk meets each of the others once, in order. */
static void a_walk_goes_on_whatever_ends_meanwhile(void **state)
{
    (void)state;
    struct wire_message put;
    struct small_world *w = met_full(&put);
    struct server *s = w->nodes[PAIR_SERVER]->state;
    struct server_connection *c = s->connections[0];
    struct server_walk walk;
    uint64_t met = 0, last = 0;
    for (struct server_transfer *t = server_walk(s, c, &walk); t; t = server_walk_on(s, &walk)) {
        assert_true(t->id > last);
        last = t->id;
        met++;
        server_cancel(s, c, last + 1); /* the next one */
        if (last % 3 == 0)
            server_cancel(s, c, last); /* and the one it is at */
    }
    assert_int_equal(met, SERVER_CONNECTION_TRANSFERS / 2);
    assert_int_equal(last, SERVER_CONNECTION_TRANSFERS - 1);
    small_world_free(w);
}

/* The next ones get the positions of those that ended; nothing is left of a connection. */
static void positions_are_used_again(void **state)
{
    (void)state;
    struct wire_message put;
    struct small_world *w = met_full(&put);
    struct server *s = w->nodes[PAIR_SERVER]->state;
    struct server_connection *c = s->connections[0];
    const uint32_t end = s->transfer_end;
    server_cancel(s, c, 7);
    server_cancel(s, c, 8);
    assert_null(server_transfer_by_id(s, c, 7));
    assert_int_equal(rogue_send(&r, &put), 0);
    small_run(w, SECOND / 10);
    assert_non_null(server_transfer_by_id(s, c, put.id));
    assert_int_equal(s->transfer_end, end);
    assert_int_equal(s->free_count, 1);
    small_reset_streams(w, PAIR_CLIENT);
    small_run(w, SECOND / 10);
    assert_int_equal(server_transfer_count(s), 0);
    assert_int_equal(s->free_count, end);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_client_has_a_bounded_number_of_transfers),
        cmocka_unit_test(one_client_has_a_bounded_number_of_deletions),
        cmocka_unit_test(a_walk_goes_on_whatever_ends_meanwhile),
        cmocka_unit_test(positions_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

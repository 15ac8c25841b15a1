/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/rail/backoff.h"
#include "src/rail/pair.h"
#include "tests/support/small_world.h"

static struct config_rdma config;
static struct rail rails[RAIL_MAX];

static struct small_world *ready(void)
{
    struct small_world *w = small_world_new(1);
    config_rdma_defaults(&config);
    assert_int_equal(rail_open_all(small_fabric(w, 0), RAIL_CLIENT, &config, rails), 1);
    assert_true(rail_judge(&rails[0]));
    return w;
}

/* MK-B3: a stranger cannot guess where a connection's numbers begin. */
static void initial_psns_differ(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_pair a, b;
    assert_int_equal(rail_pair_create(&rails[0], 0, &a), 0);
    assert_int_equal(rail_pair_create(&rails[0], 0, &b), 0);
    assert_true(a.psn != b.psn);
    assert_true(a.psn <= 0xffffff && b.psn <= 0xffffff);
    rail_pair_destroy(&rails[0], &a);
    rail_pair_destroy(&rails[0], &b);
    rail_close(&rails[0]);
    small_world_free(w);
}

static void a_pair_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    static const enum fabric_op ops[] = {FABRIC_OP_QP_CREATE, FABRIC_OP_QP_MODIFY,
                                         FABRIC_OP_QP_MODIFY, FABRIC_OP_QP_MODIFY};
    for (uint32_t i = 0; i < 4; i++) {
        struct small_world *w = ready();
        struct rail_pair pair = {.qp = {0}};
        struct fabric_path path;
        char detail[FABRIC_AV_DETAIL];
        struct fabric_port_address peer = rails[0].address;
        peer.max_rd_atomic = 4;
        peer.max_dest_rd_atomic = 0;
        small_fail(w, 0, ops[i], i ? i : 1, 1, ERR_RESOURCES_EXHAUSTED);
        enum fabric_error error = rail_pair_create(&rails[0], 0, &pair);
        assert_int_equal(error != FABRIC_OK, i < 2);
        assert_int_equal(rail_path(&rails[0], &peer, &path, detail), 0);
        if (!error)
            error = rail_pair_connect(&rails[0], &pair, &path, 5, 6);
        assert_int_equal(error, ERR_RESOURCES_EXHAUSTED);
        assert_int_equal(small_open(w, 0, "qp"), 0);
        rail_close(&rails[0]);
        small_world_free(w);
    }
}

/* Its device was closed meanwhile: the handle is another one's now. */
static void a_pair_of_a_closed_device_is_only_forgotten(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_pair pair;
    assert_int_equal(rail_pair_create(&rails[0], 0, &pair), 0);
    small_run(w, RAIL_SETTLED);
    rails[0].device_lost = true;
    assert_true(rail_judge(&rails[0]));
    assert_true(pair.epoch != rails[0].epoch);
    rail_pair_destroy(&rails[0], &pair);
    assert_int_equal(pair.qp.id, 0);
    rail_close(&rails[0]);
    small_world_free(w);
}

/* MK-D6: only the receiver's counter tells why nothing came back. */
static void retry_exceeded_is_explained_by_the_violations_since_then(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_pair pair;
    char text[RAIL_EXPLAIN];
    assert_int_equal(rail_pair_create(&rails[0], 0, &pair), 0);
    rail_explain(&rails[0], &pair, ERR_RETRY_EXCEEDED, text);
    assert_string_equal(text, "; 0 P_Key violations at the client's port");
    pair.bad_pkey_cntr -= 3;
    rail_explain(&rails[0], &pair, ERR_RETRY_EXCEEDED, text);
    assert_string_equal(text, "; 3 P_Key violations at the client's port");
    rail_explain(&rails[0], &pair, ERR_FLUSHED, text);
    assert_string_equal(text, "");
    rail_pair_destroy(&rails[0], &pair);
    rail_close(&rails[0]);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_psns_differ),
        cmocka_unit_test(a_pair_that_cannot_be_made_leaves_nothing),
        cmocka_unit_test(a_pair_of_a_closed_device_is_only_forgotten),
        cmocka_unit_test(retry_exceeded_is_explained_by_the_violations_since_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

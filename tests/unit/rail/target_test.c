/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/rail/initiator.h"
#include "src/rail/target.h"
#include "tests/support/small_world.h"

static struct config_rdma config;
static struct rail rails[RAIL_MAX];

static struct small_world *ready(void)
{
    struct small_world *w = small_world_new(1);
    small_port(w, 0)->dc = true;
    config_rdma_defaults(&config);
    assert_int_equal(rail_open_all(small_fabric(w, 0), RAIL_CLIENT, &config, rails), 1);
    assert_true(rail_judge(&rails[0]));
    return w;
}

static void end(struct small_world *w)
{
    rail_close(&rails[0]);
    small_world_free(w);
}

/* MK-B3: a stranger who guesses the number does not have the key. */
static void access_keys_differ(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_target a, b;
    assert_int_equal(rail_target_create(&rails[0], 0, &a), 0);
    assert_int_equal(rail_target_create(&rails[0], 0, &b), 0);
    assert_true(a.access_key != b.access_key);
    assert_true(a.dct_num && a.dct_num != b.dct_num);
    rail_target_destroy(&rails[0], &a);
    rail_target_destroy(&rails[0], &b);
    assert_int_equal(small_open(w, 0, "qp"), 0);
    assert_int_equal(small_open(w, 0, "srq"), 0);
    end(w);
}

static void what_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    static const struct {
        enum fabric_op op;
        uint32_t nth;
    } fails[] = {{FABRIC_OP_SRQ_CREATE, 1},
                 {FABRIC_OP_QP_CREATE, 1},
                 {FABRIC_OP_QP_MODIFY, 1},
                 {FABRIC_OP_QP_MODIFY, 2}};
    struct small_world *w = ready();
    for (uint32_t i = 0; i < 4; i++) {
        struct rail_target t = {.dct_num = 77};
        small_fail(w, 0, fails[i].op, fails[i].nth, 1, ERR_RESOURCES_EXHAUSTED);
        assert_int_equal(rail_target_create(&rails[0], 0, &t), ERR_RESOURCES_EXHAUSTED);
        assert_int_equal(t.dct_num, 77);
        assert_int_equal(small_open(w, 0, "qp"), 0);
        assert_int_equal(small_open(w, 0, "srq"), 0);
    }
    small_fail(w, 0, FABRIC_OP_QP_MODIFY, 3, 1, ERR_RESOURCES_EXHAUSTED);
    fabric_qp qp;
    assert_int_equal(rail_initiator_create(&rails[0], FABRIC_MTU_1024, 0, &qp),
                     ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(small_open(w, 0, "qp"), 0);
    end(w);
}

static void an_initiator_recovers_or_is_gone(void **state)
{
    (void)state;
    struct small_world *w = ready();
    const struct fabric_qp_attr broken = {.state = FABRIC_QPS_ERR};
    struct fabric_qp_info info;
    fabric_qp qp;
    assert_int_equal(rail_initiator_create(&rails[0], FABRIC_MTU_1024, 0, &qp), 0);
    assert_int_equal(fabric_qp_modify(rails[0].fabric, qp, &broken), 0);
    assert_int_equal(rail_initiator_recover(&rails[0], FABRIC_MTU_1024, qp), 0);
    assert_int_equal(fabric_qp_query(rails[0].fabric, qp, &info), 0);
    assert_int_equal(info.state, FABRIC_QPS_RTS);
    small_fail(w, 0, FABRIC_OP_QP_MODIFY, 2, 1, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(rail_initiator_recover(&rails[0], FABRIC_MTU_1024, qp),
                     ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(small_open(w, 0, "qp"), 0);
    end(w);
}

/* It stands while its class does: port, P_Key index, MTU, GID. */
static void a_target_stands_while_its_class_does(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_target t;
    struct rail *r = &rails[0];
    assert_int_equal(rail_target_create(r, 0, &t), 0);
    r->address.lid = 99;
    assert_true(rail_target_stands(r, &t));
    r->address.pkey_index++;
    assert_false(rail_target_stands(r, &t));
    r->address.pkey_index--;
    r->address.mtu = FABRIC_MTU_256;
    assert_false(rail_target_stands(r, &t));
    r->address.mtu = t.mtu;
    r->address.flags = FABRIC_PORT_GRH_REQUIRED; /* it has no GRH */
    assert_false(rail_target_stands(r, &t));
    r->address.flags = 0;
    assert_true(rail_target_stands(r, &t));
    r->epoch++;
    assert_false(rail_target_stands(r, &t));
    r->epoch--;
    rail_target_destroy(r, &t);
    assert_false(rail_target_stands(r, &t));
    end(w);
}

/* Its own GID may move in the list, and not go. */
static void a_target_with_a_grh_stands_with_its_gid(void **state)
{
    (void)state;
    struct small_world *w = ready();
    struct rail_target t;
    struct rail *r = &rails[0];
    struct fabric_port_address *a = &r->address;
    a->flags = FABRIC_PORT_GRH_REQUIRED;
    assert_int_equal(rail_target_create(r, 0, &t), 0);
    assert_int_equal(t.gid, 0);
    a->gids[1] = a->gids[0];
    a->gids[0].gid.raw[15] ^= 1;
    a->gid_count = 2;
    assert_true(rail_target_stands(r, &t));
    assert_int_equal(t.gid, 1);
    assert_false(rail_target_is_best(r, &t));
    a->gid_count = 1;
    assert_false(rail_target_stands(r, &t));
    rail_target_destroy(r, &t);
    end(w);
}

static void without_dc_there_is_no_target(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(1);
    struct rail_target t;
    config_rdma_defaults(&config);
    assert_int_equal(rail_open_all(small_fabric(w, 0), RAIL_CLIENT, &config, rails), 1);
    assert_true(rail_judge(&rails[0]));
    assert_false(rail_has_dc(&rails[0]));
    assert_int_equal(rail_target_create(&rails[0], 0, &t), ERR_DC_UNSUPPORTED);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_keys_differ),
        cmocka_unit_test(what_cannot_be_made_leaves_nothing),
        cmocka_unit_test(an_initiator_recovers_or_is_gone),
        cmocka_unit_test(a_target_stands_while_its_class_does),
        cmocka_unit_test(a_target_with_a_grh_stands_with_its_gid),
        cmocka_unit_test(without_dc_there_is_no_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

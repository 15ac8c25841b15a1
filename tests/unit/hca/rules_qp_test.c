/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_sim/hca/rules.h"

static const struct rules_limits limits = {
    .ports = 1, .max_rd_atomic = 16, .max_init_rd_atomic = 16};

static struct port_info a_port(void)
{
    struct port_info port = {.port_num = 1,
                             .link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                             .state = FABRIC_PORT_ACTIVE,
                             .active_mtu = FABRIC_MTU_2048,
                             .pkey_count = 4,
                             .gid_count = 2};
    port.pkeys[0] = 0xffff;
    port.gids[0].gid.raw[0] = 0xfe;
    return port;
}

static struct hca_qp_attr attributes(void)
{
    return (struct hca_qp_attr){.port_num = 1,
                                .path_mtu = FABRIC_MTU_2048,
                                .av = {.dlid = 3, .port_num = 1},
                                .dest_qp_num = 7,
                                .max_rd_atomic = 1,
                                .max_dest_rd_atomic = 1,
                                .timeout = 14,
                                .retry_cnt = 7,
                                .rnr_retry = 7};
}

/* The diagram of chapter 10.3.1, figure 124: which arrows there are, by type. */
static void transitions_are_those_of_the_specification(void **state)
{
    (void)state;
    /* to: RESET INIT RTR RTS SQD SQE ERR */
    static const char *const arrows[] = {"++-----", "+++---+", "+--+--+", "+--++-+",
                                         "+--++-+", "+-----+", "+-----+"};
    for (int from = 0; from < 7; from++)
        for (int to = 0; to < 7; to++) {
            uint32_t required, optional;
            bool valid = rules_qp_transition(HCA_QP_RC, (enum fabric_qp_state)from,
                                             (enum fabric_qp_state)to, &required, &optional);
            assert_int_equal(valid, arrows[from][to] == '+');
        }
}

static void the_other_types_differ_where_they_should(void **state)
{
    (void)state;
    uint32_t required, optional;
    assert_true(
        rules_qp_transition(HCA_QP_UD, FABRIC_QPS_SQE, FABRIC_QPS_RTS, &required, &optional));
    assert_false(
        rules_qp_transition(HCA_QP_DCT, FABRIC_QPS_RTR, FABRIC_QPS_RTS, &required, &optional));
    assert_false(
        rules_qp_transition(HCA_QP_DCI, FABRIC_QPS_RTS, FABRIC_QPS_SQD, &required, &optional));
    assert_true(
        rules_qp_transition(HCA_QP_UC, FABRIC_QPS_SQE, FABRIC_QPS_RTS, &required, &optional));
    assert_false(
        rules_qp_transition(HCA_QP_XRC_INI, FABRIC_QPS_SQE, FABRIC_QPS_RTS, &required, &optional));
    assert_false(
        rules_qp_transition(HCA_QP_DCT, FABRIC_QPS_RTR, FABRIC_QPS_ERR, &required, &optional));
}

static void each_required_attribute_is_missed_and_no_other_is_taken(void **state)
{
    (void)state;
    static const struct {
        enum hca_qp_type type;
        enum fabric_qp_state from, to;
    } moves[] = {{HCA_QP_RC, FABRIC_QPS_RESET, FABRIC_QPS_INIT},
                 {HCA_QP_RC, FABRIC_QPS_INIT, FABRIC_QPS_RTR},
                 {HCA_QP_RC, FABRIC_QPS_RTR, FABRIC_QPS_RTS},
                 {HCA_QP_UC, FABRIC_QPS_INIT, FABRIC_QPS_RTR},
                 {HCA_QP_UC, FABRIC_QPS_RTR, FABRIC_QPS_RTS},
                 {HCA_QP_UD, FABRIC_QPS_RESET, FABRIC_QPS_INIT},
                 {HCA_QP_UD, FABRIC_QPS_RTR, FABRIC_QPS_RTS},
                 {HCA_QP_DCI, FABRIC_QPS_INIT, FABRIC_QPS_RTR},
                 {HCA_QP_XRC_INI, FABRIC_QPS_INIT, FABRIC_QPS_RTR},
                 {HCA_QP_XRC_INI, FABRIC_QPS_RTR, FABRIC_QPS_RTS},
                 {HCA_QP_XRC_TGT, FABRIC_QPS_INIT, FABRIC_QPS_RTR},
                 {HCA_QP_XRC_TGT, FABRIC_QPS_RTR, FABRIC_QPS_RTS},
                 {HCA_QP_DCT, FABRIC_QPS_INIT, FABRIC_QPS_RTR}};
    struct port_info port = a_port();
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        struct hca_qp_attr attr = attributes();
        attr.state = moves[i].to;
        uint32_t required, optional;
        assert_true(
            rules_qp_transition(moves[i].type, moves[i].from, moves[i].to, &required, &optional));
        uint32_t whole = HCA_QP_STATE | required;
        assert_int_equal(hca_qp_required_mask(moves[i].type, moves[i].from, moves[i].to), whole);
        assert_int_equal(
            rules_qp_modify(moves[i].type, moves[i].from, &attr, whole, &limits, &port), FABRIC_OK);
        for (uint32_t bit = 2; bit <= HCA_QP_DEST_QPN; bit *= 2) {
            bool needed = (required & bit) != 0;
            bool allowed = needed || (optional & bit) || bit == HCA_QP_CUR_STATE;
            if (allowed && !needed)
                continue;
            assert_int_equal(
                rules_qp_modify(moves[i].type, moves[i].from, &attr, whole ^ bit, &limits, &port),
                ERR_INVALID_ARGUMENT);
        }
    }
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    struct port_info port = a_port();
    for (int i = 0; i < 11; i++) {
        struct hca_qp_attr attr = attributes();
        bool rtr = i < 6;
        attr.state = rtr ? FABRIC_QPS_RTR : FABRIC_QPS_RTS;
        enum fabric_qp_state from = rtr ? FABRIC_QPS_INIT : FABRIC_QPS_RTR;
        attr.dest_qp_num = i == 0 ? 1u << 24 : 1;
        attr.rq_psn = i == 1 ? 1u << 24 : 1;
        attr.max_dest_rd_atomic = i == 2 ? 17 : 16;
        attr.min_rnr_timer = i == 3 ? 32 : 31;
        attr.path_mtu = i == 4 ? (enum fabric_mtu)6 : FABRIC_MTU_4096;
        attr.av.sl = i == 5 ? 16 : 15;
        attr.sq_psn = i == 6 ? 1u << 24 : 1;
        attr.max_rd_atomic = i == 7 ? 17 : 16;
        attr.timeout = i == 8 ? 32 : 31;
        attr.retry_cnt = i == 9 ? 8 : 7;
        attr.rnr_retry = i == 10 ? 8 : 7;
        uint32_t mask = hca_qp_required_mask(HCA_QP_RC, from, attr.state);
        assert_int_equal(rules_qp_modify(HCA_QP_RC, from, &attr, mask, &limits, &port),
                         ERR_INVALID_ARGUMENT);
    }
}

static void the_p_key_index_must_name_a_key(void **state)
{
    (void)state;
    struct port_info port = a_port();
    struct hca_qp_attr attr = attributes();
    uint32_t mask = hca_qp_required_mask(HCA_QP_RC, FABRIC_QPS_RESET, FABRIC_QPS_INIT);
    attr.state = FABRIC_QPS_INIT;
    attr.pkey_index = 4;
    assert_int_equal(rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RESET, &attr, mask, &limits, &port),
                     ERR_PKEY_INDEX_RANGE);
    attr.pkey_index = 1;
    assert_int_equal(rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RESET, &attr, mask, &limits, &port),
                     ERR_PKEY_EMPTY);
    port.pkeys[1] = 0x8000;
    assert_int_equal(rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RESET, &attr, mask, &limits, &port),
                     ERR_PKEY_EMPTY);
    port.pkeys[1] = 0x0001;
    assert_int_equal(rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RESET, &attr, mask, &limits, &port),
                     FABRIC_OK);
    assert_int_equal(rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RESET, &attr, mask, &limits, NULL),
                     ERR_INVALID_ARGUMENT);
}

static enum fabric_error to_rtr(const struct port_info *port, struct hca_qp_attr attr,
                                bool mtu_checked)
{
    struct rules_limits checked = limits;
    checked.rtr_mtu_checked = mtu_checked;
    attr.state = FABRIC_QPS_RTR;
    return rules_qp_modify(HCA_QP_RC, FABRIC_QPS_INIT, &attr,
                           hca_qp_required_mask(HCA_QP_RC, FABRIC_QPS_INIT, FABRIC_QPS_RTR),
                           &checked, port);
}

static void rtr_without_a_grh_where_one_is_required_is_refused(void **state)
{
    (void)state;
    struct port_info port = a_port();
    struct hca_qp_attr attr = attributes();
    port.grh_required = 1;
    assert_int_equal(to_rtr(&port, attr, false), ERR_GRH_UNAVAILABLE);
    attr.av.is_global = true;
    assert_int_equal(to_rtr(&port, attr, false), FABRIC_OK);
    attr.av.grh.sgid_index = 1; /* empty */
    assert_int_equal(to_rtr(&port, attr, false), ERR_INVALID_ARGUMENT);
    attr.av.grh.sgid_index = 2; /* past the end */
    assert_int_equal(to_rtr(&port, attr, false), ERR_INVALID_ARGUMENT);
    port = a_port();
    port.link_layer = FABRIC_LINK_LAYER_ETHERNET;
    assert_int_equal(to_rtr(&port, attributes(), false), ERR_GRH_UNAVAILABLE);
}

static void dlid_0_passes_rtr(void **state)
{
    (void)state;
    struct port_info port = a_port();
    struct hca_qp_attr attr = attributes();
    attr.av.dlid = 0;
    assert_int_equal(to_rtr(&port, attr, true), FABRIC_OK);
}

static void above_the_active_mtu_rtr_is_refused_by_capability(void **state)
{
    (void)state;
    struct port_info port = a_port();
    struct hca_qp_attr attr = attributes();
    attr.path_mtu = FABRIC_MTU_4096;
    assert_int_equal(to_rtr(&port, attr, true), ERR_MTU_ABOVE_ACTIVE);
    assert_int_equal(to_rtr(&port, attr, false), FABRIC_OK);
    attr.path_mtu = FABRIC_MTU_2048;
    assert_int_equal(to_rtr(&port, attr, true), FABRIC_OK);
}

static void the_current_state_must_be_right(void **state)
{
    (void)state;
    struct port_info port = a_port();
    struct hca_qp_attr attr = attributes();
    attr.cur_state = FABRIC_QPS_RTS;
    assert_int_equal(
        rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RTS, &attr, HCA_QP_CUR_STATE, &limits, &port),
        FABRIC_OK);
    attr.cur_state = FABRIC_QPS_SQD;
    assert_int_equal(
        rules_qp_modify(HCA_QP_RC, FABRIC_QPS_RTS, &attr, HCA_QP_CUR_STATE, &limits, &port),
        ERR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transitions_are_those_of_the_specification),
        cmocka_unit_test(the_other_types_differ_where_they_should),
        cmocka_unit_test(each_required_attribute_is_missed_and_no_other_is_taken),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(the_p_key_index_must_name_a_key),
        cmocka_unit_test(rtr_without_a_grh_where_one_is_required_is_refused),
        cmocka_unit_test(dlid_0_passes_rtr),
        cmocka_unit_test(above_the_active_mtu_rtr_is_refused_by_capability),
        cmocka_unit_test(the_current_state_must_be_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

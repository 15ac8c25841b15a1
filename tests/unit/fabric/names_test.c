/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/fabric.h"

/* MK-F1. */
static void mtu_codes_and_bytes_lead_to_each_other(void **state)
{
    (void)state;
    static const uint32_t bytes[] = {0, 256, 512, 1024, 2048, 4096, 0};
    for (uint32_t code = 0; code <= 6; code++)
        assert_int_equal(fabric_mtu_bytes((enum fabric_mtu)code), bytes[code]);
    for (uint32_t code = 1; code <= 5; code++)
        assert_int_equal(fabric_mtu_code(bytes[code]), code);
    assert_int_equal(fabric_mtu_code(0), 0);
    assert_int_equal(fabric_mtu_code(1500), 0);
    assert_int_equal(fabric_mtu_code(8192), 0);
    assert_int_equal(fabric_mtu_bytes((enum fabric_mtu) - 1), 0);
}

static void every_failed_completion_has_an_error_of_its_kind(void **state)
{
    (void)state;
    assert_int_equal(fabric_wc_error(FABRIC_WC_SUCCESS), FABRIC_OK);
    for (int i = 1; i < FABRIC_WC_STATUS_COUNT; i++)
        assert_int_not_equal(fabric_wc_error((enum fabric_wc_status)i), FABRIC_OK);
    assert_int_equal(fabric_wc_error(FABRIC_WC_RETRY_EXC_ERR), ERR_RETRY_EXCEEDED);
    assert_int_equal(fabric_wc_error(FABRIC_WC_RNR_RETRY_EXC_ERR), ERR_RNR_EXCEEDED);
    assert_int_equal(fabric_wc_error(FABRIC_WC_WR_FLUSH_ERR), ERR_FLUSHED);
    assert_int_equal(fabric_wc_error(FABRIC_WC_REM_ACCESS_ERR), ERR_REMOTE_ACCESS);
    assert_int_equal(fabric_wc_error(FABRIC_WC_REM_INV_REQ_ERR), ERR_REMOTE_INVALID);
    assert_int_equal(fabric_wc_error(FABRIC_WC_LOC_PROT_ERR), ERR_LOCAL_PROTECTION);
    assert_int_equal(fabric_wc_error(FABRIC_WC_LOC_LEN_ERR), ERR_LOCAL_LENGTH);
}

static void values_are_named_as_rdma_core_spells_them(void **state)
{
    (void)state;
    assert_string_equal(fabric_wc_status_name(FABRIC_WC_RETRY_EXC_ERR), "RETRY_EXC_ERR");
    assert_string_equal(fabric_wc_status_name(FABRIC_WC_GENERAL_ERR), "GENERAL_ERR");
    assert_string_equal(fabric_async_name(FABRIC_ASYNC_PORT_ACTIVE), "PORT_ACTIVE");
    assert_string_equal(fabric_async_name(FABRIC_ASYNC_UNKNOWN), "UNKNOWN");
    assert_string_equal(fabric_cap_name(FABRIC_CAP_BIT_GRH_REQUIRED), "grh_required");
    assert_string_equal(fabric_cap_name(FABRIC_CAP_BIT_STORAGE_ORDER), "storage_order");
    assert_string_equal(fabric_event_name(FABRIC_EVENT_COMPLETION), "completion");
    assert_string_equal(fabric_event_name(FABRIC_EVENT_WOKEN), "woken");
    assert_string_equal(fabric_qp_state_name(FABRIC_QPS_RTS), "RTS");
    assert_string_equal(fabric_port_state_name(FABRIC_PORT_ARMED), "ARMED");
    assert_string_equal(fabric_port_state_name((enum fabric_port_state)17), "unknown");
}

static void operations_are_found_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < FABRIC_OP_COUNT; i++) {
        enum fabric_op op = FABRIC_OP_COUNT;
        assert_true(fabric_op_by_name(fabric_op_name((enum fabric_op)i), &op));
        assert_int_equal(op, i);
    }
    enum fabric_op op = FABRIC_OP_POLL;
    assert_string_equal(fabric_op_name(FABRIC_OP_QP_POST_SEND), "qp_post_send");
    assert_false(fabric_op_by_name("no_such_operation", &op));
    assert_int_equal(op, FABRIC_OP_POLL);
}

static void every_capability_is_a_bit_of_its_own(void **state)
{
    (void)state;
    fabric_caps all = 0;
#define X(upper, lower, text) all ^= FABRIC_CAP_##upper;
    FABRIC_CAPABILITIES(X)
#undef X
    assert_true(FABRIC_CAP_COUNT > 32 && FABRIC_CAP_COUNT < 64);
    assert_true(all == (UINT64_C(1) << FABRIC_CAP_COUNT) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtu_codes_and_bytes_lead_to_each_other),
        cmocka_unit_test(every_failed_completion_has_an_error_of_its_kind),
        cmocka_unit_test(values_are_named_as_rdma_core_spells_them),
        cmocka_unit_test(operations_are_found_by_name),
        cmocka_unit_test(every_capability_is_a_bit_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

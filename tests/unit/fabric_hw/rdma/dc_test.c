/* SPDX-License-Identifier: Apache-2.0 */
/* DC through mlx5dv, as a record of its calls: it has not met an HCA. MK-A5. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/verbs_fake.h"

static struct os_bed bed;
static fabric_device device;
static fabric_cq cq;

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    verbs_fake.mlx5 = true;
    device = verbs_fake_device(&bed);
    return (int)fabric_cq_create(bed.f, device, 64, &cq);
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static fabric_qp initiator(void)
{
    const struct fabric_qp_init init = {.type = FABRIC_QP_DCI,
                                        .send_cq = cq,
                                        .max_send_wr = 16,
                                        .max_send_sge = 2,
                                        .max_inline = 64};
    fabric_qp dci = {0};
    assert_int_equal(fabric_qp_create(bed.f, device, &init, &dci), FABRIC_OK);
    return dci;
}

static void an_initiator_is_made_with_its_operations_and_moved_without_a_peer(void **state)
{
    (void)state;
    struct fabric_device_attr attr;
    assert_int_equal(fabric_device_query(bed.f, device, &attr), FABRIC_OK);
    assert_true(attr.caps & FABRIC_CAP_DC);
    fabric_qp dci = initiator();
    assert_int_equal(verbs_fake.dc.comp_mask, MLX5DV_QP_INIT_ATTR_MASK_DC);
    assert_int_equal(verbs_fake.dc.dc_init_attr.dc_type, MLX5DV_DCTYPE_DCI);
    assert_int_equal(verbs_fake.dc_init.comp_mask,
                     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    assert_int_equal(verbs_fake.dc_init.send_ops_flags,
                     IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                         IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                         IBV_QP_EX_WITH_RDMA_READ);
    assert_int_equal(verbs_fake.dc_init.cap.max_recv_wr, 0);
    assert_int_equal(verbs_fake_move(&bed, dci, FABRIC_QPS_INIT), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX);
    assert_int_equal(verbs_fake_move(&bed, dci, FABRIC_QPS_RTR), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask, IBV_QP_STATE | IBV_QP_PATH_MTU);
    assert_int_equal(verbs_fake_move(&bed, dci, FABRIC_QPS_RTS), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                                                   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                   IBV_QP_MAX_QP_RD_ATOMIC);
}

static void a_target_has_a_key_a_shared_queue_and_a_number_once_it_may_receive(void **state)
{
    (void)state;
    struct fabric_qp_info info;
    struct fabric_qp_init init = {
        .type = FABRIC_QP_DCT, .recv_cq = cq, .dc_access_key = UINT64_C(0x1122334455667788)};
    fabric_qp dct = {0};
    assert_int_equal(fabric_srq_create(bed.f, device, 8, 1, &init.srq), FABRIC_OK);
    assert_int_equal(fabric_qp_create(bed.f, device, &init, &dct), FABRIC_OK);
    assert_int_equal(verbs_fake.dc.dc_init_attr.dc_type, MLX5DV_DCTYPE_DCT);
    assert_int_equal(verbs_fake.dc.dc_init_attr.dct_access_key, UINT64_C(0x1122334455667788));
    assert_non_null(verbs_fake.dc_init.srq);
    assert_int_equal(fabric_qp_query(bed.f, dct, &info), FABRIC_OK);
    assert_int_equal(info.qp_num, 0);
    assert_int_equal(verbs_fake_move(&bed, dct, FABRIC_QPS_INIT), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask,
                     IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    assert_int_equal(verbs_fake_move(&bed, dct, FABRIC_QPS_RTR), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask,
                     IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
    assert_int_equal(fabric_qp_query(bed.f, dct, &info), FABRIC_OK);
    assert_true(info.qp_num != 0);
    assert_int_equal(verbs_fake_move(&bed, dct, FABRIC_QPS_RTS), ERR_INVALID_ARGUMENT);
    assert_int_equal(verbs_fake_move(&bed, dct, FABRIC_QPS_ERR), ERR_INVALID_ARGUMENT);
    assert_int_equal(verbs_fake_move(&bed, dct, FABRIC_QPS_RESET), ERR_INVALID_ARGUMENT);
}

static void a_send_names_handle_target_and_key_between_operation_and_data(void **state)
{
    (void)state;
    static uint8_t buffer[4096] __attribute__((aligned(4096)));
    const struct fabric_mr_init memory = {.addr = buffer, .length = 4096, .iova = 0x40000};
    const struct fabric_av av = {.port_num = 1, .dlid = 12, .sl = 3};
    struct fabric_mr_keys keys;
    fabric_mr mr;
    fabric_ah ah;
    fabric_qp dci = initiator();
    for (int to = FABRIC_QPS_INIT; to <= FABRIC_QPS_RTS; to++)
        assert_int_equal(verbs_fake_move(&bed, dci, (enum fabric_qp_state)to), FABRIC_OK);
    assert_int_equal(fabric_mr_register(bed.f, device, &memory, &mr, &keys), FABRIC_OK);
    assert_int_equal(fabric_ah_create(bed.f, device, &av, &ah), FABRIC_OK);
    assert_int_equal(verbs_fake.ah.dlid, 12);
    assert_int_equal(verbs_fake.ah.sl, 3);
    const struct fabric_sge sge = {buffer + 16, 64, keys.lkey};
    struct fabric_send_wr wr = {.wr_id = 5,
                                .opcode = FABRIC_WR_RDMA_WRITE,
                                .flags = FABRIC_SEND_SIGNALED,
                                .sges = &sge,
                                .sge_count = 1,
                                .remote_iova = 0x5000,
                                .rkey = 0xabc,
                                .ah = ah,
                                .dct_num = 0x77,
                                .dc_access_key = 0x99};
    verbs_fake.said[0] = '\0';
    assert_int_equal(fabric_qp_post_send(bed.f, dci, &wr), FABRIC_OK);
    assert_string_equal(verbs_fake.said,
                        "wr_start:1 wr_rdma_write:0xabc:0x5000:wr_flags=0x2 "
                        "wr_set_dc_addr:0x77:0x99 wr_set_sge_list:1:0x40010 wr_complete ");
    wr.opcode = FABRIC_WR_SEND_WITH_IMM;
    wr.flags = FABRIC_SEND_INLINE;
    wr.imm = 0x1234;
    verbs_fake.said[0] = '\0';
    assert_int_equal(fabric_qp_post_send(bed.f, dci, &wr), FABRIC_OK);
    assert_string_equal(verbs_fake.said, "wr_start:1 wr_send_imm:0x1234:0 wr_set_dc_addr:0x77:0x99 "
                                         "wr_set_inline_data_list:1:64 wr_complete ");
    verbs_fake_complete(verbs_fake.sent[0].wr_id, IBV_WC_SUCCESS);
    verbs_fake_expect(&bed, 5, FABRIC_WC_SUCCESS);
}

static void a_device_that_refuses_an_initiator_has_no_dc(void **state)
{
    (void)state;
    struct fabric_device_attr attr;
    const struct fabric_qp_init init = {.type = FABRIC_QP_DCI, .send_cq = cq};
    fabric_qp dci = {0};
    verbs_fake.fail_name = "create_dci";
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_device_query(bed.f, device, &attr), FABRIC_OK);
    assert_false(attr.caps & FABRIC_CAP_DC);
    assert_int_equal(fabric_qp_create(bed.f, device, &init, &dci), ERR_DC_UNSUPPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_initiator_is_made_with_its_operations_and_moved_without_a_peer),
        TEST(a_target_has_a_key_a_shared_queue_and_a_number_once_it_may_receive),
        TEST(a_send_names_handle_target_and_key_between_operation_and_data),
        TEST(a_device_that_refuses_an_initiator_has_no_dc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

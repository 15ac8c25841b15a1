/* SPDX-License-Identifier: Apache-2.0 */
/* Transitions of queue pairs, as verbs are told of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/support/verbs_fake.h"

static struct os_bed bed;
static fabric_device device;
static fabric_cq cq;
static fabric_qp qp;

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    device = verbs_fake_device(&bed);
    qp = verbs_fake_rc(&bed, device, &cq);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static enum fabric_qp_state now_in(void)
{
    struct fabric_qp_info info;
    assert_int_equal(fabric_qp_query(bed.f, qp, &info), FABRIC_OK);
    return info.state;
}

static void each_transition_names_what_rc_needs(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RESET), FABRIC_OK);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_INIT), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask,
                     IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    assert_int_equal(verbs_fake.modified.qp_access_flags, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RTR), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask,
                     IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    assert_int_equal(verbs_fake.modified.path_mtu, IBV_MTU_2048);
    assert_int_equal(verbs_fake.modified.ah_attr.dlid, 9);
    assert_int_equal(verbs_fake.modified.ah_attr.is_global, 0);
    assert_int_equal(verbs_fake.modified.dest_qp_num, 33);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RTS), FABRIC_OK);
    assert_int_equal(verbs_fake.modified_mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                                                   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                   IBV_QP_MAX_QP_RD_ATOMIC);
    assert_int_equal(verbs_fake.modified.retry_cnt, 7);
}

/* Seven retries are endless there, and its ACK timer is too short for a long message. */
static void rxe_is_told_what_it_takes_to_do_as_the_contract_says(void **state)
{
    struct fabric_guarantees guarantees;
    (void)state;
    assert_int_equal(verbs_fake.modified.timeout, 14);
    os_bed_file(&bed, "/sys/class/infiniband/mlx5_0/parent", "eth0\n");
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &device), FABRIC_OK);
    (void)verbs_fake_rc(&bed, device, &cq);
    assert_int_equal(verbs_fake.modified.retry_cnt, 6);
    assert_int_equal(verbs_fake.modified.timeout, 17);
    assert_int_equal(fabric_guarantees(bed.f, &guarantees), FABRIC_OK);
    assert_int_equal(guarantees.ack_timeout_floor, 0); /* as at its start */
}

static void a_transition_that_is_not_offered_never_reaches_the_device(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_INIT), ERR_INVALID_ARGUMENT);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RTR), ERR_INVALID_ARGUMENT);
    assert_string_equal(verbs_fake.said, "");
    assert_int_equal(now_in(), FABRIC_QPS_RTS);
}

static void a_partition_is_looked_at_before_it_is_joined(void **state)
{
    struct fabric_qp_attr attr = {.state = FABRIC_QPS_INIT, .port_num = 1};
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RESET), FABRIC_OK);
    attr.pkey_index = 1;
    assert_int_equal(fabric_qp_modify(bed.f, qp, &attr), ERR_PKEY_EMPTY);
    attr.pkey_index = 4;
    assert_int_equal(fabric_qp_modify(bed.f, qp, &attr), ERR_PKEY_INDEX_RANGE);
    assert_int_equal(now_in(), FABRIC_QPS_RESET);
    attr.pkey_index = 2;
    assert_int_equal(fabric_qp_modify(bed.f, qp, &attr), FABRIC_OK);
    assert_int_equal(verbs_fake.modified.pkey_index, 2);
}

static void a_demanded_grh_is_not_left_out(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RESET), FABRIC_OK);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_INIT), FABRIC_OK);
    verbs_fake.port.flags = IBV_QPF_GRH_REQUIRED;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RTR), ERR_GRH_UNAVAILABLE);
    const struct fabric_qp_attr attr = {
        .state = FABRIC_QPS_RTR,
        .path_mtu = FABRIC_MTU_1024,
        .av = {.port_num = 1, .is_global = true, .grh = {.sgid_index = 3, .hop_limit = 64}}};
    assert_int_equal(fabric_qp_modify(bed.f, qp, &attr), FABRIC_OK);
    assert_int_equal(verbs_fake.modified.ah_attr.grh.sgid_index, 3);
    assert_int_equal(verbs_fake.modified.ah_attr.grh.hop_limit, 64);
}

static void a_peer_without_a_link_address_is_unreachable(void **state)
{
    (void)state;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RESET), FABRIC_OK);
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_INIT), FABRIC_OK);
    verbs_fake.fail_name = "modify_qp:RTR";
    verbs_fake.fail_errno = ETIMEDOUT;
    assert_int_equal(verbs_fake_move(&bed, qp, FABRIC_QPS_RTR), ERR_UNREACHABLE);
    assert_int_equal(now_in(), FABRIC_QPS_INIT);
}

static void more_than_was_asked_for_is_refused_without_the_device(void **state)
{
    (void)state;
    struct fabric_sge sges[3] = {
        {(void *)sges, 40, 0}, {(void *)sges, 40, 0}, {(void *)sges, 40, 0}};
    struct fabric_send_wr wr = {.sges = sges, .sge_count = 3};
    assert_int_equal(fabric_qp_post_send(bed.f, qp, &wr), ERR_INVALID_ARGUMENT);
    wr.sge_count = 2;
    wr.flags = FABRIC_SEND_INLINE;
    assert_int_equal(fabric_qp_post_send(bed.f, qp, &wr), ERR_INVALID_ARGUMENT);
    wr.sge_count = 1;
    assert_int_equal(fabric_qp_post_send(bed.f, qp, &wr), FABRIC_OK);
    assert_int_equal(verbs_fake.sent_sge.addr, (uintptr_t)sges); /* inline: read by the call */
    assert_int_equal(verbs_fake.sent[0].send_flags, IBV_SEND_INLINE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_transition_names_what_rc_needs),
        TEST(rxe_is_told_what_it_takes_to_do_as_the_contract_says),
        TEST(a_transition_that_is_not_offered_never_reaches_the_device),
        TEST(a_partition_is_looked_at_before_it_is_joined),
        TEST(a_demanded_grh_is_not_left_out),
        TEST(a_peer_without_a_link_address_is_unreachable),
        TEST(more_than_was_asked_for_is_refused_without_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* RC transfers that fail, and what the sender sees. HA-2.3. */
#include <string.h>

#include "tests/conformance/kit.h"

static const struct fabric_send_wr plain_write = {
    .wr_id = 1, .opcode = FABRIC_WR_RDMA_WRITE, .flags = FABRIC_SEND_SIGNALED};

static void a_wrong_key_is_refused_and_ends_the_queue_pair(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    struct fabric_send_wr wr = plain_write;
    wr.remote_iova = KIT_IOVA;
    wr.rkey = b->keys.rkey ^ 0x00ff0000;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(a->buffer, 64, 1);
    assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
    for (uint64_t i = 2; i < 6; i++)
        assert_int_equal(kit_write(&qa, i, b, 4096, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_REM_ACCESS_ERR);
    for (uint64_t i = 2; i < 6; i++)
        assert_int_equal(kit_await_wc(kit, a, i).status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(kit_state(&qa), FABRIC_QPS_ERR);
    assert_false(kit_filled(b->buffer, 64, 1));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(kit_event(a, FABRIC_EVENT_COMPLETION, i)->u.wc.wr_id, i + 1);
}

/* Registers the peer's buffer with `access` and tries `opcode` on it. */
static enum fabric_wc_status try_access(struct kit *kit, uint32_t access,
                                        enum fabric_wr_opcode opcode)
{
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    struct fabric_mr_keys keys;
    fabric_mr mr;
    const struct fabric_mr_init init = {
        .addr = b->buffer, .length = KIT_BUFFER, .iova = KIT_IOVA, .access = access};
    struct fabric_send_wr wr = plain_write;
    assert_int_equal(fabric_mr_register(b->f, b->device, &init, &mr, &keys), FABRIC_OK);
    wr.opcode = opcode;
    wr.remote_iova = KIT_IOVA;
    wr.rkey = keys.rkey;
    wr.wr_id = access * 10 + opcode;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
    return kit_await_wc(kit, &kit->nodes[0], wr.wr_id).status;
}

static void a_region_gives_the_access_it_was_registered_with(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    static const struct {
        uint32_t access;
        enum fabric_wr_opcode opcode;
        bool allowed;
    } cases[] = {
        {FABRIC_ACCESS_LOCAL_WRITE, FABRIC_WR_RDMA_WRITE, false},
        {FABRIC_ACCESS_LOCAL_WRITE, FABRIC_WR_RDMA_READ, false},
        {FABRIC_ACCESS_REMOTE_READ, FABRIC_WR_RDMA_READ, true},
        {FABRIC_ACCESS_REMOTE_READ, FABRIC_WR_RDMA_WRITE, false},
        {FABRIC_ACCESS_LOCAL_WRITE | FABRIC_ACCESS_REMOTE_WRITE, FABRIC_WR_RDMA_WRITE, true},
        {FABRIC_ACCESS_LOCAL_WRITE | FABRIC_ACCESS_REMOTE_WRITE, FABRIC_WR_RDMA_READ, false},
    };
    kit_need_reads(kit);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum fabric_wc_status status = try_access(kit, cases[i].access, cases[i].opcode);
        assert_int_equal(status, cases[i].allowed ? FABRIC_WC_SUCCESS : FABRIC_WC_REM_ACCESS_ERR);
    }
}

static void a_range_outside_the_region_is_refused(void **state)
{
    static const uint64_t starts[] = {KIT_IOVA - 1, KIT_IOVA + KIT_BUFFER - 63, 0, UINT64_MAX - 10};
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    for (uint64_t i = 0; i < 4; i++) {
        struct kit_qp qa, qb;
        struct fabric_send_wr wr = plain_write;
        kit_pair(kit, 0, 1, &qa, &qb);
        wr.wr_id = i;
        wr.remote_iova = starts[i];
        wr.rkey = kit->nodes[1].keys.rkey;
        assert_int_equal(kit_post(&qa, &wr, 0, 64), FABRIC_OK);
        assert_int_equal(kit_await_wc(kit, qa.node, i).status, FABRIC_WC_REM_ACCESS_ERR);
    }
}

static void a_queue_pair_gives_the_access_of_its_init(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *b = &kit->nodes[1];
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                                init_b = kit_qp_init(b, FABRIC_QP_RC);
    struct kit_qp qa = kit_qp_new(&kit->nodes[0], &init_a), qb = kit_qp_new(b, &init_b);
    struct fabric_qp_attr attr = kit_attr_init(FABRIC_QP_RC);
    kit_connect(&qa, &qb);
    const struct fabric_qp_attr reset = {.state = FABRIC_QPS_RESET};
    assert_int_equal(fabric_qp_modify(b->f, qb.qp, &reset), FABRIC_OK);
    attr.access = FABRIC_ACCESS_LOCAL_WRITE | FABRIC_ACCESS_REMOTE_READ;
    assert_int_equal(fabric_qp_modify(b->f, qb.qp, &attr), FABRIC_OK);
    attr = kit_attr_rtr(&qb, &qa);
    assert_int_equal(fabric_qp_modify(b->f, qb.qp, &attr), FABRIC_OK);
    kit_fill(qa.node->buffer, 64, 1);
    assert_int_equal(kit_write(&qa, 1, b, 0, 64), FABRIC_OK);
    enum fabric_wc_status status = kit_await_wc(kit, qa.node, 1).status;
    assert_true(status == FABRIC_WC_REM_INV_REQ_ERR || status == FABRIC_WC_REM_ACCESS_ERR);
    assert_false(kit_filled(b->buffer, 64, 1));
}

static void a_message_longer_than_the_receive_fails_at_both_ends(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_recv(&qb, 1, 0, 100), FABRIC_OK);
    assert_int_equal(kit_send(&qa, 2, 0, 101), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 2).status, kit_due(FABRIC_WC_REM_INV_REQ_ERR));
    assert_int_equal(kit_await_wc(kit, qb.node, 1).status, kit_due(FABRIC_WC_LOC_LEN_ERR));
}

static void without_a_receive_the_sender_gives_up(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_send(&qa, 1, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RNR_RETRY_EXC_ERR);
}

static void a_receive_that_comes_in_time_saves_the_send(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    qa = kit_qp_new(&kit->nodes[0], &init_a);
    qb = kit_qp_new(&kit->nodes[1], &init_b);
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC);
    struct fabric_qp_attr rtr = kit_attr_rtr(&qb, &qa), rts = kit_attr_rts(&qa);
    const struct fabric_qp_attr rtr_a = kit_attr_rtr(&qa, &qb);
    rtr.min_rnr_timer = 14; /* 1.28 ms */
    rts.rnr_retry = 7;
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rtr_a), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rts), FABRIC_OK);
    assert_int_equal(kit_send(&qa, 1, 0, 64), FABRIC_OK);
    kit_pass(kit, KIT_SECOND / 10);
    assert_int_equal(kit_completions(qa.node, 1), 0);
    assert_int_equal(kit_recv(&qb, 2, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_SUCCESS);
    assert_int_equal(kit_await_wc(kit, qb.node, 2).status, FABRIC_WC_SUCCESS);
}

static void a_wrong_local_key_fails_here_and_nothing_leaves(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    const struct fabric_sge sge = {a->buffer, 64, a->keys.lkey ^ 0x00ff0000};
    struct fabric_send_wr wr = plain_write;
    wr.sges = &sge;
    wr.sge_count = 1;
    wr.remote_iova = KIT_IOVA;
    wr.rkey = b->keys.rkey;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(a->buffer, 64, 1);
    assert_int_equal(fabric_qp_post_send(a->f, qa.qp, &wr), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, kit_due(FABRIC_WC_LOC_PROT_ERR));
    assert_false(kit_filled(b->buffer, 64, 1));
}

static void a_peer_whose_queue_pair_is_gone_does_not_answer(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(fabric_qp_destroy(qb.node->f, qb.qp), FABRIC_OK);
    kit_fill(qa.node->buffer, 64, 1);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_false(kit_filled(qb.node->buffer, 64, 1));
}

static void a_killed_peer_ends_in_retry_exceeded(void **state)
{
    struct kit *kit = *state = kit_new(3, FABRIC_CAP_RC | FABRIC_CAP_PROCESS_KILL);
    struct kit_qp qa, qb, qc, qd;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_pair(kit, 0, 2, &qc, &qd);
    kit_inject(kit, 1, BENCH_KILL);
    kit_pass(kit, KIT_SECOND);
    if (!(kit->caps & FABRIC_CAP_PEER_DEATH_NOTICED))
        assert_int_equal(kit_state(&qa), FABRIC_QPS_RTS); /* an idle queue pair notices nothing */
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_write(&qc, 2, &kit->nodes[2], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 2).status, FABRIC_WC_SUCCESS);
    enum fabric_wc_status status = kit_await_wc(kit, qa.node, 1).status;
    assert_int_equal(status, kit->caps & FABRIC_CAP_PEER_DEATH_NOTICED ? FABRIC_WC_WR_FLUSH_ERR
                                                                       : FABRIC_WC_RETRY_EXC_ERR);
}

static void lost_packets_are_given_up_within_the_stretched_time(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_LOSS);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    struct fabric_guarantees g;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_inject(kit, 0, BENCH_LOSE_ALL);
    assert_int_equal(fabric_guarantees(a->f, &g), FABRIC_OK);
    uint64_t t = UINT64_C(4096) << kit_attr_rts(&qa).timeout, start = kit_now(a);
    t = t < g.ack_timeout_floor ? g.ack_timeout_floor : t;
    uint64_t tries = kit_attr_rts(&qa).retry_cnt + 1u;
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    uint64_t took = kit_event(a, FABRIC_EVENT_COMPLETION, 0)->time - start;
    assert_true(took >= t * tries);
    if (kit->caps & FABRIC_CAP_VIRTUAL_TIME)
        assert_true(took <= t * tries * g.ack_timeout_stretch + KIT_SECOND / 1000);
}

static void a_timeout_of_zero_waits_for_ever(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_LOSS);
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp qa = kit_qp_new(&kit->nodes[0], &init_a),
                  qb = kit_qp_new(&kit->nodes[1], &init_b);
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC), rtr = kit_attr_rtr(&qa, &qb),
                                error = {.state = FABRIC_QPS_ERR};
    struct fabric_qp_attr rts = kit_attr_rts(&qa);
    rts.timeout = 0;
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rts), FABRIC_OK);
    kit_inject(kit, 0, BENCH_LOSE_ALL);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    kit_pass(kit, KIT_PATIENCE);
    assert_int_equal(kit_completions(qa.node, 1), 0);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &error), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_WR_FLUSH_ERR);
}

static void a_grh_at_one_end_only_is_dropped(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_LID);
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp qa = kit_qp_new(&kit->nodes[0], &init_a),
                  qb = kit_qp_new(&kit->nodes[1], &init_b);
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC), rts = kit_attr_rts(&qa),
                                plain = kit_attr_rtr(&qb, &qa);
    kit->nodes[1].address.flags = FABRIC_PORT_GRH_REQUIRED;
    const struct fabric_qp_attr global = kit_attr_rtr(&qa, &qb);
    assert_true(global.av.is_global && !plain.av.is_global);
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &plain), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &global), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rts), FABRIC_OK);
    kit_fill(qa.node->buffer, 64, 1);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_false(kit_filled(qb.node->buffer, 64, 1));
}

static bool has_other_pkey(void *context)
{
    struct kit_node *node = context;
    uint16_t pkey = 0;
    assert_int_equal(fabric_pkey_query(node->f, node->device, 1, 0, &pkey), FABRIC_OK);
    return pkey == 0x8005;
}

static void another_partition_is_silence_and_a_counter(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_PKEY | FABRIC_CAP_SM);
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    uint32_t before = kit_port(b).bad_pkey_cntr;
    kit_inject(kit, 1, BENCH_OTHER_PKEY);
    assert_true(kit_until(kit, has_other_pkey, b));
    kit_fill(qa.node->buffer, 64, 1);
    assert_int_equal(kit_write(&qa, 1, b, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_false(kit_filled(b->buffer, 64, 1));
    assert_true(kit_port(b).bad_pkey_cntr > before);
}

static bool has_other_lid(void *context)
{
    struct kit_node *node = context;
    return kit_port(node).lid != node->address.lid;
}

static void after_a_lid_change_old_pairs_are_dead_and_new_ones_work(void **state)
{
    struct kit *kit = *state =
        kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_LID | FABRIC_CAP_SM | FABRIC_CAP_SLID_CHECK);
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb, qc, qd;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_inject(kit, 1, BENCH_LID_CHANGE);
    assert_true(kit_until(kit, has_other_lid, b));
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_write(&qa, 1, b, 0, 64), FABRIC_OK);
    assert_int_equal(kit_write(&qb, 2, &kit->nodes[0], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    assert_int_equal(kit_await_wc(kit, qb.node, 2).status, FABRIC_WC_RETRY_EXC_ERR);
    b->address.lid = kit_port(b).lid;
    kit_pair(kit, 0, 1, &qc, &qd);
    assert_int_equal(kit_write(&qc, 3, b, 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qc.node, 3).status, FABRIC_WC_SUCCESS);
}

static void unequal_path_mtus_fail_above_the_smaller(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    const struct fabric_qp_init init_a = kit_qp_init(&kit->nodes[0], FABRIC_QP_RC),
                                init_b = kit_qp_init(&kit->nodes[1], FABRIC_QP_RC);
    struct kit_qp qa = kit_qp_new(&kit->nodes[0], &init_a),
                  qb = kit_qp_new(&kit->nodes[1], &init_b);
    struct fabric_qp_attr small = kit_attr_rtr(&qb, &qa);
    const struct fabric_qp_attr init = kit_attr_init(FABRIC_QP_RC), rtr = kit_attr_rtr(&qa, &qb),
                                rts = kit_attr_rts(&qa);
    small.path_mtu = FABRIC_MTU_256;
    assert_true(rtr.path_mtu > FABRIC_MTU_256);
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qb.node->f, qb.qp, &small), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &init), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rtr), FABRIC_OK);
    assert_int_equal(fabric_qp_modify(qa.node->f, qa.qp, &rts), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 256), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_SUCCESS);
    assert_int_equal(kit_write(&qa, 2, &kit->nodes[1], 0, 8192), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 2).status, FABRIC_WC_REM_INV_REQ_ERR);
}

static void a_failed_pair_works_again_when_it_was_rebuilt(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC | FABRIC_CAP_PORT_STATE);
    struct kit_qp qa, qb, qc, qd;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_inject(kit, 1, BENCH_PORT_DOWN);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qa.node, 1).status, FABRIC_WC_RETRY_EXC_ERR);
    kit_inject(kit, 1, BENCH_PORT_UP);
    for (size_t i = 0; i < 30 && kit_port(qb.node).state != FABRIC_PORT_ACTIVE; i++)
        kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_port(qb.node).state, FABRIC_PORT_ACTIVE);
    qa.node->address.lid = kit_port(qa.node).lid;
    qb.node->address.lid = kit_port(qb.node).lid;
    kit_pair(kit, 0, 1, &qc, &qd);
    assert_int_equal(kit_write(&qc, 2, &kit->nodes[1], 0, 64), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, qc.node, 2).status, FABRIC_WC_SUCCESS);
}

int kit_error_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_wrong_key_is_refused_and_ends_the_queue_pair),
        CASE(a_region_gives_the_access_it_was_registered_with),
        CASE(a_range_outside_the_region_is_refused),
        CASE(a_queue_pair_gives_the_access_of_its_init),
        CASE(a_message_longer_than_the_receive_fails_at_both_ends),
        CASE(without_a_receive_the_sender_gives_up),
        CASE(a_receive_that_comes_in_time_saves_the_send),
        CASE(a_wrong_local_key_fails_here_and_nothing_leaves),
        CASE(a_peer_whose_queue_pair_is_gone_does_not_answer),
        CASE(a_killed_peer_ends_in_retry_exceeded),
        CASE(lost_packets_are_given_up_within_the_stretched_time),
        CASE(a_timeout_of_zero_waits_for_ever),
        CASE(a_grh_at_one_end_only_is_dropped),
        CASE(another_partition_is_silence_and_a_counter),
        CASE(after_a_lid_change_old_pairs_are_dead_and_new_ones_work),
        CASE(unequal_path_mtus_fail_above_the_smaller),
        CASE(a_failed_pair_works_again_when_it_was_rebuilt),
    };
    return cmocka_run_group_tests_name("RC errors", tests, NULL, NULL);
}

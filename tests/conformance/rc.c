/* SPDX-License-Identifier: Apache-2.0 */
/* RC transfers that succeed. HA-2.3. */
#include <string.h>

#include "tests/conformance/kit.h"

static uint32_t sizes_around_mtu(const struct kit_qp *a, const struct kit_qp *b, uint32_t *sizes)
{
    const struct fabric_qp_attr rtr = kit_attr_rtr(a, b);
    uint32_t mtu = fabric_mtu_bytes(rtr.path_mtu), count = 0;
    const uint32_t all[] = {0,       1,       63,          mtu - 1,     mtu,
                            mtu + 1, 2 * mtu, 2 * mtu + 1, 5 * mtu - 3, KIT_BUFFER / 2};
    for (; count < sizeof(all) / sizeof(all[0]); count++)
        sizes[count] = all[count];
    return count;
}

static void transfer_all_sizes(void **state, enum fabric_wr_opcode opcode)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    uint8_t *source = opcode == FABRIC_WR_RDMA_READ ? b->buffer : a->buffer;
    uint8_t *sink = opcode == FABRIC_WR_RDMA_READ ? a->buffer : b->buffer;
    uint32_t sizes[16];
    struct kit_qp qa, qb;
    if (opcode == FABRIC_WR_RDMA_READ)
        kit_need_reads(kit);
    kit_pair(kit, 0, 1, &qa, &qb);
    uint32_t count = sizes_around_mtu(&qa, &qb, sizes);
    for (uint32_t i = 0; i < count; i++) {
        const struct fabric_send_wr wr = {.wr_id = i,
                                          .opcode = opcode,
                                          .flags = FABRIC_SEND_SIGNALED,
                                          .remote_iova = KIT_IOVA + 16,
                                          .rkey = b->keys.rkey};
        kit_fill(source + 16, KIT_BUFFER - 16, i + 1);
        memset(sink, 0x5a, KIT_BUFFER);
        if (opcode == FABRIC_WR_SEND)
            assert_int_equal(kit_recv(&qb, 100 + i, 16, KIT_BUFFER / 2), FABRIC_OK);
        assert_int_equal(kit_post(&qa, &wr, 16, sizes[i]), FABRIC_OK);
        struct fabric_wc wc = kit_await_wc(kit, a, i);
        assert_int_equal(wc.status, FABRIC_WC_SUCCESS);
        if (opcode == FABRIC_WR_RDMA_READ)
            assert_int_equal(wc.byte_len, sizes[i]);
        if (opcode == FABRIC_WR_SEND)
            assert_int_equal(kit_await_wc(kit, b, 100 + i).byte_len, sizes[i]);
        assert_true(kit_filled(sink + 16, sizes[i], i + 1));
        assert_int_equal(sink[15], 0x5a);
        assert_int_equal(sink[16 + sizes[i]], 0x5a);
    }
}

/* CASE-M4. */
static void writes_of_every_size_land_whole(void **state)
{
    transfer_all_sizes(state, FABRIC_WR_RDMA_WRITE);
}

static void reads_of_every_size_bring_all(void **state)
{
    transfer_all_sizes(state, FABRIC_WR_RDMA_READ);
}

static void sends_of_every_size_fill_the_receive(void **state)
{
    transfer_all_sizes(state, FABRIC_WR_SEND);
}

static void a_write_is_not_noticed_at_the_other_end(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_qp qa, qb;
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_recv(&qb, 1, 0, 64), FABRIC_OK);
    assert_int_equal(kit_write(&qa, 2, &kit->nodes[1], 0, 64), FABRIC_OK);
    kit_await_wc(kit, qa.node, 2);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(&kit->nodes[1], FABRIC_EVENT_COMPLETION), 0);
}

static void immediate_data_arrives_with_send_and_write(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    struct fabric_send_wr wr = {.wr_id = 1,
                                .opcode = FABRIC_WR_SEND_WITH_IMM,
                                .flags = FABRIC_SEND_SIGNALED | FABRIC_SEND_SOLICITED,
                                .imm = 0xdeadbeef,
                                .remote_iova = KIT_IOVA + 4096,
                                .rkey = b->keys.rkey};
    kit_pair(kit, 0, 1, &qa, &qb);
    assert_int_equal(kit_recv(&qb, 10, 0, 1024), FABRIC_OK);
    assert_int_equal(kit_recv(&qb, 11, 0, 1024), FABRIC_OK);
    kit_fill(qa.node->buffer, 9000, 6);
    assert_int_equal(kit_post(&qa, &wr, 0, 100), FABRIC_OK);
    wr.wr_id = 2;
    wr.opcode = FABRIC_WR_RDMA_WRITE_WITH_IMM;
    wr.imm = 0x01020304;
    assert_int_equal(kit_post(&qa, &wr, 0, 9000), FABRIC_OK);
    struct fabric_wc wc = kit_await_wc(kit, b, 10);
    assert_int_equal(wc.opcode, FABRIC_WC_RECV);
    assert_true(wc.with_imm && !wc.is_send);
    assert_int_equal(wc.imm, 0xdeadbeef);
    assert_int_equal(wc.byte_len, 100);
    wc = kit_await_wc(kit, b, 11);
    assert_int_equal(wc.opcode, FABRIC_WC_RECV_RDMA_WITH_IMM);
    assert_true(wc.with_imm);
    assert_int_equal(wc.imm, 0x01020304);
    assert_int_equal(wc.byte_len, 9000);
    assert_true(kit_filled(b->buffer + 4096, 9000, 6));
    assert_int_equal(kit_await_wc(kit, qa.node, 2).opcode, FABRIC_WC_RDMA_WRITE);
}

static void entries_are_gathered_and_scattered(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    static const uint32_t from[] = {0, 1, 5000, 999}, to[] = {3000, 0, 2, 4000};
    struct fabric_sge out[4], in[4];
    uint8_t whole[6000];
    uint64_t at_out = 0, at_in = 0;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(whole, sizeof(whole), 3);
    for (size_t i = 0, done = 0; i < 4; done += from[i++]) {
        out[i] = (struct fabric_sge){a->buffer + at_out, from[i], a->keys.lkey};
        memcpy(a->buffer + at_out, whole + done, from[i]);
        in[i] = (struct fabric_sge){b->buffer + at_in, to[i], b->keys.lkey};
        at_out += from[i] + 100;
        at_in += to[i] + 100;
    }
    const struct fabric_recv_wr recv = {.wr_id = 1, .sges = in, .sge_count = 4};
    const struct fabric_send_wr send = {
        .wr_id = 2, .flags = FABRIC_SEND_SIGNALED, .sges = out, .sge_count = 4};
    assert_int_equal(fabric_qp_post_recv(b->f, qb.qp, &recv), FABRIC_OK);
    assert_int_equal(fabric_qp_post_send(a->f, qa.qp, &send), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, b, 1).byte_len, 6000);
    assert_memory_equal(b->buffer, whole, 3000);
    assert_memory_equal(b->buffer + 3200, whole + 3000, 2);
    assert_memory_equal(b->buffer + 3302, whole + 3002, 2998);
}

static void a_read_sees_what_was_written_before_it(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    const struct fabric_send_wr read = {.wr_id = 2,
                                        .opcode = FABRIC_WR_RDMA_READ,
                                        .flags = FABRIC_SEND_SIGNALED,
                                        .remote_iova = KIT_IOVA,
                                        .rkey = kit->nodes[1].keys.rkey};
    kit_need_reads(kit);
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(a->buffer, 16384, 8);
    assert_int_equal(kit_write(&qa, 1, &kit->nodes[1], 0, 16384), FABRIC_OK);
    assert_int_equal(kit_post(&qa, &read, 32768, 16384), FABRIC_OK);
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_SUCCESS);
    assert_true(kit_filled(a->buffer + 32768, 16384, 8));
}

static void a_fenced_send_waits_for_the_read_before_it(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0], *b = &kit->nodes[1];
    struct kit_qp qa, qb;
    const struct fabric_send_wr read = {.wr_id = 1,
                                        .opcode = FABRIC_WR_RDMA_READ,
                                        .flags = FABRIC_SEND_SIGNALED,
                                        .remote_iova = KIT_IOVA,
                                        .rkey = b->keys.rkey};
    const struct fabric_send_wr write = {.wr_id = 2,
                                         .opcode = FABRIC_WR_RDMA_WRITE,
                                         .flags = FABRIC_SEND_SIGNALED | FABRIC_SEND_FENCE,
                                         .remote_iova = KIT_IOVA + 32768,
                                         .rkey = b->keys.rkey};
    kit_need_reads(kit);
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(b->buffer, 16384, 8);
    assert_int_equal(kit_post(&qa, &read, 0, 16384), FABRIC_OK);
    assert_int_equal(kit_post(&qa, &write, 0, 16384), FABRIC_OK); /* of the bytes just read */
    assert_int_equal(kit_await_wc(kit, a, 2).status, FABRIC_WC_SUCCESS);
    assert_true(kit_filled(b->buffer + 32768, 16384, 8));
}

static void both_directions_and_many_pairs_do_not_disturb_each_other(void **state)
{
    struct kit *kit = *state = kit_new(3, FABRIC_CAP_RC);
    struct kit_qp q[6];
    for (size_t i = 0; i < 3; i++)
        kit_pair(kit, i, (i + 1) % 3, &q[2 * i], &q[2 * i + 1]);
    for (size_t i = 0; i < 3; i++)
        kit_fill(kit->nodes[i].buffer, 8192, (uint32_t)i);
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < 6; i++) {
            const struct kit_node *to = q[i ^ 1].node;
            const struct fabric_send_wr wr = {.wr_id = round * 6 + i,
                                              .opcode = FABRIC_WR_RDMA_WRITE,
                                              .flags = FABRIC_SEND_SIGNALED,
                                              .remote_iova = KIT_IOVA + 8192 * (i + 1),
                                              .rkey = to->keys.rkey};
            assert_int_equal(kit_post(&q[i], &wr, 0, 8192), FABRIC_OK);
        }
    }
    for (uint64_t i = 0; i < 60; i++)
        assert_int_equal(kit_await_wc(kit, q[i % 6].node, i).status, FABRIC_WC_SUCCESS);
    for (size_t i = 0; i < 6; i++)
        assert_true(
            kit_filled(q[i ^ 1].node->buffer + 8192 * (i + 1), 8192, (uint32_t)q[i].node->index));
}

static void a_long_pipeline_keeps_its_bytes_and_its_order(void **state)
{
    struct kit *kit = *state = kit_new(2, FABRIC_CAP_RC);
    struct kit_node *a = &kit->nodes[0];
    struct kit_qp qa, qb;
    uint64_t posted = 0;
    kit_pair(kit, 0, 1, &qa, &qb);
    kit_fill(a->buffer, KIT_BUFFER, 1);
    while (posted < 1000) {
        enum fabric_error error = kit_write(&qa, posted, &kit->nodes[1], posted * 64, 64);
        if (error == FABRIC_OK)
            posted++;
        else
            kit_await_wc(kit, a, posted - 1);
    }
    kit_await_wc(kit, a, 999);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(kit_event(a, FABRIC_EVENT_COMPLETION, i)->u.wc.wr_id, i);
    assert_true(kit_filled(kit->nodes[1].buffer, 64000, 1));
}

int kit_rc_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(writes_of_every_size_land_whole),
        CASE(reads_of_every_size_bring_all),
        CASE(sends_of_every_size_fill_the_receive),
        CASE(a_write_is_not_noticed_at_the_other_end),
        CASE(immediate_data_arrives_with_send_and_write),
        CASE(entries_are_gathered_and_scattered),
        CASE(a_read_sees_what_was_written_before_it),
        CASE(a_fenced_send_waits_for_the_read_before_it),
        CASE(both_directions_and_many_pairs_do_not_disturb_each_other),
        CASE(a_long_pipeline_keeps_its_bytes_and_its_order),
    };
    return cmocka_run_group_tests_name("RC transfers", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "tests/support/hca_world.h"

static uint64_t *word(struct hca_world *w, int host, uint32_t offset)
{
    return (uint64_t *)(void *)(w->host[host].memory + offset);
}

static int atomic(struct hca_pair *p, enum hca_wr_opcode opcode, uint32_t at, uint64_t compare_add,
                  uint64_t swap)
{
    size_t before = p->w->host[0].wc_count;
    struct hca_sge sge = hca_world_sge(p->w, 0, 4096, 8);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.remote_addr = HCA_WORLD_IOVA + at;
    wr.rkey = p->w->host[1].key;
    wr.compare_add = compare_add;
    wr.swap = swap;
    assert_int_equal(hca_post_send(p->w->host[0].hca, p->qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p->w, 0, before + 1, SECOND));
    return p->w->host[0].wcs[before].status;
}

static void atomics_return_what_was_there(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    *word(p.w, 1, 64) = 40;
    assert_int_equal(atomic(&p, HCA_WR_ATOMIC_FETCH_AND_ADD, 64, 2, 0), FABRIC_WC_SUCCESS);
    assert_int_equal(*word(p.w, 0, 4096), 40);
    assert_int_equal(*word(p.w, 1, 64), 42);
    assert_int_equal(atomic(&p, HCA_WR_ATOMIC_CMP_AND_SWP, 64, 41, 7), FABRIC_WC_SUCCESS);
    assert_int_equal(*word(p.w, 0, 4096), 42);
    assert_int_equal(*word(p.w, 1, 64), 42);
    assert_int_equal(atomic(&p, HCA_WR_ATOMIC_CMP_AND_SWP, 64, 42, 7), FABRIC_WC_SUCCESS);
    assert_int_equal(*word(p.w, 1, 64), 7);
    assert_int_equal(p.w->host[0].wcs[0].byte_len, 8);
    assert_int_equal(p.w->host[0].wcs[0].opcode, HCA_WC_FETCH_ADD);
    assert_int_equal(p.w->host[0].wcs[1].opcode, HCA_WC_COMP_SWAP);
    assert_int_equal(atomic(&p, HCA_WR_ATOMIC_FETCH_AND_ADD, 65, 2, 0),
                     FABRIC_WC_REM_INV_REQ_ERR); /* not aligned */
    hca_world_destroy(p.w);
}

/* The answer is lost, the request comes again: executed once, answered twice. */
static void a_repeated_atomic_is_not_executed_again(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct net_port *port = net_node_port(p.w->host[1].node, 1);
    net_link_set_cut(port, true);
    struct hca_sge sge = hca_world_sge(p.w, 0, 4096, 8);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_ATOMIC_FETCH_AND_ADD, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = p.w->host[1].key;
    wr.compare_add = 5;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    hca_world_run(p.w, MS);
    net_link_set_cut(port, false);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_int_equal(*word(p.w, 1, 0), 5);
    assert_int_equal(*word(p.w, 0, 4096), 0);
    hca_world_destroy(p.w);
}

static void a_repeated_read_is_executed_again(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct net_port *port = net_node_port(p.w->host[1].node, 1);
    net_link_set_cut(port, true);
    hca_world_fill(p.w, 1, 0, 5000, 1);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 5000, 1);
    hca_world_run(p.w, MS);
    net_link_set_cut(port, false);
    hca_world_fill(p.w, 1, 0, 5000, 99);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 5000));
    hca_world_destroy(p.w);
}

/* Depth of the initiator against resources of the target (chapter 9.7.4.1.7). */
static void more_reads_than_resources_are_an_invalid_request(void **state)
{
    (void)state;
    static const struct {
        uint8_t depth, resources;
        int status;
    } cases[] = {{4, 4, FABRIC_WC_SUCCESS},
                 {1, 1, FABRIC_WC_SUCCESS},
                 {4, 1, FABRIC_WC_REM_INV_REQ_ERR},
                 {1, 0, FABRIC_WC_REM_INV_REQ_ERR}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hca_pair p = hca_pair_make(NULL, 0, 1);
        p.a.max_rd_atomic = cases[i].depth;
        p.b.max_dest_rd_atomic = cases[i].resources;
        hca_pair_connect(&p);
        for (uint32_t r = 0; r < 8; r++)
            hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 200000, r);
        assert_true(hca_world_wait(p.w, 0, 8, 10 * SECOND));
        int worst = FABRIC_WC_SUCCESS;
        for (int r = 0; r < 8 && worst == FABRIC_WC_SUCCESS; r++)
            worst = p.w->host[0].wcs[r].status;
        assert_int_equal(worst, cases[i].status);
        hca_world_destroy(p.w);
    }
}

static void without_the_capability_resources_are_those_of_the_device(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, FABRIC_CAP_RD_ATOMIC, 1);
    p.b.max_dest_rd_atomic = 0;
    hca_pair_connect(&p);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_READ, 64, SECOND), FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

static void a_window_taken_back_stops_a_read_under_way(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected("strict");
    struct hca_host *peer = &p.w->host[1];
    hca_mw mw;
    uint32_t rkey;
    assert_int_equal(hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 4u << 20,
                                 HCA_ACCESS_REMOTE_READ, 8, &mw, &rkey),
                     FABRIC_OK);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 4u << 20);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_READ, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = rkey;
    memset(peer->memory, 0x11, 4u << 20);
    /* A slow way back: much of the answer is still under way when the key ends. */
    net_link_set_delay(net_node_port(peer->node, 1), 20 * MS, 0);
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    hca_world_run(p.w, 2000);
    hca_mw_revoke(peer->hca, mw);
    while (peer->event_count == 0 || peer->events[peer->event_count - 1].kind == HCA_EVENT_ASYNC)
        sim_step(p.w->sim);
    memset(peer->memory, 0x22, 4u << 20);
    hca_world_run(p.w, 100 * SECOND);
    for (uint32_t i = 0; i < 4u << 20; i++)
        assert_true(p.w->host[0].memory[i] != 0x22);
    hca_world_destroy(p.w);
}

/* RDMA WRITEs to host 2 that keep the port of host 1 busy. */
static void load(struct hca_world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hca_qp from = hca_world_qp(w, 1, HCA_QP_RC), to = hca_world_qp(w, 2, HCA_QP_RC);
        struct hca_qp_attr a = hca_world_attr(w, 1, 2), b = hca_world_attr(w, 2, 1);
        a.path_mtu = b.path_mtu = FABRIC_MTU_4096;
        a.timeout = 0;
        a.dest_qp_num = hca_world_number(w, 2, to);
        b.dest_qp_num = hca_world_number(w, 1, from);
        assert_int_equal(hca_world_bring_up(w, 1, from, HCA_QP_RC, &a), FABRIC_OK);
        assert_int_equal(hca_world_bring_up(w, 2, to, HCA_QP_RC, &b), FABRIC_OK);
        struct hca_sge sge = hca_world_sge(w, 1, 0, HCA_WORLD_MEMORY);
        struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
        wr.remote_addr = HCA_WORLD_IOVA;
        wr.rkey = w->host[2].key;
        assert_int_equal(hca_post_send(w->host[1].hca, from, &wr), FABRIC_OK);
    }
}

/* The answers come later than the sender waits, so it asks again; the port is so busy that the
 * second answer is far from out when the sender, content with the first, sends its next READ. */
static void a_new_read_displaces_the_repetition_of_an_old_one(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    struct net_port *port = net_node_port(p.w->host[1].node, 1);
    p.a.max_rd_atomic = p.b.max_dest_rd_atomic = 1;
    p.a.path_mtu = p.b.path_mtu = FABRIC_MTU_4096;
    p.a.timeout = 10;
    hca_pair_connect(&p);
    net_link_set_delay(port, 20 * MS, 0); /* more than four times 4.2 ms */
    hca_world_fill(p.w, 1, 0, 4096, 3);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, HCA_WORLD_MEMORY, 1);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 4096, 2);
    hca_world_run(p.w, 3 * MS);
    load(p.w, 64);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    net_link_set_delay(port, 0, 0);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_int_equal(p.w->host[0].wcs[1].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 4096));
    hca_world_destroy(p.w);
}

/* As if so many packets had been sent and executed. */
static void pass_psns(struct hca_pair *p, uint32_t count)
{
    struct qp_context *from =
        context_by_number(p->w->host[0].hca, hca_world_number(p->w, 0, p->qp[0]));
    struct qp_context *to =
        context_by_number(p->w->host[1].hca, hca_world_number(p->w, 1, p->qp[1]));
    uint32_t psn = rules_psn_add(to->rsp->epsn, count);
    assert_int_equal(to->rsp->epsn, from->req->una_psn);
    to->rsp->epsn = psn;
    to->rsp->position += count;
    from->req->next_psn = from->req->una_psn = from->req->sent_psn = from->req->tx_psn = psn;
    from->req->awaited_psn = rules_psn_add(psn, RULES_PSN_MASK);
}

static void a_repeated_read_is_not_taken_for_one_a_wrap_of_the_psns_ago(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_world *w = p.w;
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_READ, 64, SECOND), FABRIC_WC_SUCCESS);
    pass_psns(&p, (1u << 24) - 1); /* the next READ has the PSN of this one */
    memset(w->host[1].memory, 0x11, 64);
    memset(w->host[1].memory + 4096, 0x22, 64);
    struct hca_sge sge = hca_world_sge(w, 0, 8192, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_READ, &sge);
    wr.remote_addr = HCA_WORLD_IOVA + 4096;
    wr.rkey = w->host[1].key;
    struct net_port *port = net_node_port(w->host[1].node, 1);
    net_link_set_cut(port, true); /* the first answer is lost */
    w->host[0].wc_count = 0;
    assert_int_equal(hca_post_send(w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
    hca_world_run(w, 100000);
    net_link_set_cut(port, false);
    assert_true(hca_world_wait(w, 0, 1, 10 * SECOND));
    assert_int_equal(w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(w, 0, 8192, 1, 4096, 64));
    hca_world_destroy(w);
}

static void fewer_resources_change_nothing_for_reads_under_way(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca *responder = p.w->host[1].hca;
    hca_world_fill(p.w, 1, 0, 1u << 20, 8);
    for (uint64_t i = 0; i < 4; i++)
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 1u << 20, i);
    hca_world_run(p.w, 3000);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_SQD};
    assert_int_equal(hca_qp_modify(responder, p.qp[1], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(
        hca_qp_modify(responder, p.qp[1], &attr, HCA_QP_STATE | HCA_QP_MAX_DEST_RD_ATOMIC),
        FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 4, SECOND));
    assert_int_equal(p.w->host[0].wcs[3].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 1u << 20));
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_READ, 64, SECOND), FABRIC_WC_REM_INV_REQ_ERR);
    hca_world_destroy(p.w);
}

/* A copy of a READ request that took a longer way. */
static void read_again(struct hca_pair *p, uint32_t psn, uint32_t length)
{
    struct hca *from = p->w->host[0].hca;
    struct qp_context *ctx = context_by_number(from, hca_world_number(p->w, 0, p->qp[0]));
    struct packet *packet = context_packet(ctx, BTH_READ_REQUEST, psn);
    packet->va = HCA_WORLD_IOVA;
    packet->rkey = p->w->host[1].key;
    packet->dma_length = length;
    packet_finish(port_of(from, 1), packet);
    port_receive(p->w->host[1].hca, net_node_port(p->w->host[1].node, 1), packet);
}

/* The WRITE is executed while the answer to the READ still goes out; its acknowledgement waits. */
static void a_repeated_read_leaves_the_acknowledgement_of_a_younger_write(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.a.timeout = 0; /* nobody asks again */
    hca_pair_connect(&p);
    const uint64_t before = hca_world_port(p.w, 1)->counters.rcv_packets;
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 200000, 1);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 2);
    while (hca_world_port(p.w, 1)->counters.rcv_packets < before + 2)
        sim_step(p.w->sim);
    read_again(&p, p.a.sq_psn, 200000);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(p.w->host[0].wcs[1].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

/* Memory goes back to its program with the queue pair, while answers of a READ are on the wire. */
static void a_destroyed_queue_pair_lets_go_of_what_it_was_answering(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    memset(peer->memory, 0xaa, 512);
    net_link_set_delay(net_node_port(peer->node, 1), MS, 0);
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 512, 1);
    hca_world_run(p.w, MS / 2); /* the answer is under way */
    hca_qp_destroy(peer->hca, p.qp[1]);
    memset(peer->memory, 0xbb, 512);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    for (int i = 0; i < 512; i++)
        assert_int_equal(p.w->host[0].memory[i], 0xaa);
    hca_world_destroy(p.w);
}

static void a_reset_frees_the_resources_of_reads_that_were_never_answered(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_world *w = p.w;
    hca_world_fill(w, 1, 0, 1u << 20, 9);
    for (uint64_t i = 0; i < 4; i++)
        hca_world_send(w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 1u << 20, i);
    hca_world_run(w, 3000); /* all four are in the middle of it */
    const struct qp_context *ctx =
        context_by_number(w->host[1].hca, hca_world_number(w, 1, p.qp[1]));
    assert_int_equal(ctx->rsp->unanswered, 4);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RESET};
    for (int i = 0; i < 2; i++)
        assert_int_equal(hca_qp_modify(w->host[i].hca, p.qp[i], &attr, HCA_QP_STATE), FABRIC_OK);
    for (int i = 0; i < RESPONDER_RESOURCES; i++)
        assert_true(!ctx->answers[i] && !ctx->rsp->resources[i].used);
    hca_world_run(w, SECOND);
    assert_int_equal(hca_world_bring_up(w, 0, p.qp[0], HCA_QP_RC, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(w, 1, p.qp[1], HCA_QP_RC, &p.b), FABRIC_OK);
    for (uint64_t i = 0; i < 4; i++)
        hca_world_send(w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, 4096, i);
    assert_true(hca_world_wait(w, 0, 4, SECOND));
    assert_int_equal(w->host[0].wcs[3].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(w, 0, 0, 1, 0, 4096));
    hca_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_return_what_was_there),
        cmocka_unit_test(a_repeated_atomic_is_not_executed_again),
        cmocka_unit_test(a_repeated_read_is_executed_again),
        cmocka_unit_test(more_reads_than_resources_are_an_invalid_request),
        cmocka_unit_test(without_the_capability_resources_are_those_of_the_device),
        cmocka_unit_test(a_window_taken_back_stops_a_read_under_way),
        cmocka_unit_test(a_new_read_displaces_the_repetition_of_an_old_one),
        cmocka_unit_test(a_repeated_read_is_not_taken_for_one_a_wrap_of_the_psns_ago),
        cmocka_unit_test(fewer_resources_change_nothing_for_reads_under_way),
        cmocka_unit_test(a_repeated_read_leaves_the_acknowledgement_of_a_younger_write),
        cmocka_unit_test(a_destroyed_queue_pair_lets_go_of_what_it_was_answering),
        cmocka_unit_test(a_reset_frees_the_resources_of_reads_that_were_never_answered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

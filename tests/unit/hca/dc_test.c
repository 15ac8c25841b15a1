/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "tests/support/hca_world.h"

#define DC_KEY 0xdc00

/* Host 0 has an initiator; hosts 1 to 3 have a target each. */
struct dc {
    struct hca_world *w;
    hca_qp dci, dct[HCA_WORLD_HOSTS];
    uint32_t number[HCA_WORLD_HOSTS];
    hca_srq srq[HCA_WORLD_HOSTS];
    hca_ah ah[HCA_WORLD_HOSTS];
};

static hca_qp make_target(struct hca_host *h, hca_srq *srq)
{
    assert_int_equal(hca_srq_create(h->hca, h->pd, 16, 1, 0, srq), FABRIC_OK);
    struct hca_qp_init init = {
        .type = HCA_QP_DCT, .pd = h->pd, .recv_cq = h->cq, .srq = *srq, .dc_access_key = DC_KEY};
    hca_qp dct;
    assert_int_equal(hca_qp_create(h->hca, &init, &dct), FABRIC_OK);
    return dct;
}

static struct dc make(uint64_t seed)
{
    struct hca_world_init init = {.seed = seed};
    struct dc d = {.w = hca_world_create(&init)};
    struct hca_qp_attr attr = hca_world_attr(d.w, 0, 1);
    attr.retry_cnt = 1;
    d.dci = hca_world_qp(d.w, 0, HCA_QP_DCI);
    assert_int_equal(hca_world_bring_up(d.w, 0, d.dci, HCA_QP_DCI, &attr), FABRIC_OK);
    for (int i = 1; i < HCA_WORLD_HOSTS; i++) {
        d.dct[i] = make_target(&d.w->host[i], &d.srq[i]);
        attr = hca_world_attr(d.w, i, 0);
        assert_int_equal(hca_world_number(d.w, i, d.dct[i]), 0);
        assert_int_equal(hca_world_bring_up(d.w, i, d.dct[i], HCA_QP_DCT, &attr), FABRIC_OK);
        d.number[i] = hca_world_number(d.w, i, d.dct[i]);
        struct fabric_av av = hca_world_attr(d.w, 0, i).av;
        assert_int_equal(hca_ah_create(d.w->host[0].hca, d.w->host[0].pd, &av, &d.ah[i]),
                         FABRIC_OK);
    }
    return d;
}

static void post(struct dc *d, int target, enum hca_wr_opcode opcode, uint32_t length, uint64_t key,
                 uint64_t wr_id)
{
    struct hca_sge sge = hca_world_sge(d->w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(opcode, &sge);
    wr.wr_id = wr_id;
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = d->w->host[target].key;
    wr.ah = d->ah[target];
    wr.dest_qp = d->number[target];
    wr.dc_access_key = key;
    assert_int_equal(hca_post_send(d->w->host[0].hca, d->dci, &wr), FABRIC_OK);
}

static void one_initiator_reaches_several_targets_in_turn(void **state)
{
    (void)state;
    struct dc d = make(1);
    hca_world_fill(d.w, 0, 0, 20000, 5);
    for (int i = 0; i < 12; i++)
        post(&d, 1 + i % 3, HCA_WR_RDMA_WRITE, 20000, DC_KEY, (uint64_t)i);
    assert_true(hca_world_wait(d.w, 0, 12, SECOND));
    for (int i = 0; i < 12; i++) {
        assert_int_equal(d.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(d.w->host[0].wcs[i].wr_id, i);
    }
    for (int i = 1; i < HCA_WORLD_HOSTS; i++)
        assert_true(hca_world_same(d.w, 0, 0, i, 0, 20000));
    hca_world_destroy(d.w);
}

/* The second target hears nothing while the first has not answered. */
static void it_works_for_one_target_at_a_time(void **state)
{
    (void)state;
    struct dc d = make(1);
    net_link_set_delay(net_node_port(d.w->host[1].node, 1), MS, 0);
    uint64_t before = hca_world_port(d.w, 2)->counters.rcv_packets;
    post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, 1);
    post(&d, 2, HCA_WR_RDMA_WRITE, 64, DC_KEY, 2);
    hca_world_run(d.w, MS / 2);
    assert_int_equal(hca_world_port(d.w, 2)->counters.rcv_packets, before);
    assert_true(hca_world_wait(d.w, 0, 2, SECOND));
    assert_int_equal(d.w->host[0].wcs[1].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(d.w);
}

static void reads_sends_and_loss(void **state)
{
    (void)state;
    struct dc d = make(3);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RESET};
    assert_int_equal(hca_qp_modify(d.w->host[0].hca, d.dci, &attr, HCA_QP_STATE), FABRIC_OK);
    attr = hca_world_attr(d.w, 0, 1);
    assert_int_equal(hca_world_bring_up(d.w, 0, d.dci, HCA_QP_DCI, &attr), FABRIC_OK);
    for (int i = 0; i < 3; i++)
        hca_world_loss(d.w, i, 20000);
    struct hca_sge sge = hca_world_sge(d.w, 1, 1u << 20, 4096);
    for (int i = 0; i < 8; i++) {
        struct hca_recv_wr recv = {.wr_id = (uint64_t)(100 + i), .sges = &sge, .sge_count = 1};
        assert_int_equal(hca_srq_post_recv(d.w->host[1].hca, d.srq[1], &recv), FABRIC_OK);
    }
    for (int i = 0; i < 8; i++) {
        post(&d, 1, HCA_WR_SEND, 3000, DC_KEY, 0);
        post(&d, 2, HCA_WR_RDMA_READ, 9000, DC_KEY, 0);
    }
    assert_true(hca_world_wait(d.w, 0, 16, 100 * SECOND));
    assert_int_equal(d.w->host[0].wcs[15].status, FABRIC_WC_SUCCESS);
    assert_int_equal(d.w->host[1].wc_count, 8);
    assert_int_equal(d.w->host[1].wcs[7].wr_id, 107);
    assert_int_equal(d.w->host[1].wcs[7].byte_len, 3000);
    assert_true(hca_world_same(d.w, 0, 0, 2, 0, 9000));
    hca_world_destroy(d.w);
}

static void an_initiator_fails_as_a_whole_and_flushes_the_requests_of_others(void **state)
{
    (void)state;
    struct dc d = make(1);
    net_node_set_power(d.w->host[1].node, false);
    post(&d, 2, HCA_WR_RDMA_WRITE, 64, DC_KEY, 0);
    post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, 1);
    post(&d, 2, HCA_WR_RDMA_WRITE, 64, DC_KEY, 2);
    post(&d, 3, HCA_WR_RDMA_WRITE, 64, DC_KEY, 3);
    assert_true(hca_world_wait(d.w, 0, 4, 10 * SECOND));
    static const uint8_t statuses[] = {FABRIC_WC_SUCCESS, FABRIC_WC_RETRY_EXC_ERR,
                                       FABRIC_WC_WR_FLUSH_ERR, FABRIC_WC_WR_FLUSH_ERR};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(d.w->host[0].wcs[i].wr_id, i);
        assert_int_equal(d.w->host[0].wcs[i].status, statuses[i]);
    }
    assert_int_equal(hca_world_qp_state(d.w, 0, d.dci), FABRIC_QPS_ERR);
    hca_world_destroy(d.w);
}

static void a_wrong_key_fails_within_the_time_out_and_nothing_lands(void **state)
{
    (void)state;
    bool silent = false, refused = false;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct dc d = make(seed);
        hca_world_fill(d.w, 0, 0, 64, 0x31);
        post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY + 1, 0);
        assert_true(hca_world_wait(d.w, 0, 1, 2 * 4 * (UINT64_C(4096) << 10) + MS));
        assert_int_not_equal(d.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
        silent = silent || d.w->host[0].wcs[0].status == FABRIC_WC_RETRY_EXC_ERR;
        refused = refused || d.w->host[0].wcs[0].status != FABRIC_WC_RETRY_EXC_ERR;
        hca_world_run(d.w, SECOND);
        assert_false(hca_world_same(d.w, 0, 0, 1, 0, 64));
        assert_int_equal(hca_world_qp_state(d.w, 1, d.dct[1]), FABRIC_QPS_RTR);
        hca_world_destroy(d.w);
    }
    assert_true(silent && refused); /* the status is nobody's promise */
}

static void an_access_error_ends_the_initiator_but_not_the_target(void **state)
{
    (void)state;
    struct dc d = make(1);
    uint32_t key = d.w->host[1].key;
    d.w->host[1].key ^= 5;
    post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, 0);
    assert_true(hca_world_wait(d.w, 0, 1, SECOND));
    assert_int_equal(d.w->host[0].wcs[0].status, FABRIC_WC_REM_ACCESS_ERR);
    assert_int_equal(hca_world_qp_state(d.w, 1, d.dct[1]), FABRIC_QPS_RTR);
    d.w->host[1].key = key;
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RESET};
    assert_int_equal(hca_qp_modify(d.w->host[0].hca, d.dci, &attr, HCA_QP_STATE), FABRIC_OK);
    attr = hca_world_attr(d.w, 0, 1);
    assert_int_equal(hca_world_bring_up(d.w, 0, d.dci, HCA_QP_DCI, &attr), FABRIC_OK);
    post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, 1);
    assert_true(hca_world_wait(d.w, 0, 2, SECOND));
    assert_int_equal(d.w->host[0].wcs[1].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(d.w);
}

static void a_target_needs_an_srq_and_goes_no_further_than_rtr(void **state)
{
    (void)state;
    struct dc d = make(1);
    struct hca_host *h = &d.w->host[1];
    struct hca_qp_init init = {.type = HCA_QP_DCT, .pd = h->pd, .recv_cq = h->cq};
    hca_qp qp;
    assert_int_equal(hca_qp_create(h->hca, &init, &qp), ERR_INVALID_ARGUMENT);
    struct hca_qp_attr attr = hca_world_attr(d.w, 1, 0);
    attr.state = FABRIC_QPS_RTS;
    uint32_t mask = hca_qp_required_mask(HCA_QP_DCI, FABRIC_QPS_RTR, FABRIC_QPS_RTS);
    assert_int_equal(hca_qp_modify(h->hca, d.dct[1], &attr, mask), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_qp_modify(h->hca, d.dct[1], &attr, HCA_QP_STATE), ERR_INVALID_ARGUMENT);
    struct hca_sge sge = hca_world_sge(d.w, 1, 0, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND, &sge);
    assert_int_equal(hca_post_send(h->hca, d.dct[1], &wr), ERR_INVALID_ARGUMENT);
    hca_world_destroy(d.w);
}

static void a_device_without_dc_refuses_it(void **state)
{
    (void)state;
    struct hca_world_init world = {.profile = "mlx5-nodc", .seed = 1};
    struct hca_world *w = hca_world_create(&world);
    struct hca_qp_init init = {.type = HCA_QP_DCI, .pd = w->host[0].pd, .send_cq = w->host[0].cq};
    hca_qp qp;
    assert_int_equal(hca_qp_create(w->host[0].hca, &init, &qp), ERR_DC_UNSUPPORTED);
    hca_world_destroy(w);
}

static void destroying_a_target_leaves_its_initiator_without_answer(void **state)
{
    (void)state;
    struct dc d = make(1);
    post(&d, 1, HCA_WR_RDMA_WRITE, 2u << 20, DC_KEY, 0);
    hca_world_run(d.w, 20000);
    hca_qp_destroy(d.w->host[1].hca, d.dct[1]);
    assert_int_equal(hca_srq_destroy(d.w->host[1].hca, d.srq[1]), FABRIC_OK);
    assert_true(hca_world_wait(d.w, 0, 1, 10 * SECOND));
    assert_int_equal(d.w->host[0].wcs[0].status, FABRIC_WC_RETRY_EXC_ERR);
    hca_world_destroy(d.w);
}

static void count_connects(void *context, const char *line, size_t length)
{
    char text[512];
    size_t kept = length < sizeof(text) - 1 ? length : sizeof(text) - 1;
    memcpy(text, line, kept);
    text[kept] = 0;
    if (strstr(text, "dc connect"))
        (*(int *)context)++;
}

static void another_way_to_the_same_target_is_another_connection(void **state)
{
    (void)state;
    struct dc d = make(1);
    int connects = 0;
    struct fabric_av av = hca_world_attr(d.w, 0, 1).av;
    av.is_global = true;
    av.grh.dgid = hca_world_port(d.w, 1)->gids[0].gid;
    struct hca_qp_attr target = hca_world_attr(d.w, 1, 0);
    target.av.is_global = true;
    hca_srq srq;
    d.dct[1] = make_target(&d.w->host[1], &srq);
    assert_int_equal(hca_world_bring_up(d.w, 1, d.dct[1], HCA_QP_DCT, &target), FABRIC_OK);
    d.number[1] = hca_world_number(d.w, 1, d.dct[1]);
    sim_trace_start(d.w->sim, count_connects, &connects);
    for (uint8_t i = 0; i < 2; i++) { /* queued together, both over their own way */
        av.grh.hop_limit = (uint8_t)(64 + i);
        assert_int_equal(hca_ah_create(d.w->host[0].hca, d.w->host[0].pd, &av, &d.ah[1]),
                         FABRIC_OK);
        post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, i);
        post(&d, 1, HCA_WR_RDMA_WRITE, 64, DC_KEY, i);
    }
    assert_true(hca_world_wait(d.w, 0, 4, SECOND));
    assert_int_equal(d.w->host[0].wcs[3].status, FABRIC_WC_SUCCESS);
    assert_int_equal(connects, 2);
    hca_world_destroy(d.w);
}

/* A packet of an initiator on host 2 that has no device behind it. */
static void stranger(struct dc *d, uint32_t number, uint8_t operation, uint32_t psn)
{
    struct packet *packet = net_alloc(d->w->net);
    packet->opcode = (uint8_t)(BTH_DC | operation);
    packet->slid = 12;
    packet->dlid = 11;
    packet->pkey = 0xffff;
    packet->dest_qp = d->number[1];
    packet->src_qp = number;
    packet->psn = psn;
    packet->va = packet->qkey = 1; /* the connection */
    packet->dc_key = DC_KEY;
    port_receive(d->w->host[1].hca, net_node_port(d->w->host[1].node, 1), packet);
}

static void a_target_with_many_initiators_forgets_a_finished_one(void **state)
{
    (void)state;
    struct dc d = make(1);
    hca_world_fill(d.w, 0, 0, 1u << 20, 6);
    post(&d, 1, HCA_WR_RDMA_WRITE, 1u << 20, DC_KEY, 0);
    hca_world_run(d.w, 20000); /* in the middle of it */
    for (uint32_t i = 0; i < 4200; i++) {
        stranger(&d, 1000 + i, DC_CONNECT, 5);
        stranger(&d, 1000 + i, DC_DISCONNECT, 6);
    }
    assert_int_equal(d.w->host[0].wc_count, 0);
    assert_true(hca_world_wait(d.w, 0, 1, MS)); /* before it would try again */
    assert_int_equal(d.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(d.w, 0, 0, 1, 0, 1u << 20));
    hca_world_destroy(d.w);
}

static void a_receive_comes_back_when_its_initiator_died(void **state)
{
    (void)state;
    struct dc d = make(1);
    struct hca_sge sge = hca_world_sge(d.w, 1, 0, 1u << 20);
    for (uint64_t i = 50; i < 52; i++) {
        struct hca_recv_wr recv = {.wr_id = i, .sges = &sge, .sge_count = 1};
        assert_int_equal(hca_srq_post_recv(d.w->host[1].hca, d.srq[1], &recv), FABRIC_OK);
    }
    post(&d, 1, HCA_WR_SEND, 1u << 20, DC_KEY, 0);
    hca_world_run(d.w, 20000);
    hca_qp_destroy(d.w->host[0].hca, d.dci);
    assert_int_equal(d.w->host[1].wc_count, 0);
    assert_true(hca_world_wait(d.w, 1, 1, 100 * SECOND));
    assert_int_equal(d.w->host[1].wcs[0].wr_id, 50);
    assert_int_equal(d.w->host[1].wcs[0].status, FABRIC_WC_WR_FLUSH_ERR);
    assert_int_equal(hca_world_qp_state(d.w, 1, d.dct[1]), FABRIC_QPS_RTR);
    struct hca_qp_attr attr = hca_world_attr(d.w, 0, 1);
    d.dci = hca_world_qp(d.w, 0, HCA_QP_DCI);
    assert_int_equal(hca_world_bring_up(d.w, 0, d.dci, HCA_QP_DCI, &attr), FABRIC_OK);
    post(&d, 1, HCA_WR_SEND, 64, DC_KEY, 1);
    assert_true(hca_world_wait(d.w, 1, 2, SECOND));
    assert_int_equal(d.w->host[1].wcs[1].wr_id, 51);
    assert_int_equal(d.w->host[1].wcs[1].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(d.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_initiator_reaches_several_targets_in_turn),
        cmocka_unit_test(it_works_for_one_target_at_a_time),
        cmocka_unit_test(reads_sends_and_loss),
        cmocka_unit_test(an_initiator_fails_as_a_whole_and_flushes_the_requests_of_others),
        cmocka_unit_test(a_wrong_key_fails_within_the_time_out_and_nothing_lands),
        cmocka_unit_test(an_access_error_ends_the_initiator_but_not_the_target),
        cmocka_unit_test(a_target_needs_an_srq_and_goes_no_further_than_rtr),
        cmocka_unit_test(a_device_without_dc_refuses_it),
        cmocka_unit_test(destroying_a_target_leaves_its_initiator_without_answer),
        cmocka_unit_test(another_way_to_the_same_target_is_another_connection),
        cmocka_unit_test(a_target_with_many_initiators_forgets_a_finished_one),
        cmocka_unit_test(a_receive_comes_back_when_its_initiator_died)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver drops in silence, and what its sender sees (HA-2.3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "tests/support/hca_world.h"

/* A short time-out and one retry, so that a silent drop shows soon. */
static struct hca_pair hasty(const char *profile, fabric_caps without)
{
    struct hca_pair p = hca_pair_make(profile, without, 1);
    p.a.retry_cnt = p.b.retry_cnt = 1;
    return p;
}

static void assert_dead(struct hca_pair *p)
{
    hca_world_fill(p->w, 0, 0, 64, 0x77);
    assert_int_equal(hca_pair_status(p, HCA_WR_RDMA_WRITE, 64, SECOND), FABRIC_WC_RETRY_EXC_ERR);
    assert_false(hca_world_same(p->w, 0, 0, 1, 0, 64));
}

static void assert_alive(struct hca_pair *p)
{
    assert_int_equal(hca_pair_status(p, HCA_WR_RDMA_WRITE, 64, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_pair_status(p, HCA_WR_RDMA_READ, 4000, SECOND), FABRIC_WC_SUCCESS);
}

static void a_pkey_mismatch_is_dropped_counted_and_trapped(void **state)
{
    (void)state;
    static const struct {
        uint16_t ours, theirs;
        bool passes;
    } cases[] = {{0xffff, 0xffff, true},  {0xffff, 0x7fff, true},  {0x7fff, 0xffff, true},
                 {0x7fff, 0x7fff, false}, {0x8001, 0x8002, false}, {0x8123, 0x0123, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hca_pair p = hasty(NULL, 0);
        hca_world_set_pkey(p.w, 0, 0, cases[i].ours);
        hca_world_set_pkey(p.w, 1, 0, cases[i].theirs);
        hca_pair_connect(&p);
        if (cases[i].passes) {
            assert_alive(&p);
            assert_int_equal(hca_world_port(p.w, 1)->counters.bad_pkey, 0);
        } else {
            assert_dead(&p);
            assert_int_equal(hca_world_port(p.w, 1)->counters.bad_pkey, 2);
            assert_int_equal(p.w->host[1].trap_count, 2);
            assert_int_equal(p.w->host[1].traps[0].number, 257);
            assert_int_equal(p.w->host[1].traps[0].key, cases[i].ours);
            assert_int_equal(p.w->host[1].traps[0].lid1, 10);
            assert_int_equal(p.w->host[1].traps[0].lid2, 11);
        }
        hca_world_destroy(p.w);
    }
}

/* The request passes, the receiver's key is exchanged while the answer is under way. */
static void keys_are_checked_on_acks_and_read_responses(void **state)
{
    (void)state;
    static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ};
    for (size_t i = 0; i < 2; i++) {
        struct hca_pair p = hasty(NULL, 0);
        hca_pair_connect(&p);
        net_link_set_delay(net_node_port(p.w->host[1].node, 1), MS, 0);
        hca_world_send(p.w, 0, p.qp[0], ops[i], 0, 64, 1);
        hca_world_run(p.w, MS / 2); /* executed; the answer is on its way */
        hca_world_set_pkey(p.w, 0, 0, 0x8001);
        hca_world_run(p.w, MS);
        assert_int_equal(p.w->host[0].wc_count, 0);
        assert_int_equal(hca_world_port(p.w, 0)->counters.bad_pkey, 1);
        hca_world_set_pkey(p.w, 0, 0, 0xffff);
        assert_true(hca_world_wait(p.w, 0, 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
        hca_world_destroy(p.w);
    }
}

static void an_unknown_dlid_ends_in_retry_exceeded(void **state)
{
    (void)state;
    static const uint16_t lids[] = {0, 99, 12}; /* 12 is another host */
    for (size_t i = 0; i < 3; i++) {
        struct hca_pair p = hasty(NULL, 0);
        p.a.av.dlid = lids[i]; /* 0 passes RTR and fails here */
        hca_pair_connect(&p);
        assert_dead(&p);
        hca_world_destroy(p.w);
    }
}

static void after_a_new_lid_both_directions_are_dead(void **state)
{
    (void)state;
    for (int direction = 0; direction < 2; direction++) {
        struct hca_pair p = hasty(NULL, 0);
        hca_pair_connect(&p);
        assert_alive(&p);
        hca_world_set_lid(p.w, direction, 40);
        hca_world_run(p.w, 10 * SECOND); /* idle: nobody notices */
        assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_RTS);
        assert_int_equal(hca_world_qp_state(p.w, 1, p.qp[1]), FABRIC_QPS_RTS);
        assert_dead(&p);
        hca_world_destroy(p.w);
    }
}

static void without_the_source_lid_check_only_the_destination_counts(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, FABRIC_CAP_SLID_CHECK);
    hca_pair_connect(&p);
    hca_world_set_lid(p.w, 0, 40); /* the answers go to the old one */
    hca_world_fill(p.w, 0, 0, 64, 0x77);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 64, SECOND), FABRIC_WC_RETRY_EXC_ERR);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 64)); /* but it was executed */
    hca_world_destroy(p.w);
}

/* A switch that still sends packets for a port's old LID to it: the port does not take them. */
static void a_stale_forwarding_entry_does_not_help(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, FABRIC_CAP_SLID_CHECK);
    hca_pair_connect(&p);
    hca_world_set_lid(p.w, 1, 40);
    net_lft_set(p.w->sw, 11, 2);
    assert_dead(&p);
    hca_world_destroy(p.w);
}

static void all_lids_of_an_lmc_are_answered_with_agreeing_path_bits(void **state)
{
    (void)state;
    for (int agree = 0; agree < 2; agree++) {
        struct hca_pair p = hasty(NULL, 0);
        hca_world_port(p.w, 0)->lmc = hca_world_port(p.w, 1)->lmc = 2;
        hca_world_set_lid(p.w, 0, 20);
        hca_world_set_lid(p.w, 1, 24);
        for (uint16_t i = 0; i < 4; i++) {
            net_lft_set(p.w->sw, (uint16_t)(20 + i), 1);
            net_lft_set(p.w->sw, (uint16_t)(24 + i), 2);
        }
        p.a.av.dlid = 24 + 2;
        p.a.av.src_path_bits = agree ? 1 : 3;
        p.b.av.dlid = 20 + 1;
        p.b.av.src_path_bits = 2;
        hca_pair_connect(&p);
        if (agree)
            assert_alive(&p);
        else
            assert_dead(&p);
        hca_world_destroy(p.w);
    }
}

static void a_grh_at_one_end_only_is_dropped(void **state)
{
    (void)state;
    for (int ends = 0; ends < 4; ends++) {
        struct hca_pair p = hasty(NULL, 0);
        p.a.av.is_global = (ends & 1) != 0;
        p.a.av.grh.dgid = hca_world_port(p.w, 1)->gids[0].gid;
        p.b.av.is_global = (ends & 2) != 0;
        p.b.av.grh.dgid = hca_world_port(p.w, 0)->gids[0].gid;
        hca_pair_connect(&p);
        if (p.a.av.is_global == p.b.av.is_global)
            assert_alive(&p);
        else
            assert_dead(&p);
        hca_world_destroy(p.w);
    }
}

static void another_gid_than_the_peers_is_dropped(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct hca_pair p = hasty(NULL, 0);
        p.a.av.is_global = p.b.av.is_global = true;
        p.a.av.grh.dgid = hca_world_port(p.w, end ? 1 : 2)->gids[0].gid;
        p.b.av.grh.dgid = hca_world_port(p.w, end ? 3 : 0)->gids[0].gid;
        hca_pair_connect(&p);
        assert_dead(&p);
        hca_world_destroy(p.w);
    }
}

static void a_different_path_mtu_is_an_invalid_request_either_way(void **state)
{
    (void)state;
    static const struct {
        enum fabric_mtu ours, theirs;
    } cases[] = {{FABRIC_MTU_4096, FABRIC_MTU_1024}, {FABRIC_MTU_1024, FABRIC_MTU_4096}};
    for (size_t i = 0; i < 2; i++) {
        struct hca_pair p = hasty(NULL, 0);
        p.a.path_mtu = cases[i].ours;
        p.b.path_mtu = cases[i].theirs;
        hca_pair_connect(&p);
        assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 1000, SECOND), FABRIC_WC_SUCCESS);
        assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 9000, SECOND),
                         FABRIC_WC_REM_INV_REQ_ERR);
        assert_int_equal(hca_world_events(p.w, 1, FABRIC_ASYNC_QP_REQ_ERR), 1);
        assert_int_equal(hca_world_qp_state(p.w, 1, p.qp[1]), FABRIC_QPS_ERR);
        hca_world_destroy(p.w);
    }
}

static void above_the_mtu_of_a_link_only_small_messages_pass(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, 0);
    p.a.path_mtu = p.b.path_mtu = FABRIC_MTU_4096;
    hca_pair_connect(&p);
    net_link_set_mtu(net_node_port(p.w->host[1].node, 1), FABRIC_MTU_2048);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 2048, SECOND), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 2049, SECOND), FABRIC_WC_RETRY_EXC_ERR);
    hca_world_destroy(p.w);
}

static void an_sl_without_an_operational_lane_is_dropped_in_silence(void **state)
{
    (void)state;
    static const uint8_t lanes[] = {15, 3}; /* not allowed; not operational */
    for (size_t i = 0; i < 2; i++) {
        struct hca_pair p = hasty(NULL, 0);
        struct net_port *port = net_node_port(p.w->host[0].node, 1);
        struct port_info before = *net_port_info(port);
        net_port_info(port)->sl_to_vl[5] = lanes[i];
        net_port_changed(port, &before);
        p.a.av.sl = p.b.av.sl = 5;
        hca_pair_connect(&p);
        assert_dead(&p);
        assert_true(hca_world_port(p.w, 0)->counters.xmit_discards > 0);
        hca_world_destroy(p.w);
    }
}

static void a_queue_pair_that_is_not_there_or_not_ready_is_silent(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, 0);
    hca_pair_connect(&p);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_ERR};
    assert_int_equal(hca_qp_modify(p.w->host[1].hca, p.qp[1], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_dead(&p);
    hca_world_destroy(p.w);
    p = hasty(NULL, 0);
    hca_pair_connect(&p);
    hca_qp_destroy(p.w->host[1].hca, p.qp[1]);
    assert_dead(&p);
    hca_world_destroy(p.w);
}

static void a_queue_pair_of_another_type_is_silent(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, 0);
    p.qp[0] = hca_world_qp(p.w, 0, HCA_QP_RC);
    p.qp[1] = hca_world_qp(p.w, 1, HCA_QP_UD);
    p.a.dest_qp_num = hca_world_number(p.w, 1, p.qp[1]);
    assert_int_equal(hca_world_bring_up(p.w, 0, p.qp[0], HCA_QP_RC, &p.a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(p.w, 1, p.qp[1], HCA_QP_UD, &p.b), FABRIC_OK);
    assert_dead(&p);
    hca_world_destroy(p.w);
}

static void a_queue_pair_reaches_another_of_its_own_port(void **state)
{
    (void)state;
    struct hca_pair p = hasty(NULL, 0);
    struct hca_qp_attr attr = hca_world_attr(p.w, 0, 0);
    hca_qp one = hca_world_qp(p.w, 0, HCA_QP_RC), two = hca_world_qp(p.w, 0, HCA_QP_RC);
    attr.rq_psn = attr.sq_psn = 5;
    attr.dest_qp_num = hca_world_number(p.w, 0, two);
    assert_int_equal(hca_world_bring_up(p.w, 0, one, HCA_QP_RC, &attr), FABRIC_OK);
    attr.dest_qp_num = hca_world_number(p.w, 0, one);
    assert_int_equal(hca_world_bring_up(p.w, 0, two, HCA_QP_RC, &attr), FABRIC_OK);
    hca_world_fill(p.w, 0, 0, 9000, 4);
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 9000);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = HCA_WORLD_IOVA + 100000;
    wr.rkey = p.w->host[0].key;
    assert_int_equal(hca_post_send(p.w->host[0].hca, one, &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 0, 100000, 9000));
    hca_world_destroy(p.w);
}

static void set_prefix(struct hca_world *w, int host, uint8_t prefix)
{
    struct net_port *port = net_node_port(w->host[host].node, 1);
    struct port_info before = *net_port_info(port), *info = net_port_info(port);
    info->gid_prefix = 0xfe80000000000000 | prefix;
    info->gids[0].gid.raw[7] = prefix;
    net_port_changed(port, &before);
}

/* In the destination as in the source, but the interface id must be right. */
static void a_port_answers_to_the_default_prefix_too(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        for (int end = 0; end < 2; end++) {
            struct hca_pair p = hasty(NULL, 0);
            p.a.av.is_global = p.b.av.is_global = true;
            p.a.av.grh.hop_limit = p.b.av.grh.hop_limit = 1;
            p.a.av.grh.dgid = hca_world_port(p.w, 1)->gids[0].gid; /* with the default prefix */
            p.b.av.grh.dgid = hca_world_port(p.w, 0)->gids[0].gid;
            p.a.av.grh.dgid.raw[15] ^= (uint8_t)wrong;
            p.b.av.grh.dgid.raw[7] = end == 0 ? 0 : 7;
            if (end == 0)
                set_prefix(p.w, 1, 7); /* the answers have it, so they are dropped */
            hca_pair_connect(&p);
            hca_world_fill(p.w, 0, 0, 64, 0x77);
            hca_pair_status(&p, HCA_WR_RDMA_WRITE, 64, SECOND);
            assert_int_equal(hca_world_same(p.w, 0, 0, 1, 0, 64), !wrong);
            hca_world_destroy(p.w);
        }
    }
}

/* Two ports, the queue pair on the first; a stranger's packet comes in at the second. */
static void a_packet_at_another_port_is_no_violation_there(void **state)
{
    (void)state;
    struct sim *sim = sim_create(1);
    struct net *net = net_create(sim);
    struct net_node *node = net_add_node(net, NET_HCA, "dual", 1, 2);
    struct hca_init init = {
        .node = node, .profile = hca_profile_find("mlx5"), .caps = FABRIC_CAPS_ALL};
    struct hca *hca = hca_create(net, &init);
    for (uint8_t num = 1; num <= 2; num++) {
        struct port_info *info = net_port_info(net_node_port(node, num));
        info->lid = 20u + num;
        info->pkeys[0] = 0xffff;
        info->state = FABRIC_PORT_ACTIVE;
    }
    hca_pd pd;
    hca_cq cq;
    hca_qp qp;
    assert_int_equal(hca_pd_alloc(hca, &pd), FABRIC_OK);
    assert_int_equal(hca_cq_create(hca, 8, 0, &cq), FABRIC_OK);
    struct hca_qp_init make = {.type = HCA_QP_UD, .pd = pd, .send_cq = cq, .recv_cq = cq};
    assert_int_equal(hca_qp_create(hca, &make, &qp), FABRIC_OK);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_INIT, .port_num = 1};
    const uint32_t mask = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY;
    assert_int_equal(hca_qp_modify(hca, qp, &attr, mask), FABRIC_OK);
    attr.state = FABRIC_QPS_RTR;
    assert_int_equal(hca_qp_modify(hca, qp, &attr, HCA_QP_STATE), FABRIC_OK);
    struct hca_qp_info info;
    assert_int_equal(hca_qp_query(hca, qp, &info), FABRIC_OK);
    for (uint8_t num = 1; num <= 2; num++) {
        struct packet *packet = net_alloc(net);
        packet->opcode = BTH_UD | BTH_SEND_ONLY;
        packet->dlid = 20u + num;
        packet->dest_qp = info.qp_num;
        packet->pkey = 0x8001;
        port_receive(hca, net_node_port(node, num), packet);
        assert_int_equal(net_port_info(net_node_port(node, num))->counters.bad_pkey, num == 1);
    }
    hca_destroy(hca);
    net_destroy(net);
    sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pkey_mismatch_is_dropped_counted_and_trapped),
        cmocka_unit_test(keys_are_checked_on_acks_and_read_responses),
        cmocka_unit_test(an_unknown_dlid_ends_in_retry_exceeded),
        cmocka_unit_test(after_a_new_lid_both_directions_are_dead),
        cmocka_unit_test(without_the_source_lid_check_only_the_destination_counts),
        cmocka_unit_test(a_stale_forwarding_entry_does_not_help),
        cmocka_unit_test(all_lids_of_an_lmc_are_answered_with_agreeing_path_bits),
        cmocka_unit_test(a_grh_at_one_end_only_is_dropped),
        cmocka_unit_test(another_gid_than_the_peers_is_dropped),
        cmocka_unit_test(a_different_path_mtu_is_an_invalid_request_either_way),
        cmocka_unit_test(above_the_mtu_of_a_link_only_small_messages_pass),
        cmocka_unit_test(an_sl_without_an_operational_lane_is_dropped_in_silence),
        cmocka_unit_test(a_queue_pair_that_is_not_there_or_not_ready_is_silent),
        cmocka_unit_test(a_queue_pair_of_another_type_is_silent),
        cmocka_unit_test(a_queue_pair_reaches_another_of_its_own_port),
        cmocka_unit_test(a_port_answers_to_the_default_prefix_too),
        cmocka_unit_test(a_packet_at_another_port_is_no_violation_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

struct ud {
    struct hca_world *w;
    hca_qp qp[HCA_WORLD_HOSTS];
    struct fabric_av av; /* from host 0 */
    uint32_t dest_qp, qkey;
};

static struct ud make(void)
{
    struct hca_world_init init = {.seed = 1};
    struct ud u = {.w = hca_world_create(&init), .qkey = 0x11111111};
    for (int i = 0; i < HCA_WORLD_HOSTS; i++) {
        struct hca_qp_attr attr = hca_world_attr(u.w, i, 0);
        u.qp[i] = hca_world_qp(u.w, i, HCA_QP_UD);
        assert_int_equal(hca_world_bring_up(u.w, i, u.qp[i], HCA_QP_UD, &attr), FABRIC_OK);
    }
    u.av = hca_world_attr(u.w, 0, 1).av;
    u.dest_qp = hca_world_number(u.w, 1, u.qp[1]);
    return u;
}

static int send(struct ud *u, uint32_t length)
{
    size_t before = u->w->host[0].wc_count;
    struct hca_sge sge = hca_world_sge(u->w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND_WITH_IMM, &sge);
    assert_int_equal(hca_ah_create(u->w->host[0].hca, u->w->host[0].pd, &u->av, &wr.ah), FABRIC_OK);
    wr.dest_qp = u->dest_qp;
    wr.qkey = u->qkey;
    wr.imm = 0x99;
    assert_int_equal(hca_post_send(u->w->host[0].hca, u->qp[0], &wr), FABRIC_OK);
    hca_ah_destroy(u->w->host[0].hca, wr.ah); /* the post keeps what it needs */
    assert_true(hca_world_wait(u->w, 0, before + 1, SECOND));
    hca_world_run(u->w, MS);
    return u->w->host[0].wcs[before].status;
}

static void a_datagram_arrives_behind_room_for_a_grh(void **state)
{
    (void)state;
    struct ud u = make();
    hca_world_fill(u.w, 0, 0, 4096, 1);
    hca_world_recv(u.w, 1, u.qp[1], 8192, 4096 + 40, 7);
    assert_int_equal(send(&u, 4096), FABRIC_WC_SUCCESS);
    const struct hca_wc *wc = &u.w->host[1].wcs[0];
    assert_int_equal(u.w->host[1].wc_count, 1);
    assert_int_equal(wc->byte_len, 4096 + 40);
    assert_int_equal(wc->src_qp, hca_world_number(u.w, 0, u.qp[0]));
    assert_int_equal(wc->slid, 10);
    assert_int_equal(wc->imm, 0x99);
    assert_false(wc->with_grh);
    assert_true(hca_world_same(u.w, 0, 0, 1, 8192 + 40, 4096));
    hca_world_destroy(u.w);
}

static void a_grh_is_handed_over(void **state)
{
    (void)state;
    struct ud u = make();
    u.av.is_global = true;
    u.av.grh.dgid = hca_world_port(u.w, 1)->gids[0].gid;
    u.av.grh.hop_limit = 3;
    hca_world_recv(u.w, 1, u.qp[1], 0, 200, 7);
    assert_int_equal(send(&u, 100), FABRIC_WC_SUCCESS);
    assert_true(u.w->host[1].wcs[0].with_grh);
    const uint8_t *grh = u.w->host[1].memory;
    assert_int_equal(grh[0] >> 4, 6);
    assert_int_equal(grh[7], 3);
    assert_memory_equal(grh + 8, hca_world_port(u.w, 0)->gids[0].gid.raw, 16);
    assert_memory_equal(grh + 24, hca_world_port(u.w, 1)->gids[0].gid.raw, 16);
    hca_world_destroy(u.w);
}

static void what_cannot_be_received_is_lost_in_silence(void **state)
{
    (void)state;
    struct ud u = make();
    assert_int_equal(send(&u, 100), FABRIC_WC_SUCCESS); /* no receive */
    hca_world_recv(u.w, 1, u.qp[1], 0, 100 + 39, 7);
    assert_int_equal(send(&u, 100), FABRIC_WC_SUCCESS); /* too small */
    assert_int_equal(u.w->host[1].wc_count, 0);
    hca_world_set_pkey(u.w, 1, 0, 0x8001);
    assert_int_equal(send(&u, 10), FABRIC_WC_SUCCESS);
    assert_int_equal(u.w->host[1].wc_count, 0);
    assert_int_equal(hca_world_port(u.w, 1)->counters.bad_pkey, 1);
    hca_world_destroy(u.w);
}

static void a_wrong_q_key_is_counted_and_trapped(void **state)
{
    (void)state;
    struct ud u = make();
    hca_world_recv(u.w, 1, u.qp[1], 0, 4096, 7);
    u.qkey = 0x22222222;
    assert_int_equal(send(&u, 100), FABRIC_WC_SUCCESS);
    assert_int_equal(u.w->host[1].wc_count, 0);
    assert_int_equal(hca_world_port(u.w, 1)->counters.bad_qkey, 1);
    assert_int_equal(u.w->host[1].traps[0].number, 258);
    u.qkey = 0x80000000; /* the sender's own */
    assert_int_equal(send(&u, 100), FABRIC_WC_SUCCESS);
    assert_int_equal(u.w->host[1].wc_count, 1);
    hca_world_destroy(u.w);
}

static void too_long_stops_the_send_queue_alone(void **state)
{
    (void)state;
    struct ud u = make();
    hca_world_recv(u.w, 0, u.qp[0], 0, 4096, 7);
    assert_int_equal(send(&u, 4097), FABRIC_WC_LOC_LEN_ERR);
    assert_int_equal(hca_world_qp_state(u.w, 0, u.qp[0]), FABRIC_QPS_SQE);
    assert_int_equal(u.w->host[0].wc_count, 1); /* the receive stays */
    assert_int_equal(send(&u, 10), FABRIC_WC_WR_FLUSH_ERR);
    struct hca_qp_attr attr = {.state = FABRIC_QPS_RTS};
    assert_int_equal(hca_qp_modify(u.w->host[0].hca, u.qp[0], &attr, HCA_QP_STATE), FABRIC_OK);
    assert_int_equal(send(&u, 10), FABRIC_WC_SUCCESS);
    hca_world_destroy(u.w);
}

static void a_multicast_reaches_every_member(void **state)
{
    (void)state;
    struct ud u = make();
    union fabric_gid group = {{0xff, 0x12, [15] = 9}};
    for (int i = 1; i < 3; i++) {
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(hca_qp_attach(u.w->host[i].hca, u.qp[i], &group, 0xc005), FABRIC_OK);
            hca_world_recv(u.w, i, u.qp[i], 0, 4096, 7);
        }
    }
    hca_world_recv(u.w, 3, u.qp[3], 0, 4096, 7);
    net_mft_set(u.w->sw, 0xc005, 0, 1 << 2 | 1 << 3 | 1 << 4);
    u.av.dlid = 0xc005;
    u.av.is_global = true;
    u.av.grh.dgid = group;
    u.dest_qp = 0xffffff;
    hca_world_fill(u.w, 0, 0, 300, 4);
    assert_int_equal(send(&u, 300), FABRIC_WC_SUCCESS);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(u.w->host[i].wc_count, 1);
        assert_true(hca_world_same(u.w, 0, 0, i, 40, 300));
    }
    assert_int_equal(u.w->host[3].wc_count, 0);
    hca_qp_detach(u.w->host[1].hca, u.qp[1], &group, 0xc005);
    hca_world_recv(u.w, 1, u.qp[1], 0, 4096, 8);
    assert_int_equal(send(&u, 300), FABRIC_WC_SUCCESS);
    assert_int_equal(u.w->host[1].wc_count, 1);
    union fabric_gid unicast = {{0xfe, 0x80}};
    assert_int_equal(hca_qp_attach(u.w->host[1].hca, u.qp[1], &unicast, 0xc005),
                     ERR_INVALID_ARGUMENT);
    hca_world_destroy(u.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_datagram_arrives_behind_room_for_a_grh),
                                       cmocka_unit_test(a_grh_is_handed_over),
                                       cmocka_unit_test(what_cannot_be_received_is_lost_in_silence),
                                       cmocka_unit_test(a_wrong_q_key_is_counted_and_trapped),
                                       cmocka_unit_test(too_long_stops_the_send_queue_alone),
                                       cmocka_unit_test(a_multicast_reaches_every_member)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Time-outs and retries against bounds computed from the specification's formulas. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/hca_world.h"

#define SLACK 20000 /* ns: packets under way */

static uint64_t t_of(unsigned code)
{
    return UINT64_C(4096) << code;
}

static struct hca_pair unanswered(uint64_t seed, uint8_t timeout, uint8_t retry_cnt,
                                  fabric_caps without)
{
    struct hca_pair p = hca_pair_make(NULL, without, seed);
    p.a.timeout = timeout;
    p.a.retry_cnt = retry_cnt;
    hca_pair_connect(&p);
    net_link_set_cut(net_node_port(p.w->host[1].node, 1), true);
    return p;
}

/* Time to RETRY_EXC, and packets sent. */
static uint64_t time_to_fail(struct hca_pair *p, uint64_t *sent)
{
    uint64_t begin = sim_now(p->w->sim);
    uint64_t before = hca_world_port(p->w, 0)->counters.xmit_packets;
    assert_int_equal(hca_pair_status(p, HCA_WR_RDMA_WRITE, 64, 10000 * SECOND),
                     FABRIC_WC_RETRY_EXC_ERR);
    if (sent)
        *sent = hca_world_port(p->w, 0)->counters.xmit_packets - before;
    return sim_now(p->w->sim) - begin;
}

static void an_unanswered_request_is_detected_between_t_and_4t(void **state)
{
    (void)state;
    const uint64_t t = t_of(14);
    uint64_t least = UINT64_MAX, most = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct hca_pair p = unanswered(seed, 14, 0, 0);
        uint64_t took = time_to_fail(&p, NULL);
        assert_in_range(took, t, 4 * t + SLACK);
        least = took < least ? took : least;
        most = took > most ? took : most;
        hca_world_destroy(p.w);
    }
    assert_true(least < 2 * t && most > 3 * t); /* the worst the rule allows, both ways */
}

static void retry_cnt_counts_and_seven_is_seven(void **state)
{
    (void)state;
    static const uint8_t counts[] = {0, 1, 3, 7};
    const uint64_t t = t_of(10);
    for (size_t i = 0; i < 4; i++) {
        struct hca_pair p = unanswered(i + 1, 10, counts[i], 0);
        uint64_t sent, tries = counts[i] + 1u;
        uint64_t took = time_to_fail(&p, &sent);
        assert_int_equal(sent, tries);
        assert_in_range(took, tries * t, tries * 4 * t + SLACK);
        hca_world_destroy(p.w);
    }
}

static void a_small_timeout_is_raised_to_the_floor_of_the_device(void **state)
{
    (void)state;
    struct hca_pair p = unanswered(1, 1, 0, 0);
    const uint64_t floor = t_of(p.w ? hca_profile(p.w->host[0].hca)->ack_timeout_floor : 0);
    assert_in_range(time_to_fail(&p, NULL), floor, 4 * floor + SLACK);
    hca_world_destroy(p.w);
    p = unanswered(1, 1, 0, FABRIC_CAP_ACK_TIMEOUT_FLOOR);
    assert_in_range(time_to_fail(&p, NULL), t_of(1), 4 * t_of(1) + SLACK);
    hca_world_destroy(p.w);
}

static void timeout_zero_waits_for_ever(void **state)
{
    (void)state;
    struct hca_pair p = unanswered(1, 0, 0, 0);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 64, 100000 * SECOND), -1);
    assert_true(sim_next_time(p.w->sim) == UINT64_MAX);
    hca_world_destroy(p.w);
}

static void an_idle_queue_pair_notices_nothing(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 64, SECOND), FABRIC_WC_SUCCESS);
    net_node_set_power(p.w->host[1].node, false);
    hca_world_run(p.w, 1000 * SECOND);
    assert_int_equal(p.w->host[0].wc_count, 1);
    assert_int_equal(hca_world_qp_state(p.w, 0, p.qp[0]), FABRIC_QPS_RTS);
    hca_world_destroy(p.w);
}

/* Progress begins the count anew: two lost answers in a row at most, but never retry_cnt. */
static void progress_restores_the_retries(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 3);
    p.a.retry_cnt = 1;
    hca_pair_connect(&p);
    for (int i = 0; i < 6; i++) {
        struct net_port *port = net_node_port(p.w->host[1].node, 1);
        net_link_set_cut(port, true);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 0);
        hca_world_run(p.w, t_of(10) / 2);
        net_link_set_cut(port, false);
        assert_true(hca_world_wait(p.w, 0, (size_t)i + 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
    }
    hca_world_destroy(p.w);
}

static void rnr_waits_for_the_time_of_the_receiver(void **state)
{
    (void)state;
    for (uint8_t retries = 0; retries < 4; retries++) {
        struct hca_pair p = hca_pair_make(NULL, 0, 1);
        p.a.rnr_retry = retries;
        p.b.min_rnr_timer = 12; /* 0.64 ms */
        hca_pair_connect(&p);
        uint64_t begin = sim_now(p.w->sim);
        uint64_t before = hca_world_port(p.w, 0)->counters.xmit_packets;
        assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 64, SECOND), FABRIC_WC_RNR_RETRY_EXC_ERR);
        uint64_t took = sim_now(p.w->sim) - begin;
        assert_in_range(took, retries * UINT64_C(640000), retries * UINT64_C(640000) + SLACK);
        assert_int_equal(hca_world_port(p.w, 0)->counters.xmit_packets - before, retries + 1u);
        hca_world_destroy(p.w);
    }
}

static void rnr_retry_seven_is_without_end(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make(NULL, 0, 1);
    p.a.rnr_retry = 7;
    p.b.min_rnr_timer = 0; /* 655.36 ms */
    hca_pair_connect(&p);
    assert_int_equal(hca_pair_status(&p, HCA_WR_SEND, 64, 60 * SECOND), -1);
    assert_int_equal(hca_world_recv(p.w, 1, p.qp[1], 0, 64, 1), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    hca_world_destroy(p.w);
}

/* Overtaking requests draw PSN NAKs, which arrive while the sender waits for a receive. */
static void a_late_nak_does_not_end_the_wait_for_a_receive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct hca_pair p = hca_pair_make(NULL, 0, seed);
        p.b.min_rnr_timer = 1;
        hca_pair_connect(&p);
        for (int host = 0; host < 2; host++)
            net_link_set_reorder(net_node_port(p.w->host[host].node, 1), 300000);
        for (uint64_t i = 0; i < 32; i++)
            hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND, 0, 64, i);
        for (uint64_t i = 0; i < 32; i++) {
            hca_world_run(p.w, 20000);
            hca_world_recv(p.w, 1, p.qp[1], 1u << 20, 64, i);
        }
        assert_true(hca_world_wait(p.w, 0, 32, 100 * SECOND));
        assert_int_equal(p.w->host[0].wcs[31].status, FABRIC_WC_SUCCESS);
        hca_world_destroy(p.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unanswered_request_is_detected_between_t_and_4t),
        cmocka_unit_test(retry_cnt_counts_and_seven_is_seven),
        cmocka_unit_test(a_small_timeout_is_raised_to_the_floor_of_the_device),
        cmocka_unit_test(timeout_zero_waits_for_ever),
        cmocka_unit_test(an_idle_queue_pair_notices_nothing),
        cmocka_unit_test(progress_restores_the_retries),
        cmocka_unit_test(rnr_waits_for_the_time_of_the_receiver),
        cmocka_unit_test(rnr_retry_seven_is_without_end),
        cmocka_unit_test(a_late_nak_does_not_end_the_wait_for_a_receive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the bytes of one RDMA WRITE become visible. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_sim/hca/engine.h"
#include "fabric_sim/hca/keys.h"
#include "tests/support/hca_world.h"

#define LENGTH (1u << 20)

/* Whether, at some moment, a later packet's bytes were there before an earlier one's. */
static bool out_of_order(struct hca_pair *p)
{
    const uint8_t *memory = p->w->host[1].memory;
    bool seen = false;
    while (p->w->host[0].wc_count == 0) {
        bool missing = false;
        assert_true(sim_step(p->w->sim));
        for (uint32_t i = 0; i < LENGTH; i += 1024) {
            missing = missing || memory[i] == 0;
            seen = seen || (missing && memory[i] != 0);
        }
    }
    for (uint32_t i = 0; i < LENGTH; i++)
        assert_true(memory[i] == 1);
    return seen;
}

static void without_write_order_later_bytes_may_land_first(void **state)
{
    (void)state;
    static const struct {
        const char *profile;
        bool ordered;
    } cases[] = {{"mlx5", false}, {"rxe", true}};
    for (size_t i = 0; i < 2; i++) {
        struct hca_pair p = hca_pair_make(cases[i].profile, 0, 4);
        hca_pair_connect(&p);
        memset(p.w->host[0].memory, 1, LENGTH);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, LENGTH, 1);
        assert_int_equal(out_of_order(&p), !cases[i].ordered);
        hca_world_destroy(p.w);
    }
}

static void no_key_is_quiet_while_packets_wait_to_land(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_make("mlx5", 0, 4);
    const struct hca_state *responder = &p.w->host[1].hca->state;
    const struct key_state of_program = {.owner = 7}, of_engine = {.owner = 0};
    bool waited = false;
    hca_pair_connect(&p);
    assert_true(keys_quiet(responder, &of_program));
    assert_false(keys_quiet(responder, &of_engine));
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, LENGTH, 1);
    while (p.w->host[0].wc_count == 0) {
        assert_true(sim_step(p.w->sim));
        waited = waited || !keys_quiet(responder, &of_program);
    }
    assert_true(waited);
    assert_true(keys_quiet(responder, &of_program));
    hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, LENGTH, 1);
    while (keys_quiet(responder, &of_program))
        assert_true(sim_step(p.w->sim));
    hca_qp_destroy(p.w->host[1].hca, p.qp[1]);
    assert_true(keys_quiet(responder, &of_program));
    hca_world_destroy(p.w);
}

/* A message that ends in the middle leaves units of the declared size, whole or not at all. */
static void a_failed_write_tears_at_the_unit(void **state)
{
    (void)state;
    bool torn = false;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct hca_pair p = hca_pair_make("mlx5", 0, seed);
        hca_pair_connect(&p);
        memset(p.w->host[0].memory, 1, LENGTH);
        hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, LENGTH, 1);
        hca_world_run(p.w, 10000 + seed * 1000);
        hca_qp_destroy(p.w->host[1].hca, p.qp[1]);
        uint8_t *memory = p.w->host[1].memory;
        for (uint32_t i = 0; i < LENGTH; i += 64) {
            for (uint32_t j = 1; j < 64; j++)
                assert_int_equal(memory[i + j], memory[i]);
            torn = torn || (i % 1024 && memory[i] != memory[i - 64]);
        }
        /* and after the destroy nothing more lands */
        memset(memory, 0, LENGTH);
        hca_world_run(p.w, SECOND);
        for (uint32_t i = 0; i < LENGTH; i++)
            assert_true(memory[i] == 0);
        hca_world_destroy(p.w);
    }
    assert_true(torn);
}

static void a_region_may_be_written_and_read_onto_itself(void **state)
{
    (void)state;
    struct hca_world_init init = {.seed = 1};
    struct hca_world *w = hca_world_create(&init);
    struct hca_qp_attr a = hca_world_attr(w, 0, 0), b = a;
    hca_qp qp[2] = {hca_world_qp(w, 0, HCA_QP_RC), hca_world_qp(w, 0, HCA_QP_RC)};
    a.sq_psn = b.rq_psn = 5;
    a.rq_psn = b.sq_psn = 6;
    a.dest_qp_num = hca_world_number(w, 0, qp[1]);
    b.dest_qp_num = hca_world_number(w, 0, qp[0]);
    assert_int_equal(hca_world_bring_up(w, 0, qp[0], HCA_QP_RC, &a), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(w, 0, qp[1], HCA_QP_RC, &b), FABRIC_OK);
    static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ};
    for (size_t i = 0; i < 2; i++) {
        uint8_t expected[1000];
        hca_world_fill(w, 0, 0, 2000, (uint8_t)i);
        uint32_t from = i == 0 ? 0 : 24, to = i == 0 ? 24 : 0; /* as requester and responder */
        memcpy(expected, w->host[0].memory, sizeof(expected));
        struct hca_sge sge = hca_world_sge(w, 0, from, sizeof(expected));
        struct hca_send_wr wr = hca_world_wr(ops[i], &sge);
        wr.remote_addr = HCA_WORLD_IOVA + to;
        wr.rkey = w->host[0].key;
        assert_int_equal(hca_post_send(w->host[0].hca, qp[0], &wr), FABRIC_OK);
        assert_true(hca_world_wait(w, 0, i + 1, SECOND));
        assert_memory_equal(w->host[0].memory + 24, expected, sizeof(expected));
    }
    hca_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_write_order_later_bytes_may_land_first),
        cmocka_unit_test(no_key_is_quiet_while_packets_wait_to_land),
        cmocka_unit_test(a_failed_write_tears_at_the_unit),
        cmocka_unit_test(a_region_may_be_written_and_read_onto_itself)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

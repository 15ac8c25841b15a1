/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/hca/engine.h"
#include "fabric_sim/hca/message.h"
#include "fabric_sim/hca/queue.h"
#include "tests/support/hca_world.h"
#include "tests/support/twin.h"

#define SEQUENCES 1500

static void both_engines_write_down_the_same_over_random_sequences(void **state)
{
    static char text[TWIN_TEXT];
    uint64_t posted, carried;
    (void)state;
    struct twin *twin = twin_create(1);
    for (uint64_t i = 1; i <= SEQUENCES; i++)
        if (!twin_play(twin, i, text))
            fail_msg("sequence %llu:\n%s", (unsigned long long)i, text);
    twin_count(twin, &posted, &carried);
    assert_true(carried > posted / 5);
    assert_true(carried < posted);
    assert_true(twin_statuses(twin)[FABRIC_WC_REM_ACCESS_ERR] > 0);
    twin_destroy(twin);
}

static struct hca_pair with_messages(void)
{
    struct hca_pair p = hca_pair_connected(NULL);
    for (int i = 0; i < 2; i++)
        hca_use_messages(p.w->host[i].hca, true);
    return p;
}

static void a_message_is_over_when_its_post_returns(void **state)
{
    (void)state;
    struct hca_pair p = with_messages();
    hca_world_fill(p.w, 0, 0, 1u << 20, 3);
    uint64_t events = sim_events_run(p.w->sim);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 1u << 20, 7), FABRIC_OK);
    assert_int_equal(p.w->host[0].wc_count, 1);
    assert_int_equal(p.w->host[0].wcs[0].wr_id, 7);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 1u << 20));
    assert_int_equal(sim_events_run(p.w->sim), events);
    assert_int_equal(hca_messages(p.w->host[0].hca), 1);
    hca_world_destroy(p.w);
}

static void what_must_wait_goes_as_packets_and_what_follows_comes_back(void **state)
{
    (void)state;
    struct hca_pair p = with_messages();
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND, 0, 64, 1), FABRIC_OK);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 2), FABRIC_OK);
    hca_world_run(p.w, 100000);
    assert_int_equal(p.w->host[0].wc_count, 0); /* no receive: the first waits, and so the second */
    assert_int_equal(hca_world_recv(p.w, 1, p.qp[1], 4096, 64, 3), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(hca_messages(p.w->host[0].hca), 1); /* the second, at the boundary */
    hca_world_run(p.w, SECOND);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 4), FABRIC_OK);
    assert_int_equal(p.w->host[0].wc_count, 3); /* at once */
    assert_int_equal(hca_messages(p.w->host[0].hca), 2);
    hca_world_destroy(p.w);
}

static void a_fault_on_the_way_asks_for_packets_and_healing_ends_it(void **state)
{
    (void)state;
    struct hca_pair p = with_messages();
    hca_world_loss(p.w, 1, 1); /* of what comes back */
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 1), FABRIC_OK);
    assert_int_equal(p.w->host[0].wc_count, 0);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    hca_world_loss(p.w, 1, 0);
    hca_world_run(p.w, SECOND);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 64, 2), FABRIC_OK);
    assert_int_equal(p.w->host[0].wc_count, 2);
    assert_int_equal(hca_messages(p.w->host[0].hca), 1);
    hca_world_destroy(p.w);
}

static void a_window_is_bound_and_taken_back_when_its_post_returns(void **state)
{
    (void)state;
    struct hca_pair p = with_messages();
    struct hca_host *h = &p.w->host[1];
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
    struct hca_send_wr write = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    hca_mr mr;
    hca_mw mw;
    uint32_t lkey, rkey;
    const uint32_t access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_MW_BIND;
    assert_int_equal(hca_mr_register(h->hca, h->pd, h->memory, 4096, 4096, access, 0, &mr, &lkey),
                     FABRIC_OK);
    assert_int_equal(hca_mw_alloc(h->hca, h->pd, HCA_MW_TYPE_2, 0, &mw, &rkey), FABRIC_OK);
    const uint64_t events = sim_events_run(p.w->sim);
    struct hca_send_wr wr = {.opcode = HCA_WR_BIND_MW,
                             .flags = HCA_SEND_SIGNALED,
                             .rkey = rkey,
                             .bind = {mw, lkey, HCA_ACCESS_REMOTE_WRITE, 4096, 64}};
    assert_int_equal(hca_post_send(h->hca, p.qp[1], &wr), FABRIC_OK);
    assert_int_equal(h->wcs[0].opcode, HCA_WC_BIND_MW);
    write.remote_addr = 4096;
    write.rkey = rkey;
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &write), FABRIC_OK);
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    wr.opcode = HCA_WR_LOCAL_INV;
    assert_int_equal(hca_post_send(h->hca, p.qp[1], &wr), FABRIC_OK);
    assert_int_equal(h->wcs[1].opcode, HCA_WC_LOCAL_INV);
    assert_int_equal(sim_events_run(p.w->sim), events);
    assert_int_equal(hca_messages(h->hca), 2);
    assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &write), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(p.w->host[0].wcs[1].status, FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

static bool no_way(void *context, const struct hca_state *from, uint8_t port_num,
                   const struct packet *packet, struct message_route *out)
{
    (void)context, (void)from, (void)port_num, (void)packet, (void)out;
    return false;
}

static bool no_copy(void *context, const struct message_part *to, const struct message_part *from)
{
    (void)context, (void)to, (void)from;
    return false;
}

static bool is_quiet(void *context, struct hca_state *state, const struct key_state *window)
{
    (void)state;
    assert_false(window->unbound);
    return *(const bool *)context;
}

static void a_window_in_use_is_left_to_the_packet_engine(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca *hca = p.w->host[1].hca;
    struct qp_state *qp = qp_find(hca, p.qp[1]);
    bool quiet = false;
    const struct message_world world = {
        .context = &quiet, .route = no_way, .copy = no_copy, .quiet = is_quiet};
    hca_mw mw;
    uint32_t rkey;
    assert_int_equal(hca_mw_alloc(hca, p.w->host[1].pd, HCA_MW_TYPE_2, 0, &mw, &rkey), FABRIC_OK);
    struct key_state *window = table_find(&hca->state.arena, &hca->state.device->keys, mw.id);
    window->unbound = false;
    window->qp = qp->slot.id;
    struct hca_send_wr wr = {.opcode = HCA_WR_LOCAL_INV, .rkey = rkey};
    assert_int_equal(queue_post_send(&hca->state, qp, &wr), FABRIC_OK);
    assert_int_equal(message_run(&world, &hca->state, qp, 1), 0);
    assert_false(window->unbound);
    quiet = true;
    assert_int_equal(message_run(&world, &hca->state, qp, 1), 1);
    assert_true(window->unbound);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_engines_write_down_the_same_over_random_sequences),
        cmocka_unit_test(a_message_is_over_when_its_post_returns),
        cmocka_unit_test(a_window_is_bound_and_taken_back_when_its_post_returns),
        cmocka_unit_test(a_window_in_use_is_left_to_the_packet_engine),
        cmocka_unit_test(what_must_wait_goes_as_packets_and_what_follows_comes_back),
        cmocka_unit_test(a_fault_on_the_way_asks_for_packets_and_healing_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

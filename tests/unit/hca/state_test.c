/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric_sim/hca/engine.h"
#include "tests/support/hca_world.h"

#define REGION ((size_t)4 << 20)

struct item {
    struct slot slot;
    uint64_t value;
};

static void items_stay_where_they_are_and_handles_are_recognised(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    struct table table;
    static struct item *items[1000];
    static uint32_t ids[1000];
    table_init(&table, sizeof(struct item), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        items[i] = table_take(&arena, &table);
        assert_non_null(items[i]);
        items[i]->value = i;
        ids[i] = items[i]->slot.id;
    }
    assert_null(table_take(&arena, &table));
    for (uint32_t i = 0; i < 1000; i++) {
        assert_ptr_equal(table_find(&arena, &table, ids[i]), items[i]);
        assert_int_equal(items[i]->value, i);
        assert_int_equal(slot_index(&items[i]->slot), i);
    }
    table_put(&arena, &table, ids[5]);
    assert_null(table_find(&arena, &table, ids[5]));
    const struct item *again = table_take(&arena, &table);
    assert_ptr_equal(again, items[5]);
    assert_int_not_equal(again->slot.id, ids[5]);
    assert_null(table_find(&arena, &table, ids[5]));
    assert_null(table_find(&arena, &table, 0));
    assert_null(table_find(&arena, &table, 0xfffff));
    hca_arena_close(&arena);
}

static void slots_rest_before_they_are_taken_again(void **state)
{
    (void)state;
    struct hca_arena arena;
    hca_arena_create(&arena, NULL, 0);
    struct table table;
    table_init(&table, sizeof(struct item), 5000);
    const struct item *first = table_take(&arena, &table);
    uint32_t id = first->slot.id;
    table_put(&arena, &table, id);
    for (int i = 0; i < 63; i++) {
        const struct item *item = table_take(&arena, &table);
        assert_ptr_not_equal(item, first);
        table_put(&arena, &table, item->slot.id);
    }
    hca_arena_close(&arena);
}

/* A device with one domain and keys of it, in its own memory; values are indexes as they are. */
static struct pd_state *little_device(struct hca_state *s, uint32_t keys)
{
    struct hca_profile profile = *hca_profile_find("mlx5");
    profile.max_mr = keys;
    profile.max_mw = 2;
    state_create(s, NULL, 0, &profile);
    s->device->key_scramble = (struct scramble){1, 1, 0, UINT32_MAX};
    return table_take(&s->arena, &s->device->pds);
}

static uint32_t key_comes_and_goes(struct hca_state *s, struct pd_state *pd, uint64_t now)
{
    struct key_state *key = state_key_take(s, now);
    if (!key)
        return 0;
    uint32_t value = key->key;
    assert_ptr_equal(state_key(s, value), key);
    key->pd = pd->slot.id;
    pd->users++;
    state_key_end(s, key, now);
    assert_null(state_key(s, value));
    return value;
}

/* The only slot, taken as soon as it may be; the value 0 is skipped once a round. */
static void the_value_of_a_key_comes_back_after_its_quarantine(void **state)
{
    (void)state;
    struct hca_state s;
    struct pd_state *pd = little_device(&s, 1);
    const uint64_t begin = 5, step = 50000;
    uint32_t first = key_comes_and_goes(&s, pd, begin), value = 0, values = 0;
    uint64_t now = begin;
    assert_int_not_equal(first, 0);
    for (; value != first && now < begin + 2 * FABRIC_KEY_QUARANTINE; now += step) {
        value = key_comes_and_goes(&s, pd, now);
        values += value != 0;
    }
    assert_int_equal(value, first);
    assert_int_equal(values, 4095);
    assert_true(now - step - begin >= FABRIC_KEY_QUARANTINE);
    assert_true(now - begin <= FABRIC_KEY_QUARANTINE + 4096 * 2 * step);
    state_close(&s);
}

static void many_keys_in_a_short_time_are_all_different(void **state)
{
    (void)state;
    struct hca_state s;
    struct pd_state *pd = little_device(&s, 1u << 19);
    const uint32_t count = 300000;
    uint8_t *seen =
        calloc(1, UINT32_MAX / 8 + 1); /* a bit for every value; few pages are touched */
    assert_non_null(seen);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = key_comes_and_goes(&s, pd, i * UINT64_C(1000));
        assert_false(seen[value / 8] & 1u << value % 8);
        seen[value / 8] |= (uint8_t)(1u << value % 8);
    }
    assert_true(s.device->keys.used < 15000); /* as many as rest at a time, and no more */
    free(seen);
    state_close(&s);
}

static void a_scramble_is_reversible(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct scramble s = scramble_make(seed * UINT64_C(0x9e3779b97f4a7c15), 24);
        for (uint32_t i = 0; i < 1u << 24; i += 99991) {
            uint32_t value = scramble(&s, i);
            assert_true(value < 1u << 24);
            assert_int_equal(unscramble(&s, value), i);
        }
    }
}

/* ------------------------------------------------------------------ a device in shared memory */

/* Files that are mapped for sharing, as another process would map them. */
struct shared {
    FILE *file;
    uint8_t *at;
};

static uint8_t *map(const struct shared *shared)
{
    void *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(shared->file), 0);
    assert_true(at != MAP_FAILED);
    return at;
}

static struct shared share(void)
{
    struct shared shared = {.file = tmpfile()};
    assert_non_null(shared.file);
    assert_int_equal(ftruncate(fileno(shared.file), (off_t)REGION), 0);
    shared.at = map(&shared);
    return shared;
}

static void unshare(struct shared *shared)
{
    munmap(shared->at, REGION);
    fclose(shared->file);
}

static struct hca_pair pair_in(struct shared shared[HCA_WORLD_HOSTS])
{
    struct hca_world_init init = {.seed = 5, .arena_size = REGION};
    for (int i = 0; i < HCA_WORLD_HOSTS; i++) {
        shared[i] = share();
        init.arena[i] = shared[i].at;
    }
    struct hca_pair p = {.w = hca_world_create(&init)};
    p.a = hca_world_attr(p.w, 0, 1);
    p.b = hca_world_attr(p.w, 1, 0);
    hca_pair_connect(&p);
    return p;
}

static void pair_gone(struct hca_pair *p, struct shared shared[HCA_WORLD_HOSTS])
{
    hca_world_destroy(p->w);
    for (int i = 0; i < HCA_WORLD_HOSTS; i++)
        unshare(&shared[i]);
}

/* Leaves bytes of `pattern` where later frames of the stack will be. */
static void dirty_stack(int pattern)
{
    volatile uint8_t bytes[16384];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)pattern;
}

static void dc_traffic(struct hca_world *w)
{
    struct hca_qp_attr attr = hca_world_attr(w, 2, 0);
    hca_qp dci = hca_world_qp(w, 2, HCA_QP_DCI), dct;
    struct hca_host *h = &w->host[0], *from = &w->host[2];
    struct hca_qp_init init = {
        .type = HCA_QP_DCT, .pd = h->pd, .recv_cq = h->cq, .dc_access_key = 4};
    hca_ah ah;
    assert_int_equal(hca_srq_create(h->hca, h->pd, 4, 1, 0, &init.srq), FABRIC_OK);
    assert_int_equal(hca_qp_create(h->hca, &init, &dct), FABRIC_OK);
    assert_int_equal(hca_world_bring_up(w, 2, dci, HCA_QP_DCI, &attr), FABRIC_OK);
    assert_int_equal(hca_ah_create(from->hca, from->pd, &attr.av, &ah), FABRIC_OK);
    attr = hca_world_attr(w, 0, 2);
    assert_int_equal(hca_world_bring_up(w, 0, dct, HCA_QP_DCT, &attr), FABRIC_OK);
    struct hca_sge sge = hca_world_sge(w, 2, 0, 9000);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_READ, &sge);
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = h->key;
    wr.ah = ah;
    wr.dest_qp = hca_world_number(w, 0, dct);
    wr.dc_access_key = 4;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hca_post_send(from->hca, dci, &wr), FABRIC_OK);
}

/* All kinds of work, over a link that loses packets, left in the middle. */
static void traffic(struct hca_pair *p)
{
    static const enum hca_wr_opcode opcodes[] = {HCA_WR_SEND, HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ,
                                                 HCA_WR_RDMA_WRITE_WITH_IMM,
                                                 HCA_WR_ATOMIC_FETCH_AND_ADD};
    hca_mw mw;
    uint32_t rkey;
    struct hca_host *h = &p->w->host[1];
    hca_world_loss(p->w, 0, 30000);
    assert_int_equal(
        hca_mw_open(h->hca, h->mr, HCA_WORLD_IOVA, 64, HCA_ACCESS_REMOTE_READ, 0, &mw, &rkey),
        FABRIC_OK);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t length = opcodes[i % 5] == HCA_WR_ATOMIC_FETCH_AND_ADD ? 8 : 1 + i * 97;
        hca_world_recv(p->w, 1, p->qp[1], 1u << 20, 16384, i);
        hca_world_send(p->w, 0, p->qp[0], opcodes[i % 5], 64 * i, length, i);
    }
    dc_traffic(p->w);
    hca_mw_revoke(h->hca, mw);
    hca_world_set_pkey(p->w, 0, 3, 0x8123);
    hca_world_wait(p->w, 0, 60, SECOND);
}

/* The one thing that means something in one process only. */
static void forget_hosts(const struct hca_state *s)
{
    for (uint32_t i = 0; i < s->device->keys.used; i++) {
        struct key_state *key = table_at(&s->arena, &s->device->keys, i);
        key->host = 0;
    }
}

/* HA-2.8 */
static void the_same_calls_leave_the_same_bytes_wherever_the_arena_lies(void **state)
{
    (void)state;
    struct shared one[HCA_WORLD_HOSTS], two[HCA_WORLD_HOSTS];
    dirty_stack(0x5a);
    struct hca_pair p = pair_in(one);
    traffic(&p);
    dirty_stack(0xa5);
    struct hca_pair q = pair_in(two);
    traffic(&q);
    for (int i = 0; i < HCA_WORLD_HOSTS; i++) {
        struct hca_state a, b;
        assert_true(state_open(&a, one[i].at, REGION) && state_open(&b, two[i].at, REGION));
        assert_ptr_not_equal(one[i].at, two[i].at);
        assert_true(a.arena.head->bytes > 4096);
        forget_hosts(&a);
        forget_hosts(&b);
        assert_memory_equal(one[i].at, two[i].at, REGION);
    }
    struct hca_state end;
    assert_true(state_open(&end, one[0].at, REGION));
    const struct qp_state *qp = state_qp(&end, p.qp[0].id);
    assert_true(qp->sq_head != qp->sq_tail && end.device->dcrs.live == 1); /* in the middle */
    pair_gone(&p, one);
    pair_gone(&q, two);
}

static void another_mapping_reads_what_the_engine_knows(void **state)
{
    (void)state;
    struct shared shared[HCA_WORLD_HOSTS];
    struct hca_pair p = pair_in(shared);
    traffic(&p);
    struct shared other = {shared[0].file, map(&shared[0])};
    struct hca_state s;
    struct hca_qp_info info;
    assert_true(state_open(&s, other.at, REGION));
    assert_string_equal(s.device->name, "mlx5_0");
    assert_ptr_equal(hca_profile_find(s.device->profile), hca_profile(p.w->host[0].hca));
    assert_int_equal(state_port(&s, 1)->info.lid, 10);
    assert_int_equal(hca_qp_query(p.w->host[0].hca, p.qp[0], &info), FABRIC_OK);
    const struct qp_state *qp = state_qp_by_number(&s, info.qp_num);
    assert_ptr_equal(qp, state_qp(&s, p.qp[0].id));
    const struct transport_state *transport = state_transport(&s, qp);
    assert_int_equal(transport->req.next_psn, info.attr.sq_psn);
    assert_int_equal(transport->rsp.epsn, info.attr.rq_psn);
    assert_int_equal(transport->path.dest_qp, hca_world_number(p.w, 1, p.qp[1]));
    assert_true(transport->req.deadline > sim_now(p.w->sim));
    assert_int_equal(qp->sq_head - qp->sq_polled, info.sq_outstanding);
    const struct key_state *key = state_key(&s, p.w->host[0].key);
    assert_int_equal(key->iova, HCA_WORLD_IOVA);
    assert_null(state_qp_by_number(&s, info.qp_num ^ 0x800000));
    munmap(other.at, REGION);
    pair_gone(&p, shared);
}

/* HA-2.8 */
static void another_mapping_posts_completes_and_revokes(void **state)
{
    (void)state;
    struct shared shared[HCA_WORLD_HOSTS];
    struct hca_pair p = pair_in(shared);
    struct hca_host *h = &p.w->host[0], *peer = &p.w->host[1];
    struct hca_state s, at_peer;
    uint8_t *mine = map(&shared[0]), *theirs = map(&shared[1]);
    assert_true(state_open(&s, mine, REGION) && state_open(&at_peer, theirs, REGION));
    struct hca_sge sge = hca_world_sge(p.w, 0, 0, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.wr_id = 41;
    wr.remote_addr = HCA_WORLD_IOVA;
    wr.rkey = peer->key;
    send_ring_put(&s, state_qp(&s, p.qp[0].id), &wr); /* posted there */
    assert_int_equal(hca_pair_status(&p, HCA_WR_RDMA_WRITE, 64, SECOND), FABRIC_WC_SUCCESS);
    assert_true(hca_world_wait(p.w, 0, 2, SECOND));
    assert_int_equal(h->wcs[0].wr_id, 41);
    assert_int_equal(h->wcs[1].wr_id, 1);
    struct hca_wc wc = {.wr_id = 42, .is_send = true}, out;
    struct cq_state *cq = table_find(&s.arena, &s.device->cqs, h->cq.id);
    assert_true(cq_ring_put(&s, cq, &wc, 0, 0, 7)); /* completed there */
    assert_int_equal(hca_cq_poll(h->hca, h->cq, &out, 1), 1);
    assert_int_equal(out.wr_id, 42);
    hca_mw mw;
    uint32_t rkey;
    assert_int_equal(hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 64, HCA_ACCESS_REMOTE_WRITE,
                                 0, &mw, &rkey),
                     FABRIC_OK);
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 3, SECOND));
    assert_int_equal(h->wcs[2].status, FABRIC_WC_SUCCESS);
    state_key_end(&at_peer, state_key(&at_peer, rkey), sim_now(p.w->sim)); /* revoked there */
    assert_int_equal(hca_post_send(h->hca, p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 4, SECOND));
    assert_int_equal(h->wcs[3].status, FABRIC_WC_REM_ACCESS_ERR);
    munmap(mine, REGION);
    munmap(theirs, REGION);
    pair_gone(&p, shared);
}

/* Whatever fails for want of room leaves nothing behind, and goes again once there is some. */
static void a_full_region_refuses_constructors_by_name(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t region[1008 << 10]; /* its completion queue fits, and little else */
    memset(region, 0, sizeof(region));
    struct hca_world_init init = {.seed = 1, .arena = {region}, .arena_size = sizeof(region)};
    struct hca_world *w = hca_world_create(&init);
    struct hca_host *h = &w->host[3]; /* in its own memory: nothing to run out of */
    hca_cq cq, other;
    assert_int_equal(hca_cq_create(h->hca, 4096, 0, &cq), FABRIC_OK);
    h = &w->host[0];
    assert_int_equal(hca_cq_create(h->hca, 4096, 0, &other), ERR_RESOURCES_EXHAUSTED);
    hca_srq srq;
    assert_int_equal(hca_srq_create(h->hca, h->pd, 8192, 1, 0, &srq), ERR_RESOURCES_EXHAUSTED);
    struct hca_qp_init qp_init = {.type = HCA_QP_RC,
                                  .pd = h->pd,
                                  .send_cq = h->cq,
                                  .recv_cq = h->cq,
                                  .max_send_wr = 1,
                                  .max_recv_wr = 8192};
    hca_qp qp;
    const struct arena_head *head = (const void *)region;
    uint64_t bytes = 0;
    for (int i = 0; i < 200; i++) { /* at first the table grows, until enough slots rest */
        assert_int_equal(hca_qp_create(h->hca, &qp_init, &qp), ERR_RESOURCES_EXHAUSTED);
        bytes = i == 100 ? head->bytes : bytes;
    }
    assert_int_equal(head->bytes, bytes);
    qp_init.max_recv_wr = 1;
    assert_int_equal(hca_qp_create(h->hca, &qp_init, &qp), FABRIC_OK);
    assert_int_equal(hca_cq_destroy(h->hca, h->cq), ERR_INVALID_ARGUMENT);
    hca_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_where_they_are_and_handles_are_recognised),
        cmocka_unit_test(slots_rest_before_they_are_taken_again),
        cmocka_unit_test(the_value_of_a_key_comes_back_after_its_quarantine),
        cmocka_unit_test(many_keys_in_a_short_time_are_all_different),
        cmocka_unit_test(a_scramble_is_reversible),
        cmocka_unit_test(the_same_calls_leave_the_same_bytes_wherever_the_arena_lies),
        cmocka_unit_test(another_mapping_reads_what_the_engine_knows),
        cmocka_unit_test(another_mapping_posts_completes_and_revokes),
        cmocka_unit_test(a_full_region_refuses_constructors_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

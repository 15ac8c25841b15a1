/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

static int write_by(struct hca_pair *p, uint32_t rkey, uint64_t addr, uint32_t length)
{
    size_t before = p->w->host[0].wc_count;
    struct hca_sge sge = hca_world_sge(p->w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = addr;
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(p->w->host[0].hca, p->qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(p->w, 0, before + 1, SECOND));
    return p->w->host[0].wcs[before].status;
}

static void what_cannot_be_registered_is_refused(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    hca_mr mr;
    uint32_t key;
    const struct {
        uint64_t length, iova;
        uint32_t access;
        enum fabric_error error;
    } cases[] = {{0, 0, 0, ERR_INVALID_ARGUMENT},
                 {4096, UINT64_MAX - 4095 + 1, 0, ERR_INVALID_ARGUMENT}, /* alignment and wrap */
                 {4096, 64, 0, ERR_INVALID_ARGUMENT},
                 {4096, 0, HCA_ACCESS_REMOTE_WRITE, ERR_INVALID_ARGUMENT},
                 {1ull << 50, 0, 0, ERR_REGISTRATION_FAILED},
                 {4096, UINT64_MAX - 4095, HCA_ACCESS_REMOTE_READ, FABRIC_OK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t length = cases[i].length;
        if (i == 1)
            length = 8192;
        assert_int_equal(hca_mr_register(h->hca, h->pd, h->memory, length,
                                         i == 1 ? UINT64_MAX - 4095 : cases[i].iova,
                                         cases[i].access, 0, &mr, &key),
                         cases[i].error);
    }
    hca_world_destroy(p.w);
}

static void no_access_after_deregistration_and_the_value_is_not_given_out_again(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    hca_mr mr;
    uint32_t first, key;
    assert_int_equal(hca_mr_register(peer->hca, peer->pd, peer->memory, 4096, 0,
                                     HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE, 0, &mr,
                                     &first),
                     FABRIC_OK);
    assert_int_equal(write_by(&p, first, 0, 64), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_mr_deregister(peer->hca, mr), FABRIC_OK);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(hca_mr_register(peer->hca, peer->pd, peer->memory, 4096, 0,
                                         HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE, 0, &mr,
                                         &key),
                         FABRIC_OK);
        assert_int_not_equal(key, first);
        assert_int_equal(hca_mr_deregister(peer->hca, mr), FABRIC_OK);
    }
    assert_int_equal(write_by(&p, first, 0, 64), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

static void keys_come_from_the_seed(void **state)
{
    (void)state;
    uint32_t keys[3];
    static const uint64_t seeds[] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        struct hca_world_init init = {.seed = seeds[i]};
        struct hca_world *w = hca_world_create(&init);
        keys[i] = w->host[0].key;
        hca_world_destroy(w);
    }
    assert_int_equal(keys[0], keys[1]);
    assert_int_not_equal(keys[0], keys[2]);
}

static void a_window_lends_a_part_until_it_is_taken_back(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected("strict");
    struct hca_host *peer = &p.w->host[1];
    hca_mw mw;
    uint32_t rkey;
    assert_int_equal(hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA + 100, 1000,
                                 HCA_ACCESS_REMOTE_WRITE, 31, &mw, &rkey),
                     FABRIC_OK);
    assert_int_equal(hca_mr_deregister(peer->hca, peer->mr), ERR_INVALID_ARGUMENT);
    assert_int_equal(write_by(&p, rkey, HCA_WORLD_IOVA + 100, 1000), FABRIC_WC_SUCCESS);
    hca_mw_revoke(peer->hca, mw);
    /* Until the event a peer may still write. */
    assert_int_equal(peer->event_count, 0);
    assert_int_equal(write_by(&p, rkey, HCA_WORLD_IOVA + 100, 8), FABRIC_WC_SUCCESS);
    hca_world_run(p.w, 2 * MS);
    assert_int_equal(peer->event_count, 1);
    assert_int_equal(peer->events[0].kind, HCA_EVENT_MW_REVOKED);
    assert_int_equal(peer->events[0].mw.id, mw.id);
    assert_int_equal(peer->events[0].context, 31);
    assert_int_equal(write_by(&p, rkey, HCA_WORLD_IOVA + 100, 8), FABRIC_WC_REM_ACCESS_ERR);
    assert_int_equal(hca_mr_deregister(peer->hca, peer->mr), FABRIC_OK);
    hca_world_destroy(p.w);
}

static void a_window_is_not_larger_or_more_than_it_says(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    hca_mw mw;
    uint32_t rkey;
    const uint64_t end = HCA_WORLD_IOVA + HCA_WORLD_MEMORY;
    assert_int_equal(
        hca_mw_open(peer->hca, peer->mr, end - 10, 11, HCA_ACCESS_REMOTE_READ, 0, &mw, &rkey),
        ERR_INVALID_ARGUMENT);
    assert_int_equal(
        hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 0, HCA_ACCESS_REMOTE_READ, 0, &mw, &rkey),
        ERR_INVALID_ARGUMENT);
    assert_int_equal(
        hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 8, HCA_ACCESS_LOCAL_WRITE, 0, &mw, &rkey),
        ERR_INVALID_ARGUMENT);
    hca_mr mr;
    uint32_t key;
    assert_int_equal(hca_mr_register(peer->hca, peer->pd, peer->memory, 4096, 0, 0, 0, &mr, &key),
                     FABRIC_OK);
    assert_int_equal(hca_mw_open(peer->hca, mr, 0, 8, HCA_ACCESS_REMOTE_WRITE, 0, &mw, &rkey),
                     ERR_INVALID_ARGUMENT);
    /* The region itself needs no remote right. */
    assert_int_equal(hca_mw_open(peer->hca, mr, 0, 8, HCA_ACCESS_REMOTE_READ, 0, &mw, &rkey),
                     FABRIC_OK);
    assert_int_equal(write_by(&p, rkey, 0, 8), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

/* Some of the message is there, the rest never comes: no part of it after the event. */
static void nothing_lands_after_a_window_was_revoked(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct hca_pair p = hca_pair_make("mlx5", 0, seed);
        hca_pair_connect(&p);
        struct hca_host *peer = &p.w->host[1];
        hca_mw mw;
        uint32_t rkey;
        assert_int_equal(hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 4u << 20,
                                     HCA_ACCESS_REMOTE_WRITE, 0, &mw, &rkey),
                         FABRIC_OK);
        memset(p.w->host[0].memory, 0x5a, 2u << 20);
        struct hca_sge sge = hca_world_sge(p.w, 0, 0, 2u << 20);
        struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
        wr.remote_addr = HCA_WORLD_IOVA;
        wr.rkey = rkey;
        assert_int_equal(hca_post_send(p.w->host[0].hca, p.qp[0], &wr), FABRIC_OK);
        hca_world_run(p.w, 50000);
        hca_mw_revoke(peer->hca, mw);
        while (peer->event_count == 0)
            sim_step(p.w->sim);
        assert_int_equal(p.w->host[0].wc_count, 0);
        memset(peer->memory, 0, 4u << 20);
        assert_true(hca_world_wait(p.w, 0, 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_REM_ACCESS_ERR);
        hca_world_run(p.w, SECOND);
        for (uint32_t i = 0; i < 2u << 20; i++)
            assert_true(peer->memory[i] == 0);
        hca_world_destroy(p.w);
    }
}

static void a_host_address_is_found_under_its_key(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    uint64_t iova = 0;
    assert_true(hca_mr_iova(h->hca, h->key, h->memory + 77, &iova));
    assert_true(iova == HCA_WORLD_IOVA + 77);
    assert_false(hca_mr_iova(h->hca, h->key, h->memory - 1, &iova));
    assert_false(hca_mr_iova(h->hca, h->key ^ 8, h->memory, &iova));
    hca_world_destroy(p.w);
}

static void a_protection_domain_in_use_stays(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *h = &p.w->host[0];
    hca_pd pd;
    assert_int_equal(hca_pd_dealloc(h->hca, h->pd), ERR_INVALID_ARGUMENT);
    assert_int_equal(hca_pd_alloc(h->hca, &pd), FABRIC_OK);
    assert_int_equal(hca_pd_dealloc(h->hca, pd), FABRIC_OK);
    hca_world_destroy(p.w);
}

/* Its user was not told of it yet: the key grants nothing. */
static void a_window_that_waits_grants_nothing(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected("strict");
    struct hca_host *peer = &p.w->host[1];
    hca_mw mw;
    uint32_t rkey;
    assert_int_equal(hca_mw_open(peer->hca, peer->mr, HCA_WORLD_IOVA, 1000, HCA_ACCESS_REMOTE_WRITE,
                                 0, &mw, &rkey),
                     FABRIC_OK);
    hca_mw_grant(peer->hca, mw, false);
    hca_mw_grant(peer->hca, mw, true);
    assert_int_equal(write_by(&p, rkey, HCA_WORLD_IOVA, 1000), FABRIC_WC_SUCCESS);
    hca_mw_grant(peer->hca, mw, false);
    memset(p.w->host[0].memory, 0x77, 1000);
    memset(peer->memory, 0, 1000);
    assert_int_equal(write_by(&p, rkey, HCA_WORLD_IOVA, 1000), FABRIC_WC_REM_ACCESS_ERR);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(peer->memory[i], 0);
    hca_world_destroy(p.w);
}

#define ALL_RIGHTS (HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ)

static void a_region_registered_anew_is_what_it_was_changed_to(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    struct hca_mr_new to = {.changes = HCA_MR_TRANSLATION,
                            .addr = peer->memory + 8192,
                            .length = 4096,
                            .iova = 0x20000};
    hca_mr mr;
    uint32_t key;
    assert_int_equal(
        hca_mr_register(peer->hca, peer->pd, peer->memory, 8192, 0, ALL_RIGHTS, 0, &mr, &key),
        FABRIC_OK);
    assert_int_equal(write_by(&p, key, 8000, 64), FABRIC_WC_SUCCESS);
    hca_world_fill(p.w, 0, 0, 64, 0x31);
    assert_int_equal(hca_mr_reregister(peer->hca, mr, &to), FABRIC_OK);
    assert_int_equal(write_by(&p, key, 0x20000, 64), FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 8192, 64));
    to = (struct hca_mr_new){.changes = HCA_MR_ACCESS, .access = HCA_ACCESS_LOCAL_WRITE};
    assert_int_equal(hca_mr_reregister(peer->hca, mr, &to), FABRIC_OK);
    assert_int_equal(write_by(&p, key, 0x20000, 64), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

static void what_a_region_cannot_become_leaves_it_as_it_was(void **state)
{
    (void)state;
    struct hca_pair p = hca_pair_connected(NULL);
    struct hca_host *peer = &p.w->host[1];
    const struct hca_mr_new wrong[] = {
        {.changes = HCA_MR_TRANSLATION, .addr = peer->memory, .length = 0},
        {.changes = HCA_MR_TRANSLATION, .addr = peer->memory, .length = 4096, .iova = 64},
        {.changes = HCA_MR_ACCESS, .access = HCA_ACCESS_REMOTE_WRITE}};
    hca_mr mr;
    hca_mw mw;
    hca_pd pd;
    uint32_t key, rkey;
    assert_int_equal(
        hca_mr_register(peer->hca, peer->pd, peer->memory, 8192, 0, ALL_RIGHTS, 0, &mr, &key),
        FABRIC_OK);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(hca_mr_reregister(peer->hca, mr, &wrong[i]), ERR_INVALID_ARGUMENT);
    assert_int_equal(write_by(&p, key, 8000, 64), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_pd_alloc(peer->hca, &pd), FABRIC_OK);
    const struct hca_mr_new moved = {.changes = HCA_MR_PD, .pd = pd};
    assert_int_equal(hca_mw_open(peer->hca, mr, 0, 64, HCA_ACCESS_REMOTE_WRITE, 0, &mw, &rkey),
                     FABRIC_OK);
    assert_int_equal(hca_mr_reregister(peer->hca, mr, &moved), ERR_INVALID_ARGUMENT);
    hca_mw_end(peer->hca, mw);
    assert_int_equal(hca_mr_reregister(peer->hca, mr, &moved), FABRIC_OK);
    assert_int_equal(hca_pd_dealloc(peer->hca, pd), ERR_INVALID_ARGUMENT); /* it is in there */
    assert_int_equal(write_by(&p, key, 8000, 64), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_registered_is_refused),
        cmocka_unit_test(no_access_after_deregistration_and_the_value_is_not_given_out_again),
        cmocka_unit_test(keys_come_from_the_seed),
        cmocka_unit_test(a_window_lends_a_part_until_it_is_taken_back),
        cmocka_unit_test(a_window_that_waits_grants_nothing),
        cmocka_unit_test(a_window_is_not_larger_or_more_than_it_says),
        cmocka_unit_test(nothing_lands_after_a_window_was_revoked),
        cmocka_unit_test(a_host_address_is_found_under_its_key),
        cmocka_unit_test(a_protection_domain_in_use_stays),
        cmocka_unit_test(a_region_registered_anew_is_what_it_was_changed_to),
        cmocka_unit_test(what_a_region_cannot_become_leaves_it_as_it_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

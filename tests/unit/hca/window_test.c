/* SPDX-License-Identifier: Apache-2.0 */
/* Host 1 lends memory to host 0 through windows that it binds by work requests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/hca_world.h"

#define LENDS                                                                                      \
    (HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_MW_BIND)
#define AT UINT64_C(4096) /* of the region of a lender */
#define SIZE UINT64_C(8192)

struct lender {
    struct hca_pair p;
    struct hca_host *host;
    hca_mr mr;
    uint32_t lkey;
};

static struct lender lender_make(uint32_t access)
{
    struct lender l = {.p = hca_pair_connected(NULL)};
    l.host = &l.p.w->host[1];
    assert_int_equal(hca_mr_register(l.host->hca, l.host->pd, l.host->memory, SIZE, AT, access, 0,
                                     &l.mr, &l.lkey),
                     FABRIC_OK);
    return l;
}

static hca_mw window(const struct lender *l, enum hca_mw_type type, uint32_t *rkey)
{
    hca_mw mw = {0};
    assert_int_equal(hca_mw_alloc(l->host->hca, l->host->pd, type, 0, &mw, rkey), FABRIC_OK);
    return mw;
}

static struct hca_send_wr binding(const struct lender *l, hca_mw mw, uint32_t rkey, uint64_t length)
{
    return (struct hca_send_wr){
        .opcode = HCA_WR_BIND_MW,
        .flags = HCA_SEND_SIGNALED,
        .rkey = rkey,
        .bind = {mw, length ? l->lkey : 0, HCA_ACCESS_REMOTE_WRITE, length ? AT : 0, length}};
}

static enum fabric_wc_status done(const struct lender *l, const struct hca_send_wr *wr)
{
    size_t before = l->host->wc_count;
    assert_int_equal(hca_post_send(l->host->hca, l->p.qp[1], wr), FABRIC_OK);
    assert_true(hca_world_wait(l->p.w, 1, before + 1, SECOND));
    const struct hca_wc *wc = &l->host->wcs[before];
    if (wc->status == FABRIC_WC_SUCCESS)
        assert_int_equal(wc->opcode,
                         wr->opcode == HCA_WR_BIND_MW ? HCA_WC_BIND_MW : HCA_WC_LOCAL_INV);
    return wc->status;
}

static enum fabric_wc_status bind(const struct lender *l, hca_mw mw, uint32_t rkey, uint64_t length)
{
    struct hca_send_wr wr = binding(l, mw, rkey, length);
    return done(l, &wr);
}

static enum fabric_wc_status invalidate(const struct lender *l, uint32_t rkey)
{
    struct hca_send_wr wr = {.opcode = HCA_WR_LOCAL_INV, .flags = HCA_SEND_SIGNALED, .rkey = rkey};
    return done(l, &wr);
}

static enum fabric_wc_status write_to(const struct lender *l, uint32_t rkey, uint64_t addr)
{
    struct hca_host *writer = &l->p.w->host[0];
    size_t before = writer->wc_count;
    struct hca_sge sge = hca_world_sge(l->p.w, 0, 0, 64);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_RDMA_WRITE, &sge);
    wr.remote_addr = addr;
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(writer->hca, l->p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(l->p.w, 0, before + 1, SECOND));
    return writer->wcs[before].status;
}

static void a_window_of_type_1_lends_what_it_is_bound_to_last(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_1, &rkey);
    assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_mr_deregister(l.host->hca, l.mr), ERR_INVALID_ARGUMENT);
    assert_int_equal(write_to(&l, rkey + 1, AT + 1000 - 64), FABRIC_WC_SUCCESS);
    assert_int_equal(bind(&l, mw, rkey + 2, 2000), FABRIC_WC_SUCCESS); /* instead */
    assert_int_equal(write_to(&l, rkey + 2, AT + 2000 - 64), FABRIC_WC_SUCCESS);
    assert_int_equal(bind(&l, mw, rkey + 3, 0), FABRIC_WC_SUCCESS);
    assert_int_equal(hca_mr_deregister(l.host->hca, l.mr), FABRIC_OK);
    assert_int_equal(write_to(&l, rkey + 3, AT), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(l.p.w);
}

static void a_key_is_not_valid_before_it_is_bound_or_after(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct lender l = lender_make(LENDS);
        uint32_t rkey;
        hca_mw mw = window(&l, HCA_MW_TYPE_1, &rkey);
        if (i > 0)
            assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
        if (i == 1)
            assert_int_equal(bind(&l, mw, rkey + 2, 1000), FABRIC_WC_SUCCESS);
        if (i == 2)
            hca_mw_end(l.host->hca, mw);
        assert_int_equal(write_to(&l, i ? rkey + 1 : rkey, AT), FABRIC_WC_REM_ACCESS_ERR);
        hca_world_destroy(l.p.w);
    }
}

static void a_window_of_type_2_is_bound_once_until_it_is_invalidated(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
    assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
    assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_SUCCESS);
    assert_int_equal(invalidate(&l, rkey + 1), FABRIC_WC_SUCCESS);
    assert_int_equal(bind(&l, mw, rkey + 2, 1000), FABRIC_WC_SUCCESS);
    assert_int_equal(write_to(&l, rkey + 2, AT), FABRIC_WC_SUCCESS);
    assert_int_equal(bind(&l, mw, rkey + 3, 1000), FABRIC_WC_MW_BIND_ERR);
    assert_int_equal(hca_world_qp_state(l.p.w, 1, l.p.qp[1]), FABRIC_QPS_ERR);
    hca_world_destroy(l.p.w);
}

static void an_invalidated_key_is_not_valid(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
    assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
    assert_int_equal(invalidate(&l, rkey + 1), FABRIC_WC_SUCCESS);
    assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_REM_ACCESS_ERR);
    hca_world_destroy(l.p.w);
}

/* A second queue pair of the lender, which the window is not bound to. */
static void a_window_of_type_2_serves_its_queue_pair_alone(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
    hca_qp others[2];
    struct hca_qp_attr a = hca_world_attr(l.p.w, 0, 1), b = hca_world_attr(l.p.w, 1, 0);
    hca_world_connect(l.p.w, &a, &b, others);
    assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
    hca_qp own = l.p.qp[0];
    l.p.qp[0] = others[0];
    assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_REM_ACCESS_ERR);
    l.p.qp[0] = own;
    assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_SUCCESS);
    hca_world_destroy(l.p.w);
}

static void only_its_queue_pair_invalidates_a_window(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
    hca_qp others[2];
    struct hca_qp_attr a = hca_world_attr(l.p.w, 0, 1), b = hca_world_attr(l.p.w, 1, 0);
    hca_world_connect(l.p.w, &a, &b, others);
    assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
    l.p.qp[1] = others[1];
    assert_int_equal(invalidate(&l, rkey + 1), FABRIC_WC_MW_BIND_ERR);
    assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_SUCCESS);
    hca_world_destroy(l.p.w);
}

static size_t send_invalidating(const struct lender *l, uint32_t rkey, uint32_t length)
{
    struct hca_host *sender = &l->p.w->host[0];
    size_t before = sender->wc_count;
    assert_int_equal(hca_world_recv(l->p.w, 1, l->p.qp[1], 0, length, 7), FABRIC_OK);
    struct hca_sge sge = hca_world_sge(l->p.w, 0, 0, length);
    struct hca_send_wr wr = hca_world_wr(HCA_WR_SEND_WITH_INV, &sge);
    wr.rkey = rkey;
    assert_int_equal(hca_post_send(sender->hca, l->p.qp[0], &wr), FABRIC_OK);
    assert_true(hca_world_wait(l->p.w, 0, before + 1, SECOND));
    return before;
}

static void a_send_invalidates_the_window_that_it_names(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {64, 9000}; /* one packet, several */
    for (int i = 0; i < 2; i++) {
        struct lender l = lender_make(LENDS);
        uint32_t rkey;
        hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
        assert_int_equal(bind(&l, mw, rkey + 1, 1000), FABRIC_WC_SUCCESS);
        size_t at = send_invalidating(&l, rkey + 1, lengths[i]);
        assert_int_equal(l.p.w->host[0].wcs[at].status, FABRIC_WC_SUCCESS);
        assert_int_equal(l.p.w->host[0].wcs[at].opcode, HCA_WC_SEND);
        const struct hca_wc *wc = &l.host->wcs[l.host->wc_count - 1];
        assert_int_equal(wc->status, FABRIC_WC_SUCCESS);
        assert_true(wc->with_inv && !wc->with_imm);
        assert_int_equal(wc->imm, rkey + 1);
        assert_int_equal(wc->byte_len, lengths[i]);
        assert_int_equal(write_to(&l, rkey + 1, AT), FABRIC_WC_REM_ACCESS_ERR);
        hca_world_destroy(l.p.w);
    }
}

static void a_send_that_invalidates_nothing_fails_on_both_sides(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    size_t at = send_invalidating(&l, l.lkey, 64);
    assert_int_equal(l.p.w->host[0].wcs[at].status, FABRIC_WC_REM_ACCESS_ERR);
    assert_int_equal(l.host->wcs[l.host->wc_count - 1].status, FABRIC_WC_REM_INV_REQ_ERR);
    hca_world_destroy(l.p.w);
}

/* What is wrong with one binding that would else be right. */
enum wrong { NOTHING, KEY, PAST_END, ACCESS, NOT_GRANTED, NO_LOCAL_WRITE, DOMAIN, EMPTY, WRONGS };

static enum fabric_wc_status bind_wrongly(enum wrong wrong)
{
    const uint32_t lends = wrong == NOT_GRANTED      ? LENDS & ~(uint32_t)HCA_ACCESS_MW_BIND
                           : wrong == NO_LOCAL_WRITE ? HCA_ACCESS_REMOTE_READ | HCA_ACCESS_MW_BIND
                                                     : LENDS;
    struct lender l = lender_make(lends);
    hca_pd strange;
    assert_int_equal(hca_pd_alloc(l.host->hca, &strange), FABRIC_OK);
    if (wrong == DOMAIN)
        l.host->pd = strange;
    uint32_t rkey;
    hca_mw mw = window(&l, wrong == EMPTY ? HCA_MW_TYPE_2 : HCA_MW_TYPE_1, &rkey);
    struct hca_send_wr wr = binding(&l, mw, rkey + 1, wrong == EMPTY ? 0 : 1000);
    if (wrong == KEY)
        wr.rkey += 0x100;
    if (wrong == PAST_END)
        wr.bind.length = SIZE + 1;
    if (wrong == ACCESS)
        wr.bind.access = HCA_ACCESS_LOCAL_WRITE;
    enum fabric_wc_status status = done(&l, &wr);
    hca_world_destroy(l.p.w);
    return status;
}

static void what_may_not_be_bound_is_not(void **state)
{
    (void)state;
    assert_int_equal(bind_wrongly(NOTHING), FABRIC_WC_SUCCESS);
    for (enum wrong wrong = KEY; wrong < WRONGS; wrong++)
        assert_int_equal(bind_wrongly(wrong), FABRIC_WC_MW_BIND_ERR);
}

/* The peer has no receive: the SEND waits, and the binding behind it does as well. */
static void a_binding_takes_effect_after_all_that_was_posted_before_it(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_1, &rkey);
    struct hca_send_wr wr = binding(&l, mw, rkey + 1, 1000);
    size_t before = l.host->wc_count;
    assert_int_equal(hca_world_send(l.p.w, 1, l.p.qp[1], HCA_WR_SEND, 0, 64, 1), FABRIC_OK);
    assert_int_equal(hca_post_send(l.host->hca, l.p.qp[1], &wr), FABRIC_OK);
    hca_world_run(l.p.w, MS / 100);
    assert_int_equal(l.host->wc_count, before);
    assert_int_equal(hca_mr_deregister(l.host->hca, l.mr), FABRIC_OK); /* not bound to it yet */
    assert_int_equal(hca_world_recv(l.p.w, 0, l.p.qp[0], 0, 64, 1), FABRIC_OK);
    assert_true(hca_world_wait(l.p.w, 1, before + 2, SECOND));
    assert_int_equal(l.host->wcs[before].status, FABRIC_WC_SUCCESS);
    assert_int_equal(l.host->wcs[before + 1].status, FABRIC_WC_MW_BIND_ERR);
    hca_world_destroy(l.p.w);
}

static void no_later_window_gets_a_key_that_a_program_may_have_used(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    uint32_t first, rkey;
    hca_mw mw = window(&l, HCA_MW_TYPE_1, &first);
    hca_mw_end(l.host->hca, mw);
    for (int i = 0; i < 2000; i++) {
        mw = window(&l, HCA_MW_TYPE_1, &rkey);
        assert_int_not_equal(rkey >> 8, first >> 8);
        hca_mw_end(l.host->hca, mw);
        hca_world_run(l.p.w, 25 * MS); /* 50 s in all: less than FABRIC_KEY_QUARANTINE */
    }
    hca_world_destroy(l.p.w);
}

static void a_domain_stays_while_it_has_windows(void **state)
{
    (void)state;
    struct lender l = lender_make(LENDS);
    hca_pd pd;
    uint32_t rkey;
    assert_int_equal(hca_pd_alloc(l.host->hca, &pd), FABRIC_OK);
    l.host->pd = pd;
    hca_mw mw = window(&l, HCA_MW_TYPE_2, &rkey);
    assert_int_equal(hca_pd_dealloc(l.host->hca, pd), ERR_INVALID_ARGUMENT);
    hca_mw_end(l.host->hca, mw);
    assert_int_equal(hca_pd_dealloc(l.host->hca, pd), FABRIC_OK);
    hca_world_destroy(l.p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_of_type_1_lends_what_it_is_bound_to_last),
        cmocka_unit_test(a_key_is_not_valid_before_it_is_bound_or_after),
        cmocka_unit_test(a_window_of_type_2_is_bound_once_until_it_is_invalidated),
        cmocka_unit_test(an_invalidated_key_is_not_valid),
        cmocka_unit_test(a_window_of_type_2_serves_its_queue_pair_alone),
        cmocka_unit_test(only_its_queue_pair_invalidates_a_window),
        cmocka_unit_test(a_send_invalidates_the_window_that_it_names),
        cmocka_unit_test(a_send_that_invalidates_nothing_fails_on_both_sides),
        cmocka_unit_test(what_may_not_be_bound_is_not),
        cmocka_unit_test(a_binding_takes_effect_after_all_that_was_posted_before_it),
        cmocka_unit_test(no_later_window_gets_a_key_that_a_program_may_have_used),
        cmocka_unit_test(a_domain_stays_while_it_has_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

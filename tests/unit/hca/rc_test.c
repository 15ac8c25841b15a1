/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/hca_world.h"

struct pair {
    struct hca_world *w;
    hca_qp qp[2];
    struct hca_qp_attr a, b;
};

static struct pair connected(const char *profile)
{
    struct hca_world_init init = {.profile = profile, .seed = 1};
    struct pair p = {.w = hca_world_create(&init)};
    p.a = hca_world_attr(p.w, 0, 1);
    p.b = hca_world_attr(p.w, 1, 0);
    hca_world_connect(p.w, &p.a, &p.b, p.qp);
    return p;
}

static void a_write_lands_and_completes(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 1023, 1024, 1025, 2049, 2u << 20};
    struct pair p = connected(NULL);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hca_world_fill(p.w, 0, 64, lengths[i], (uint8_t)i);
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 64, lengths[i], i),
                         FABRIC_OK);
        assert_true(hca_world_wait(p.w, 0, i + 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].wr_id, i);
        assert_true(hca_world_same(p.w, 0, 64, 1, 64, lengths[i]));
    }
    assert_int_equal(p.w->host[1].wc_count, 0);
    hca_world_destroy(p.w);
}

static void a_read_fetches(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 1024, 1025, 100000};
    struct pair p = connected(NULL);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hca_world_fill(p.w, 1, 0, lengths[i], (uint8_t)(i + 9));
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_READ, 0, lengths[i], i),
                         FABRIC_OK);
        assert_true(hca_world_wait(p.w, 0, i + 1, SECOND));
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].byte_len, lengths[i]);
        assert_true(hca_world_same(p.w, 0, 0, 1, 0, lengths[i]));
    }
    hca_world_destroy(p.w);
}

static void a_send_meets_its_receive(void **state)
{
    (void)state;
    struct pair p = connected(NULL);
    hca_world_fill(p.w, 0, 0, 5000, 3);
    assert_int_equal(hca_world_recv(p.w, 1, p.qp[1], 8192, 6000, 77), FABRIC_OK);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_SEND_WITH_IMM, 0, 5000, 78), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[1].wc_count, 1);
    const struct hca_wc *wc = &p.w->host[1].wcs[0];
    assert_int_equal(wc->status, FABRIC_WC_SUCCESS);
    assert_int_equal(wc->wr_id, 77);
    assert_int_equal(wc->byte_len, 5000);
    assert_true(wc->with_imm);
    assert_int_equal(wc->imm, 0x1234);
    assert_true(hca_world_same(p.w, 0, 0, 1, 8192, 5000));
    hca_world_destroy(p.w);
}

static void it_works_over_ethernet(void **state)
{
    (void)state;
    struct pair p = connected("rxe");
    hca_world_fill(p.w, 0, 0, 50000, 3);
    assert_int_equal(hca_world_send(p.w, 0, p.qp[0], HCA_WR_RDMA_WRITE, 0, 50000, 0), FABRIC_OK);
    assert_true(hca_world_wait(p.w, 0, 1, SECOND));
    assert_int_equal(p.w->host[0].wcs[0].status, FABRIC_WC_SUCCESS);
    assert_true(hca_world_same(p.w, 0, 0, 1, 0, 50000));
    hca_world_destroy(p.w);
}

static void loss_is_repaired(void **state)
{
    (void)state;
    struct pair p = connected(NULL);
    hca_world_loss(p.w, 0, 30000);
    hca_world_loss(p.w, 1, 30000);
    for (uint32_t i = 0; i < 60; i++) {
        static const enum hca_wr_opcode ops[] = {HCA_WR_RDMA_WRITE, HCA_WR_RDMA_READ,
                                                 HCA_WR_RDMA_WRITE};
        hca_world_fill(p.w, (int)(i % 3 == 1), i * 16384, 12345, (uint8_t)i);
        assert_int_equal(hca_world_send(p.w, 0, p.qp[0], ops[i % 3], i * 16384, 12345, i),
                         FABRIC_OK);
    }
    assert_true(hca_world_wait(p.w, 0, 60, 10 * SECOND));
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(p.w->host[0].wcs[i].status, FABRIC_WC_SUCCESS);
        assert_int_equal(p.w->host[0].wcs[i].wr_id, i);
        assert_true(hca_world_same(p.w, 0, i * 16384, 1, i * 16384, 12345));
    }
    hca_world_destroy(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_lands_and_completes), cmocka_unit_test(a_read_fetches),
        cmocka_unit_test(a_send_meets_its_receive), cmocka_unit_test(it_works_over_ethernet),
        cmocka_unit_test(loss_is_repaired)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

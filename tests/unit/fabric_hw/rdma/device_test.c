/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: found, opened with every verb failing in turn, lost, closed. CASE-S12, HA-1.4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tests/support/verbs_fake.h"

static struct os_bed bed;

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static void a_device_is_listed_and_described(void **state)
{
    (void)state;
    char names[2][FABRIC_NAME_MAX];
    size_t count = 9;
    struct fabric_device_attr attr;
    fabric_device device = verbs_fake_device(&bed);
    assert_int_equal(fabric_device_list(bed.f, names, 2, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "mlx5_0");
    assert_int_equal(fabric_device_query(bed.f, device, &attr), FABRIC_OK);
    assert_int_equal(attr.node_guid, 0xec0d9a0300000001);
    assert_int_equal(attr.max_rd_atomic, 16);
    assert_int_equal(attr.max_init_rd_atomic, 255); /* 300 does not fit */
    assert_int_equal(attr.max_inline, 512);
    assert_false(attr.iwarp);
    assert_false(attr.caps & FABRIC_CAP_DC);
    assert_int_equal(verbs_fake_count("fork_init"), 1);
}

static void a_kernel_without_rdma_has_no_device(void **state)
{
    (void)state;
    size_t count = 9;
    fabric_device device = {0};
    verbs_fake.present = false;
    verbs_fake_open(&bed);
    assert_int_equal(fabric_device_list(bed.f, NULL, 0, &count), FABRIC_OK);
    assert_int_equal(count, 0);
    assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &device), ERR_NOT_FOUND);
    assert_int_equal(device.id, 0);
}

static void an_iwarp_device_says_what_it_is(void **state)
{
    (void)state;
    struct fabric_device_attr attr;
    verbs_fake.device.node_type = IBV_NODE_RNIC;
    verbs_fake.device.transport_type = IBV_TRANSPORT_IWARP;
    fabric_device device = verbs_fake_device(&bed);
    assert_int_equal(fabric_device_query(bed.f, device, &attr), FABRIC_OK);
    assert_true(attr.iwarp);
}

/* Every one must leave nothing behind; the teardown counts. Probing may fail: it only tells less.
 */
static void opening_fails_by_name_whichever_verb_fails(void **state)
{
    static const struct {
        const char *verb;
        int number;
        enum fabric_error error;
    } cases[] = {{"open_device", EACCES, ERR_ACCESS_DENIED},
                 {"open_device", ENODEV, ERR_DEVICE_REMOVED},
                 {"open_device", EMFILE, ERR_RESOURCES_EXHAUSTED},
                 {"query_device", EIO, ERR_DEVICE_REMOVED},
                 {"alloc_pd", ENOMEM, ERR_RESOURCES_EXHAUSTED},
                 {"create_comp_channel", EMFILE, ERR_RESOURCES_EXHAUSTED},
                 {"create_cq", ENOMEM, FABRIC_OK},
                 {"create_qp", ENOMEM, FABRIC_OK}};
    (void)state;
    verbs_fake_open(&bed);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fabric_device device = {0};
        verbs_fake.fail_name = cases[i].verb;
        verbs_fake.fail_errno = cases[i].number;
        assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &device), cases[i].error);
        assert_int_equal(device.id != 0, cases[i].error == FABRIC_OK);
        if (device.id)
            assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
        assert_int_equal(verbs_fake.live, 0);
    }
}

/* Set-up verbs of a rail, each failing in turn: a named error at once, and nothing is left. */
static void whichever_verb_fails_nothing_is_left(void **state)
{
    static uint8_t buffer[4096] __attribute__((aligned(4096)));
    const struct fabric_mr_init memory = {.addr = buffer, .length = 4096, .iova = 4096};
    unsigned nth = 1;
    (void)state;
    verbs_fake_open(&bed);
    for (bool fired = true; fired; nth++) {
        fabric_device device = {0};
        fabric_cq cq = {0};
        fabric_qp qp = {0};
        fabric_mr mr = {0};
        struct fabric_mr_keys keys;
        verbs_fake.verbs = 0;
        verbs_fake.fail_nth = nth;
        verbs_fake.said[0] = '\0';
        enum fabric_error error = fabric_device_open(bed.f, "mlx5_0", &device);
        if (!error)
            error = fabric_mr_register(bed.f, device, &memory, &mr, &keys);
        if (!error)
            error = fabric_cq_create(bed.f, device, 8, &cq);
        const struct fabric_qp_init init = {.send_cq = cq, .recv_cq = cq, .max_send_wr = 1};
        if (!error)
            error = fabric_qp_create(bed.f, device, &init, &qp);
        for (int to = FABRIC_QPS_INIT; to <= FABRIC_QPS_RTS && !error; to++)
            error = verbs_fake_move(&bed, qp, (enum fabric_qp_state)to);
        fired = verbs_fake.verbs >= nth;
        assert_true(fired || !error);
        if (device.id)
            assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
        assert_int_equal(verbs_fake.live, 0);
    }
    assert_true(nth > 10);
}

static void a_lost_device_says_so_once_and_everything_owed_is_told(void **state)
{
    (void)state;
    fabric_cq cq;
    struct fabric_port_attr port;
    struct fabric_qp_info info;
    fabric_device device = verbs_fake_device(&bed);
    fabric_qp qp = verbs_fake_rc(&bed, device, &cq);
    assert_int_equal(verbs_fake_send(&bed, qp, 1, true), FABRIC_OK);
    assert_int_equal(verbs_fake_recv(&bed, qp, 2), FABRIC_OK);
    verbs_fake_event(IBV_EVENT_DEVICE_FATAL);
    verbs_fake_event(IBV_EVENT_PORT_ERR); /* after it nothing is said */
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_ASYNC).u.async.type,
                     FABRIC_ASYNC_DEVICE_FATAL);
    verbs_fake_expect(&bed, 1, FABRIC_WC_WR_FLUSH_ERR);
    verbs_fake_expect(&bed, 2, FABRIC_WC_WR_FLUSH_ERR);
    assert_true(verbs_fake_idle(&bed));
    assert_int_equal(verbs_fake_send(&bed, qp, 3, true), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_port_query(bed.f, device, 1, &port), ERR_DEVICE_REMOVED);
    assert_int_equal(fabric_qp_query(bed.f, qp, &info), ERR_DEVICE_REMOVED);
    assert_true(strstr(verbs_fake.said, "destroy_qp") < strstr(verbs_fake.said, "destroy_cq"));
    assert_int_equal(fabric_qp_destroy(bed.f, qp), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(bed.f, cq), FABRIC_OK);
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    assert_true(verbs_fake_idle(&bed));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_is_listed_and_described),
        TEST(a_kernel_without_rdma_has_no_device),
        TEST(an_iwarp_device_says_what_it_is),
        TEST(opening_fails_by_name_whichever_verb_fails),
        TEST(whichever_verb_fails_nothing_is_left),
        TEST(a_lost_device_says_so_once_and_everything_owed_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

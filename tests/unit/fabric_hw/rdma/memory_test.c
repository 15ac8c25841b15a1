/* SPDX-License-Identifier: Apache-2.0 */
/* Regions: the I/O virtual address, and why a registration fails. HA-1.8. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>

#include "tests/support/large_pages.h"
#include "tests/support/verbs_fake.h"

#define IOVA UINT64_C(0x7000)

static struct os_bed bed;
static fabric_device device;
static uint8_t buffer[8192] __attribute__((aligned(4096)));
static const struct fabric_mr_init whole = {
    .addr = buffer, .length = 8192, .iova = IOVA, .access = FABRIC_ACCESS_LOCAL_WRITE};

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    device = verbs_fake_device(&bed);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static uint64_t posted_address(fabric_qp qp, const uint8_t *from, uint32_t length, uint32_t lkey)
{
    const struct fabric_sge sge = {(void *)(uintptr_t)from, length, lkey};
    const struct fabric_send_wr wr = {.sges = &sge, .sge_count = 1};
    assert_int_equal(fabric_qp_post_send(bed.f, qp, &wr), FABRIC_OK);
    return verbs_fake.sent_sge.addr;
}

static void posts_name_the_iova_and_no_host_address(void **state)
{
    (void)state;
    struct fabric_mr_keys keys;
    fabric_mr mr;
    fabric_cq cq;
    fabric_qp qp = verbs_fake_rc(&bed, device, &cq);
    assert_int_equal(fabric_mr_register(bed.f, device, &whole, &mr, &keys), FABRIC_OK);
    assert_int_equal(posted_address(qp, buffer + 100, 64, keys.lkey), IOVA + 100);
    assert_int_equal(posted_address(qp, buffer + 8100, 92, keys.lkey), IOVA + 8100);
    assert_int_equal(posted_address(qp, buffer + 8100, 93, keys.lkey), UINT64_MAX);
    assert_int_equal(posted_address(qp, buffer, 1, keys.lkey ^ 0x100), UINT64_MAX);
    assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
    assert_int_equal(posted_address(qp, buffer, 1, keys.lkey), UINT64_MAX);
}

static enum fabric_error refused(int number, rlim_t limit)
{
    struct rlimit before, with;
    struct fabric_mr_keys keys;
    fabric_mr mr;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    with = (struct rlimit){limit, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &with), 0);
    verbs_fake.fail_name = "reg_mr_iova";
    verbs_fake.fail_errno = number;
    enum fabric_error error = fabric_mr_register(bed.f, device, &whole, &mr, &keys);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    return error;
}

static void the_limit_of_locked_memory_has_its_own_name(void **state)
{
    (void)state;
    assert_int_equal(refused(ENOMEM, 65536), ERR_MEMLOCK_LIMIT);
    assert_int_equal(refused(EFAULT, 65536), ERR_REGISTRATION_FAILED);
    assert_int_equal(refused(EIO, 65536), ERR_DEVICE_REMOVED);
    assert_int_equal(refused(EOPNOTSUPP, 65536), ERR_NOT_SUPPORTED);
}

static void without_a_limit_a_registration_just_failed(void **state)
{
    struct rlimit limit;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (limit.rlim_max != RLIM_INFINITY)
        skip(); /* it cannot be lifted here */
    assert_int_equal(refused(ENOMEM, RLIM_INFINITY), ERR_REGISTRATION_FAILED);
}

static void addresses_must_agree_within_a_page(void **state)
{
    (void)state;
    struct fabric_mr_init init = whole;
    struct fabric_mr_keys keys;
    fabric_mr mr;
    init.iova += 8;
    assert_int_equal(fabric_mr_register(bed.f, device, &init, &mr, &keys), ERR_INVALID_ARGUMENT);
    init.addr = buffer + 8;
    init.length = 64;
    assert_int_equal(fabric_mr_register(bed.f, device, &init, &mr, &keys), FABRIC_OK);
}

static void large_regions_are_asked_for_in_huge_pages(void **state)
{
    struct fabric_mr_keys keys;
    fabric_mr mr;
    uint8_t *large = large_pages_new();
    (void)state;
    if (!large)
        skip(); /* a kernel without them */
    const struct fabric_mr_init init = {.addr = large,
                                        .length = LARGE_PAGES_SIZE - 8192,
                                        .iova = 0,
                                        .access = FABRIC_ACCESS_LOCAL_WRITE};
    assert_false(large_pages_wanted(large));
    assert_int_equal(fabric_mr_register(bed.f, device, &init, &mr, &keys), FABRIC_OK);
    assert_true(large_pages_wanted(large));
    assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
    large_pages_free(large);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(posts_name_the_iova_and_no_host_address),
        TEST(the_limit_of_locked_memory_has_its_own_name),
        TEST(without_a_limit_a_registration_just_failed),
        TEST(addresses_must_agree_within_a_page),
        TEST(large_regions_are_asked_for_in_huge_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

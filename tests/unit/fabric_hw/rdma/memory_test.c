/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
/* Regions: the I/O virtual address, and why a registration fails. HA-1.8. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* Whether a VMA that begins there asks for large pages: "hg" among its flags (proc(5)). */
static bool asks_for_large_pages(const void *memory)
{
    char line[512], begins[32];
    bool within = false, asks = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    snprintf(begins, sizeof begins, "%lx-", (unsigned long)(uintptr_t)memory);
    while (fgets(line, sizeof line, maps)) {
        if (strchr(line, '-') && strstr(line, " rw-p "))
            within = strncmp(line, begins, strlen(begins)) == 0;
        asks = asks || (within && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg"));
    }
    assert_int_equal(fclose(maps), 0);
    return asks;
}

static void large_regions_ask_for_large_pages(void **state)
{
    (void)state;
    const size_t sizes[] = {(size_t)1 << 20, (size_t)4 << 20};
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    for (int i = 0; i < 2; i++) {
        struct fabric_mr_keys keys;
        fabric_mr mr;
        void *memory =
            mmap(NULL, sizes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
        const struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST,
                                            .addr = memory,
                                            .length = sizes[i],
                                            .iova = IOVA,
                                            .access = FABRIC_ACCESS_LOCAL_WRITE};
        assert_int_equal(fabric_mr_register(bed.f, device, &init, &mr, &keys), FABRIC_OK);
        assert_int_equal(asks_for_large_pages(memory), i == 1);
        assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
        assert_int_equal(munmap(memory, sizes[i]), 0);
    }
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(large_regions_ask_for_large_pages),
        TEST(posts_name_the_iova_and_no_host_address),
        TEST(the_limit_of_locked_memory_has_its_own_name),
        TEST(without_a_limit_a_registration_just_failed),
        TEST(addresses_must_agree_within_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: lent under a fresh key, taken back before it is told. MK-A4, HA-1.4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tests/support/verbs_fake.h"

#define IOVA UINT64_C(0x10000)

static struct os_bed bed;
static fabric_device device;
static fabric_mr mr;
static uint8_t buffer[8192] __attribute__((aligned(4096)));

static int setup(void **state)
{
    const struct fabric_mr_init init = {
        .addr = buffer, .length = 8192, .iova = IOVA, .access = FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    (void)state;
    verbs_fake_reset();
    device = verbs_fake_device(&bed);
    int error = (int)fabric_mr_register(bed.f, device, &init, &mr, &keys);
    verbs_fake.said[0] = '\0'; /* of what was looked for */
    return error;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static fabric_window begin(void)
{
    fabric_window window = {0};
    assert_int_equal(
        fabric_window_open(bed.f, mr, IOVA, 64, FABRIC_ACCESS_REMOTE_WRITE, 5, &window), FABRIC_OK);
    return window;
}

static uint32_t lend(fabric_window *window)
{
    *window = begin();
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_WINDOW_OPENED);
    assert_int_equal(event.u.window.window.id, window->id);
    assert_int_equal(event.u.window.error, FABRIC_OK);
    assert_int_equal(event.u.window.cookie, 5);
    return event.u.window.rkey;
}

static void revoke(fabric_window window)
{
    assert_int_equal(fabric_window_revoke(bed.f, window), FABRIC_OK);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_WINDOW_REVOKED);
    assert_int_equal(event.u.window.window.id, window.id);
}

static void a_window_is_bound_through_a_queue_pair_connected_to_itself(void **state)
{
    (void)state;
    fabric_window window;
    assert_true(lend(&window) != 0);
    assert_int_equal(verbs_fake.modified.qp_state, IBV_QPS_RTS);
    assert_true(verbs_fake_count("modify_qp:RTR") == 1 && verbs_fake_count("bind_mw:64") == 1);
    assert_true(verbs_fake.region_access & IBV_ACCESS_MW_BIND);
    assert_false(verbs_fake.region_access & IBV_ACCESS_REMOTE_WRITE);
    revoke(window);
    assert_int_equal(verbs_fake_count("bind_mw:0"), 1);
    assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
}

static void a_revocation_is_told_when_the_device_has_done_it_and_not_before(void **state)
{
    (void)state;
    fabric_window window;
    lend(&window);
    verbs_fake.hold_bindings = true;
    assert_int_equal(fabric_window_revoke(bed.f, window), FABRIC_OK);
    assert_true(verbs_fake_idle(&bed));
    verbs_fake_bound(verbs_fake.bindings[1], IBV_WC_SUCCESS);
    os_bed_await(&bed, FABRIC_EVENT_WINDOW_REVOKED);
}

static fabric_window next_is(enum fabric_event_type type)
{
    struct fabric_event event;
    assert_true(os_bed_next(&bed, os_bed_now(&bed) + OS_BED_PATIENCE, &event));
    assert_int_equal(event.type, type);
    return event.u.window.window;
}

/* Also when the device has bound it already and that waits to be polled. */
static void a_window_revoked_before_it_was_told_is_only_told_to_be_gone(void **state)
{
    (void)state;
    fabric_window one = begin(), two = begin(), three = begin();
    assert_int_equal(fabric_window_revoke(bed.f, one), FABRIC_OK);
    assert_int_equal(next_is(FABRIC_EVENT_WINDOW_OPENED).id, two.id);
    assert_int_equal(fabric_window_revoke(bed.f, three), FABRIC_OK);
    assert_int_equal(next_is(FABRIC_EVENT_WINDOW_REVOKED).id, one.id);
    assert_int_equal(next_is(FABRIC_EVENT_WINDOW_REVOKED).id, three.id);
    assert_true(verbs_fake_idle(&bed));
}

/* 240 of 256 values, two a loan; then the next window of the device. */
static void a_key_value_is_not_used_again_within_its_quarantine(void **state)
{
    (void)state;
    static uint32_t seen[400];
    for (size_t i = 0; i < 400; i++) {
        fabric_window window;
        seen[i] = lend(&window);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(seen[i], seen[j]);
        revoke(window);
        verbs_fake.binding_count = 0;
        verbs_fake.said[0] = '\0';
    }
}

static void more_windows_than_the_queue_holds_wait_their_turn(void **state)
{
    (void)state;
    verbs_fake.hold_bindings = true;
    for (size_t i = 0; i < 300; i++)
        begin();
    assert_int_equal(verbs_fake.binding_count, 256);
    for (size_t i = 0; i < 300; i++) {
        verbs_fake_bound(verbs_fake.bindings[i], IBV_WC_SUCCESS);
        os_bed_await(&bed, FABRIC_EVENT_WINDOW_OPENED);
    }
    assert_int_equal(verbs_fake.binding_count, 300);
}

static void a_binding_that_fails_refuses_its_window_and_the_queue_pair_is_mended(void **state)
{
    (void)state;
    fabric_window window;
    verbs_fake.binding_status = IBV_WC_MW_BIND_ERR;
    begin();
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_WINDOW_OPENED);
    assert_int_equal(event.u.window.error, ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(event.u.window.rkey, 0);
    assert_int_equal(verbs_fake_count("dealloc_mw"), 1);
    verbs_fake.binding_status = IBV_WC_SUCCESS;
    lend(&window);
    assert_int_equal(verbs_fake_count("modify_qp:RTS"), 2);
}

/* Tried once more by binding, then the window itself is given back. */
static void a_revocation_ends_also_when_no_binding_succeeds(void **state)
{
    (void)state;
    fabric_window window;
    lend(&window);
    verbs_fake.binding_status = IBV_WC_WR_FLUSH_ERR;
    revoke(window);
    assert_int_equal(verbs_fake_count("bind_mw:0"), 2);
    assert_int_equal(verbs_fake_count("dealloc_mw"), 1);
    assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
}

/* And it is tried again only a second later. */
static void without_a_loopback_a_region_stands_in_and_a_revocation_still_ends(void **state)
{
    (void)state;
    fabric_window window, other;
    lend(&window);
    verbs_fake.binding_status = IBV_WC_WR_FLUSH_ERR;
    verbs_fake.fail_name = "modify_qp:RTR";
    revoke(window);
    verbs_fake.said[0] = '\0';
    uint32_t key = lend(&window);
    assert_int_equal(key, verbs_fake.region->rkey);
    assert_int_not_equal(lend(&other), key);
    assert_int_equal(verbs_fake_count("reg_mr_iova"), 2);
    assert_int_equal(verbs_fake_count("modify_qp:INIT"), 0);
    revoke(window);
    revoke(other);
}

static void open_device(void)
{
    const struct fabric_mr_init init = {
        .addr = buffer, .length = 8192, .iova = IOVA, .access = FABRIC_ACCESS_LOCAL_WRITE};
    struct fabric_mr_keys keys;
    assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_mr_register(bed.f, device, &init, &mr, &keys), FABRIC_OK);
}

/* The device of setup once more, as the caller has changed it. */
static void open_again(void)
{
    verbs_fake_open(&bed);
    open_device();
}

/* The kernel would wait for an answer for the link address of its own. */
static void the_loopback_of_rxe_asks_nobody_for_an_address(void **state)
{
    static const uint8_t own[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 77, [15] = 1},
                         all[16] = {[10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1};
    (void)state;
    fabric_window window;
    for (int rxe = 0; rxe <= 1; rxe++) {
        os_bed_close(&bed);
        verbs_fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
        verbs_fake.gids[0].gid_type = IBV_GID_TYPE_ROCE_V2;
        memcpy(verbs_fake.gids[0].gid.raw, own, sizeof(own));
        open_again();
        if (rxe) {
            os_bed_file(&bed, "/sys/class/infiniband/mlx5_0/parent", "eth0\n");
            assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
            open_device();
        }
        lend(&window);
        assert_memory_equal(verbs_fake.rtr.ah_attr.grh.dgid.raw, rxe ? all : own, 16);
        revoke(window);
    }
}

static void a_device_without_windows_lends_regions_of_their_own(void **state)
{
    (void)state;
    fabric_window window = {0};
    struct fabric_device_attr attr;
    os_bed_close(&bed);
    verbs_fake.attr.device_cap_flags = 0;
    open_again();
    assert_int_equal(verbs_fake.region_access, IBV_ACCESS_LOCAL_WRITE);
    assert_int_equal(fabric_device_query(bed.f, device, &attr), FABRIC_OK);
    assert_int_equal(attr.max_window_size, attr.max_mr_size);
    const struct ibv_mr *whole = verbs_fake.region;
    assert_int_equal(
        fabric_window_open(bed.f, mr, IOVA + 5, 7, FABRIC_ACCESS_REMOTE_WRITE, 9, &window),
        FABRIC_OK);
    assert_ptr_not_equal(verbs_fake.region, whole);
    assert_ptr_equal(verbs_fake.region->addr, buffer + 5);
    assert_int_equal(verbs_fake.region->length, 7);
    assert_int_equal(verbs_fake_count("iova:0x10005"), 1);
    assert_int_equal(verbs_fake.region_access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_WINDOW_OPENED);
    assert_int_equal(event.u.window.rkey, verbs_fake.region->rkey);
    assert_int_equal(event.u.window.cookie, 9);
    size_t before = verbs_fake_count("dereg_mr");
    revoke(window);
    assert_int_equal(verbs_fake_count("dereg_mr"), before + 1);
    assert_int_equal(verbs_fake_count("bind_mw:7"), 0);
    assert_int_equal(fabric_mr_deregister(bed.f, mr), FABRIC_OK);
}

/* It has those of type 2, which a queue pair of one's own cannot bind for others. */
static void a_device_that_makes_no_window_of_type_1_lends_regions_too(void **state)
{
    (void)state;
    fabric_window window;
    os_bed_close(&bed);
    verbs_fake.fail_name = "alloc_mw";
    verbs_fake.fail_errno = EOPNOTSUPP;
    open_again();
    uint32_t key = lend(&window);
    assert_int_equal(key, verbs_fake.region->rkey);
    assert_false(verbs_fake.region_access & IBV_ACCESS_MW_BIND);
    revoke(window);
    verbs_fake.fail_name = "reg_mr_iova";
    fabric_window refused = {0};
    assert_int_equal(
        fabric_window_open(bed.f, mr, IOVA, 64, FABRIC_ACCESS_REMOTE_READ, 1, &refused),
        ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(refused.id, 0);
}

static void the_key_of_a_region_taken_back_rests_when_the_driver_gives_it_again(void **state)
{
    (void)state;
    os_bed_close(&bed);
    verbs_fake.attr.device_cap_flags = 0;
    open_again();
    for (size_t i = 0; i < 100; i++) { /* the sets grow meanwhile */
        fabric_window window, next;
        uint32_t key = lend(&window);
        revoke(window);
        verbs_fake.given_again = key;
        assert_int_not_equal(lend(&next), key);
        revoke(next);
        verbs_fake.said[0] = '\0';
    }
}

static void a_region_is_taken_back_when_its_device_is_closed(void **state)
{
    (void)state;
    fabric_window window, opening;
    os_bed_close(&bed);
    verbs_fake.attr.device_cap_flags = 0;
    open_again();
    lend(&window);
    opening = begin();
    verbs_fake.said[0] = '\0';
    assert_int_equal(fabric_window_revoke(bed.f, opening), FABRIC_OK);
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_WINDOW_REVOKED).u.window.window.id,
                     opening.id);
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    assert_int_equal(verbs_fake_count("dereg_mr"), 3);
    assert_true(verbs_fake_idle(&bed));
}

static void closing_the_device_tells_what_is_owed(void **state)
{
    (void)state;
    fabric_window window;
    lend(&window);
    verbs_fake.hold_bindings = true;
    fabric_window opening = begin();
    assert_int_equal(fabric_window_revoke(bed.f, window), FABRIC_OK);
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    assert_int_equal(os_bed_await(&bed, FABRIC_EVENT_WINDOW_REVOKED).u.window.window.id, window.id);
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_WINDOW_OPENED);
    assert_int_equal(event.u.window.window.id, opening.id);
    assert_int_equal(event.u.window.error, ERR_DEVICE_REMOVED);
    assert_true(verbs_fake_idle(&bed));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_window_is_bound_through_a_queue_pair_connected_to_itself),
        TEST(a_revocation_is_told_when_the_device_has_done_it_and_not_before),
        TEST(a_window_revoked_before_it_was_told_is_only_told_to_be_gone),
        TEST(a_key_value_is_not_used_again_within_its_quarantine),
        TEST(more_windows_than_the_queue_holds_wait_their_turn),
        TEST(a_binding_that_fails_refuses_its_window_and_the_queue_pair_is_mended),
        TEST(a_revocation_ends_also_when_no_binding_succeeds),
        TEST(without_a_loopback_a_region_stands_in_and_a_revocation_still_ends),
        TEST(the_loopback_of_rxe_asks_nobody_for_an_address),
        TEST(a_device_without_windows_lends_regions_of_their_own),
        TEST(a_device_that_makes_no_window_of_type_1_lends_regions_too),
        TEST(the_key_of_a_region_taken_back_rests_when_the_driver_gives_it_again),
        TEST(a_region_is_taken_back_when_its_device_is_closed),
        TEST(closing_the_device_tells_what_is_owed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

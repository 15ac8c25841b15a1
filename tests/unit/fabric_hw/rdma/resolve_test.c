/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of link addresses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/support/verbs_fake.h"

static const struct fabric_av av = {.port_num = 1, .is_global = true, .grh = {.sgid_index = 2}};
static struct os_bed bed;
static fabric_device device;

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

static enum fabric_error resolved(uint64_t cookie)
{
    struct fabric_event event = os_bed_await(&bed, FABRIC_EVENT_RESOLVED);
    assert_int_equal(event.u.resolved.cookie, cookie);
    assert_int_equal(event.u.resolved.device.id, device.id);
    return event.u.resolved.error;
}

static void on_infiniband_nobody_is_asked(void **state)
{
    (void)state;
    assert_int_equal(fabric_resolve(bed.f, device, &av, 3), FABRIC_OK);
    assert_int_equal(resolved(3), FABRIC_OK);
    assert_int_equal(verbs_fake_count("create_ah"), 0);
}

static void on_ethernet_an_address_handle_is_made_and_thrown_away(void **state)
{
    (void)state;
    verbs_fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    assert_int_equal(fabric_resolve(bed.f, device, &av, 4), FABRIC_OK);
    assert_int_equal(resolved(4), FABRIC_OK);
    assert_int_equal(verbs_fake_count("create_ah"), 1);
    assert_int_equal(verbs_fake_count("destroy_ah"), 1);
    assert_int_equal(verbs_fake.ah.grh.sgid_index, 2);
}

static void a_peer_that_does_not_answer_is_unreachable(void **state)
{
    static const int numbers[] = {ETIMEDOUT, EHOSTUNREACH, ENODATA, EINVAL};
    (void)state;
    verbs_fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    verbs_fake.fail_name = "create_ah";
    for (size_t i = 0; i < 4; i++) {
        verbs_fake.fail_errno = numbers[i];
        assert_int_equal(fabric_resolve(bed.f, device, &av, i), FABRIC_OK);
        assert_int_equal(resolved(i), ERR_UNREACHABLE);
    }
}

static void a_look_up_of_a_closed_device_is_told_nobody_and_keeps_nothing(void **state)
{
    (void)state;
    verbs_fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    assert_int_equal(fabric_resolve(bed.f, device, &av, 5), FABRIC_OK);
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK);
    fabric_device again;
    assert_int_equal(fabric_device_open(bed.f, "mlx5_0", &again), FABRIC_OK);
    device = again;
    assert_int_equal(fabric_resolve(bed.f, device, &av, 6), FABRIC_OK);
    assert_int_equal(resolved(6), FABRIC_OK); /* and none with 5 before it */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(on_infiniband_nobody_is_asked),
        TEST(on_ethernet_an_address_handle_is_made_and_thrown_away),
        TEST(a_peer_that_does_not_answer_is_unreachable),
        TEST(a_look_up_of_a_closed_device_is_told_nobody_and_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

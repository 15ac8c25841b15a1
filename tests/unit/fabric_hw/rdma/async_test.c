/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events: drained, acknowledged, told by port. MK-C3, CASE-S3, CASE-S5, CASE-S13. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/verbs_fake.h"

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

static struct fabric_async next(void)
{
    return os_bed_await(&bed, FABRIC_EVENT_ASYNC).u.async;
}

static void every_event_is_read_at_one_wakeup_and_acknowledged(void **state)
{
    (void)state;
    verbs_fake_event(IBV_EVENT_PORT_ERR);
    verbs_fake_event(IBV_EVENT_CLIENT_REREGISTER);
    verbs_fake_event(IBV_EVENT_PORT_ACTIVE);
    assert_int_equal(next().type, FABRIC_ASYNC_PORT_ERR);
    assert_int_equal(verbs_fake_count("ack_async_event:10"), 1);
    assert_int_equal(verbs_fake_count("ack_async_event:17"), 1);
    assert_int_equal(verbs_fake_count("ack_async_event:9"), 1);
    struct fabric_async event = next();
    assert_int_equal(event.type, FABRIC_ASYNC_CLIENT_REREGISTER);
    assert_int_equal(event.port_num, 1);
    assert_int_equal(event.device.id, device.id);
    assert_int_equal(next().type, FABRIC_ASYNC_PORT_ACTIVE);
}

static void an_event_without_a_name_is_told_by_its_number(void **state)
{
    (void)state;
    verbs_fake_event((enum ibv_event_type)222);
    struct fabric_async event = next();
    assert_int_equal(event.type, FABRIC_ASYNC_UNKNOWN);
    assert_int_equal(event.raw, 222);
    assert_int_equal(event.port_num, 0);
}

static void an_event_of_a_queue_pair_brings_its_cookie_and_its_error(void **state)
{
    (void)state;
    fabric_cq cq;
    struct fabric_qp_info info;
    fabric_qp qp = verbs_fake_rc(&bed, device, &cq);
    verbs_fake_event(IBV_EVENT_QP_FATAL);
    struct fabric_async event = next();
    assert_int_equal(event.qp.id, qp.id);
    assert_int_equal(event.cookie, 77);
    assert_int_equal(fabric_qp_query(bed.f, qp, &info), FABRIC_OK);
    assert_int_equal(info.state, FABRIC_QPS_ERR);
}

static void a_closed_device_tells_nothing_any_more(void **state)
{
    (void)state;
    const uint64_t soon = os_bed_now(&bed) + 1;
    struct fabric_event event;
    verbs_fake_event(IBV_EVENT_LID_CHANGE);
    verbs_fake_event(IBV_EVENT_GID_CHANGE);
    assert_true(os_bed_next(&bed, soon + OS_BED_PATIENCE, &event));
    assert_int_equal(fabric_device_close(bed.f, device), FABRIC_OK); /* the second waits */
    assert_true(verbs_fake_idle(&bed));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_event_is_read_at_one_wakeup_and_acknowledged),
        TEST(an_event_without_a_name_is_told_by_its_number),
        TEST(an_event_of_a_queue_pair_brings_its_cookie_and_its_error),
        TEST(a_closed_device_tells_nothing_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

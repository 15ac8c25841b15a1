/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_hw/os/alarm.h"

#define COUNT 500

static struct os_alarms alarms;
static struct os_alarm all[COUNT];
static size_t order[COUNT], rung;

static uint64_t deadline_of(size_t i)
{
    return i * 7919 % 50;
}

static void ring(struct os_alarm *alarm)
{
    assert_int_equal(alarm->place, 0);
    order[rung++] = (size_t)(alarm - all);
}

static int setup(void **state)
{
    (void)state;
    rung = 0;
    for (size_t i = 0; i < COUNT; i++)
        all[i] = (struct os_alarm){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_alarms_free(&alarms);
    return 0;
}

static void they_ring_by_deadline_and_then_by_order_of_setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        assert_true(os_alarm_set(&alarms, &all[i], deadline_of(i), ring));
    assert_int_equal(os_alarms_first(&alarms), 0);
    os_alarms_run(&alarms, 24);
    assert_int_equal(rung, COUNT / 2);
    os_alarms_run(&alarms, 1000);
    assert_int_equal(rung, COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        uint64_t a = deadline_of(order[i - 1]), b = deadline_of(order[i]);
        assert_true(a < b || (a == b && order[i - 1] < order[i]));
    }
    assert_int_equal(os_alarms_first(&alarms), UINT64_MAX);
}

static void a_cancelled_one_does_not_ring_and_the_others_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        assert_true(os_alarm_set(&alarms, &all[i], deadline_of(i), ring));
    for (size_t i = 0; i < COUNT; i += 3)
        os_alarm_cancel(&alarms, &all[i]);
    os_alarm_cancel(&alarms, &all[0]); /* once more does nothing */
    os_alarms_run(&alarms, 1000);
    assert_int_equal(rung, COUNT - (COUNT + 2) / 3);
    for (size_t i = 0; i < rung; i++) {
        assert_int_not_equal(order[i] % 3, 0);
        assert_true(i == 0 || deadline_of(order[i - 1]) <= deadline_of(order[i]));
    }
}

static void ring_again(struct os_alarm *alarm)
{
    ring(alarm);
    assert_true(os_alarm_set(&alarms, alarm, 0, ring_again));
}

static void one_that_is_set_anew_while_it_rings_waits_its_turn(void **state)
{
    (void)state;
    assert_true(os_alarm_set(&alarms, &all[0], 5, ring_again));
    os_alarms_run(&alarms, 10);
    assert_int_equal(rung, 1);
    os_alarms_run(&alarms, 10);
    assert_int_equal(rung, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_ring_by_deadline_and_then_by_order_of_setting),
        TEST(a_cancelled_one_does_not_ring_and_the_others_do),
        TEST(one_that_is_set_anew_while_it_rings_waits_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

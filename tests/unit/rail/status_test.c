/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/rail/status.h"
#include "tests/support/rail_bench.h"

#define BIT(member)                                                                                \
    (UINT64_C(1) << (offsetof(struct fabric_port_counters, member) / sizeof(uint64_t)))

static json_int_t count(const json_t *status, const char *which, const char *name)
{
    const json_t *value = json_object_get(json_object_get(status, which), name);
    return value ? json_integer_value(value) : -1;
}

static struct fabric_port_counters some(uint64_t data, uint64_t timeouts)
{
    return (struct fabric_port_counters){
        .xmit_data = data, .ack_timeouts = timeouts, .present = BIT(xmit_data) | BIT(ack_timeouts)};
}

static void counters_are_told_with_their_growth_since_the_rail_was_ready(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    b.port->counters = some(1000, 7);
    assert_true(rail_judge(r));
    b.port->counters = some(1500, 9);
    json_t *status = rail_status(r);
    assert_int_equal(count(status, "port_counters", "xmit_data"), 1500);
    assert_int_equal(count(status, "port_counters", "ack_timeouts"), 9);
    assert_int_equal(count(status, "port_counters", "rcv_data"), -1);
    assert_int_equal(count(status, "port_counters_growth", "xmit_data"), 500);
    assert_int_equal(count(status, "port_counters_growth", "ack_timeouts"), 2);
    json_decref(status);
    b.port->counters = some(20, 9); /* somebody has reset one */
    status = rail_status(r);
    assert_int_equal(count(status, "port_counters_growth", "xmit_data"), 20);
    assert_int_equal(count(status, "port_counters_growth", "ack_timeouts"), 2);
    json_decref(status);
    rail_bench_close(&b);
}

static void a_port_that_counts_nothing_tells_of_none(void **state)
{
    (void)state;
    struct rail_bench b;
    struct rail *r = rail_bench_open(&b);
    assert_true(rail_judge(r));
    b.port->counters = some(1, 1); /* it did not count then */
    json_t *status = rail_status(r);
    assert_int_equal(count(status, "port_counters", "xmit_data"), 1);
    assert_int_equal(json_object_size(json_object_get(status, "port_counters_growth")), 0);
    json_decref(status);
    b.port->gone = true;
    status = rail_status(r);
    assert_int_equal(json_object_size(json_object_get(status, "port_counters")), 0);
    json_decref(status);
    rail_bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_told_with_their_growth_since_the_rail_was_ready),
        cmocka_unit_test(a_port_that_counts_nothing_tells_of_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

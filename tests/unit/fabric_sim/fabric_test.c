/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the conformance suite cannot see of the simulated fabric: when programs are called, what a
 * killed one is answered, capabilities masked off, several fabrics on one host.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/one_bed.h"

static struct sim_host *host;
static unsigned ready_calls;

static void on_ready(void *context, struct fabric *f)
{
    (void)context;
    (void)f;
    ready_calls++;
}

static struct fabric *open_fabric(fabric_caps caps)
{
    const struct sim_fabric_hooks hooks = {.ready = on_ready};
    return sim_fabric_create(host, caps, &hooks);
}

static int setup(void **state)
{
    bed_setup(state);
    host = sim_host_find(sim_testbed_world(bed.tb), "a");
    assert_non_null(host);
    assert_true(sim_bed_active(&bed, "a", 0));
    ready_calls = 0;
    return 0;
}

static size_t poll_one(struct fabric *f, struct fabric_event *event)
{
    size_t count;
    assert_int_equal(fabric_poll(f, event, 1, UINT64_MAX, &count), FABRIC_OK);
    return count;
}

static void poll_never_waits_and_ready_tells_when_to(void **state)
{
    struct fabric *f = open_fabric(FABRIC_CAPS_ALL);
    struct fabric_event event;
    uint64_t now;
    fabric_timer timer;
    (void)state;
    assert_int_equal(poll_one(f, &event), 0);
    (void)fabric_now(f, &now);
    assert_int_equal(now, sim_testbed.now(bed.tb));
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(fabric_timer_set(f, now + BED_MS, i, &timer), FABRIC_OK);
    assert_int_equal(poll_one(f, &event), 0);
    sim_bed_run(&bed, BED_MS / 2);
    assert_int_equal(ready_calls, 0);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(ready_calls, 1); /* once for both */
    assert_true(sim_fabric_has_events(f));
    assert_int_equal(poll_one(f, &event), 1);
    assert_int_equal(event.time, now + BED_MS);
    sim_bed_run(&bed, BED_MS); /* something was left */
    assert_int_equal(ready_calls, 2);
    assert_int_equal(poll_one(f, &event), 1);
    assert_int_equal(event.u.timer.cookie, 1);
    assert_false(sim_fabric_has_events(f));
    (void)fabric_destroy(f);
}

static void timers_come_in_the_order_of_their_deadlines(void **state)
{
    struct fabric *f = open_fabric(FABRIC_CAPS_ALL);
    struct fabric_event event;
    fabric_timer timers[50];
    uint64_t now, last = 0;
    bool was;
    (void)state;
    (void)fabric_now(f, &now);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(fabric_timer_set(f, now + i * 7919 % 50 * 1000, i * 7919 % 50, &timers[i]),
                         FABRIC_OK);
    assert_int_equal(fabric_timer_set(f, FABRIC_FOREVER, 99, &timers[0]), FABRIC_OK);
    for (size_t i = 1; i < 50; i += 7)
        (void)fabric_timer_cancel(f, timers[i], &was);
    (void)fabric_timer_cancel(f, timers[1], &was); /* once more is no error */
    assert_false(was);
    sim_bed_run(&bed, BED_MS);
    for (size_t i = 0; i < 43; i++) {
        assert_int_equal(poll_one(f, &event), 1);
        assert_true(i == 0 || event.u.timer.cookie > last);
        assert_true(event.time >= now + event.u.timer.cookie * 1000);
        last = event.u.timer.cookie;
    }
    assert_int_equal(poll_one(f, &event), 0);
    (void)fabric_destroy(f);
}

static void a_killed_fabric_answers_nothing_and_harms_nobody(void **state)
{
    struct fabric *f = open_fabric(FABRIC_CAPS_ALL);
    struct fabric_event event;
    fabric_device device;
    fabric_cq cq;
    fabric_timer timer;
    uint64_t now, realtime;
    size_t count = 9;
    uint8_t bytes[4] = {1, 2, 3, 4};
    struct fabric_dcb dcb;
    struct fabric_guarantees guarantees;
    bool was = true;
    (void)state;
    assert_int_equal(fabric_device_open(f, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_cq_create(f, device, 8, &cq), FABRIC_OK);
    assert_int_equal(fabric_timer_set(f, 0, 0, &timer), FABRIC_OK);
    sim_fabric_kill(f);
    sim_bed_run(&bed, BED_MS);
    assert_int_equal(poll_one(f, &event), 0);
    assert_int_equal(fabric_cq_create(f, device, 8, &cq), ERR_RESOURCES_EXHAUSTED);
    assert_int_equal(fabric_timer_cancel(f, timer, &was), FABRIC_OK);
    assert_false(was);
    assert_int_equal(fabric_device_list(f, NULL, 0, &count), FABRIC_OK);
    assert_int_equal(count, 0);
    assert_int_equal(fabric_entropy(f, bytes, 4), FABRIC_OK);
    assert_memory_equal(bytes, "\0\0\0\0", 4);
    assert_int_equal(fabric_now(f, &now), FABRIC_OK);
    assert_int_equal(fabric_realtime(f, &realtime), FABRIC_OK);
    assert_int_equal(fabric_dcb_query(f, "eth0", &dcb), FABRIC_OK);
    assert_int_equal(fabric_guarantees(f, &guarantees), FABRIC_OK);
    assert_int_equal(fabric_log(f, FABRIC_LOG_INFO, "nobody hears"), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(f, cq), FABRIC_OK);
    assert_int_equal(fabric_device_close(f, device), FABRIC_OK);
    assert_int_equal(fabric_destroy(f), FABRIC_OK);
}

static void capabilities_are_masked_for_one_fabric(void **state)
{
    struct fabric *f = open_fabric(~(FABRIC_CAP_TCP | FABRIC_CAP_DC | FABRIC_CAP_RC));
    struct fabric_guarantees guarantees;
    struct fabric_device_attr attr;
    fabric_device device;
    fabric_cq cq;
    fabric_qp qp;
    fabric_stream stream;
    (void)state;
    assert_int_equal(fabric_guarantees(f, &guarantees), FABRIC_OK);
    assert_false(guarantees.caps & (FABRIC_CAP_TCP | FABRIC_CAP_DC | FABRIC_CAP_RC));
    assert_true(guarantees.caps & FABRIC_CAP_LID);
    assert_int_equal(fabric_connect(f, "b:1", 0, &stream), ERR_NOT_SUPPORTED);
    assert_int_equal(fabric_device_open(f, "mlx5_0", &device), FABRIC_OK);
    assert_int_equal(fabric_device_query(f, device, &attr), FABRIC_OK);
    assert_false(attr.caps & (FABRIC_CAP_DC | FABRIC_CAP_RC));
    assert_int_equal(fabric_cq_create(f, device, 8, &cq), FABRIC_OK);
    struct fabric_qp_init init = {.send_cq = cq, .recv_cq = cq, .max_send_wr = 1};
    assert_int_equal(fabric_qp_create(f, device, &init, &qp), ERR_NOT_SUPPORTED);
    init.type = FABRIC_QP_DCI;
    assert_int_equal(fabric_qp_create(f, device, &init, &qp), ERR_DC_UNSUPPORTED);
    (void)fabric_destroy(f);
}

/* Port events come to all who opened the device, and to each under its own handle. */
static void two_fabrics_share_a_device(void **state)
{
    struct fabric *f[2] = {open_fabric(FABRIC_CAPS_ALL), open_fabric(FABRIC_CAPS_ALL)};
    struct fabric_event event;
    fabric_device device[2], other;
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fabric_device_open(f[i], "mlx5_0", &device[i]), FABRIC_OK);
    assert_int_equal(fabric_device_open(f[1], "mlx5_0", &other), FABRIC_OK);
    assert_int_equal(fabric_device_close(f[1], device[1]), FABRIC_OK);
    const struct testbed_fault pull = {.word = TESTBED_CABLE_PULL, .node = "a"};
    assert_int_equal(sim_bed_apply(&bed, &pull), TESTBED_DONE);
    assert_int_equal(poll_one(f[0], &event), 1);
    assert_int_equal(event.u.async.type, FABRIC_ASYNC_PORT_ERR);
    assert_int_equal(event.u.async.device.id, device[0].id);
    assert_int_equal(poll_one(f[1], &event), 1);
    assert_int_equal(event.u.async.device.id, other.id);
    (void)fabric_destroy(f[0]);
    (void)fabric_destroy(f[1]);
}

static void the_wall_clock_jumps_and_the_other_does_not(void **state)
{
    struct fabric *f = open_fabric(FABRIC_CAPS_ALL);
    uint64_t first, now, then;
    (void)state;
    assert_int_equal(fabric_realtime(f, &first), FABRIC_OK);
    assert_int_equal(fabric_now(f, &now), FABRIC_OK);
    sim_host_jump_clock(host, -INT64_C(86400000000000));
    assert_int_equal(fabric_realtime(f, &then), FABRIC_OK);
    assert_true(then < first);
    for (int i = 0; i < 500; i++)
        assert_int_equal(fabric_realtime(f, &then), FABRIC_OK);
    assert_int_equal(fabric_now(f, &then), FABRIC_OK);
    assert_int_equal(then, now);
    (void)fabric_destroy(f);
}

/* Without EVENTS_RELIABLE some are lost, looked for over several seeds. */
static void unreliable_events_are_lost(void **state)
{
    unsigned lost = 0, came = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_bed less;
        struct fabric_event event;
        fabric_device device;
        sim_bed_open(&less, seed, ~FABRIC_CAP_EVENTS_RELIABLE);
        struct sim_host *there = sim_host_find(sim_testbed_world(less.tb), "a");
        struct fabric *f = sim_fabric_create(there, FABRIC_CAPS_ALL, NULL);
        assert_int_equal(fabric_device_open(f, "mlx5_0", &device), FABRIC_OK);
        assert_true(sim_bed_active(&less, "a", 0));
        bool active = false;
        while (poll_one(f, &event))
            active |= event.u.async.type == FABRIC_ASYNC_PORT_ACTIVE;
        lost += !active;
        came += active;
        (void)fabric_destroy(f);
        sim_bed_close(&less);
    }
    assert_int_not_equal(lost, 0);
    assert_int_not_equal(came, 0);
}

static void a_profile_that_does_not_exist_is_no_device(void **state)
{
    const struct sim_device_init init = {.name = "odd", .profile = "nonsense", .port_count = 1};
    (void)state;
    assert_null(sim_device_add(host, &init));
    assert_int_equal(sim_device_count(host), 1);
    assert_string_equal(sim_host_name(host), "a");
    assert_int_equal(sim_host_count(sim_testbed_world(bed.tb)), 5);
    assert_null(sim_host_find(sim_testbed_world(bed.tb), "z"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(poll_never_waits_and_ready_tells_when_to, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(timers_come_in_the_order_of_their_deadlines, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_killed_fabric_answers_nothing_and_harms_nobody, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(capabilities_are_masked_for_one_fabric, setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(two_fabrics_share_a_device, setup, bed_teardown),
        cmocka_unit_test_setup_teardown(the_wall_clock_jumps_and_the_other_does_not, setup,
                                        bed_teardown),
        cmocka_unit_test(unreliable_events_are_lost),
        cmocka_unit_test_setup_teardown(a_profile_that_does_not_exist_is_no_device, setup,
                                        bed_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/layer_delay.h"
#include "tests/support/fake_fabric.h"

#define BIT(type) (1u << (type))

static struct fake_fabric *fake;
static struct fabric *f;
static struct fabric_event events[64];

static int make_bench(void **state)
{
    (void)state;
    fake = fake_fabric_new(NULL);
    assert_int_equal(layer_delay_create(&fake->head, &f), FABRIC_OK);
    return 0;
}

static int free_bench(void **state)
{
    (void)state;
    return (int)fabric_destroy(f);
}

static void add(uint32_t types, uint32_t async_types, uint64_t by)
{
    const struct layer_delay_rule rule = {types, async_types, by};
    assert_int_equal(layer_delay_add(f, &rule), FABRIC_OK);
}

/* Moves the clock and polls until nothing comes. */
static size_t poll_at(uint64_t now)
{
    size_t count, total = 0;
    fake->now = now;
    do {
        assert_int_equal(fabric_poll(f, events + total, 64 - total, 0, &count), FABRIC_OK);
        total += count;
    } while (count > 0);
    return total;
}

static struct fabric_event *async(uint64_t time, enum fabric_async_type type, uint32_t device)
{
    struct fabric_event *event = fake_event(fake, time, FABRIC_EVENT_ASYNC);
    event->u.async.type = type;
    event->u.async.device.id = device;
    return event;
}

static void without_a_rule_events_pass_at_their_time(void **state)
{
    (void)state;
    fake_completion(fake, 5, (fabric_qp){1}, 1, true);
    async(6, FABRIC_ASYNC_PORT_ACTIVE, 1);
    assert_int_equal(poll_at(6), 2);
    assert_int_equal(events[0].time, 5);
    assert_int_equal(events[1].time, 6);
}

/* HA-1.6. */
static void a_held_event_comes_when_it_is_due_and_not_before(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 100);
    fake_completion(fake, 5, (fabric_qp){1}, 1, true);
    assert_int_equal(poll_at(5), 0);
    assert_int_equal(layer_delay_held(f), 1);
    assert_int_equal(poll_at(104), 0);
    assert_int_equal(poll_at(105), 1);
    assert_int_equal(events[0].time, 105);
    assert_int_equal(layer_delay_held(f), 0);
}

static void a_timer_below_wakes_the_program_for_it(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 100);
    fake_completion(fake, 5, (fabric_qp){1}, 1, true);
    assert_int_equal(poll_at(5), 0);
    assert_int_equal(fake->timers[0].deadline, 105);
    assert_int_equal(poll_at(200), 1); /* and is not shown itself */
    assert_int_equal(events[0].type, FABRIC_EVENT_COMPLETION);
}

static void events_of_one_object_stay_in_order(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_ASYNC), BIT(FABRIC_ASYNC_LID_CHANGE), 100);
    async(5, FABRIC_ASYNC_LID_CHANGE, 1);
    async(6, FABRIC_ASYNC_PORT_ACTIVE, 1); /* the same device: waits */
    async(7, FABRIC_ASYNC_PORT_ACTIVE, 2);
    assert_int_equal(poll_at(50), 1);
    assert_int_equal(events[0].u.async.device.id, 2);
    assert_int_equal(poll_at(105), 2);
    assert_int_equal(events[0].u.async.type, FABRIC_ASYNC_LID_CHANGE);
    assert_int_equal(events[1].u.async.type, FABRIC_ASYNC_PORT_ACTIVE);
}

static void the_first_rule_that_matches_decides(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 10);
    add(BIT(FABRIC_EVENT_COMPLETION) | BIT(FABRIC_EVENT_WOKEN), 0, 50);
    fake_completion(fake, 0, (fabric_qp){1}, 1, true);
    fake_event(fake, 0, FABRIC_EVENT_WOKEN);
    assert_int_equal(poll_at(10), 1);
    assert_int_equal(poll_at(50), 1);
    assert_int_equal(events[0].type, FABRIC_EVENT_WOKEN);
}

static void clearing_lets_everything_go_in_order_of_arrival(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 1000);
    add(BIT(FABRIC_EVENT_WOKEN), 0, 500);
    fake_completion(fake, 1, (fabric_qp){1}, 1, true);
    fake_event(fake, 2, FABRIC_EVENT_WOKEN);
    assert_int_equal(poll_at(2), 0);
    layer_delay_clear(f);
    assert_int_equal(poll_at(3), 2);
    assert_int_equal(events[0].type, FABRIC_EVENT_COMPLETION);
    assert_int_equal(events[1].type, FABRIC_EVENT_WOKEN);
    layer_delay_clear(f);
}

static void times_never_decrease_though_a_held_event_came_late(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 10);
    fake_completion(fake, 0, (fabric_qp){1}, 1, true);
    assert_int_equal(poll_at(0), 0);
    fake_event(fake, 4, FABRIC_EVENT_WOKEN);
    assert_int_equal(poll_at(20), 2);
    assert_int_equal(events[0].type, FABRIC_EVENT_WOKEN);
    assert_int_equal(events[1].time, 10);
    fake_event(fake, 20, FABRIC_EVENT_WOKEN);
    assert_int_equal(poll_at(21), 1);
}

static void a_cancelled_timer_is_not_reported_though_it_was_held(void **state)
{
    (void)state;
    fabric_timer timer;
    bool pending = false;
    add(BIT(FABRIC_EVENT_TIMER), 0, 100);
    assert_int_equal(fabric_timer_set(f, 5, 42, &timer), FABRIC_OK);
    assert_int_equal(poll_at(5), 0);
    assert_int_equal(layer_delay_held(f), 1);
    assert_int_equal(fabric_timer_cancel(f, timer, &pending), FABRIC_OK);
    assert_true(pending);
    assert_int_equal(poll_at(1000), 0);
}

static void what_is_closed_has_no_events_any_more(void **state)
{
    (void)state;
    add(UINT32_MAX, 0, 100);
    fake_event(fake, 0, FABRIC_EVENT_READABLE)->u.stream.stream.id = 1;
    fake_event(fake, 0, FABRIC_EVENT_READABLE)->u.stream.stream.id = 2;
    async(0, FABRIC_ASYNC_QP_FATAL, 3)->u.async.qp.id = 4;
    async(0, FABRIC_ASYNC_CQ_ERR, 3)->u.async.cq.id = 5;
    async(0, FABRIC_ASYNC_SRQ_ERR, 3)->u.async.srq.id = 6;
    async(0, FABRIC_ASYNC_PORT_ERR, 7);
    fake_completion(fake, 0, (fabric_qp){4}, 1, true);
    assert_int_equal(poll_at(0), 0);
    assert_int_equal(layer_delay_held(f), 7);
    assert_int_equal(fabric_stream_close(f, (fabric_stream){1}, false), FABRIC_OK);
    assert_int_equal(fabric_qp_destroy(f, (fabric_qp){4}), FABRIC_OK);
    assert_int_equal(fabric_cq_destroy(f, (fabric_cq){5}), FABRIC_OK);
    assert_int_equal(fabric_srq_destroy(f, (fabric_srq){6}), FABRIC_OK);
    assert_int_equal(fabric_device_close(f, (fabric_device){7}), FABRIC_OK);
    assert_int_equal(poll_at(100), 2); /* the other stream, and the completion that is owed */
    assert_int_equal(events[0].u.stream.stream.id, 2);
    assert_int_equal(events[1].type, FABRIC_EVENT_COMPLETION);
}

static void a_request_of_a_closed_end_point_is_not_reported_though_it_was_held(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_HTTP_REQUEST), 0, 10);
    for (uint32_t i = 1; i <= 2; i++) {
        struct fabric_event *event = fake_event(fake, 0, FABRIC_EVENT_HTTP_REQUEST);
        event->u.http.http.id = i;
        event->u.http.request.id = 10 + i;
        event->u.http.method = "GET";
        event->u.http.path = "/";
    }
    assert_int_equal(poll_at(0), 0);
    assert_int_equal(fabric_http_close(f, (fabric_http){1}), FABRIC_OK);
    assert_int_equal(poll_at(10), 1);
    assert_int_equal(events[0].u.http.request.id, 12);
}

static void a_held_event_has_the_cookie_of_its_time(void **state)
{
    (void)state;
    add(BIT(FABRIC_EVENT_READABLE), 0, 100);
    fake_event(fake, 0, FABRIC_EVENT_READABLE)->u.stream.stream.id = 1;
    assert_int_equal(poll_at(0), 0);
    assert_int_equal(fabric_stream_set_cookie(f, (fabric_stream){1}, 55), FABRIC_OK);
    assert_int_equal(poll_at(100), 1);
    assert_int_equal(events[0].u.stream.cookie, 55);
}

static void many_events_are_held_and_given_in_small_portions(void **state)
{
    (void)state;
    size_t count;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 10);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < FAKE_EVENTS; i++)
            fake_completion(fake, 0, (fabric_qp){1}, round * FAKE_EVENTS + i, true);
        assert_int_equal(poll_at(0), 0);
        assert_int_equal(poll_at(0), 0);
    }
    fake->now = 10;
    for (uint64_t i = 0; i < 3 * FAKE_EVENTS; i++) {
        assert_int_equal(fabric_poll(f, events, 1, 0, &count), FABRIC_OK);
        assert_int_equal(count, 1);
        assert_int_equal(events[0].u.wc.wr_id, i);
    }
}

static void a_poll_that_may_wait_returns_what_becomes_due(void **state)
{
    (void)state;
    size_t count = 9;
    add(BIT(FABRIC_EVENT_COMPLETION), 0, 0);
    fake_completion(fake, 0, (fabric_qp){1}, 1, true);
    assert_int_equal(fabric_poll(f, events, 1, FABRIC_FOREVER, &count), FABRIC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(fabric_poll(f, events, 1, 50, &count), FABRIC_OK);
    assert_int_equal(count, 0);
    fake->error[FABRIC_OP_TIMER_SET] = ERR_RESOURCES_EXHAUSTED; /* no alarm: polls more often */
    add(BIT(FABRIC_EVENT_WOKEN), 0, 20);
    fake_event(fake, 0, FABRIC_EVENT_WOKEN);
    assert_int_equal(fabric_poll(f, events, 1, 50, &count), FABRIC_OK);
    assert_int_equal(count, 0);
    assert_int_equal(poll_at(20), 1);
}

static void errors_of_polling_pass(void **state)
{
    (void)state;
    size_t count = 9;
    fake->error[FABRIC_OP_POLL] = ERR_INTERNAL;
    assert_int_equal(fabric_poll(f, events, 1, 0, &count), ERR_INTERNAL);
    assert_int_equal(count, 0);
}

static void rules_have_an_end(void **state)
{
    (void)state;
    const struct layer_delay_rule rule = {1, 0, 1};
    for (size_t i = 0; i < LAYER_DELAY_RULES; i++)
        assert_int_equal(layer_delay_add(f, &rule), FABRIC_OK);
    assert_int_equal(layer_delay_add(f, &rule), ERR_RESOURCES_EXHAUSTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_bench, free_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_rule_events_pass_at_their_time),
        TEST(a_held_event_comes_when_it_is_due_and_not_before),
        TEST(a_timer_below_wakes_the_program_for_it),
        TEST(events_of_one_object_stay_in_order),
        TEST(the_first_rule_that_matches_decides),
        TEST(clearing_lets_everything_go_in_order_of_arrival),
        TEST(times_never_decrease_though_a_held_event_came_late),
        TEST(a_cancelled_timer_is_not_reported_though_it_was_held),
        TEST(what_is_closed_has_no_events_any_more),
        TEST(a_request_of_a_closed_end_point_is_not_reported_though_it_was_held),
        TEST(a_held_event_has_the_cookie_of_its_time),
        TEST(many_events_are_held_and_given_in_small_portions),
        TEST(a_poll_that_may_wait_returns_what_becomes_due),
        TEST(errors_of_polling_pass),
        TEST(rules_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, timers, waking, entropy. HA-1.2. */
#include <string.h>

#include "tests/conformance/kit.h"

static void timers_come_at_their_deadline_in_order(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    static const uint64_t offsets[] = {5000000, 1000000, 9000000, 1000000, 0, 3000000};
    static const uint64_t order[] = {4, 1, 3, 5, 0, 2};
    uint64_t start = kit_now(a);
    for (uint64_t i = 0; i < 6; i++) {
        fabric_timer timer;
        assert_int_equal(fabric_timer_set(a->f, start + offsets[i], i, &timer), FABRIC_OK);
    }
    kit_await(kit, a, FABRIC_EVENT_TIMER, 5);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_TIMER), 6);
    for (size_t i = 0; i < 6; i++) {
        const struct fabric_event *event = kit_event(a, FABRIC_EVENT_TIMER, i);
        assert_int_equal(event->u.timer.cookie, order[i]);
        assert_true(event->time >= start + offsets[order[i]]);
        if (kit->caps & FABRIC_CAP_VIRTUAL_TIME)
            assert_int_equal(event->time, start + offsets[order[i]]);
    }
}

static void a_cancelled_timer_never_comes(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_timer timer, other;
    bool pending = false;
    assert_int_equal(fabric_timer_set(a->f, kit_now(a) + 1000, 1, &timer), FABRIC_OK);
    assert_int_equal(fabric_timer_set(a->f, kit_now(a) + 1000, 2, &other), FABRIC_OK);
    assert_int_equal(fabric_timer_cancel(a->f, timer, &pending), FABRIC_OK);
    assert_true(pending);
    kit_await(kit, a, FABRIC_EVENT_TIMER, 0);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_TIMER), 1);
    assert_int_equal(kit_event(a, FABRIC_EVENT_TIMER, 0)->u.timer.cookie, 2);
}

static void cancelling_one_that_was_polled_says_so(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_timer timer, other;
    bool pending = true;
    assert_int_equal(fabric_timer_set(a->f, 0, 1, &timer), FABRIC_OK); /* long past: at once */
    kit_await(kit, a, FABRIC_EVENT_TIMER, 0);
    assert_int_equal(kit_event(a, FABRIC_EVENT_TIMER, 0)->u.timer.timer.id, timer.id);
    assert_int_equal(fabric_timer_set(a->f, kit_now(a) + 1000, 2, &other), FABRIC_OK);
    assert_int_equal(fabric_timer_cancel(a->f, timer, &pending), FABRIC_OK);
    assert_false(pending);
    kit_await(kit, a, FABRIC_EVENT_TIMER, 1); /* the other one is not hurt */
}

static void a_due_timer_that_was_not_polled_can_be_cancelled(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_timer timer;
    bool pending = false;
    assert_int_equal(fabric_timer_set(a->f, kit_now(a), 1, &timer), FABRIC_OK);
    bench_backend.advance(kit->bench, kit_now(a) + 1000);
    assert_int_equal(fabric_timer_cancel(a->f, timer, &pending), FABRIC_OK);
    assert_true(pending);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_TIMER), 0);
}

static void a_deadline_that_never_comes_does_not(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    fabric_timer timer;
    bool pending = false;
    assert_int_equal(fabric_timer_set(a->f, FABRIC_FOREVER, 1, &timer), FABRIC_OK);
    kit_pass(kit, 60 * KIT_SECOND);
    assert_int_equal(kit_count(a, FABRIC_EVENT_TIMER), 0);
    assert_int_equal(fabric_timer_cancel(a->f, timer, &pending), FABRIC_OK);
    assert_true(pending);
}

static void waking_gives_an_event_once_or_more_often(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(fabric_wake(a->f), FABRIC_OK);
    kit_await(kit, a, FABRIC_EVENT_WOKEN, 0);
    kit_pass(kit, KIT_SECOND);
    size_t count = kit_count(a, FABRIC_EVENT_WOKEN);
    assert_true(count >= 1 && count <= 10);
    assert_int_equal(fabric_wake(a->f), FABRIC_OK);
    kit_await(kit, a, FABRIC_EVENT_WOKEN, count);
}

static void entropy_does_not_repeat(void **state)
{
    struct kit *kit = *state = kit_new_bare(2, 0);
    uint8_t bytes[64][16];
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(fabric_entropy(kit->nodes[i % 2].f, bytes[i], 16), FABRIC_OK);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(bytes[i], bytes[j], 16);
    }
    assert_int_equal(fabric_entropy(kit->nodes[0].f, NULL, 0), FABRIC_OK);
}

static void a_small_poll_loses_nothing(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct kit_node *a = &kit->nodes[0];
    struct fabric_event event;
    uint64_t last = 0, now = kit_now(a);
    size_t count;
    for (uint64_t i = 0; i < 100; i++) {
        fabric_timer timer;
        assert_int_equal(fabric_timer_set(a->f, now, i, &timer), FABRIC_OK);
    }
    while (kit_now(a) < now + KIT_SECOND && bench_backend.advance(kit->bench, now + KIT_SECOND))
        continue;
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(fabric_poll(a->f, &event, 1, 0, &count), FABRIC_OK);
        assert_int_equal(count, 1);
        assert_int_equal(event.u.timer.cookie, i);
        assert_true(event.time >= last);
        last = event.time;
    }
    assert_int_equal(fabric_poll(a->f, &event, 1, 0, &count), FABRIC_OK);
    assert_int_equal(count, 0);
}

static void logging_never_fails(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    uint64_t wall;
    for (int level = FABRIC_LOG_DEBUG; level <= FABRIC_LOG_ERROR; level++)
        assert_int_equal(fabric_log(kit->nodes[0].f, (enum fabric_log_level)level, "a line"),
                         FABRIC_OK);
    assert_int_equal(fabric_realtime(kit->nodes[0].f, &wall), FABRIC_OK);
}

/* HA-1.5. */
static void the_guarantees_are_constant_and_make_sense(void **state)
{
    struct kit *kit = *state = kit_new_bare(1, 0);
    struct fabric_guarantees before, after;
    assert_int_equal(fabric_guarantees(kit->nodes[0].f, &before), FABRIC_OK);
    kit_pass(kit, KIT_SECOND);
    assert_int_equal(fabric_guarantees(kit->nodes[0].f, &after), FABRIC_OK);
    assert_int_equal(before.caps, after.caps);
    assert_int_equal(before.caps & ~kit->caps, 0);
    assert_int_equal(before.iova_align & (before.iova_align - 1u), 0);
    assert_true(before.ack_timeout_stretch >= 1);
    assert_true(before.storage_align >= 1);
}

int kit_time_suite(void)
{
    const struct CMUnitTest tests[] = {
        CASE(timers_come_at_their_deadline_in_order),
        CASE(a_cancelled_timer_never_comes),
        CASE(cancelling_one_that_was_polled_says_so),
        CASE(a_due_timer_that_was_not_polled_can_be_cancelled),
        CASE(a_deadline_that_never_comes_does_not),
        CASE(waking_gives_an_event_once_or_more_often),
        CASE(entropy_does_not_repeat),
        CASE(a_small_poll_loses_nothing),
        CASE(logging_never_fails),
        CASE(the_guarantees_are_constant_and_make_sense),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fabric_sim/world/sim.h"
#include "tests/support/aborts.h"

#define MANY 5000

struct log {
    struct sim *sim;
    uint64_t args[MANY], times[MANY];
    size_t count;
};

static void note(void *object, uint64_t arg)
{
    struct log *log = object;
    log->args[log->count] = arg;
    log->times[log->count++] = sim_now(log->sim);
}

/* HA-2.5 */
static void events_run_in_order_of_time(void **state)
{
    struct log log = {.sim = sim_create(7)};
    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        sim_at(log.sim, sim_random_below(log.sim, 100000), note, &log, i);
    while (sim_step(log.sim))
        ;
    assert_int_equal(log.count, MANY);
    assert_int_equal(sim_events_run(log.sim), MANY);
    for (size_t i = 1; i < MANY; i++)
        assert_true(log.times[i - 1] <= log.times[i]);
    sim_destroy(log.sim);
}

/* HA-2.5 */
static void events_of_one_time_run_as_they_were_scheduled(void **state)
{
    struct log log = {.sim = sim_create(7)};
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        sim_at(log.sim, i % 3, note, &log, i);
    while (sim_step(log.sim))
        ;
    for (size_t i = 1; i < log.count; i++)
        if (log.times[i] == log.times[i - 1])
            assert_true(log.args[i - 1] < log.args[i]);
    sim_destroy(log.sim);
}

static void a_cancelled_event_never_runs(void **state)
{
    static sim_event events[MANY];
    struct log log = {.sim = sim_create(7)};
    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        events[i] = sim_at(log.sim, MANY - i, note, &log, i);
    for (size_t i = 0; i < MANY; i++)
        if (i % 7 != 0)
            assert_true(sim_cancel(log.sim, events[i]));
    while (sim_step(log.sim))
        ;
    assert_int_equal(log.count, (MANY + 6) / 7);
    for (size_t i = 0; i < log.count; i++)
        assert_int_equal(log.args[i] % 7, 0);
    sim_destroy(log.sim);
}

static void a_handle_stays_safe_after_its_event(void **state)
{
    struct log log = {.sim = sim_create(7)};
    (void)state;
    sim_event first = sim_in(log.sim, 1, note, &log, 1);
    assert_true(sim_step(log.sim));
    assert_false(sim_cancel(log.sim, first));
    sim_event second = sim_in(log.sim, 1, note, &log, 2);
    assert_false(sim_cancel(log.sim, first)); /* though the place is taken again */
    assert_false(sim_cancel(log.sim, 0));
    assert_false(sim_cancel(log.sim, UINT64_MAX));
    assert_true(sim_cancel(log.sim, second));
    assert_false(sim_cancel(log.sim, second));
    assert_false(sim_step(log.sim));
    sim_destroy(log.sim);
}

static void the_next_time_is_that_of_an_event_that_will_run(void **state)
{
    struct log log = {.sim = sim_create(7)};
    (void)state;
    assert_true(sim_next_time(log.sim) == UINT64_MAX);
    sim_event first = sim_at(log.sim, 10, note, &log, 0);
    sim_at(log.sim, 20, note, &log, 1);
    assert_int_equal(sim_next_time(log.sim), 10);
    sim_cancel(log.sim, first);
    assert_int_equal(sim_next_time(log.sim), 20);
    sim_run_until(log.sim, 19);
    assert_int_equal(log.count, 0);
    assert_int_equal(sim_now(log.sim), 19);
    sim_run_until(log.sim, 20);
    assert_int_equal(log.count, 1);
    sim_destroy(log.sim);
}

static void schedule_in_the_past(void *context)
{
    struct sim *sim = context;
    sim_at(sim, sim_now(sim) - 1, note, NULL, 0);
}

static void run_backwards(void *context)
{
    sim_run_until(context, 0);
}

static void time_never_goes_back(void **state)
{
    struct sim *sim = sim_create(7);
    (void)state;
    sim_run_until(sim, 100);
    assert_true(aborts(schedule_in_the_past, sim));
    assert_true(aborts(run_backwards, sim));
    sim_destroy(sim);
}

static void one_seed_gives_one_sequence(void **state)
{
    struct sim *a = sim_create(42), *b = sim_create(42), *other = sim_create(43);
    bool differs = false;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t drawn = sim_random(a);
        assert_true(drawn == sim_random(b));
        differs |= drawn != sim_random(other);
    }
    assert_true(differs);
    assert_int_equal(sim_draws(a), 1000);
    sim_destroy(a);
    sim_destroy(b);
    sim_destroy(other);
}

static void draws_stay_within_their_bounds(void **state)
{
    struct sim *sim = sim_create(3);
    unsigned counts[6] = {0}, hits = 0;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        counts[sim_random_below(sim, 6)]++;
        uint64_t between = sim_random_between(sim, 10, 12);
        assert_true(between >= 10 && between <= 12);
        hits += sim_chance(sim, 250000);
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(counts[i], 9500, 10500);
    assert_in_range(hits, 14400, 15600);
    assert_int_equal(sim_random_below(sim, 1), 0);
    assert_false(sim_chance(sim, 0));
    assert_true(sim_chance(sim, 1000000));
    sim_random_between(sim, 0, UINT64_MAX);
    sim_destroy(sim);
}

static void keep_line(void *context, const char *line, size_t length)
{
    char *kept = context;
    memcpy(kept, line, length);
    kept[length] = 0;
}

static void a_trace_line_says_time_node_and_what(void **state)
{
    char line[600] = "";
    struct sim *sim = sim_create(1);
    (void)state;
    SIM_TRACE(sim, "n1", "not %s", "yet");
    assert_false(sim_trace_on(sim));
    assert_true(sim_trace_hash(sim) == 0);
    sim_trace_start(sim, keep_line, line);
    sim_run_until(sim, 1500);
    SIM_TRACE(sim, "n1", "did %d", 7);
    assert_string_equal(line, "1500 n1 did 7");
    sim_trace_line(sim, "n1", "%600d", 7);
    assert_int_equal(strlen(line), 511);
    sim_destroy(sim);
}

static void the_hash_covers_every_line(void **state)
{
    struct sim *a = sim_create(1), *b = sim_create(1);
    (void)state;
    sim_trace_start(a, NULL, NULL);
    sim_trace_start(b, NULL, NULL);
    SIM_TRACE(a, "n", "x");
    SIM_TRACE(b, "n", "x");
    assert_true(sim_trace_hash(a) == sim_trace_hash(b));
    SIM_TRACE(b, "n", "y");
    assert_true(sim_trace_hash(a) != sim_trace_hash(b));
    sim_destroy(a);
    sim_destroy(b);
    sim_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_run_in_order_of_time),
        cmocka_unit_test(events_of_one_time_run_as_they_were_scheduled),
        cmocka_unit_test(a_cancelled_event_never_runs),
        cmocka_unit_test(a_handle_stays_safe_after_its_event),
        cmocka_unit_test(the_next_time_is_that_of_an_event_that_will_run),
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(one_seed_gives_one_sequence),
        cmocka_unit_test(draws_stay_within_their_bounds),
        cmocka_unit_test(a_trace_line_says_time_node_and_what),
        cmocka_unit_test(the_hash_covers_every_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds, time, questions, names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/aborts.h"
#include "tests/support/mover.h"
#include "tests/support/one_bed.h"
#include "tests/support/teller.h"

static void the_world_comes_up_by_itself(void **state)
{
    (void)state;
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 state"), "INIT");
    assert_true(sim_bed_active(&bed, "a", 0) && sim_bed_active(&bed, "c", 0));
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 state"), "ACTIVE");
    assert_string_equal(sim_bed_ask(&bed, "x", "mlx5_0/1 lid"), "0");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 mtu"), "4096");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 prefix"), "0xfe80000000000000");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 pkey 0"), "0xffff");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 pkey 1"), "0x0000");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 bad_pkey"), "0");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 lmc"), "0");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 guid"), "0x0c42a10300010001");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 rate"), "100000");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 link_layer"), "InfiniBand");
    assert_string_equal(sim_bed_ask(&bed, "y", "mlx5_0/1 link_layer"), "Ethernet");
    assert_string_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 grh_required"), "false");
    assert_string_equal(sim_bed_ask(&bed, "y", "mlx5_0/1 gid 3"),
                        "0000:0000:0000:0000:0000:ffff:ac10:0005");
    assert_string_not_equal(sim_bed_ask(&bed, "a", "mlx5_0/1 sm_lid"), "0");
    assert_string_equal(sim_bed_ask(&bed, "a", "address"), "10.0.0.1");
    assert_string_equal(sim_bed_ask(&bed, "c", "address"), "10.0.0.3");
}

static void questions_that_make_no_sense_are_answered_in_words(void **state)
{
    static const char *const wrong[] = {
        "mlx5_0/1 lidd",   "mlx5_0/1", "mlx5_0/x lid", "mlx5_0/1 pkey 128", "mlx5_0/1 gid 99",
        "mlx5_0/1 pkey x", "",         "mlx5_0/1 pkey"};
    char answer[TESTBED_DETAIL];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(sim_testbed.ask(bed.tb, "a", wrong[i], answer), TESTBED_WRONG);
        assert_non_null(strstr(answer, "there is: "));
    }
    assert_int_equal(sim_testbed.ask(bed.tb, "a", "mlx5_1/1 lid", answer), TESTBED_WRONG);
    assert_string_equal(answer, "there is no device 'mlx5_1'; did you mean 'mlx5_0'?");
    assert_int_equal(sim_testbed.ask(bed.tb, "a", "mlx5_0/2 lid", answer), TESTBED_WRONG);
    assert_string_equal(answer, "device 'mlx5_0' of node 'a' has no port 2");
    assert_int_equal(sim_testbed.ask(bed.tb, "server", "address", answer), TESTBED_WRONG);
    assert_string_equal(answer, "there is no node 'server'; there is: a, b, c, x, y");
}

/* Blocks move over InfiniBand and over RoCE. */
static void programs_move_blocks(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "x", &mover_program, "serve mlx5_0 1"), TESTBED_DONE);
    assert_int_equal(
        sim_bed_start(&bed, "b", &mover_program, "move mlx5_0 1 10.0.0.1:7000 5 20000"),
        TESTBED_DONE);
    assert_int_equal(sim_bed_start(&bed, "y", &mover_program, "move mlx5_0 1 x:7000 5 20000"),
                     TESTBED_DONE);
    assert_true(sim_bed_until(&bed, "b {\"moved\":5}"));
    assert_true(sim_bed_until(&bed, "y {\"moved\":5}"));
    assert_string_equal(sim_bed_ask(&bed, "b", "running"), "true");
    assert_string_equal(sim_bed_ask(&bed, "c", "running"), "false");
}

static void time_passes_only_in_next(void **state)
{
    struct testbed_event event;
    (void)state;
    assert_int_equal(sim_testbed.now(bed.tb), 0);
    sim_testbed.next(bed.tb, 5 * BED_MS, &event);
    assert_int_equal(event.type, TESTBED_EVENT_DEADLINE);
    assert_int_equal(event.time, 5 * BED_MS);
    assert_int_equal(sim_testbed.now(bed.tb), 5 * BED_MS);
    sim_testbed.next(bed.tb, 1 * BED_MS, &event);
    assert_int_equal(event.type, TESTBED_EVENT_DEADLINE);
    assert_int_equal(sim_testbed.now(bed.tb), 5 * BED_MS);
}

static void a_world_without_anything_to_do_is_idle(void **state)
{
    static struct topology_node node = {.name = "alone"};
    static const struct topology topology = {.nodes = &node, .node_count = 1};
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    struct testbed_event event;
    char detail[TESTBED_DETAIL];
    (void)state;
    struct testbed *tb = sim_testbed.create(&topology, &options, detail);
    assert_non_null(tb);
    sim_testbed.next(tb, UINT64_MAX, &event);
    assert_int_equal(event.type, TESTBED_EVENT_IDLE);
    sim_testbed.destroy(tb);
}

static enum fabric_error circle_start(struct fabric *f, const char *config, size_t config_length,
                                      const struct fabric_report_sink *sink, void **state)
{
    fabric_timer timer;
    (void)config;
    (void)config_length;
    (void)sink;
    *state = f;
    return fabric_timer_set(f, BED_MS, 1, &timer);
}

/* Wakes itself without an end. */
static void circle_event(void *state, const struct fabric_event *event)
{
    assert_true(event->type == FABRIC_EVENT_TIMER || event->type == FABRIC_EVENT_WOKEN);
    assert_int_equal(fabric_wake(state), 0);
}

static void circle_command(void *state, const char *json)
{
    fabric_timer timer;
    assert_string_equal(json, "in one event");
    for (;;) {
        bool was_pending;
        assert_int_equal(fabric_timer_set(state, BED_SECOND, 1, &timer), 0);
        assert_int_equal(fabric_timer_cancel(state, timer, &was_pending), 0);
    }
}

static void circle_stop(void *state)
{
    assert_non_null(state);
}

static const struct fabric_program circle_program = {"circle", circle_start, circle_event,
                                                     circle_command, circle_stop};

/* A program that goes round in a circle keeps nobody waiting for ever. */
static void a_circle_in_one_instant_is_noticed(void **state)
{
    struct testbed_event event;
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &circle_program, ""), TESTBED_DONE);
    sim_testbed.next(bed.tb, 10 * BED_SECOND, &event);
    assert_int_equal(event.type, TESTBED_EVENT_HUNG);
    assert_string_equal(event.text, "1000000 events of node a while no time passed");
    assert_true(event.time >= BED_MS && event.time < 2 * BED_MS);
    sim_testbed.next(bed.tb, 10 * BED_SECOND, &event);
    assert_int_equal(event.type, TESTBED_EVENT_HUNG);
}

static void go_round_inside_one_event(void *context)
{
    (void)context;
    char detail[TESTBED_DETAIL];
    (void)sim_testbed.tell(bed.tb, "a", "in one event", detail);
}

static void a_circle_inside_one_event_is_a_programmer_error(void **state)
{
    (void)state;
    assert_int_equal(sim_bed_start(&bed, "a", &circle_program, ""), TESTBED_DONE);
    assert_true(aborts(go_round_inside_one_event, NULL));
}

static bool third_time(void *context)
{
    return ++*(unsigned *)context == 3;
}

static void who_waits_may_be_interrupted(void **state)
{
    static struct topology_port port = {.port_num = 1, .network = "ib", .mtu = FABRIC_MTU_4096};
    static struct topology_device device = {
        .name = "mlx5_0", .profile = "mlx5", .ports = &port, .port_count = 1};
    static struct topology_node node = {
        .name = "alone", .address = "10.0.0.1", .devices = &device, .device_count = 1};
    static struct topology_subnet subnet = {
        .name = "ib", .prefix = 0xfe80ull << 48, .first_lid = 1};
    static const struct topology topology = {
        .subnets = &subnet, .subnet_count = 1, .nodes = &node, .node_count = 1};
    unsigned asked = 0;
    const struct testbed_options options = {
        .seed = 1, .caps = FABRIC_CAPS_ALL, .interrupted = third_time, .interrupt_context = &asked};
    struct testbed_event event;
    char detail[TESTBED_DETAIL];
    (void)state;
    struct testbed *tb = sim_testbed.create(&topology, &options, detail);
    assert_non_null(tb);
    sim_testbed.next(tb, 100000 * BED_SECOND, &event);
    assert_int_equal(event.type, TESTBED_EVENT_STOPPED);
    assert_int_equal(asked, 3);
    sim_testbed.destroy(tb);
}

static void files_are_placed(void **state)
{
    char detail[TESTBED_DETAIL];
    (void)state;
    assert_int_equal(sim_testbed.place_file(bed.tb, "a", "/data/f", "abc", 3, detail),
                     TESTBED_DONE);
    assert_int_equal(sim_testbed.place_file(bed.tb, "a", "/data", "abc", 3, detail), TESTBED_WRONG);
    assert_string_equal(detail, "'/data' on node 'a': invalid_argument");
    assert_int_equal(sim_testbed.place_file(bed.tb, "d", "/data/f", "abc", 3, detail),
                     TESTBED_WRONG);
}

static void count_lines(void *context, const char *line, size_t length)
{
    (void)line;
    *(uint64_t *)context += length;
}

/* HA-2.4 */
static void the_same_seed_gives_the_same_trace(void **state)
{
    uint64_t hashes[3], draws[3], bytes[3] = {0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sim_bed other;
        sim_bed_open(&other, i < 2 ? 7 : 8, FABRIC_CAPS_ALL);
        sim_testbed.trace(other.tb, count_lines, &bytes[i]);
        assert_int_equal(sim_bed_start(&other, "a", &mover_program, "serve mlx5_0 1"),
                         TESTBED_DONE);
        assert_int_equal(sim_bed_start(&other, "b", &mover_program, "move mlx5_0 1 a:7000 3 5000"),
                         TESTBED_DONE);
        assert_true(sim_bed_until(&other, "moved"));
        hashes[i] = sim_testbed.trace_hash(other.tb);
        draws[i] = sim_testbed.draws(other.tb);
        sim_bed_close(&other);
    }
    assert_true(hashes[0] == hashes[1] && draws[0] == draws[1] && bytes[0] == bytes[1]);
    assert_true(hashes[0] != hashes[2]);
    assert_int_not_equal(bytes[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_world_comes_up_by_itself, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(questions_that_make_no_sense_are_answered_in_words,
                                        bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(programs_move_blocks, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(time_passes_only_in_next, bed_setup, bed_teardown),
        cmocka_unit_test(a_world_without_anything_to_do_is_idle),
        cmocka_unit_test(who_waits_may_be_interrupted),
        cmocka_unit_test_setup_teardown(a_circle_in_one_instant_is_noticed, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(a_circle_inside_one_event_is_a_programmer_error, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(files_are_placed, bed_setup, bed_teardown),
        cmocka_unit_test(the_same_seed_gives_the_same_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

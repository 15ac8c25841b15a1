/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers a look-up of a link address, and how long an answer counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/gid.h"
#include "tests/support/one_bed.h"

static struct fabric *f; /* of node x, on the Ethernet network */
static fabric_device device;

static int setup(void **state)
{
    bed_setup(state);
    struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), "x");
    const struct sim_fabric_hooks hooks = {0};
    f = sim_fabric_create(host, FABRIC_CAPS_ALL, &hooks);
    return fabric_device_open(f, "mlx5_0", &device) == FABRIC_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    (void)fabric_destroy(f);
    sim_bed_close(&bed);
    return 0;
}

/* The way to an address of the network that y's interface has, or to one that nobody has. */
static struct fabric_av way_to(const char *node)
{
    struct fabric_av av = {
        .port_num = 1, .is_global = true, .grh = {.sgid_index = 3, .hop_limit = 64}};
    const struct sim_host *host = sim_host_find(sim_testbed_world(bed.tb), node ? node : "y");
    const struct port_info *info =
        net_port_info(net_node_port(sim_device_node(sim_device_at(host, 0)), 1));
    av.grh.dgid = info->gids[3].gid;
    if (!node)
        av.grh.dgid.raw[15] = 200;
    return av;
}

/* Looks it up and waits for the answer; how long that took goes to *took, ns. */
static enum fabric_error look_up(const struct fabric_av *av, uint64_t *took)
{
    struct fabric_event event;
    uint64_t before, now;
    size_t count = 0;
    (void)fabric_now(f, &before);
    assert_int_equal(fabric_resolve(f, device, av, 42), FABRIC_OK);
    for (int i = 0; count == 0 && i < 10000; i++) {
        sim_bed_run(&bed, BED_MS);
        assert_int_equal(fabric_poll(f, &event, 1, 0, &count), FABRIC_OK);
    }
    assert_int_equal(count, 1);
    assert_int_equal(event.type, FABRIC_EVENT_RESOLVED);
    assert_int_equal(event.u.resolved.cookie, 42);
    assert_int_equal(event.u.resolved.device.id, device.id);
    (void)fabric_now(f, &now);
    *took = now - before;
    return event.u.resolved.error;
}

static void a_neighbour_answers_and_nobody_answers_for_a_stranger(void **state)
{
    const struct fabric_av neighbour = way_to("y"), stranger = way_to(NULL);
    uint64_t took;
    (void)state;
    assert_int_equal(look_up(&neighbour, &took), FABRIC_OK);
    assert_true(took <= 2 * BED_MS);
    assert_int_equal(look_up(&stranger, &took), ERR_UNREACHABLE);
    assert_true(took >= 3 * BED_SECOND); /* three requests, a second each */
}

static void cable(enum testbed_word word)
{
    const struct testbed_fault fault = {.word = word, .node = "y"};
    assert_int_equal(sim_bed_apply(&bed, &fault), TESTBED_DONE);
}

static enum fabric_error make_handle(const struct fabric_av *av)
{
    fabric_ah ah;
    enum fabric_error error = fabric_ah_create(f, device, av, &ah);
    if (!error)
        (void)fabric_ah_destroy(f, ah);
    return error;
}

static void a_neighbour_that_left_is_looked_up_in_vain(void **state)
{
    const struct fabric_av neighbour = way_to("y");
    uint64_t took;
    (void)state;
    cable(TESTBED_CABLE_PULL);
    assert_int_equal(look_up(&neighbour, &took), ERR_UNREACHABLE);
    assert_int_equal(make_handle(&neighbour), ERR_UNREACHABLE);
    cable(TESTBED_CABLE_PLUG);
    assert_int_equal(look_up(&neighbour, &took), FABRIC_OK);
}

static void a_success_counts_for_a_second_and_for_that_way_only(void **state)
{
    const struct fabric_av neighbour = way_to("y");
    struct fabric_av other = neighbour;
    uint64_t took;
    (void)state;
    other.grh.sgid_index = 1;
    for (int i = 0; i < 9; i++) { /* old successes make room for new ones */
        assert_int_equal(look_up(&neighbour, &took), FABRIC_OK);
        sim_bed_run(&bed, 300 * BED_MS);
    }
    cable(TESTBED_CABLE_PULL);
    sim_bed_run(&bed, 600 * BED_MS);
    assert_int_equal(make_handle(&neighbour), FABRIC_OK);
    assert_int_equal(make_handle(&other), ERR_UNREACHABLE);
    sim_bed_run(&bed, 200 * BED_MS);
    assert_int_equal(make_handle(&neighbour), ERR_UNREACHABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_neighbour_answers_and_nobody_answers_for_a_stranger,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_neighbour_that_left_is_looked_up_in_vain, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_success_counts_for_a_second_and_for_that_way_only, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

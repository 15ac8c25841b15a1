/* SPDX-License-Identifier: Apache-2.0 */
/* When the key of a window begins to grant what it was opened for, and what is said of DCB. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "fabric_sim/front.h"
#include "fabric_sim/hca/engine.h"
#include "tests/support/sim_bed.h"

#define LENGTH 4096

struct lender {
    struct sim_bed bed;
    struct fabric *f;
    fabric_device device;
    fabric_mr mr;
    void *memory;
};

static void open_lender(struct lender *lender)
{
    const struct sim_fabric_hooks hooks = {0};
    struct fabric_mr_keys keys;
    sim_bed_open(&lender->bed, 1, FABRIC_CAPS_ALL);
    lender->memory = aligned_alloc(LENGTH, LENGTH);
    assert_non_null(lender->memory);
    lender->f = sim_fabric_create(sim_host_find(sim_testbed_world(lender->bed.tb), "a"),
                                  FABRIC_CAPS_ALL, &hooks);
    assert_int_equal(fabric_device_open(lender->f, "mlx5_0", &lender->device), FABRIC_OK);
    const struct fabric_mr_init init = {.kind = FABRIC_MEM_HOST,
                                        .addr = lender->memory,
                                        .length = LENGTH,
                                        .access = FABRIC_ACCESS_LOCAL_WRITE};
    assert_int_equal(fabric_mr_register(lender->f, lender->device, &init, &lender->mr, &keys),
                     FABRIC_OK);
}

static void close_lender(struct lender *lender)
{
    (void)fabric_destroy(lender->f);
    sim_bed_close(&lender->bed);
    free(lender->memory);
}

static const struct key_state *key_of(const struct lender *lender, fabric_window handle)
{
    const struct front_window *window =
        handles_get(&front_of(lender->f)->handles, handle.id, HANDLE_WINDOW);
    const struct key_state *key = state_key(&window->device->hca->state, window->rkey);
    assert_non_null(key);
    return key;
}

static void a_window_grants_nothing_before_it_is_told_to_be_open(void **state)
{
    struct lender lender;
    struct fabric_event event;
    fabric_window window;
    size_t count = 0;
    (void)state;
    open_lender(&lender);
    assert_int_equal(
        fabric_window_open(lender.f, lender.mr, 0, LENGTH, FABRIC_ACCESS_REMOTE_READ, 7, &window),
        FABRIC_OK);
    while (!sim_fabric_has_events(lender.f)) {
        assert_true(key_of(&lender, window)->waits);
        assert_true(sim_step(sim_world_sim(sim_testbed_world(lender.bed.tb))));
    }
    assert_false(key_of(&lender, window)->waits);
    assert_int_equal(fabric_poll(lender.f, &event, 1, 0, &count), FABRIC_OK);
    assert_int_equal(event.type, FABRIC_EVENT_WINDOW_OPENED);
    assert_int_equal(event.u.window.rkey, key_of(&lender, window)->key);
    close_lender(&lender);
}

/* What the topology says of an Ethernet interface; InfiniBand and unknown ones have none. */
static void dcb_is_that_of_the_interface(void **state)
{
    struct topology_ethernet lan = {"lan"};
    struct topology_subnet subnet = {.name = "ib", .first_lid = 1};
    struct topology_port ports[2] = {{.port_num = 1, .network = "lan"},
                                     {.port_num = 2, .network = "ib"}};
    struct topology_device device = {.name = "mlx5_0", .ports = ports, .port_count = 2};
    struct topology_node node = {.name = "a", .devices = &device, .device_count = 1};
    const struct topology topology = {.subnets = &subnet,
                                      .subnet_count = 1,
                                      .ethernets = &lan,
                                      .ethernet_count = 1,
                                      .nodes = &node,
                                      .node_count = 1};
    const struct testbed_options options = {.seed = 1, .caps = FABRIC_CAPS_ALL};
    const struct sim_fabric_hooks hooks = {0};
    struct fabric_dcb dcb;
    char detail[TESTBED_DETAIL];
    (void)state;
    ports[0].dcb =
        (struct fabric_dcb){.present = true, .pfc_enabled = 8, .trusts_dscp = true, .ets_tc = {1}};
    ports[0].dcb.dscp_prio[26] = 3;
    struct testbed *tb = sim_testbed.create(&topology, &options, detail);
    assert_non_null(tb);
    struct fabric *f =
        sim_fabric_create(sim_host_find(sim_testbed_world(tb), "a"), FABRIC_CAPS_ALL, &hooks);
    assert_int_equal(fabric_dcb_query(f, "eth0", &dcb), FABRIC_OK);
    assert_true(dcb.known && dcb.present && dcb.trusts_dscp);
    assert_int_equal(dcb.pfc_enabled, 8);
    assert_int_equal(dcb.dscp_prio[26], 3);
    assert_int_equal(dcb.ets_tc[0], 1);
    static const char *const others[] = {"ib0", "eth9"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fabric_dcb_query(f, others[i], &dcb), FABRIC_OK);
        assert_true(dcb.known && !dcb.present && dcb.pfc_enabled == 0);
    }
    (void)fabric_destroy(f);
    sim_testbed.destroy(tb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_grants_nothing_before_it_is_told_to_be_open),
        cmocka_unit_test(dcb_is_that_of_the_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of the whole net after any faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_sim/world/net_state.h"
#include "tests/support/little_net.h"

#define SENDS 1500
#define LANES 4

static void reactivate(struct net_port *port)
{
    little_net_state(port, FABRIC_PORT_ACTIVE);
    little_net_state(net_port_peer(port), FABRIC_PORT_ACTIVE);
}

static void one_fault(struct little_net *little, struct net_port *port)
{
    bool on = sim_chance(little->sim, 500000);
    switch (sim_random_below(little->sim, 7)) {
    case 0:
        net_link_set_loss(port, on ? 20000 : 0);
        break;
    case 1:
        net_link_set_delay(port, on ? 3000 : 0, on ? 500 : 0);
        break;
    case 2:
        net_link_set_up(port, false);
        net_link_set_up(port, true);
        reactivate(port);
        break;
    case 3:
        net_link_set_reorder(port, on ? 50000 : 0);
        break;
    case 4:
        net_link_set_cut(port, on);
        break;
    case 5:
        net_link_set_mtu(port, on ? FABRIC_MTU_1024 : FABRIC_MTU_4096);
        break;
    default:
        net_lane_set_stalled(net_port_peer(port), (uint8_t)sim_random_below(little->sim, LANES),
                             on);
    }
}

static uint64_t storm(struct little_net *little)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < SENDS; i++) {
        size_t from = sim_random_below(little->sim, LITTLE_NET_HOSTS);
        size_t to = sim_random_below(little->sim, LITTLE_NET_HOSTS);
        uint8_t sl = (uint8_t)sim_random_below(little->sim, LANES);
        if (i % 50 == 0)
            one_fault(little, little->hosts[to]);
        taken +=
            little_net_send(little, from, to, sl, i, (uint32_t)sim_random_below(little->sim, 4097));
        little_net_run(little, sim_random_below(little->sim, 300));
    }
    return taken;
}

static void storm_up(struct little_net *little, unsigned seed)
{
    little_net_up(little, LITTLE_NET_HOSTS, NULL);
    for (unsigned i = 0; i < seed; i++)
        sim_random(little->sim);
    for (size_t i = 0; i < LITTLE_NET_HOSTS; i++) {
        little_net_lanes(little->hosts[i], LANES);
        little_net_lanes(net_port_peer(little->hosts[i]), LANES);
    }
}

static void check_idle(const struct net_port *port)
{
    assert_int_equal(port->queued, 0);
    for (uint8_t vl = 0; vl < NET_VL15; vl++) {
        struct net_lane *lane = port->lanes[vl];
        if (!lane)
            continue;
        net_credit_collect(lane, net_now(port));
        assert_true(lane->credits == lane->capacity);
        assert_int_equal(lane->ring_count, 0);
    }
}

static void every_packet_ends_once_and_every_credit_comes_back(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 10; seed++) {
        struct little_net little;
        struct net_stats stats;
        storm_up(&little, seed);
        uint64_t taken = storm(&little);
        for (size_t i = 0; i < LITTLE_NET_HOSTS; i++)
            for (uint8_t vl = 0; vl < LANES; vl++)
                net_lane_set_stalled(net_port_peer(little.hosts[i]), vl, false);
        little_net_run(&little, 1000000000);
        net_stats(little.net, &stats);
        assert_true(stats.packets_delivered > 0 && stats.losses > 0 && stats.discards > 0);
        assert_int_equal(stats.packets_delivered + stats.losses + stats.discards, taken);
        for (size_t i = 0; i < LITTLE_NET_HOSTS; i++) {
            check_idle(little.hosts[i]);
            check_idle(net_port_peer(little.hosts[i]));
        }
        assert_true(sim_next_time(little.sim) == UINT64_MAX);
        little_net_down(&little);
    }
}

static void one_seed_gives_one_trace_under_faults(void **state)
{
    uint64_t hash[3];
    (void)state;
    for (unsigned run = 0; run < 3; run++) {
        struct little_net little;
        storm_up(&little, run == 2 ? 4 : 3);
        sim_trace_start(little.sim, NULL, NULL);
        storm(&little);
        hash[run] = sim_trace_hash(little.sim);
        little_net_down(&little);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(hash[0] != hash[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packet_ends_once_and_every_credit_comes_back),
        cmocka_unit_test(one_seed_gives_one_trace_under_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* HA-2.2: the port states that a manager may set. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sma_asker.h"

/* Reads PortInfo of h2 (or of the switch port), so that a test may change what it is about. */
static struct mad_port_info present(struct asker *a, uint8_t hops, uint32_t port)
{
    struct mad_port_info info;

    assert_int_equal(ask(a, hops, MAD_GET, MAD_PORT_INFO, port, NULL), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a->last), &info);
    info.port_state = FABRIC_PORT_NOP;
    info.port_phys_state = 0;
    if (info.lid == 0)
        info.lid = 5;
    return info;
}

static uint16_t set(struct asker *a, uint8_t hops, uint32_t port, const struct mad_port_info *info)
{
    uint8_t data[MAD_SMP_DATA];

    mad_port_info_encode(data, info);
    return ask(a, hops, MAD_SET, MAD_PORT_INFO, port, data);
}

static void the_state_goes_from_init_over_armed_to_active_only(void **state)
{
    struct asker a;
    struct mad_port_info info;
    struct sma_stats stats;

    (void)state;
    open_asker(&a);
    info = present(&a, 2, 1);
    info.port_state = FABRIC_PORT_ACTIVE;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_INIT);
    info.port_state = FABRIC_PORT_ARMED;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK);
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK); /* again changes nothing */
    info.port_state = FABRIC_PORT_INIT;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    info.port_state = FABRIC_PORT_ACTIVE;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_ACTIVE);
    info.port_state = FABRIC_PORT_ARMED;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_ACTIVE);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.illegal_transitions, 3);
    subnet_close(&a.s);
}

static void down_trains_the_link_again(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    info = present(&a, 1, 3); /* the switch port of h2 */
    subnet_watch(&a.s, "h2");
    info.port_state = FABRIC_PORT_DOWN;
    assert_int_equal(set(&a, 1, 3, &info), MAD_STATUS_OK);
    assert_string_equal(a.s.log, "DOWN INIT");
    subnet_close(&a.s);
}

static void a_disabled_port_stays_down_until_it_polls(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    info = present(&a, 1, 3);
    info.port_phys_state = MAD_PHYS_DISABLED;
    assert_int_equal(set(&a, 1, 3, &info), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_DOWN);
    assert_int_equal(ask(&a, 1, MAD_GET, MAD_PORT_INFO, 3, NULL), MAD_STATUS_OK);
    assert_int_equal(mad_data(&a.last)[33] >> 4, MAD_PHYS_DISABLED);
    info.port_phys_state = MAD_PHYS_POLLING;
    assert_int_equal(set(&a, 1, 3, &info), MAD_STATUS_OK);
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_INIT);
    net_link_set_up(subnet_port(&a.s, "h2", 1), false);
    assert_int_equal(set(&a, 1, 3, &info), MAD_STATUS_OK); /* plugs no cable in */
    assert_int_equal(subnet_info(&a.s, "h2")->state, FABRIC_PORT_DOWN);
    subnet_close(&a.s);
}

static void addresses_are_taken_in_one_change(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    info = present(&a, 2, 1);
    info.lid = 0x44;
    info.lmc = 2;
    info.master_sm_lid = 9;
    info.gid_prefix = 0xFEC0000000000003;
    info.neighbor_mtu = FABRIC_MTU_1024;
    info.oper_vls = 3;
    info.subnet_timeout = 20;
    info.client_reregister = true;
    subnet_watch(&a.s, "h2");
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK);
    assert_string_equal(a.s.log, "LID+SMLID+MTU+PREFIX+REREG");
    assert_int_equal(subnet_info(&a.s, "h2")->oper_vls, 4);
    assert_int_equal(subnet_info(&a.s, "h2")->subnet_timeout, 20);
    assert_int_equal(subnet_info(&a.s, "h2")->client_reregister, 0); /* it is over */
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK);
    assert_string_equal(a.s.log, "LID+SMLID+MTU+PREFIX+REREG REREG");
    info.client_reregister = false;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_OK);
    assert_string_equal(a.s.log, "LID+SMLID+MTU+PREFIX+REREG REREG");
    subnet_close(&a.s);
}

static void what_the_port_cannot_is_refused(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    subnet_info(&a.s, "h2")->mtu_cap = FABRIC_MTU_2048;
    subnet_info(&a.s, "h2")->active_mtu = FABRIC_MTU_2048;
    info = present(&a, 2, 1);
    info.neighbor_mtu = FABRIC_MTU_4096;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    info.neighbor_mtu = 0; /* no change */
    info.oper_vls = 5;     /* fifteen lanes of eight */
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    assert_int_equal(subnet_info(&a.s, "h2")->active_mtu, FABRIC_MTU_2048);
    assert_int_equal(subnet_info(&a.s, "h2")->oper_vls, 0);
    info.oper_vls = 0;
    info.lid = 0xC000;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    info.lid = 0;
    assert_int_equal(set(&a, 2, 1, &info), MAD_STATUS_BAD_FIELD);
    assert_int_equal(subnet_info(&a.s, "h2")->lid, 5); /* as the first Set left it */
    subnet_close(&a.s);
}

static void a_switch_has_one_lid_at_its_port_0(void **state)
{
    struct asker a;
    struct mad_port_info info;

    (void)state;
    open_asker(&a);
    info = present(&a, 1, 0);
    info.lid = 0x60;
    assert_int_equal(set(&a, 1, 0, &info), MAD_STATUS_OK);
    info = present(&a, 1, 2);
    info.lid = 0x70;
    info.partition_enforce_in = true;
    assert_int_equal(set(&a, 1, 2, &info), MAD_STATUS_OK);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 0))->lid, 0x60);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 2))->lid, 0);
    assert_int_equal(net_port_info(subnet_port(&a.s, "l0", 2))->partition_enforce_in, 1);
    subnet_close(&a.s);
}

static uint16_t ask_with_key(struct asker *a, uint8_t method, uint64_t key)
{
    struct mad *mad = mad_new();
    struct mad_port_info info;
    unsigned before = a->received;
    uint64_t end = sim_now(a->s.sim) + 1000000;

    mad_begin(mad, MAD_CLASS_SUBN_DIRECTED, method, 1, MAD_PORT_INFO, 1);
    mad_set_route(mad, to_host, 2);
    mad_set_mkey(mad, key);
    memset(&info, 0, sizeof info);
    info.lid = 7;
    info.m_key = 0xABCD;
    info.m_key_protect_bits = 1;
    info.m_key_lease_period = 2; /* s */
    mad_port_info_encode(mad_data(mad), &info);
    sma_send(a->s.sma, subnet_port(&a->s, "h0", 1), mad, LID_PERMISSIVE);
    while (a->received == before && sim_next_time(a->s.sim) < end)
        sim_step(a->s.sim);
    return a->received == before ? 0xFFFF : mad_status(&a->last);
}

static void a_management_key_protects_the_port(void **state)
{
    struct asker a;
    struct mad_port_info info;
    struct sma_stats stats;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0), MAD_STATUS_OK);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0x1111), 0xFFFF); /* silently */
    assert_int_equal(ask_with_key(&a, MAD_GET, 0x1111), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a.last), &info);
    assert_true(info.m_key == 0); /* told to nobody else */
    assert_int_equal(info.m_key_violations, 1);
    assert_int_equal(ask_with_key(&a, MAD_GET, 0xABCD), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a.last), &info);
    assert_true(info.m_key == 0xABCD);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0xABCD), MAD_STATUS_OK);
    sma_stats(a.s.sma, &stats);
    assert_int_equal(stats.mkey_violations, 1);
    subnet_close(&a.s);
}

static void a_wrong_management_key_is_reported_with_what_it_came_with(void **state)
{
    struct asker a;
    struct mad_notice notice;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0), MAD_STATUS_OK);
    subnet_info(&a.s, "h0")->lid = 1;
    subnet_info(&a.s, "h2")->sm_lid = 1;
    net_lft_set(net_find(a.s.net, "l0"), 1, 1);
    net_lft_set_top(net_find(a.s.net, "l0"), 9);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0x1111), MAD_STATUS_OK); /* the trap */
    assert_int_equal(mad_method(&a.last), MAD_TRAP);
    mad_notice_decode(mad_data_const(&a.last), &notice);
    assert_int_equal(notice.trap_number, 256);
    assert_int_equal(notice.method, MAD_SET);
    assert_int_equal(notice.attribute, MAD_PORT_INFO);
    assert_int_equal(notice.modifier, 1);
    assert_true(notice.m_key == 0x1111 && notice.is_directed && !notice.path_truncated);
    assert_int_equal(notice.path_hops, 2);
    assert_int_equal(notice.return_path[0], 1);
    assert_int_equal(notice.return_path[1], 1);
    assert_int_equal(mad_data_const(&a.last)[33], 0x82);
    subnet_close(&a.s);
}

static void go_on(struct asker *a, uint64_t ms)
{
    sim_run_until(a->s.sim, sim_now(a->s.sim) + ms * 1000000);
}

/* What an asker without the key is told of it. */
static uint64_t told(struct asker *a)
{
    struct mad_port_info info;

    assert_int_equal(ask(a, 2, MAD_GET, MAD_PORT_INFO, 1, NULL), MAD_STATUS_OK);
    mad_port_info_decode(mad_data(&a->last), &info);
    assert_int_equal(info.m_key_lease_period, 2);
    return info.m_key;
}

static uint16_t set_without_key(struct asker *a)
{
    uint8_t data[MAD_SMP_DATA] = {0};

    return ask(a, 2, MAD_SET, MAD_PORT_INFO, 1, data);
}

static void the_protection_ends_a_lease_after_a_wrong_key(void **state)
{
    struct asker a;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0), MAD_STATUS_OK);
    go_on(&a, 5000);
    assert_true(told(&a) == 0); /* nobody tried: nothing runs out */
    assert_int_equal(set_without_key(&a), 0xFFFF);
    go_on(&a, 1500);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0xABCD), MAD_STATUS_OK); /* the owner lives */
    go_on(&a, 1500);
    assert_true(told(&a) == 0);
    assert_int_equal(set_without_key(&a), 0xFFFF);
    go_on(&a, 1500);
    assert_int_equal(set_without_key(&a), 0xFFFF); /* does not begin anew */
    assert_true(told(&a) == 0);
    go_on(&a, 600);
    assert_true(told(&a) == 0xABCD);
    assert_int_equal(set_without_key(&a), 0xFFFF); /* a Set needs it still */
    assert_int_equal(ask_with_key(&a, MAD_SET, told(&a)), MAD_STATUS_OK);
    assert_true(told(&a) == 0);
    assert_int_equal(set_without_key(&a), 0xFFFF);
    subnet_close(&a.s); /* with a lease that runs */
}

static void power_takes_the_key_and_its_lease(void **state)
{
    struct asker a;

    (void)state;
    open_asker(&a);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0), MAD_STATUS_OK);
    assert_int_equal(set_without_key(&a), 0xFFFF);
    net_node_set_power(net_find(a.s.net, "h2"), false);
    net_node_set_power(net_find(a.s.net, "h2"), true);
    assert_int_equal(ask_with_key(&a, MAD_SET, 0), MAD_STATUS_OK);
    go_on(&a, 3000);
    assert_true(told(&a) == 0); /* the lease of before does not end this one's protection */
    subnet_close(&a.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_goes_from_init_over_armed_to_active_only),
        cmocka_unit_test(down_trains_the_link_again),
        cmocka_unit_test(a_disabled_port_stays_down_until_it_polls),
        cmocka_unit_test(addresses_are_taken_in_one_change),
        cmocka_unit_test(what_the_port_cannot_is_refused),
        cmocka_unit_test(a_switch_has_one_lid_at_its_port_0),
        cmocka_unit_test(a_management_key_protects_the_port),
        cmocka_unit_test(a_wrong_management_key_is_reported_with_what_it_came_with),
        cmocka_unit_test(the_protection_ends_a_lease_after_a_wrong_key),
        cmocka_unit_test(power_takes_the_key_and_its_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

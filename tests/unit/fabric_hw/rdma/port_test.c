/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, their tables and their counters. MK-B1, MK-D3, CASE-L2, CASE-I3. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/verbs_fake.h"

static struct os_bed bed;
static fabric_device device;

static int setup(void **state)
{
    (void)state;
    verbs_fake_reset();
    device = verbs_fake_device(&bed);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    os_bed_close(&bed);
    return verbs_fake.live;
}

static void an_infiniband_port_shows_lid_guid_and_rate(void **state)
{
    (void)state;
    struct fabric_port_attr port;
    verbs_fake.port.flags = IBV_QPF_GRH_REQUIRED;
    assert_int_equal(fabric_port_query(bed.f, device, 1, &port), FABRIC_OK);
    assert_int_equal(port.link_layer, FABRIC_LINK_LAYER_INFINIBAND);
    assert_int_equal(port.state, FABRIC_PORT_ACTIVE);
    assert_int_equal(port.lid, 5);
    assert_int_equal(port.port_guid, 7);
    assert_int_equal(port.active_mtu, FABRIC_MTU_2048);
    assert_int_equal(port.active_speed_mbps, 100000);
    assert_int_equal(port.flags, FABRIC_PORT_GRH_REQUIRED);
    assert_int_equal(fabric_port_query(bed.f, device, 2, &port), ERR_INVALID_ARGUMENT);
}

static void an_ethernet_port_has_no_lid(void **state)
{
    (void)state;
    struct fabric_port_attr port;
    verbs_fake.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    assert_int_equal(fabric_port_query(bed.f, device, 1, &port), FABRIC_OK);
    assert_int_equal(port.link_layer, FABRIC_LINK_LAYER_ETHERNET);
    assert_int_equal(port.lid, 0);
    assert_int_equal(port.sm_lid, 0);
}

static void a_hole_does_not_end_the_gid_table(void **state)
{
    (void)state;
    struct fabric_gid_entry gid;
    verbs_fake.gids[2] = (struct ibv_gid_entry){.port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2};
    verbs_fake.gids[2].gid.raw[15] = 9;
    verbs_fake.gids[3] = (struct ibv_gid_entry){.port_num = 1}; /* zeros: how files show a hole */
    assert_int_equal(fabric_gid_query(bed.f, device, 1, 1, &gid), ERR_NOT_FOUND);
    assert_int_equal(fabric_gid_query(bed.f, device, 1, 2, &gid), FABRIC_OK);
    assert_int_equal(gid.type, FABRIC_GID_TYPE_ROCE_V2);
    assert_int_equal(gid.gid.raw[15], 9);
    assert_int_equal(fabric_gid_query(bed.f, device, 1, 3, &gid), ERR_NOT_FOUND);
    assert_int_equal(fabric_gid_query(bed.f, device, 1, 4, &gid), ERR_NOT_FOUND);
}

static void pkeys_are_in_host_order_and_end_with_their_table(void **state)
{
    (void)state;
    uint16_t pkey = 1;
    assert_int_equal(fabric_pkey_query(bed.f, device, 1, 2, &pkey), FABRIC_OK);
    assert_int_equal(pkey, 0x8001);
    assert_int_equal(fabric_pkey_query(bed.f, device, 1, 1, &pkey), FABRIC_OK);
    assert_int_equal(pkey, 0);
    assert_int_equal(fabric_pkey_query(bed.f, device, 1, 4, &pkey), ERR_PKEY_INDEX_RANGE);
}

static void counters_come_from_the_drivers_files_and_say_which_there_are(void **state)
{
    (void)state;
    struct fabric_port_counters counters;
    assert_int_equal(fabric_counters_query(bed.f, device, 1, &counters), ERR_NOT_SUPPORTED);
    os_bed_file(&bed, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
    os_bed_file(&bed, "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/sent_pkts", "7\n");
    verbs_fake.port.bad_pkey_cntr = 3;
    assert_int_equal(fabric_counters_query(bed.f, device, 1, &counters), FABRIC_OK);
    assert_int_equal(counters.xmit_data, 4000);
    assert_int_equal(counters.xmit_packets, 7);
    assert_int_equal(counters.bad_pkey, 3);
    assert_true(counters.present & 1);       /* xmit_data */
    assert_false(counters.present >> 1 & 1); /* rcv_data */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_infiniband_port_shows_lid_guid_and_rate),
        TEST(an_ethernet_port_has_no_lid),
        TEST(a_hole_does_not_end_the_gid_table),
        TEST(pkeys_are_in_host_order_and_end_with_their_table),
        TEST(counters_come_from_the_drivers_files_and_say_which_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that depend on what the verbs, DCB and the configuration say (MK-D2, D6, G2, G3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/net/show.h"
#include "tests/support/text_sink.h"
#include "tests/support/tree_fabric.h"

static struct tree_fabric *tree;
static struct config_rdma config;
static struct text_sink sink;

static void open(const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "tests/net/trees/%s/tree", name);
    tree = tree_fabric_open(path);
    config_rdma_defaults(&config);
}

static void done(void)
{
    text_sink_empty(&sink);
    tree_fabric_close(tree);
}

/* Whether the text has this line, which begins at "\n". */
static bool shows(const char *line)
{
    struct net_output out = text_sink_output(&sink);
    struct net_show_options options = {.config = &config};
    text_sink_empty(&sink);
    net_show_run(&tree->head, &options, &out, &out);
    return strstr(text_sink_text(&sink), line) != NULL;
}

static void the_configured_entry_is_shown_with_its_membership(void **state)
{
    (void)state;
    open("limited");
    config.pkey_index = 1;
    assert_true(shows("\npkey_index        : 1   (full membership)\n"));
    assert_true(shows("\nP_Key 1           : 0x8021   full membership, used\n"));
    config.pkey_index = 0;
    assert_true(shows("\npkey_index        : 0   (limited membership)\n"));
    config.pkey_index = 9;
    assert_true(shows("\npkey_index        : 9   (pkey_index_range: found pkey_index 9; the "
                      "table has 4 entries)\n"));
    done();
}

static void the_path_mtu_says_what_limits_it(void **state)
{
    (void)state;
    open("mlx5-infiniband");
    assert_true(shows("\npath MTU          : unknown   (no system file"));
    tree->port = (struct fabric_port_attr){.port_num = 1, .active_mtu = FABRIC_MTU_4096};
    assert_true(shows("\npath MTU          : 4096\n"));
    tree->port.active_mtu = FABRIC_MTU_2048;
    assert_true(shows("\npath MTU          : 2048   (the default 4096 is capped"));
    config.mtu = 4096;
    assert_true(shows("\npath MTU          : none   (mtu_above_active: 4096 configured, 2048 "
                      "active)\n"));
    assert_true(shows("\nRDMA              : mtu_above_active: found mtu 4096 configured; the "
                      "port's active MTU is 2048\nwhat to do        : "));
    config.mtu = 1024;
    assert_true(shows("\npath MTU          : 1024\n"));
    done();
}

static void the_service_level_says_what_it_means_here(void **state)
{
    (void)state;
    open("mlx5-infiniband");
    config.service_level = 3;
    config.service_level_set = true;
    assert_true(shows("\nservice_level     : 3   (virtual lane, via the SM's SL-to-VL map)\n"));
    done();
    open("mlx5-roce-bond");
    assert_true(shows("\nservice_level     : 0   (VLAN priority)\n"));
    tree->dcb = (struct fabric_dcb){.known = true, .present = true, .pfc_enabled = 1 << 3 | 1 << 5};
    assert_true(shows("\nservice_level     : 3   (VLAN priority, which the port trusts)\n"));
    assert_true(shows("\nDCB               : trusts the VLAN priority; PFC on priority 3,5\n"));
    tree->dcb.trusts_dscp = true;
    tree->dcb.dscp_prio[26] = 3;
    assert_true(shows("\nservice_level     : 0   (not used: the port trusts DSCP)\n"));
    assert_true(shows("\nDCB               : trusts DSCP; PFC on priority 3,5\n"
                      "traffic_class     : 104\n"));
    done();
}

static void a_port_that_demands_a_grh_says_so_and_minds_gid_index(void **state)
{
    (void)state;
    open("mlx5-infiniband");
    config.gid_index = 0;
    assert_true(shows("\nignored           : gid_index 0: InfiniBand addresses by LID"));
    tree->port = (struct fabric_port_attr){
        .port_num = 1, .active_mtu = FABRIC_MTU_4096, .flags = FABRIC_PORT_GRH_REQUIRED};
    assert_false(shows("\nignored           : gid_index"));
    assert_true(shows("in the GRH that this port demands\n"));
    done();
}

static void faults_beyond_the_room_for_them_are_counted(void **state)
{
    char path[FABRIC_PATH_MAX];
    (void)state;
    open("mlx5-infiniband");
    for (int i = 0; i < NET_MAX_FAULTS + 3; i++) {
        snprintf(path, sizeof(path),
                 "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1/pkeys/%d", 8 + i);
        tree_set_text(tree, path, "none\n");
    }
    assert_true(shows("\nsystem file       : 3 more\n"));
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configured_entry_is_shown_with_its_membership),
        cmocka_unit_test(the_path_mtu_says_what_limits_it),
        cmocka_unit_test(the_service_level_says_what_it_means_here),
        cmocka_unit_test(a_port_that_demands_a_grh_says_so_and_minds_gid_index),
        cmocka_unit_test(faults_beyond_the_room_for_them_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is judged of a port, and when: MK-D2, D3, D5, F2, C2. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/net/model.h"
#include "tests/support/tree_fabric.h"

#define REAL "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1/"

struct bench {
    struct tree_fabric *tree;
    struct config_rdma config;
    struct net_model model;
};

static void open(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    b->tree = tree_fabric_open("tests/net/trees/mlx5-infiniband/tree");
    config_rdma_defaults(&b->config);
}

static const struct net_port *judge(struct bench *b)
{
    net_model_free(&b->model);
    net_model_read(&b->tree->head, &b->config, NULL, 0, &b->model);
    assert_int_equal(b->model.device_count, 1);
    assert_int_equal(b->model.devices[0].shown, 1);
    return &b->model.devices[0].ports[0];
}

static void done(struct bench *b)
{
    net_model_free(&b->model);
    tree_fabric_close(b->tree);
}

static void before_the_port_is_active_it_waits_and_no_key_is_wrong(void **state)
{
    struct bench b;
    (void)state;
    open(&b);
    b.config.pkey_index = 3; /* empty */
    tree_set_text(b.tree, REAL "state", "2: INIT\n");
    const struct net_port *port = judge(&b);
    assert_int_equal(port->error, ERR_WAITING_FOR_SM);
    assert_int_equal(port->pkey_error, ERR_WAITING_FOR_SM);
    tree_set_text(b.tree, REAL "state", "1: DOWN\n");
    assert_int_equal(judge(&b)->error, ERR_PORT_DOWN);
    tree_set_text(b.tree, REAL "state", "4: ACTIVE\n");
    assert_int_equal(judge(&b)->error, ERR_PKEY_EMPTY);
    done(&b);
}

static void an_active_port_needs_a_unicast_lid(void **state)
{
    static const char *const none[] = {"0x0\n", "0xc000\n", "0xffff\n"};
    struct bench b;
    (void)state;
    open(&b);
    for (size_t i = 0; i < 3; i++) {
        tree_set_text(b.tree, REAL "lid", none[i]);
        assert_int_equal(judge(&b)->error, ERR_NO_LID);
    }
    tree_set_text(b.tree, REAL "lid", "0xbfff\n");
    assert_int_equal(judge(&b)->error, FABRIC_OK);
    done(&b);
}

static void the_entry_at_the_index_is_judged_by_name(void **state)
{
    struct bench b;
    (void)state;
    open(&b);
    tree_set_text(b.tree, REAL "pkeys/1", "0x8000\n"); /* empty, too */
    b.config.pkey_index = 1;
    assert_int_equal(judge(&b)->error, ERR_PKEY_EMPTY);
    b.config.pkey_index = 4;
    assert_int_equal(judge(&b)->error, ERR_PKEY_INDEX_RANGE);
    assert_non_null(strstr(judge(&b)->detail, "pkey_index 4; the table has 4 entries"));
    tree_set_text(b.tree, REAL "pkeys/1", "0x0021\n");
    b.config.pkey_index = 1;
    const struct net_port *port = judge(&b);
    assert_int_equal(port->error, FABRIC_OK);
    assert_int_equal(port->pkey, 0x21);
    assert_int_equal(port->pkey_index, 1);
    done(&b);
}

static void a_partition_is_found_by_value_full_before_limited(void **state)
{
    struct bench b;
    (void)state;
    open(&b);
    tree_set_text(b.tree, REAL "pkeys/1", "0x0021\n");
    tree_set_text(b.tree, REAL "pkeys/3", "0x8021\n");
    b.config.pkey = 0x21;
    assert_int_equal(judge(&b)->pkey_index, 3);
    assert_true(tree_remove(b.tree, REAL "pkeys/3"));
    b.config.pkey = 0x8021;
    const struct net_port *port = judge(&b);
    assert_int_equal(port->pkey_index, 1);
    assert_int_equal(port->error, FABRIC_OK);
    b.config.pkey = 0x8022;
    assert_int_equal(judge(&b)->error, ERR_PKEY_NOT_FOUND);
    done(&b);
}

static void an_ethernet_port_is_capped_by_its_interface(void **state)
{
    struct bench b;
    (void)state;
    memset(&b, 0, sizeof(b));
    b.tree = tree_fabric_open("tests/net/trees/rxe/tree");
    config_rdma_defaults(&b.config);
    static const struct {
        const char *interface;
        uint32_t mtu;
    } cases[] = {
        {"1500\n", 1024}, {"4191\n", 2048}, {"4192\n", 4096}, {"9000\n", 4096}, {"300\n", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tree_set_text(b.tree, "/sys/devices/virtual/net/rxe-eth0/mtu", cases[i].interface);
        assert_int_equal(judge(&b)->mtu, cases[i].mtu);
    }
    tree_set_text(b.tree, "/sys/devices/virtual/net/rxe-eth0/mtu", "1500\n");
    b.config.mtu = 2048;
    assert_int_equal(judge(&b)->error, ERR_MTU_ABOVE_ACTIVE);
    assert_non_null(
        strstr(judge(&b)->detail, "mtu 2048 configured; the port's active MTU is 1024"));
    b.config.mtu = 512;
    assert_int_equal(judge(&b)->mtu, 512);
    done(&b);
}

/* As the rails have it: dc where the device has none, and no GID that peers could be told. */
static void what_a_rail_refuses_is_not_called_ready(void **state)
{
    struct bench b;
    (void)state;
    open(&b);
    b.config.transport = CONFIG_RDMA_DC;
    assert_int_equal(judge(&b)->error, FABRIC_OK);
    b.config.transport = CONFIG_RDMA_AUTO;
    tree_set_text(b.tree, REAL "gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    assert_int_equal(judge(&b)->error, ERR_GID_NONE);
    done(&b);
    memset(&b, 0, sizeof(b));
    b.tree = tree_fabric_open("tests/net/trees/rxe/tree");
    config_rdma_defaults(&b.config);
    b.config.transport = CONFIG_RDMA_DC;
    assert_int_equal(judge(&b)->error, ERR_DC_UNSUPPORTED);
    assert_non_null(strstr(judge(&b)->detail, "on a device without DC (rxe)"));
    b.config.transport = CONFIG_RDMA_RC;
    assert_int_equal(judge(&b)->error, FABRIC_OK);
    done(&b);
}

static void an_iwarp_device_and_an_unknown_link_layer_are_refused(void **state)
{
    struct bench b;
    (void)state;
    open(&b);
    tree_set_text(b.tree, REAL "link_layer", "Token Ring\n");
    assert_int_equal(judge(&b)->error, ERR_SYSFILE_INVALID);
    tree_set_text(b.tree, REAL "link_layer", "Ethernet\n");
    assert_int_equal(judge(&b)->error, ERR_GID_NONE);
    done(&b);
    b.tree = tree_fabric_open("tests/net/trees/iwarp/tree");
    assert_int_equal(judge(&b)->error, ERR_NOT_SUPPORTED);
    done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_port_is_active_it_waits_and_no_key_is_wrong),
        cmocka_unit_test(an_active_port_needs_a_unicast_lid),
        cmocka_unit_test(the_entry_at_the_index_is_judged_by_name),
        cmocka_unit_test(a_partition_is_found_by_value_full_before_limited),
        cmocka_unit_test(an_ethernet_port_is_capped_by_its_interface),
        cmocka_unit_test(what_a_rail_refuses_is_not_called_ready),
        cmocka_unit_test(an_iwarp_device_and_an_unknown_link_layer_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

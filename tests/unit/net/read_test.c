/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a tree holds, looking at it ends, is bounded, and names what cannot be used. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/ipoib.h"
#include "src/net/show.h"
#include "tests/support/text_sink.h"
#include "tests/support/tree_fabric.h"

static const char *const trees[] = {
    "tests/net/trees/mlx5-infiniband/tree", "tests/net/trees/mlx4-vpi/tree",
    "tests/net/trees/mlx5-roce-bond/tree", "tests/net/trees/no-device/tree"};

/* Runs both commands; the JSON must stay JSON. Returns how many files could not be used. */
static uint64_t survive(struct tree_fabric *tree)
{
    struct text_sink sink = {0};
    struct net_output out = text_sink_output(&sink);
    struct net_show_options options = {.json = true};
    struct net_ipoib_options ipoib = {.interface = "ib0", .json = true};
    enum cli_exit end = net_show_run(&tree->head, &options, &out, &out);
    json_t *object = json_loads(text_sink_text(&sink), 0, NULL);
    assert_non_null(object);
    uint64_t faults =
        (uint64_t)json_integer_value(json_object_get(object, "system_file_error_count"));
    bool failed = !json_is_null(json_object_get(object, "error"));
    assert_true(end != CLI_INTERNAL && (end == CLI_DONE) == (!faults && !failed));
    json_decref(object);
    text_sink_empty(&sink);
    options.json = false;
    assert_int_equal(net_show_run(&tree->head, &options, &out, &out), end);
    assert_true(net_ipoib_run(&tree->head, &ipoib, &out, &out) != CLI_INTERNAL);
    text_sink_empty(&sink);
    return faults;
}

/* Each file in turn becomes each of these. */
static void any_file_may_be_missing_empty_binary_huge_or_locked(void **state)
{
    enum { MISSING, EMPTY, BINARY, HUGE, LOCKED, SENSELESS, KINDS };
    static char binary[64], huge[100000];
    (void)state;
    memset(binary, 0xc3, sizeof(binary));
    memset(huge, '9', sizeof(huge));
    for (size_t t = 0; t < sizeof(trees) / sizeof(*trees); t++) {
        struct tree_fabric *whole = tree_fabric_open(trees[t]);
        for (size_t i = 0; i < whole->count * KINDS; i++) {
            const struct tree_entry *entry = &whole->entries[i / KINDS];
            struct tree_fabric *tree = tree_fabric_open(trees[t]);
            if (i % KINDS == MISSING || entry->kind != TREE_FILE)
                tree_remove(tree, entry->path);
            else if (i % KINDS == EMPTY)
                tree_set(tree, entry->path, "", 0);
            else if (i % KINDS == BINARY)
                tree_set(tree, entry->path, binary, sizeof(binary));
            else if (i % KINDS == HUGE)
                tree_set(tree, entry->path, huge, sizeof(huge));
            else if (i % KINDS == LOCKED)
                tree->entries[i / KINDS].kind = TREE_ERROR,
                                  tree->entries[i / KINDS].error = ERR_ACCESS_DENIED;
            else
                tree_set_text(tree, entry->path, "4294967296: \"{}\\ ::\n");
            survive(tree);
            assert_true(tree->bytes_read < 20000); /* a huge file costs no more than a good one */
            tree_fabric_close(tree);
        }
        tree_fabric_close(whole);
    }
}

static void every_file_that_is_read_is_missed_by_name_when_it_is_binary(void **state)
{
    static const char *const files[] = {"node_type",
                                        "node_guid",
                                        "fw_ver",
                                        "ports/1/state",
                                        "ports/1/phys_state",
                                        "ports/1/rate",
                                        "ports/1/lid",
                                        "ports/1/link_layer",
                                        "ports/1/sm_lid",
                                        "ports/1/cap_mask",
                                        "ports/1/lid_mask_count",
                                        "ports/1/sm_sl",
                                        "ports/1/pkeys/0",
                                        "ports/1/gids/0",
                                        "ports/1/counters/port_rcv_constraint_errors"};
    char path[FABRIC_PATH_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct tree_fabric *tree = tree_fabric_open(trees[0]);
        assert_int_equal(survive(tree), 0);
        snprintf(path, sizeof(path), "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/%s",
                 files[i]);
        tree_set(tree, path, "\x01\x02", 2);
        assert_int_equal(survive(tree), 1);
        tree_fabric_close(tree);
    }
}

/* Tables longer than any adapter's, and names that are no numbers. */
static void huge_tables_are_bounded(void **state)
{
    static const char base[] = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1";
    struct tree_fabric *tree = tree_fabric_open(trees[0]);
    char path[FABRIC_PATH_MAX];
    struct net_model model;
    (void)state;
    for (unsigned int i = 0; i < 1200; i++) {
        snprintf(path, sizeof(path), "%s/pkeys/%u", base, i);
        tree_set_text(tree, path, "0x8001\n");
        snprintf(path, sizeof(path), "%s/gids/%u", base, i);
        tree_set_text(tree, path, "fe80::1\n");
    }
    snprintf(path, sizeof(path), "%s/gids/first", base);
    tree_set_text(tree, path, "fe80::1\n");
    net_model_read(&tree->head, NULL, NULL, 0, &model);
    assert_int_equal(model.devices[0].ports[0].pkey_count, NET_MAX_PKEYS);
    assert_int_equal(model.devices[0].ports[0].pkey_tbl_len, 1200);
    assert_int_equal(model.devices[0].ports[0].gid_count, NET_MAX_GIDS);
    assert_int_equal(model.devices[0].ports[0].gid_tbl_len, 1200);
    assert_int_equal(model.fault_count, 0);
    net_model_free(&model);
    tree_fabric_close(tree);
}

static void holes_do_not_end_a_table_and_numbers_are_in_order(void **state)
{
    static const char base[] = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1";
    struct tree_fabric *tree = tree_fabric_open(trees[0]);
    char path[FABRIC_PATH_MAX];
    struct net_model model;
    (void)state;
    for (unsigned int i = 4; i < 16; i++) {
        snprintf(path, sizeof(path), "%s/gids/%u", base, i);
        tree_set_text(tree, path, i == 10 || i == 5 ? "fe80::ec0d:9a03:7d:7d1b\n" : "::\n");
    }
    net_model_read(&tree->head, NULL, NULL, 0, &model);
    const struct net_port *port = &model.devices[0].ports[0];
    assert_int_equal(port->gid_count, 3);
    assert_int_equal(port->gids[1].entry.index, 5); /* "10" sorts before it as text */
    assert_int_equal(port->gids[2].entry.index, 10);
    net_model_free(&model);
    tree_fabric_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_file_may_be_missing_empty_binary_huge_or_locked),
        cmocka_unit_test(every_file_that_is_read_is_missed_by_name_when_it_is_binary),
        cmocka_unit_test(huge_tables_are_bounded),
        cmocka_unit_test(holes_do_not_end_a_table_and_numbers_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric_sim/simfabric/tree.h"

struct bench {
    char folder[64], tree[80];
    struct port_info info;
    struct sysfs_port port;
    struct sysfs_device device;
    struct sysfs_view view;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    strcpy(b->folder, "/tmp/simfabric-tree-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    snprintf(b->tree, sizeof(b->tree), "%s/sys", b->folder);
    b->info = (struct port_info){.link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                                 .state = FABRIC_PORT_ACTIVE,
                                 .port_num = 1,
                                 .lid = 33,
                                 .rate_mbps = 100000,
                                 .pkey_count = 2,
                                 .gid_count = 2,
                                 .pkeys = {0xffff}};
    b->info.gids[0].gid = (union fabric_gid){{0xfe, 0x80, [15] = 1}};
    b->port.info = &b->info;
    b->device = (struct sysfs_device){
        .name = "mlx5_0", .bus = 1, .ports = &b->port, .port_count = 1, .vendor_id = 0x02c9};
    b->view = (struct sysfs_view){.node = "n1", .devices = &b->device, .device_count = 1};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    struct stat status;
    bool removed = tree_delete(b->folder) && stat(b->folder, &status) != 0;
    free(b);
    return removed ? 0 : -1;
}

static const char *content(const struct bench *b, const char *path)
{
    static char text[256];
    char full[256];
    snprintf(full, sizeof(full), "%s/%s", b->tree, path);
    FILE *file = fopen(full, "r");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void the_tree_holds_what_libibverbs_looks_for(void **state)
{
    struct bench *b = *state;
    assert_true(tree_render(&b->view, b->tree));
    assert_string_equal(content(b, "class/infiniband_verbs/abi_version"), "6\n");
    assert_string_equal(content(b, "class/infiniband_verbs/uverbs1/ibdev"), "mlx5_0\n");
    assert_string_equal(content(b, "class/infiniband_verbs/uverbs1/abi_version"), "1\n");
    assert_string_equal(content(b, "class/infiniband/mlx5_0/node_type"), "1: CA\n");
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/lid"), "0x21\n");
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/pkeys/1"), "0x0000\n");
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/gids/0"),
                        "fe80:0000:0000:0000:0000:0000:0000:0001\n");
}

/* The null device is what a program opens in its place. */
static void the_device_file_has_the_number_of_the_null_device(void **state)
{
    struct bench *b = *state;
    struct stat null;
    unsigned major, minor;
    assert_true(tree_render(&b->view, b->tree));
    assert_int_equal(stat("/dev/null", &null), 0);
    assert_int_equal(
        sscanf(content(b, "class/infiniband_verbs/uverbs1/dev"), "%u:%u", &major, &minor), 2);
    assert_int_equal(major << 8 | minor, null.st_rdev);
}

static void a_change_replaces_its_files_and_leaves_the_others(void **state)
{
    struct bench *b = *state;
    struct stat before, after;
    char path[128];
    snprintf(path, sizeof(path), "%s/class/infiniband/mlx5_0/ports/1/pkeys/0", b->tree);
    assert_true(tree_render(&b->view, b->tree));
    assert_int_equal(stat(path, &before), 0);
    b->info.lid = 40;
    assert_true(tree_render(&b->view, b->tree));
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/lid"), "0x28\n");
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void every_entry_of_a_gid_table_has_a_type(void **state)
{
    struct bench *b = *state;
    assert_true(tree_render(&b->view, b->tree));
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/gid_attrs/types/0"),
                        "IB/RoCE v1\n");
    assert_string_equal(content(b, "class/infiniband/mlx5_0/ports/1/gid_attrs/types/1"),
                        "IB/RoCE v1\n");
}

/* Nor does a file stay that is there already. */
static void the_interface_of_a_gid_is_not_named_as_the_machine_has_none(void **state)
{
    struct bench *b = *state;
    char path[160];
    snprintf(path, sizeof(path), "%s/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", b->tree);
    strcpy(b->info.gids[0].netdev, "eth0");
    assert_true(tree_render(&b->view, b->tree));
    assert_int_not_equal(access(path, F_OK), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_true(tree_render(&b->view, b->tree));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_tree_that_cannot_be_written_is_told(void **state)
{
    struct bench *b = *state;
    assert_false(tree_render(&b->view, "/proc/no/such/folder"));
    b->view.device_count = 0;
    assert_true(tree_render(&b->view, b->tree)); /* a node without devices has a tree too */
}

static void whatever_a_port_shows_changes_the_state_of_the_tree(void **state)
{
    struct bench *b = *state;
    for (uint32_t epoch = 1; epoch < 5; epoch++) {
        b->info.attributes_epoch = epoch;
        b->port.ipoib_waits = true;
        const uint64_t waits = tree_state(&b->view);
        assert_true(waits != 0);
        b->port.ipoib_waits = false;
        const uint64_t joined = tree_state(&b->view);
        assert_true(joined != waits);
        b->info.attributes_epoch = epoch + 1;
        assert_true(tree_state(&b->view) != joined);
    }
}

/* What is begun while it is deleted ends up deleted too, or cannot be made any more. */
static void a_folder_that_others_still_fill_is_deleted(void **state)
{
    struct bench *b = *state;
    for (int round = 0; round < 100; round++) {
        char folder[300], inner[340];
        struct stat status;
        snprintf(folder, sizeof(folder), "%s/busy", b->folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        pid_t other = fork();
        assert_true(other >= 0);
        if (other == 0) {
            for (int i = 0; i < 200; i++) {
                snprintf(inner, sizeof(inner), "%s/%d", folder, i);
                if (mkdir(inner, 0700) != 0)
                    break;
            }
            _exit(0);
        }
        snprintf(inner, sizeof(inner), "%s/0", folder);
        while (stat(inner, &status) != 0)
            continue;
        bool deleted = tree_delete(folder);
        assert_int_equal(waitpid(other, NULL, 0), other);
        assert_true(deleted);
        assert_int_not_equal(stat(folder, &status), 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_tree_holds_what_libibverbs_looks_for),
        TEST(the_device_file_has_the_number_of_the_null_device),
        TEST(a_change_replaces_its_files_and_leaves_the_others),
        TEST(the_interface_of_a_gid_is_not_named_as_the_machine_has_none),
        TEST(every_entry_of_a_gid_table_has_a_type),
        TEST(whatever_a_port_shows_changes_the_state_of_the_tree),
        TEST(a_tree_that_cannot_be_written_is_told),
        TEST(a_folder_that_others_still_fill_is_deleted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

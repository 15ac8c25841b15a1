/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of net do with their arguments. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/desk.h"
#include "tests/support/tree_fabric.h"

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    desk_open(&desk);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

/* MK-L5: a tree stands in for the machine's own files, and only where it is asked for. */
static void another_root_is_looked_at_where_one_is_named(void **state)
{
    (void)state;
    static const char tree[] = "tests/net/trees/mlx5-infiniband/tree";
    static const struct {
        const char *line, *root;
    } cases[] = {{"memkv net show --sysfs-root /a/tree", "/a/tree"},
                 {"memkv net show", ""},
                 {"memkv net ipoib --interface ib0 --sysfs-root=/b", "/b"},
                 {"memkv net ipoib --interface ib0", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        desk.fabric = &tree_fabric_open(tree)->head;
        desk_expect(&desk, cases[i].line, CLI_DONE, "ib0", NULL);
        assert_string_equal(desk.sysfs_root, cases[i].root);
    }
}

static void a_root_without_sys_is_refused_by_name(void **state)
{
    (void)state;
    desk_expect(&desk, "memkv net show --sysfs-root /x", CLI_CONFIG, NULL,
                "config_invalid: --sysfs-root /x: found no folder /x/sys");
    desk_expect(&desk, "memkv net show --sysfs-root /x --json", CLI_CONFIG,
                "\"name\":\"config_invalid\"", NULL);
    desk_expect(&desk, "memkv net ipoib --interface ib0 --sysfs-root", CLI_USAGE, NULL,
                "--sysfs-root");
}

static void a_port_that_is_not_there_is_told(void **state)
{
    (void)state;
    static const char tree[] = "tests/net/trees/mlx5-infiniband/tree";
    desk.fabric = &tree_fabric_open(tree)->head;
    desk_expect(&desk, "memkv net show --device mlx5_0:1", CLI_DONE, "mlx5_0  port 1", NULL);
    desk.fabric = &tree_fabric_open(tree)->head;
    desk_expect(&desk, "memkv net show --device mlx5_0:2", CLI_NOT_FOUND, NULL, "found no port 2");
}

/* What stands below another root is not for this machine's udev. */
static void rules_are_installed_on_this_machine_only(void **state)
{
    (void)state;
    static const char file[] = "/etc/udev/rules.d/70-memkv-ipoib-ib0.rules";
    static const char tree[] = "tests/net/trees/mlx5-infiniband/tree";
    for (unsigned root = 2; root-- > 0;) {
        desk.fabric = &tree_fabric_open(tree)->head;
        desk_expect(&desk,
                    root ? "memkv net ipoib --interface ib0 --connected --apply --persist "
                           "--sysfs-root /x"
                         : "memkv net ipoib --interface ib0 --connected --apply --persist",
                    CLI_DONE, "the command form", NULL);
        assert_int_equal(desk_find(&desk, file) == NULL, root);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_root_is_looked_at_where_one_is_named),
        TEST(a_port_that_is_not_there_is_told),
        TEST(a_root_without_sys_is_refused_by_name),
        TEST(rules_are_installed_on_this_machine_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

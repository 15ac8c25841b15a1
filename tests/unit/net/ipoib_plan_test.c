/* SPDX-License-Identifier: Apache-2.0 */
/* MK-L3: the plan, its order, what is read back, and the udev rules. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/net/ipoib.h"
#include "tests/support/tree_fabric.h"

struct bench {
    struct tree_fabric *tree;
    struct ipoib_interface before, after;
    struct net_ipoib_options options;
    struct net_ipoib_plan plan;
    char detail[NET_IPOIB_DETAIL];
    bool mtu_written;
};

static void open(struct bench *b, const char *tree, const char *interface)
{
    char path[FABRIC_PATH_MAX];
    memset(b, 0, sizeof(*b));
    b->tree = tree_fabric_open(tree);
    b->options.interface = interface;
    assert_int_equal(ipoib_read(&b->tree->head, interface, &b->before, path), FABRIC_OK);
}

static enum fabric_error apply(struct bench *b, bool connected, uint32_t mtu)
{
    b->options.connected = connected;
    b->options.mtu = mtu;
    enum fabric_error error = net_ipoib_plan(&b->before, &b->options, &b->plan, b->detail);
    if (error)
        return error;
    return net_ipoib_apply(&b->tree->head, &b->plan, &b->before, &b->after, &b->mtu_written,
                           b->detail);
}

static void the_mode_comes_first_and_its_mtu_is_not_written_again(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/mlx5-infiniband/tree", "ib0");
    assert_int_equal(apply(&b, true, 65520), FABRIC_OK);
    assert_string_equal(b.tree->written, "mode=connected;");
    assert_false(b.mtu_written);
    assert_true(b.after.connected);
    assert_int_equal(b.after.mtu, 65520);
    tree_fabric_close(b.tree);
}

static void another_mtu_than_the_modes_is_written_after_it(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/mlx5-infiniband/tree", "ib0");
    assert_int_equal(apply(&b, true, 32768), FABRIC_OK);
    assert_string_equal(b.tree->written, "mode=connected;mtu=32768;");
    assert_true(b.mtu_written);
    assert_int_equal(b.after.mtu, 32768);
    tree_fabric_close(b.tree);
    open(&b, "tests/net/trees/mlx5-infiniband/tree", "ib0");
    b.tree->keeps_mtu = true; /* a folder that stands in for /sys */
    assert_int_equal(apply(&b, true, 65520), FABRIC_OK);
    assert_string_equal(b.tree->written, "mode=connected;mtu=65520;");
    tree_fabric_close(b.tree);
}

static void nothing_is_written_where_nothing_differs(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/ipoib-connected-renamed/tree", "ibp59s0");
    assert_int_equal(apply(&b, true, 65520), FABRIC_OK);
    assert_string_equal(b.tree->written, "");
    assert_int_equal(apply(&b, true, 0), FABRIC_OK);
    assert_string_equal(b.tree->written, "");
    tree_fabric_close(b.tree);
}

static void enhanced_ipoib_has_no_connected_mode_but_an_mtu(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/ipoib-enhanced/tree", "ib0");
    assert_int_equal(apply(&b, true, 65520), ERR_NOT_SUPPORTED);
    assert_non_null(strstr(b.detail, "bit 0x80"));
    assert_string_equal(b.tree->written, "");
    assert_int_equal(apply(&b, false, 4092), FABRIC_OK);
    assert_string_equal(b.tree->written, "mtu=4092;");
    tree_fabric_close(b.tree);
}

static void an_mtu_that_the_mode_cannot_have_is_refused_before_anything(void **state)
{
    static const struct {
        bool connected;
        uint32_t mtu;
    } wrong[] = {{true, 65521}, {false, 4093}, {false, 65520}, {true, 67}};
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/mlx5-infiniband/tree", "ib0");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(apply(&b, wrong[i].connected, wrong[i].mtu), ERR_INVALID_ARGUMENT);
        assert_non_null(strstr(b.detail, "mode allows 68 to"));
        assert_string_equal(b.tree->written, "");
    }
    tree_fabric_close(b.tree);
}

static void a_value_that_does_not_stay_is_noticed(void **state)
{
    struct bench b;
    (void)state;
    open(&b, "tests/net/trees/mlx5-infiniband/tree", "ib0");
    b.tree->keeps_mode = true;
    assert_int_equal(apply(&b, true, 65520), ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(b.detail, "stayed in datagram mode"));
    b.tree->keeps_mode = false;
    b.tree->writes_refused = true;
    assert_int_equal(apply(&b, true, 65520), ERR_ACCESS_DENIED);
    assert_non_null(strstr(b.detail, "/sys/class/net/ib0/mode does not take connected"));
    assert_non_null(strstr(b.detail, "root"));
    tree_fabric_close(b.tree);
}

static void the_rules_name_the_port_by_guid_and_the_interface_by_its_final_name(void **state)
{
    struct bench b;
    char rule[NET_IPOIB_RULE];
    (void)state;
    open(&b, "tests/net/trees/ipoib-connected-renamed/tree", "ibp59s0");
    assert_int_equal(apply(&b, true, 65520), FABRIC_OK);
    net_ipoib_attribute_rule(&b.before, &b.plan, rule);
    assert_string_equal(rule, "ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"32\", "
                              "ATTR{address}==\"?*:ec:0d:9a:03:00:7d:7d:1a\", "
                              "ATTR{mode}=\"connected\", ATTR{mtu}=\"65520\"");
    assert_true(net_ipoib_command_rule(&b.before, &b.plan, rule));
    const char *mode = strstr(rule, "echo connected > /sys/class/net/ibp59s0/mode; ");
    const char *mtu = strstr(rule, "echo 65520 > /sys/class/net/ibp59s0/mtu'\"");
    assert_true(mode && mtu && mode < mtu);
    strcpy(b.before.name, "ib$(reboot)");
    assert_false(net_ipoib_command_rule(&b.before, &b.plan, rule));
    tree_fabric_close(b.tree);
}

static void the_rules_of_enhanced_ipoib_leave_the_mode_alone(void **state)
{
    struct bench b;
    char rule[NET_IPOIB_RULE];
    (void)state;
    open(&b, "tests/net/trees/ipoib-enhanced/tree", "ib0");
    assert_int_equal(apply(&b, false, 4092), FABRIC_OK);
    net_ipoib_attribute_rule(&b.before, &b.plan, rule);
    assert_null(strstr(rule, "mode"));
    assert_true(net_ipoib_command_rule(&b.before, &b.plan, rule));
    assert_null(strstr(rule, "mode"));
    assert_non_null(strstr(rule, "echo 4092 > /sys/class/net/ib0/mtu"));
    tree_fabric_close(b.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mode_comes_first_and_its_mtu_is_not_written_again),
        cmocka_unit_test(another_mtu_than_the_modes_is_written_after_it),
        cmocka_unit_test(nothing_is_written_where_nothing_differs),
        cmocka_unit_test(enhanced_ipoib_has_no_connected_mode_but_an_mtu),
        cmocka_unit_test(an_mtu_that_the_mode_cannot_have_is_refused_before_anything),
        cmocka_unit_test(a_value_that_does_not_stay_is_noticed),
        cmocka_unit_test(the_rules_name_the_port_by_guid_and_the_interface_by_its_final_name),
        cmocka_unit_test(the_rules_of_enhanced_ipoib_leave_the_mode_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

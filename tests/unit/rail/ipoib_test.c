/* SPDX-License-Identifier: Apache-2.0 */
/* MK-L1, MK-L2, MK-L4, MK-L5 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/rail/ipoib.h"
#include "tests/support/tree_fabric.h"

static const char description[] =
    "[/sys/class/net/ib0]\n"
    "type: 32\nmtu: 2044\nmode: datagram\noperstate: up\ndev_id: 0x0\ndev_port: 1\npkey: 0x8021\n"
    "address: 80:00:00:68:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:7d:7d:1a\n"
    "[/sys/class/net/eth0]\n"
    "type: 1\nmtu: 1500\naddress: 04:3f:72:a0:11:20\n";

struct bench {
    struct tree_fabric *tree;
    struct ipoib_interface interface;
    char path[FABRIC_PATH_MAX];
};

static struct bench *open(void)
{
    static struct bench b;
    memset(&b, 0, sizeof(b));
    b.tree = tree_fabric_new(description);
    return &b;
}

static enum fabric_error look(struct bench *b, const char *netdev)
{
    return ipoib_read(&b->tree->head, netdev, &b->interface, b->path);
}

static void an_interface_is_read_with_all_20_bytes_of_its_address(void **state)
{
    struct bench *b = open();
    (void)state;
    assert_int_equal(look(b, "ib0"), FABRIC_OK);
    assert_string_equal(b->interface.name, "ib0");
    assert_int_equal(b->interface.mtu, 2044);
    assert_int_equal(b->interface.port_num, 2);
    assert_int_equal(b->interface.pkey, 0x8021);
    assert_true(b->interface.up);
    assert_false(b->interface.connected);
    assert_false(b->interface.enhanced);
    assert_memory_equal(b->interface.address,
                        "\x80\x00\x00\x68\xfe\x80\x00\x00\x00\x00\x00\x00\xec\x0d\x9a\x03\x00\x7d"
                        "\x7d\x1a",
                        20);
    tree_fabric_close(b->tree);
}

static void an_address_of_another_length_is_named_with_its_file(void **state)
{
    static const char *const wrong[] = {
        "80:00:00:68:fe:80\n", "80:00:00:68:fe:80:00:00\n", "\n",
        "80:00:00:68:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:7d:7d:1a:00\n"};
    struct bench *b = open();
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        tree_set_text(b->tree, "/sys/class/net/ib0/address", wrong[i]);
        assert_int_equal(look(b, "ib0"), ERR_SYSFILE_INVALID);
        assert_string_equal(b->path, "/sys/class/net/ib0/address");
        assert_int_equal(b->interface.mtu, 0);
    }
    tree_fabric_close(b->tree);
}

static void only_interfaces_of_type_32_are_ipoib(void **state)
{
    struct bench *b = open();
    (void)state;
    assert_int_equal(look(b, "eth0"), ERR_NOT_SUPPORTED);
    assert_int_equal(look(b, "ib7"), ERR_NOT_FOUND);
    assert_string_equal(b->path, "/sys/class/net/ib7/type");
    assert_int_equal(look(b, "../ib0"), ERR_NOT_FOUND);
    tree_fabric_close(b->tree);
}

static void enhanced_ipoib_is_told_by_the_first_byte_whatever_the_mode_says(void **state)
{
    struct bench *b = open();
    (void)state;
    tree_set_text(b->tree, "/sys/class/net/ib0/address",
                  "00:00:10:29:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:7d:7d:1a\n");
    assert_int_equal(look(b, "ib0"), FABRIC_OK); /* the file is there and says datagram */
    assert_true(b->interface.enhanced);
    assert_true(tree_remove(b->tree, "/sys/class/net/ib0/mode"));
    assert_int_equal(look(b, "ib0"), FABRIC_OK);
    tree_set_text(b->tree, "/sys/class/net/ib0/address",
                  "80:00:10:29:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:7d:7d:1a\n");
    assert_int_equal(look(b, "ib0"), ERR_NOT_FOUND);
    assert_string_equal(b->path, "/sys/class/net/ib0/mode");
    tree_fabric_close(b->tree);
}

static void kernels_without_dev_port_tell_the_port_in_dev_id(void **state)
{
    struct bench *b = open();
    (void)state;
    assert_true(tree_remove(b->tree, "/sys/class/net/ib0/dev_port"));
    tree_set_text(b->tree, "/sys/class/net/ib0/dev_id", "0x2\n");
    assert_int_equal(look(b, "ib0"), FABRIC_OK);
    assert_int_equal(b->interface.port_num, 3);
    assert_true(tree_remove(b->tree, "/sys/class/net/ib0/dev_id"));
    assert_int_equal(look(b, "ib0"), FABRIC_OK);
    assert_int_equal(b->interface.port_num, 1);
    tree_set_text(b->tree, "/sys/class/net/ib0/dev_id", "what\n");
    assert_int_equal(look(b, "ib0"), ERR_SYSFILE_INVALID);
    tree_fabric_close(b->tree);
}

static void senseless_modes_and_mtus_are_named(void **state)
{
    struct bench *b = open();
    (void)state;
    tree_set_text(b->tree, "/sys/class/net/ib0/mode", "connected\n");
    assert_int_equal(look(b, "ib0"), FABRIC_OK);
    assert_true(b->interface.connected);
    tree_set_text(b->tree, "/sys/class/net/ib0/mode", "both\n");
    assert_int_equal(look(b, "ib0"), ERR_SYSFILE_INVALID);
    tree_set_text(b->tree, "/sys/class/net/ib0/mode", "datagram\n");
    tree_set_text(b->tree, "/sys/class/net/ib0/mtu", "-1\n");
    assert_int_equal(look(b, "ib0"), ERR_SYSFILE_INVALID);
    assert_string_equal(b->path, "/sys/class/net/ib0/mtu");
    tree_fabric_close(b->tree);
}

static void the_module_is_loaded_built_in_or_missing(void **state)
{
    struct tree_fabric *tree = tree_fabric_new("");
    (void)state;
    assert_int_equal(ipoib_module(&tree->head, false), IPOIB_MODULE_MISSING);
    assert_int_equal(ipoib_module(&tree->head, true), IPOIB_MODULE_BUILT_IN);
    tree_set_text(tree, "/sys/module/ib_ipoib/parameters/send_queue_size", "128\n");
    assert_int_equal(ipoib_module(&tree->head, false), IPOIB_MODULE_BUILT_IN);
    tree_set_text(tree, "/sys/module/ib_ipoib/initstate", "live\n");
    assert_int_equal(ipoib_module(&tree->head, false), IPOIB_MODULE_LOADED);
    assert_string_equal(ipoib_module_name(IPOIB_MODULE_MISSING), "missing");
    tree_fabric_close(tree);
}

static void advice_is_given_at_the_small_mtu_alone_and_names_the_effect(void **state)
{
    struct ipoib_interface i = {.name = "ib0", .mtu = 2044};
    char text[IPOIB_ADVICE] = "";
    (void)state;
    assert_true(ipoib_advice(&i, text));
    assert_non_null(strstr(text, "1047 packets"));
    assert_non_null(strstr(text, "MTU 65520 33,"));
    assert_non_null(strstr(text, "memkv net ipoib --interface ib0 --connected --mtu 65520"));
    i.enhanced = true;
    assert_true(ipoib_advice(&i, text));
    assert_non_null(strstr(text, "no connected mode"));
    assert_non_null(strstr(text, "with MTU 4092 518"));
    i.mtu = 4092;
    assert_false(ipoib_advice(&i, text));
    i = (struct ipoib_interface){.name = "ib0", .mtu = 65520, .connected = true};
    assert_false(ipoib_advice(&i, text));
    assert_int_equal(ipoib_packets(40), 0);
    assert_int_equal(ipoib_packets(41), 2u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interface_is_read_with_all_20_bytes_of_its_address),
        cmocka_unit_test(an_address_of_another_length_is_named_with_its_file),
        cmocka_unit_test(only_interfaces_of_type_32_are_ipoib),
        cmocka_unit_test(enhanced_ipoib_is_told_by_the_first_byte_whatever_the_mode_says),
        cmocka_unit_test(kernels_without_dev_port_tell_the_port_in_dev_id),
        cmocka_unit_test(senseless_modes_and_mtus_are_named),
        cmocka_unit_test(the_module_is_loaded_built_in_or_missing),
        cmocka_unit_test(advice_is_given_at_the_small_mtu_alone_and_names_the_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

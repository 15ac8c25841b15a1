/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices are shown, and what is said where there is none (MK-H1, MK-H4, MK-D6). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/net/model.h"
#include "tests/support/small_world.h"
#include "tests/support/tree_fabric.h"

static struct net_model model;
static struct tree_fabric *tree;

static void open(const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "tests/net/trees/%s/tree", name);
    tree = tree_fabric_open(path);
}

static void look(const char *device, uint8_t port)
{
    net_model_free(&model);
    net_model_read(&tree->head, NULL, device, port, &model);
}

static void done(void)
{
    net_model_free(&model);
    tree_fabric_close(tree);
}

static void every_device_is_shown_or_the_one_that_is_named(void **state)
{
    (void)state;
    open("cable-out");
    look(NULL, 0);
    assert_int_equal(model.device_count, 2);
    assert_string_equal(model.devices[0].name, "mlx5_0");
    look("mlx5_1", 0);
    assert_int_equal(model.device_count, 1);
    assert_string_equal(model.devices[0].name, "mlx5_1");
    assert_int_equal(model.error, FABRIC_OK);
    done();
    open("mlx4-vpi");
    look("mlx4_0", 2);
    assert_int_equal(model.devices[0].shown, 1);
    assert_int_equal(model.devices[0].port_count, 2);
    assert_int_equal(model.devices[0].ports[0].link_layer, FABRIC_LINK_LAYER_ETHERNET);
    done();
}

static void a_name_that_is_not_there_is_answered_with_the_nearest(void **state)
{
    (void)state;
    open("cable-out");
    look("mlx5-1", 0);
    assert_int_equal(model.error, ERR_NOT_FOUND);
    assert_string_equal(model.detail, "found no device mlx5-1; did you mean mlx5_1? there are "
                                      "mlx5_0, mlx5_1");
    look("hfi1", 0);
    assert_string_equal(model.detail, "found no device hfi1; there are mlx5_0, mlx5_1");
    look("\xff\x1b[2J", 0);
    assert_string_equal(model.detail, "found no device of this name; there are mlx5_0, mlx5_1");
    look("mlx5_0", 3);
    assert_int_equal(model.error, ERR_NOT_FOUND);
    assert_string_equal(model.detail, "found no port 3: mlx5_0 has 1");
    assert_int_equal(model.place_count, 0);
    done();
}

static const char *found(const char *what)
{
    for (uint32_t i = 0; i < model.place_count; i++) {
        if (strcmp(model.places[i].what, what) == 0)
            return model.places[i].found;
    }
    return "";
}

static void without_a_device_it_is_said_what_was_looked_for(void **state)
{
    (void)state;
    open("no-device");
    look(NULL, 0);
    assert_int_equal(model.error, ERR_NOT_FOUND);
    assert_non_null(strstr(found("/sys/class/infiniband"), "modprobe ib_core"));
    assert_non_null(strstr(found("/sys/module/ib_uverbs"), "modprobe ib_uverbs"));
    assert_non_null(strstr(found("/dev/infiniband"), "--device /dev/infiniband"));
    assert_non_null(strstr(found("/sys/bus/pci/devices/0000:3b:00.0"), "driver is missing"));
    assert_non_null(strstr(found("/sys/bus/pci/devices/0000:3b:00.1"), "driver is mlx5_core"));
    done();
    open("container");
    look("mlx5_0", 0);
    assert_int_equal(model.error, ERR_NOT_FOUND);
    assert_non_null(strstr(found("/sys/class/infiniband"), "is empty"));
    assert_non_null(strstr(found("/sys/module/ib_uverbs"), "is loaded"));
    assert_non_null(strstr(found("/dev/infiniband/uverbs0"), "access_denied"));
    assert_non_null(strstr(found("/sys/bus/pci/devices"), "no RDMA adapter among 1"));
    done();
}

static void a_class_that_may_not_be_listed_is_no_missing_device(void **state)
{
    (void)state;
    tree = tree_fabric_new("/sys/class/infiniband ! access_denied\n");
    look(NULL, 0);
    assert_int_equal(model.error, ERR_ACCESS_DENIED);
    assert_non_null(strstr(found("/sys/class/infiniband"), "cannot be listed: access_denied"));
    done();
}

static void a_device_with_a_name_that_cannot_be_shown_is_a_fault_and_the_rest_is_there(void **state)
{
    (void)state;
    open("mlx5-infiniband");
    tree_set_text(tree, "/sys/class/infiniband/evil\x1b[2J/node_type", "1: CA\n");
    for (int i = 0; i < NET_MAX_DEVICES; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/sys/class/infiniband/z%d/node_type", i);
        tree_set_text(tree, path, "1: CA\n");
    }
    look(NULL, 0);
    assert_int_equal(model.device_count, NET_MAX_DEVICES);
    assert_string_equal(model.devices[0].name, "mlx5_0");
    assert_int_equal(model.faults[0].error, ERR_SYSFILE_INVALID);
    assert_int_equal(model.faults[1].error, ERR_TOO_LARGE);
    assert_string_equal(model.faults[1].path, "/sys/class/infiniband");
    assert_true(model.fault_count > NET_MAX_FAULTS); /* counted, not kept */
    done();
}

/* A world with verbs, and the system files of a tree under the same name. */
static void violations_grow_between_two_looks(void **state)
{
    (void)state;
    struct small_world *w = small_world_new(1);
    struct small_port *port = small_port(w, 0);
    struct fabric *f = small_fabric(w, 0);
    struct net_port shown = {.port_num = 1, .violations_known = true};
    struct net_device device = {.name = "mlx5_0", .ports = &shown, .shown = 1};
    struct net_model two = {.fabric = f, .devices = &device, .device_count = 1};
    shown.link_layer = FABRIC_LINK_LAYER_INFINIBAND;
    port->attr.bad_pkey_cntr = 0xfffffffe;
    net_read_verbs(&two, &device);
    assert_true(shown.asked);
    assert_int_equal(shown.violations, 0xfffffffe);
    assert_int_equal(shown.active_mtu, port->attr.active_mtu);
    assert_false(shown.growth_known);
    port->attr.bad_pkey_cntr = 3; /* it wrapped */
    net_model_watch(&two);
    assert_true(shown.growth_known);
    assert_int_equal(shown.growth, 5);
    assert_int_equal(shown.violations, 3);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_is_shown_or_the_one_that_is_named),
        cmocka_unit_test(a_name_that_is_not_there_is_answered_with_the_nearest),
        cmocka_unit_test(without_a_device_it_is_said_what_was_looked_for),
        cmocka_unit_test(a_class_that_may_not_be_listed_is_no_missing_device),
        cmocka_unit_test(
            a_device_with_a_name_that_cannot_be_shown_is_a_fault_and_the_rest_is_there),
        cmocka_unit_test(violations_grow_between_two_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

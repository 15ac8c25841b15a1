/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "fabric_sim/world/sysfs.h"

static enum fabric_error put(struct sysfs_port *port, const char *file, const char *text)
{
    return sysfs_ipoib_write(port, file, text, strlen(text));
}

static void the_mode_brings_its_mtu(void **state)
{
    (void)state;
    struct sysfs_port port = {.netdev_mtu = 2044};
    assert_int_equal(put(&port, "mode", "connected\n"), FABRIC_OK);
    assert_true(port.ipoib_connected);
    assert_int_equal(port.netdev_mtu, 65520);
    assert_int_equal(put(&port, "mtu", "9000\n"), FABRIC_OK);
    assert_int_equal(put(&port, "mode", "connected\n"), FABRIC_OK); /* nothing changes */
    assert_int_equal(port.netdev_mtu, 9000);
    assert_int_equal(put(&port, "mode", "datagram\n"), FABRIC_OK);
    assert_false(port.ipoib_connected);
    assert_int_equal(port.netdev_mtu, 2044);
}

static void the_mtu_has_the_limits_of_the_mode(void **state)
{
    (void)state;
    struct sysfs_port port = {.netdev_mtu = 2044};
    assert_int_equal(put(&port, "mtu", "2045"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mtu", "67"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mtu", "1500x"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mtu", ""), ERR_INVALID_ARGUMENT);
    assert_int_equal(port.netdev_mtu, 2044);
    assert_int_equal(put(&port, "mtu", "1500"), FABRIC_OK);
    assert_int_equal(put(&port, "mode", "connected\n"), FABRIC_OK);
    assert_int_equal(put(&port, "mtu", "65521"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mtu", "65520"), FABRIC_OK);
}

static void what_the_driver_does_not_have_is_einval(void **state)
{
    (void)state;
    struct sysfs_port port = {.netdev_mtu = 2044, .ipoib_enhanced = true};
    assert_int_equal(put(&port, "mode", "connected\n"), ERR_INVALID_ARGUMENT);
    port.ipoib_enhanced = false;
    assert_int_equal(put(&port, "mode", "connected"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mode", "fast\n"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mode", "connected and more than fits"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "carrier", "1"), ERR_ACCESS_DENIED);
    assert_int_equal(port.netdev_mtu, 2044);
}

static void a_larger_broadcast_group_allows_larger_datagrams(void **state)
{
    (void)state;
    struct sysfs_port port = {.netdev_mtu = 4092, .ipoib_group_mtu = 4092};
    assert_int_equal(put(&port, "mtu", "4093"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put(&port, "mtu", "4092"), FABRIC_OK);
    assert_int_equal(put(&port, "mode", "connected\n"), FABRIC_OK);
    assert_int_equal(put(&port, "mode", "datagram\n"), FABRIC_OK);
    assert_int_equal(port.netdev_mtu, 4092);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mode_brings_its_mtu),
        cmocka_unit_test(the_mtu_has_the_limits_of_the_mode),
        cmocka_unit_test(what_the_driver_does_not_have_is_einval),
        cmocka_unit_test(a_larger_broadcast_group_allows_larger_datagrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

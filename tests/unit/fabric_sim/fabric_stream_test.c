/* SPDX-License-Identifier: Apache-2.0 */
/* System files that a program may write, by the way of the contract. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/sim_bed.h"

static struct sim_bed bed;
static struct fabric *f;

static void open_on(const char *node)
{
    const struct sim_fabric_hooks hooks = {0};
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    f = sim_fabric_create(sim_host_find(sim_testbed_world(bed.tb), node), FABRIC_CAPS_ALL, &hooks);
}

static void close_it(void)
{
    (void)fabric_destroy(f);
    sim_bed_close(&bed);
}

static enum fabric_error put(const char *path, const char *text)
{
    return fabric_sysfile_write(f, path, text, strlen(text));
}

static const char *get(const char *path)
{
    static char text[64];
    size_t length = 0;
    assert_int_equal(fabric_sysfile_read(f, path, text, sizeof(text) - 1, &length), FABRIC_OK);
    text[length] = '\0';
    return text;
}

static void mode_and_mtu_of_an_ipoib_interface_are_written_and_read_back(void **state)
{
    (void)state;
    open_on("a");
    assert_string_equal(get("/sys/class/net/ib0/mode"), "datagram\n");
    assert_int_equal(put("/sys/class/net/ib0/mtu", "65520"), ERR_INVALID_ARGUMENT);
    assert_int_equal(put("/sys/class/net/ib0/mode", "connected\n"), FABRIC_OK);
    assert_string_equal(get("/sys/class/net/ib0/mode"), "connected\n");
    assert_string_equal(get("/sys/class/net/ib0/mtu"), "65520\n");
    assert_int_equal(put("/sys/class/net/ib0/mtu", "9000"), FABRIC_OK);
    assert_string_equal(get("/sys/class/net/ib0/mtu"), "9000\n");
    close_it();
}

static void everything_else_may_only_be_read(void **state)
{
    (void)state;
    open_on("a");
    assert_int_equal(put("/sys/class/net/ib0/operstate", "up"), ERR_ACCESS_DENIED);
    assert_int_equal(put("/sys/class/net/ib9/mode", "connected"), ERR_NOT_FOUND);
    assert_int_equal(put("/sys/class/net/ib0/nothing", "1"), ERR_NOT_FOUND);
    assert_int_equal(put("/sys/class/infiniband/mlx5_0/ports/1/lid", "7"), ERR_ACCESS_DENIED);
    close_it();
    open_on("x"); /* on Ethernet */
    assert_int_equal(put("/sys/class/net/eth0/mtu", "1500"), ERR_ACCESS_DENIED);
    assert_string_equal(get("/sys/class/net/eth0/mtu"), "4200\n");
    close_it();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_and_mtu_of_an_ipoib_interface_are_written_and_read_back),
        cmocka_unit_test(everything_else_may_only_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

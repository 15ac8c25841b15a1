/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fabric_sim/world/sysfs.h"
#include "tests/support/aborts.h"

#define IB "/sys/class/infiniband/mlx5_0"
#define ETH "/sys/class/infiniband/mlx5_1"
#define NET "/sys/class/net"

static struct port_info ib, eth;
static struct sysfs_port ib_ports[1], eth_ports[1];
static struct sysfs_device devices[2];
static struct sysfs_view view;

static void describe_ib(void)
{
    ib = (struct port_info){.guid = 0x0002c90300a0b0c1,
                            .link_layer = FABRIC_LINK_LAYER_INFINIBAND,
                            .state = FABRIC_PORT_ACTIVE,
                            .port_num = 1,
                            .lmc = 2,
                            .lid = 0x1c,
                            .sm_lid = 1,
                            .sm_sl = 3,
                            .rate_mbps = 100000,
                            .pkey_count = 2,
                            .pkeys = {0xffff, 0x8001},
                            .gid_count = 2};
    ib.gids[0].gid.raw[0] = 0xfe;
    ib.gids[0].gid.raw[1] = 0x80;
    ib.gids[0].gid.raw[15] = 0x21;
    ib.counters.xmit_data = 4000;
    ib.counters.rcv_data = 400;
    ib.counters.symbol_errors = 7;
    ib_ports[0] =
        (struct sysfs_port){.info = &ib, .netdev = "ib0", .netdev_mtu = 4092, .ipoib_qpn = 0x48ab};
}

static void describe_eth(void)
{
    eth = (struct port_info){.guid = 0x0002c9fffea0b0c2,
                             .link_layer = FABRIC_LINK_LAYER_ETHERNET,
                             .state = FABRIC_PORT_DOWN,
                             .port_num = 1,
                             .rate_mbps = 25000,
                             .pkey_count = 1,
                             .pkeys = {0xffff},
                             .gid_count = 2};
    eth.gids[1].gid.raw[10] = eth.gids[1].gid.raw[11] = 0xff;
    eth.gids[1].gid.raw[12] = 10;
    eth.gids[1].type = 2;
    memcpy(eth.gids[1].netdev, "eth0", 5);
    eth_ports[0] = (struct sysfs_port){.info = &eth, .netdev = "eth0", .netdev_mtu = 9000};
}

static int up(void **state)
{
    (void)state;
    describe_ib();
    describe_eth();
    devices[0] = (struct sysfs_device){.name = "mlx5_0",
                                       .node_guid = 0x0002c90300a0b0c0,
                                       .sys_image_guid = 0x0002c90300a0b0c3,
                                       .vendor_id = 0x02c9,
                                       .device_id = 4123,
                                       .fw_ver = "20.31.1014",
                                       .bus = 0x3b,
                                       .ports = ib_ports,
                                       .port_count = 1};
    devices[1] = devices[0];
    memcpy(devices[1].name, "mlx5_1", 7);
    devices[1].bus = 0x5e;
    devices[1].ports = eth_ports;
    view = (struct sysfs_view){
        .node = "node", .devices = devices, .device_count = 2, .ipoib_module = true};
    return 0;
}

static void check(const char *path, const char *expected)
{
    char text[300];
    size_t length = 0;
    assert_int_equal(sysfs_read(&view, path, text, sizeof(text) - 1, &length), FABRIC_OK);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static enum fabric_error read_error(const char *path)
{
    char text[300];
    size_t length = 0;
    return sysfs_read(&view, path, text, sizeof(text), &length);
}

/* Names joined by blanks. */
static void check_list(const char *path, const char *expected)
{
    char names[1000];
    size_t length = 0;
    assert_int_equal(sysfs_list(&view, path, names, sizeof(names), &length), FABRIC_OK);
    for (size_t i = 0; i + 1 < length; i++)
        names[i] = names[i] ? names[i] : ' ';
    assert_string_equal(length ? names : "", expected);
}

static void an_infiniband_port_shows_its_attributes(void **state)
{
    (void)state;
    check(IB "/ports/1/state", "4: ACTIVE\n");
    check(IB "/ports/1/phys_state", "5: LinkUp\n");
    check(IB "/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    check(IB "/ports/1/lid", "0x1c\n");
    check(IB "/ports/1/lid_mask_count", "2\n");
    check(IB "/ports/1/sm_lid", "0x1\n");
    check(IB "/ports/1/sm_sl", "3\n");
    check(IB "/ports/1/cap_mask", "0x02514868\n");
    check(IB "/ports/1/link_layer", "InfiniBand\n");
    check(IB "/ports/1/pkeys/0", "0xffff\n");
    check(IB "/ports/1/pkeys/1", "0x8001\n");
    check(IB "/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0021\n");
    check(IB "/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    check(IB "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
    check(IB "/ports/1/counters/port_xmit_data", "1000\n"); /* words of 4 bytes */
    check(IB "/ports/1/counters/port_rcv_data", "100\n");
    check(IB "/ports/1/counters/symbol_error", "7\n");
    ib.is_sm = true;
    check(IB "/ports/1/cap_mask", "0x0251486a\n");
}

static void an_ethernet_port_shows_its_attributes(void **state)
{
    (void)state;
    check(ETH "/ports/1/state", "1: DOWN\n");
    check(ETH "/ports/1/phys_state", "2: Polling\n");
    check(ETH "/ports/1/rate", "40 Gb/sec (4X QDR)\n");
    check(ETH "/ports/1/link_layer", "Ethernet\n");
    check(ETH "/ports/1/cap_mask", "0x04010000\n");
    check(ETH "/ports/1/gid_attrs/types/1", "RoCE v2\n");
    check(ETH "/ports/1/gid_attrs/ndevs/1", "eth0\n");
    eth.rate_mbps = 1600000;
    check(ETH "/ports/1/rate", "800 Gb/sec (4X XDR)\n");
}

static void holes_of_the_gid_table_answer_invalid_argument(void **state)
{
    (void)state;
    assert_int_equal(read_error(ETH "/ports/1/gid_attrs/types/0"), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_error(ETH "/ports/1/gid_attrs/ndevs/0"), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_error(IB "/ports/1/gid_attrs/ndevs/0"), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_error(ETH "/ports/1/gid_attrs/types/2"), ERR_NOT_FOUND);
}

static void a_device_shows_what_it_is(void **state)
{
    char link[64];
    (void)state;
    check(IB "/node_guid", "0002:c903:00a0:b0c0\n");
    check(IB "/sys_image_guid", "0002:c903:00a0:b0c3\n");
    check(IB "/node_type", "1: CA\n");
    check(IB "/node_desc", "node mlx5_0\n");
    check(IB "/fw_ver", "20.31.1014\n");
    check(IB "/hca_type", "MT4123\n");
    check(IB "/device/vendor", "0x15b3\n");
    check(IB "/device/device", "0x101b\n");
    check_list(IB "/device/net", "ib0");
    check_list(IB "/device/infiniband", "mlx5_0");
    assert_int_equal(sysfs_link(&view, IB "/device", link, sizeof(link)), FABRIC_OK);
    assert_string_equal(link, "../../../0000:3b:00.0");
    assert_int_equal(sysfs_link(&view, IB "/device", link, 21), ERR_TOO_LARGE);
    assert_int_equal(sysfs_link(&view, NET "/eth0/device", link, 22), FABRIC_OK);
    assert_string_equal(link, "../../../0000:5e:00.0");
    assert_int_equal(read_error(IB "/device"), ERR_NOT_FOUND);
    assert_int_equal(sysfs_link(&view, IB "/fw_ver", link, sizeof(link)), ERR_NOT_FOUND);
}

static void an_ipoib_interface_shows_its_mode_and_its_long_address(void **state)
{
    (void)state;
    check(NET "/ib0/type", "32\n");
    check(NET "/ib0/mtu", "4092\n");
    check(NET "/ib0/operstate", "up\n");
    check(NET "/ib0/carrier", "1\n");
    check(NET "/ib0/dev_id", "0x0\n");
    check(NET "/ib0/dev_port", "0\n");
    check(NET "/ib0/pkey", "0xffff\n");
    check(NET "/ib0/mode", "datagram\n");
    check(NET "/ib0/address", "80:00:48:ab:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:21\n");
    ib_ports[0].ipoib_connected = true;
    check(NET "/ib0/mode", "connected\n");
    ib_ports[0].ipoib_enhanced = true;
    assert_int_equal(read_error(NET "/ib0/mode"), ERR_INVALID_ARGUMENT);
    check(NET "/ib0/address", "00:00:48:ab:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:21\n");
    view.ipoib_module = false;
    assert_int_equal(read_error(NET "/ib0/type"), ERR_NOT_FOUND);
    check_list(NET, "eth0");
}

static void an_ethernet_interface_shows_six_bytes(void **state)
{
    (void)state;
    check(NET "/eth0/type", "1\n");
    check(NET "/eth0/address", "00:02:c9:a0:b0:c2\n");
    check(NET "/eth0/operstate", "down\n");
    assert_int_equal(read_error(NET "/eth0/mode"), ERR_NOT_FOUND);
    eth_ports[0].netdev[0] = '\0';
    assert_int_equal(read_error(NET "/eth0/type"), ERR_NOT_FOUND);
    check_list(ETH "/device/net", "");
}

static void entries_of_a_class_are_links(void **state)
{
    static const char folder[] = "/sys/devices/pci0000:00/0000:3b:00.0";
    char link[80];
    (void)state;
    assert_int_equal(sysfs_link(&view, IB, link, sizeof(link)), FABRIC_OK);
    assert_string_equal(link, "../../devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0");
    assert_int_equal(sysfs_link(&view, NET "/eth0", link, sizeof(link)), FABRIC_OK);
    assert_string_equal(link, "../../devices/pci0000:00/0000:5e:00.0/net/eth0");
    check_list("/sys/devices/pci0000:00", "0000:3b:00.0 0000:5e:00.0");
    check_list(folder, "device infiniband net vendor");
    check("/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1/lid", "0x1c\n");
    check("/sys/devices/pci0000:00/0000:3b:00.0/net/ib0/mtu", "4092\n");
    assert_int_equal(sysfs_link(&view, "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0",
                                link, sizeof(link)),
                     ERR_NOT_FOUND);
}

static void a_device_file_is_named_for_programs(void **state)
{
    (void)state;
    check("/sys/class/infiniband_verbs/abi_version", "6\n");
    check("/sys/class/infiniband_verbs/uverbs59/ibdev", "mlx5_0\n");
    check("/sys/class/infiniband_verbs/uverbs59/dev", "231:251\n");
    check("/sys/class/infiniband_verbs/uverbs94/abi_version", "1\n");
}

static void folders_are_listed_sorted(void **state)
{
    (void)state;
    check_list("/sys", "class devices module");
    check_list("/sys/", "class devices module");
    check_list("/sys/class", "infiniband infiniband_verbs net");
    check_list("/sys/class/infiniband_verbs", "abi_version uverbs59 uverbs94");
    check_list("/sys/class/infiniband/", "mlx5_0 mlx5_1");
    check_list(NET, "eth0 ib0");
    check_list("/sys/module", "ib_ipoib");
    check_list("/sys/module/ib_ipoib", "initstate");
    check_list(IB, "device fw_ver hca_type hw_rev node_desc node_guid node_type ports"
                   " sys_image_guid");
    check_list(IB "/ports/1", "cap_mask counters gid_attrs gids lid lid_mask_count link_layer"
                              " phys_state pkeys rate sm_lid sm_sl state");
    check_list(IB "/ports/1/gid_attrs/ndevs", "0 1");
    ib.pkey_count = 12;
    check_list(IB "/ports/1/pkeys", "0 1 10 11 2 3 4 5 6 7 8 9");
}

static void what_is_not_there_is_not_found(void **state)
{
    char names[10], link[10], path[FABRIC_PATH_MAX + 10];
    size_t length = 99;
    static const char *const wrong[] = {"",
                                        "/",
                                        "/proc/cpuinfo",
                                        "/system",
                                        "/sys/classnet",
                                        "/sys/class/infinib",
                                        IB "/ports/2",
                                        IB "/ports/1/lid/x",
                                        IB "/fw_ver/",
                                        "/sys/class/infiniband/mlx5_",
                                        "/sys"};
    (void)state;
    memset(path, 'x', sizeof(path));
    memcpy(path, "/sys/", 5);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(read_error(path), ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        if (i != 8)
            assert_int_equal(read_error(wrong[i]), ERR_NOT_FOUND);
        assert_int_equal(sysfs_link(&view, wrong[i], link, 10), ERR_NOT_FOUND);
        if (i != 10)
            assert_int_equal(sysfs_list(&view, wrong[i], names, 10, &length), ERR_NOT_FOUND);
    }
    assert_int_equal(sysfs_list(&view, IB "/lid", names, 10, &length), ERR_NOT_FOUND);
    assert_int_equal(length, 99);
}

static void what_is_too_large_writes_nothing(void **state)
{
    char text[10] = "untouched";
    size_t length = 99;
    (void)state;
    assert_int_equal(sysfs_read(&view, IB "/ports/1/state", text, 9, &length), ERR_TOO_LARGE);
    assert_int_equal(sysfs_list(&view, "/sys/class", text, 9, &length), ERR_TOO_LARGE);
    assert_int_equal(length, 99);
    assert_string_equal(text, "untouched");
    assert_int_equal(sysfs_read(&view, IB "/ports/1/state", text, 10, &length), FABRIC_OK);
}

static void without_a_device_there_is_no_infiniband_folder(void **state)
{
    (void)state;
    view.device_count = 0;
    view.ipoib_module = false;
    check_list("/sys/class", "net");
    check_list("/sys/module", "");
    assert_int_equal(read_error(IB "/node_guid"), ERR_NOT_FOUND);
}

static void read_without_a_view(void *context)
{
    char text[10];
    size_t length;
    (void)context;
    (void)sysfs_read(NULL, "/sys/class", text, sizeof(text), &length);
}

static void a_view_is_needed(void **state)
{
    (void)state;
    assert_true(aborts(read_without_a_view, NULL));
}

#define TEST(name) cmocka_unit_test_setup(name, up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_infiniband_port_shows_its_attributes),
        TEST(an_ethernet_port_shows_its_attributes),
        TEST(holes_of_the_gid_table_answer_invalid_argument),
        TEST(a_device_shows_what_it_is),
        TEST(an_ipoib_interface_shows_its_mode_and_its_long_address),
        TEST(an_ethernet_interface_shows_six_bytes),
        TEST(entries_of_a_class_are_links),
        TEST(a_device_file_is_named_for_programs),
        TEST(folders_are_listed_sorted),
        TEST(what_is_not_there_is_not_found),
        TEST(what_is_too_large_writes_nothing),
        TEST(without_a_device_there_is_no_infiniband_folder),
        TEST(a_view_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/config/client_config.h"
#include "src/config/nearest.h"
#include "src/config/server_config.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static struct yaml_errors errors;

static void has(const char *expected)
{
    assert_true(errors.count > 0);
    if (!strstr(errors.items[0].text, expected))
        fail_msg("expected %s in %s", expected, errors.items[0].text);
}

static bool server(const char *text, struct server_config *c)
{
    yaml_errors_init(&errors, "config.yaml");
    return server_config_read(text, strlen(text), c, &errors);
}

static bool client(const char *text, struct client_config *c)
{
    yaml_errors_init(&errors, "client.yaml");
    return client_config_read(text, strlen(text), c, &errors);
}

/* The minimal file of MK-K1. */
static void the_minimal_server_file_is_read(void **state)
{
    (void)state;
    struct server_config c;
    assert_true(server("network: {address: 0.0.0.0:9900, auth_key: " KEY "}\n"
                       "memory:  {block_size: 2 MiB, max_size: 1 GiB}\n"
                       "rdma:    {devices: [mlx5_0], pkey_index: 0}\n"
                       "storage: {mode: memory}\n",
                       &c));
    assert_string_equal(c.address, "0.0.0.0:9900");
    assert_int_equal(c.auth_key[31], 0x1f);
    assert_int_equal(c.memory_block_size, 2 << 20);
    assert_int_equal(c.memory_max_size, 1 << 30);
    assert_int_equal(c.rdma.device_count, 1);
    assert_string_equal(c.rdma.devices[0].name, "mlx5_0");
    assert_int_equal(c.rdma.mtu, 0);
    assert_true(c.rdma.pkey_index_set);
    assert_int_equal(c.eviction_start_percent, 70);
}

static void every_server_key_is_known(void **state)
{
    (void)state;
    struct server_config c;
    assert_true(server("network: {auth_key_file: /k, num_connections: 8}\n"
                       "admin: {address: \"127.0.0.1:9901\", tls_cert: /c, tls_key: /t}\n"
                       "rdma: {device: \"mlx5_1:2\", transport: rc, num_dcis: 4, pkey: 0x8001,\n"
                       "       mtu: 2048, service_level: 3, traffic_class: 106, gid_index: 3,\n"
                       "       start_wait: 2 s, busy_poll: true}\n"
                       "storage: {mode: direct, path: /p, devices: [/dev/a], max_size: 1 GiB,\n"
                       "          block_size: 4 MiB, durability: ack, lanes: 2,\n"
                       "          eviction: {enabled: false, start_percent: 80,\n"
                       "                     stop_percent: 50}}\n"
                       "log: {level: debug, format: json}\n",
                       &c));
    assert_int_equal(c.rdma.devices[0].port, 2);
    assert_true(c.rdma.busy_poll);
    assert_int_equal(c.rdma.mtu, 2048);
    assert_int_equal(c.rdma.pkey, 0x8001);
    assert_string_equal(c.media[0], "/dev/a");
    assert_string_equal(c.auth_key_file, "/k");
    assert_int_equal(c.storage_mode, CONFIG_STORAGE_DIRECT);
    assert_false(c.eviction_enabled);
    assert_string_equal(server_config_ignored(&c, 3)->key, "path");
    assert_string_equal(server_config_ignored(&c, 3)->reason, "storage.devices names the folders");
    assert_null(server_config_ignored(&c, 4));
}

static void wrong_server_files_are_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"memory: {}\n", "config.yaml:1:1: the key 'network' is missing here"},
        {"network: {}\n", "auth_key or auth_key_file is missing"},
        {"network: {auth_key: " KEY ", auth_key_file: /x}\n", "one of them is allowed"},
        {"network: {auth_key: abc}\n", "config.yaml:1:21: auth_key: found something else; 64"},
        {"network: {auth_key: " KEY ", address: localhost}\n", "HOST:PORT"},
        {"network: {auth_key: " KEY ", address: \"fe80::1:99\"}\n", "[IPv6]:PORT"},
        {"network: {auth_key: " KEY ", address: \"a:70000\"}\n", "HOST:PORT"},
        {"network: {auth_key: " KEY "}\nadmin: {tls_cert: /x}\n", "both or neither"},
        {"network: {auth_key: " KEY "}\nadmin: {address: x}\n", "HOST:PORT"},
        {"network: {auth_key: " KEY "}\nrdma: {device: a, devices: [b]}\n", "one of them"},
        {"network: {auth_key: " KEY "}\nrdma: {devices: [a, b, c, d, e]}\n", "more than 4"},
        {"network: {auth_key: " KEY "}\nrdma: {devices: [\"a:0\"]}\n", "mlx5_0:2"},
        {"network: {auth_key: " KEY "}\nrdma: {mtu: 1500}\n",
         "config.yaml:2:13: mtu: found '1500' (mtu_invalid); one of 256, 512"},
        {"network: {auth_key: " KEY "}\nrdma: {mtu: [1]}\n", "mtu_invalid"},
        {"network: {auth_key: " KEY "}\nrdma: {pkey_indx: 1}\n", "did you mean 'pkey_index'"},
        {"network: {auth_key: " KEY "}\nstorage: {eviction: {stop_percent: 90}}\n",
         "less than start_percent"},
        {"network: {auth_key: " KEY "}\nstorage: {devices: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n",
         "more than 8"},
        {"network: {auth_key: " KEY "}\nstorage: {devices: [[1]]}\n", "text is expected"},
        {"network: {auth_key: " KEY "}\nstorage: {mode: file, max_size: 1 GiB}\n",
         "config.yaml:2:10: storage: mode file needs path"},
        {"network: {auth_key: " KEY "}\nstorage: {devices: [/a, /b, /a]}\n",
         "config.yaml:2:29: devices: found '/a' twice"},
        {"network: {auth_key: " KEY "}\nrdma: {start_wait: 5}\n", "a time of 0 or more in ns"},
        {"network: {auth_key: " KEY "}\nstorage: {mode: file, path: /d}\n", "need max_size"},
        {"network: {auth_key: " KEY "}\nstorage: {mode: direct, max_size: 1 GiB}\n",
         "needs devices"},
        {"network: {auth_key: " KEY "}\nstorage: {block_size: 5000}\n",
         "config.yaml:2:10: block_size: found 5000 bytes; a multiple of 4 KiB"},
        {"network: {auth_key: " KEY "}\nmemory: {max_size: 4 KiB}\nstorage: {lanes: 2}\n",
         "found 2 lanes"},
        {"[", "while parsing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server_config c;
        assert_false(server(cases[i].text, &c));
        has(cases[i].expected);
    }
}

/* MK-D3, MK-K1, CASE-X1. */
static void settings_that_make_no_sense_are_refused_at_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } servers[] = {
        {"rdma: {devices: [m, n, m]}\n", "config.yaml:2:24: devices: found a port of 'm' twice"},
        {"rdma: {devices: [\"m:2\", \"m:2\"]}\n", "config.yaml:2:25: devices: found a port"},
        {"rdma: {devices: [m, \"m:2\"]}\n", "config.yaml:2:21: devices: found a port of 'm'"},
        {"rdma: {pkey: 0x8000}\n", "config.yaml:2:14: pkey: found 0x8000, which names no"},
        {"rdma: {pkey: 0x8001, pkey_index: 0}\n", "config.yaml:2:14: found pkey and pkey_index"},
    };
    static const struct {
        const char *text, *expected;
    } clients[] = {
        {"rdma_devices: [m, m]\n", "client.yaml:3:19: devices: found a port of 'm' twice"},
        {"pkey: 0x8000\n", "client.yaml:3:7: pkey: found 0x8000, which names no partition"},
        {"pkey_index: 0\npkey: 0x8001\n", "client.yaml:4:7: found pkey and pkey_index"},
    };
    char text[512];
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        struct server_config c;
        snprintf(text, sizeof text, "network: {auth_key: " KEY "}\n%s", servers[i].text);
        assert_false(server(text, &c));
        has(servers[i].expected);
    }
    struct server_config last; /* MK-J1, MK-A3 */
    assert_false(server("network: {auth_key: " KEY "}\n"
                        "storage: {mode: direct, devices: [], max_size: 1 GiB}\n",
                        &last));
    has("storage: mode direct needs devices");
    assert_false(server("network: {auth_key: " KEY ", address: \"a:65535\"}\n", &last));
    has("config.yaml:1:96: address: found 'a:65535', after which there is no port");
    assert_true(server("network: {auth_key: " KEY ", address: \"a:65535\"}\n"
                       "admin: {address: \"a:1\"}\n",
                       &last));
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++) {
        struct client_config c;
        snprintf(text, sizeof text, "servers: [\"a:1\"]\nauth_key: " KEY "\n%s", clients[i].text);
        assert_false(client(text, &c));
        has(clients[i].expected);
    }
}

static void two_ports_of_one_device_are_two_rails(void **state)
{
    (void)state;
    struct server_config c;
    assert_true(server("network: {auth_key: " KEY "}\n"
                       "rdma: {devices: [\"m:1\", \"m:2\", n], pkey: 0x0001}\n",
                       &c));
    assert_int_equal(c.rdma.device_count, 3);
    assert_int_equal(c.rdma.pkey, 1);
}

static void client_files_are_read_and_refused(void **state)
{
    (void)state;
    struct client_config c;
    assert_true(client("servers: [\"a:1\", \"[::1]:2\"]\nauth_key: " KEY "\n"
                       "rdma_devices: [mlx5_0, mlx5_1]\ntransport: rdma\npkey_index: 1\n"
                       "num_connections: 2\nmtu: 1024\ngid_index: 3\nservice_level: 1\n"
                       "traffic_class: 104\nverify: none\ntimeout: 3 s\nstart_wait: 1 s\n"
                       "busy_poll: true\n",
                       &c));
    assert_int_equal(c.server_count, 2);
    assert_int_equal(c.transport, CONFIG_TRANSPORT_RDMA);
    assert_int_equal(c.rdma.device_count, 2);
    assert_true(c.timeout == 3000000000ull);
    assert_true(c.rdma.busy_poll);
    assert_int_equal(c.verify, CONFIG_VERIFY_NONE);
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"auth_key: " KEY "\n", "the key 'servers' is missing"},
        {"servers: []\nauth_key: " KEY "\n", "1 to 16 are allowed"},
        {"servers: [\"a:1\", \"a:1\"]\nauth_key: " KEY "\n", "found 'a:1' twice"},
        {"servers: [x]\nauth_key: " KEY "\n", "HOST:PORT"},
        {"servers: [\"a b:1\"]\nauth_key: " KEY "\n", "HOST:PORT"},
        {"servers: [\"\xc3\xa4:1\"]\nauth_key: " KEY "\n", "HOST:PORT"},
        {"servers: [\"a:0\"]\nauth_key: " KEY "\n", "a port from 1 to 65535"},
        {"servers: [\"a:1\"]\n", "auth_key or auth_key_file is missing"},
        {"servers: [\"a:1\"]\nauth_key: " KEY "\nauth_key_file: /x\n", "one of them"},
        {"servers: [\"a:1\"]\nauth_key: [1]\n", "a single value is expected"},
        {"servers: [\"a:1\"]\nauth_key: " KEY "\nrdma_devices: [[a]]\n", "text is expected"},
        {"servers: [\"a:1\"]\nauth_key: " KEY "\nmtu: 1\n", "mtu_invalid"},
        {"servers: [\"a:1\"]\nauth_key: " KEY "\ntransport: udp\n", "auto, rdma, tcp"},
        {"{", "while parsing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(client(cases[i].text, &c));
        has(cases[i].expected);
    }
    assert_true(client("servers: [\"a:1\"]\nauth_key_file: /x\n", &c));
    assert_false(c.auth_key_set);
}

static void names_are_near_by_edits(void **state)
{
    (void)state;
    static const char *const names[] = {"network", "memory", "rdma", "storage"};
    assert_int_equal(nearest_distance("memory", "memory"), 0);
    assert_int_equal(nearest_distance("memroy", "memory"), 1); /* neighbours swapped */
    assert_int_equal(nearest_distance("", "abc"), 3);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    assert_string_equal(nearest_name("netwrok", names, 4), "network");
    assert_string_equal(nearest_name("rdm", names, 4), "rdma");
    assert_null(nearest_name("xyzzy", names, 4));
    assert_null(nearest_name("x", names, 0));
    assert_string_equal(nearest_name("stor", names, 4), "storage"); /* its beginning */
    assert_null(nearest_name("", names, 4));
    static const char *const twice[] = {"pkey_limited_pair", "pkey_limited"};
    assert_null(nearest_name("pkey", twice, 2)); /* of two */
    char far[100];
    memset(far, 'a', 99);
    far[99] = 0;
    assert_int_equal(nearest_distance(far, "a"), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_minimal_server_file_is_read),
        cmocka_unit_test(every_server_key_is_known),
        cmocka_unit_test(wrong_server_files_are_refused_with_the_place),
        cmocka_unit_test(settings_that_make_no_sense_are_refused_at_their_place),
        cmocka_unit_test(two_ports_of_one_device_are_two_rails),
        cmocka_unit_test(client_files_are_read_and_refused),
        cmocka_unit_test(names_are_near_by_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

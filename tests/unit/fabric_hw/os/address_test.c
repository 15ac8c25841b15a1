/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fabric_hw/os/address.h"

static void hosts_and_ports_are_taken_apart(void **state)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {
        {"10.0.0.1:9900", "10.0.0.1", 9900},
        {"node2:7788", "node2", 7788},
        {"[::1]:0", "::1", 0},
        {"[fe80::1%eth0]:65535", "fe80::1%eth0", 65535},
        {"0.0.0.0:0", "0.0.0.0", 0},
    };
    char host[OS_HOST_MAX];
    uint16_t port;
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(os_address_split(good[i].text, host, &port));
        assert_string_equal(host, good[i].host);
        assert_int_equal(port, good[i].port);
    }
}

static void nonsense_is_refused(void **state)
{
    static const char *const bad[] = {"",        ":",      "here",     "10.0.0.1", ":80",
                                      "a:65536", "a:",     "a:-1",     "a:1x",     "::1:80",
                                      "[]:80",   "[a]:80", "a:000080", "a: 80",    "[::1]80"};
    char host[OS_HOST_MAX], longest[OS_HOST_MAX + 8];
    uint16_t port;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (os_address_split(bad[i], host, &port))
            fail_msg("'%s' was taken for an address", bad[i]);
    }
    memset(longest, 'a', OS_HOST_MAX);
    strcpy(longest + OS_HOST_MAX, ":80");
    assert_false(os_address_split(longest, host, &port));
}

static void addresses_come_back_as_they_were_written(void **state)
{
    static const char *const texts[] = {"10.1.2.3:80", "[2001:db8::7]:9900", "[::]:1"};
    char host[OS_HOST_MAX], text[FABRIC_ADDRESS_MAX];
    struct os_address address;
    uint16_t port;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_true(os_address_split(texts[i], host, &port));
        assert_true(os_address_literal(host, port, &address));
        os_address_format(&address, text);
        assert_string_equal(text, texts[i]);
    }
    assert_false(os_address_literal("node2", 80, &address));
    assert_false(os_address_literal("10.0.0", 80, &address));
}

static void ipv4_inside_ipv6_is_written_and_compared_as_ipv4(void **state)
{
    struct os_address mapped, plain, other;
    char text[FABRIC_ADDRESS_MAX];
    (void)state;
    assert_true(os_address_literal("::ffff:10.1.2.3", 80, &mapped));
    assert_true(os_address_literal("10.1.2.3", 81, &plain));
    assert_true(os_address_literal("10.1.2.4", 80, &other));
    os_address_format(&mapped, text);
    assert_string_equal(text, "10.1.2.3:80");
    assert_true(
        os_address_same_ip((struct sockaddr *)&mapped.storage, (struct sockaddr *)&plain.storage));
    assert_false(
        os_address_same_ip((struct sockaddr *)&mapped.storage, (struct sockaddr *)&other.storage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_ports_are_taken_apart),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(addresses_come_back_as_they_were_written),
        cmocka_unit_test(ipv4_inside_ipv6_is_written_and_compared_as_ipv4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "src/fabric/ipoib.h"

static void a_mode_has_its_newline(void **state)
{
    static const char *const wrong[] = {"connected",   "datagram",      "",
                                        "\n",          "connected\n\n", "connected\nx",
                                        "Connected\n", "datagra\n"};
    bool connected = false;
    (void)state;
    assert_true(fabric_ipoib_mode("connected\n", 10, &connected));
    assert_true(connected);
    assert_true(fabric_ipoib_mode("datagram\n", 9, &connected));
    assert_false(connected);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(fabric_ipoib_mode(wrong[i], strlen(wrong[i]), &connected));
}

static void an_mtu_is_a_number_within_its_limits(void **state)
{
    static const char *const wrong[] = {"2045", "67",     "",     "\n",     "1500x",     "-1",
                                        " 68",  "68\n\n", "0x68", "100000", "4294967364"};
    uint32_t mtu = 0;
    (void)state;
    assert_true(fabric_ipoib_mtu("68", 2, IPOIB_DATAGRAM_MTU, &mtu));
    assert_int_equal(mtu, 68);
    assert_true(fabric_ipoib_mtu("2044\n", 5, IPOIB_DATAGRAM_MTU, &mtu));
    assert_int_equal(mtu, 2044);
    assert_true(fabric_ipoib_mtu("65520", 5, IPOIB_CONNECTED_MTU, &mtu));
    assert_int_equal(mtu, 65520);
    assert_false(fabric_ipoib_mtu("65521", 5, IPOIB_CONNECTED_MTU, &mtu));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(fabric_ipoib_mtu(wrong[i], strlen(wrong[i]), IPOIB_DATAGRAM_MTU, &mtu));
    assert_int_equal(mtu, 65520);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mode_has_its_newline),
        cmocka_unit_test(an_mtu_is_a_number_within_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

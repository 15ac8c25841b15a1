/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/memkv_pair.h"
#include "tests/support/rogue.h"

static struct rogue r;

/* MK-I2, H4: not a reset, that would say nothing. */
static void a_newer_client_is_told_the_version(void **state)
{
    (void)state;
    uint8_t hello[61] = {'M', 'K', 'V', '1', 2, 1, [11] = 41, [20] = 1};
    struct small_world *w = small_world_new(2);
    memset(&r, 0, sizeof r);
    r.raw = true;
    assert_int_equal(pair_server(w, ""), 0);
    rogue_start(w, PAIR_CLIENT, &r, WIRE_CLIENT);
    small_run(w, SECOND / 10);
    rogue_send_bytes(&r, hello, sizeof hello);
    small_run(w, SECOND / 10);
    assert_int_equal(r.raw_received, 20);
    assert_true(r.closed);
    assert_int_equal(small_logged(w, PAIR_SERVER, "unsupported_version: it speaks a newer"), 1);
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_client_is_told_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

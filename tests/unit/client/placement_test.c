/* SPDX-License-Identifier: Apache-2.0 */
/* MK-A2: rendezvous hashing over servers that know nothing of each other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "src/client/placement.h"

#define KEYS 10000

static void one_more_server_takes_only_its_share(void **state)
{
    (void)state;
    uint64_t seeds[5];
    char text[32];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "10.0.0.%u:9900", i + 1);
        seeds[i] = placement_seed(text);
    }
    unsigned moved = 0, load[5] = {0};
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "key %u", i);
        size_t four = placement_choose(seeds, 4, text, strlen(text));
        size_t five = placement_choose(seeds, 5, text, strlen(text));
        assert_true(five == four || five == 4); /* never from one old server to another */
        moved += five != four;
        load[five]++;
    }
    assert_true(moved > KEYS / 5 - 300 && moved < KEYS / 5 + 300);
    for (unsigned i = 0; i < 5; i++)
        assert_true(load[i] > KEYS / 5 - 300 && load[i] < KEYS / 5 + 300);
}

/* Written into the specification: other clients must find the same server. */
static void placement_is_the_one_of_the_specification(void **state)
{
    (void)state;
    const uint64_t seeds[] = {placement_seed("a:1"), placement_seed("b:1"), placement_seed("c:1")};
    static const char *const keys[] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
    static const size_t expected[] = {0, 2, 1, 1, 0, 0, 1, 2};
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(placement_choose(seeds, 3, keys[i], 2), expected[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_more_server_takes_only_its_share),
        cmocka_unit_test(placement_is_the_one_of_the_specification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

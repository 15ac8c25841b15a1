/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/memkv_pair.h"

static void assert_has(const char *line, const char *text)
{
    if (!line || !strstr(line, text))
        fail_msg("expected %s in %s", text, line ? line : "(nothing)");
}

static void blocks_go_over_rc_and_come_back(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    assert_has(pair_do(w, "\"op\":\"put\",\"key\":\"k\",\"size\":200000,\"seed\":7"),
               "\"class\":\"rdma\"");
    const char *line = pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":200000,\"seed\":7");
    assert_has(line, "\"equal\":true");
    assert_has(line, "\"transport\":\"rc\"");
    assert_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"found\":true");
    assert_has(pair_do(w, "\"op\":\"delete\",\"key\":\"k\""), "\"ok\":true");
    assert_has(pair_do(w, "\"op\":\"exists\",\"key\":\"k\""), "\"found\":false");
    assert_has(pair_do(w, "\"op\":\"get\",\"key\":\"k\",\"size\":10"),
               "\"class\":\"failed:not_found\"");
    small_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_over_rc_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

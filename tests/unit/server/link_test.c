/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/rail/backoff.h"
#include "tests/support/memkv_pair.h"

/* MK-B5: what a transfer needs is there before a link is called connected: later nothing is left to
 * fail. */
static void the_store_is_registered_before_a_link_is_up(void **state)
{
    (void)state;
    struct small_world *w = pair_new("rdma");
    assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND));
    small_fail(w, PAIR_SERVER, FABRIC_OP_MR_REGISTER, 1, 1000, ERR_MEMLOCK_LIMIT);
    pair_round(w, "rdma");
    small_world_free(w);
}

/* An overrun queue, at either side: everything that hangs on it is made anew. */
static void a_broken_completion_queue_is_replaced(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct small_world *w = pair_new("rdma");
        const bool settled = i / 2;
        pair_round(w, "rdma");
        small_run(w, settled ? RAIL_SETTLED : 1);
        small_async(w, i % 2, FABRIC_ASYNC_CQ_ERR, 0);
        assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"down\"", SECOND / 100));
        if (settled)
            small_run(w, SECOND / 100);
        else
            assert_non_null(small_until(w, PAIR_CLIENT, "\"state\":\"up\"", SECOND / 5));
        pair_has(pair_do(w, "\"op\":\"status\""), "\"state\":\"up\"");
        pair_round(w, "rdma");
        small_world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_is_registered_before_a_link_is_up),
        cmocka_unit_test(a_broken_completion_queue_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

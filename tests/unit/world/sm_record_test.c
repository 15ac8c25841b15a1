/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <stdlib.h>

#include "fabric_sim/world/sm_state.h"

static void a_record_is_made_once_and_then_found(void **state)
{
    struct sm *sm = calloc(1, sizeof *sm);

    (void)state;
    assert_non_null(sm);
    assert_null(sm_record_find(sm, 9));
    for (uint64_t guid = 1; guid <= 200; guid++)
        sm_record_get(sm, guid)->lid = (uint16_t)guid;
    for (uint64_t guid = 1; guid <= 200; guid++)
        assert_int_equal(sm_record_find(sm, guid)->lid, guid);
    assert_ptr_equal(sm_record_get(sm, 77), sm_record_find(sm, 77));
    assert_int_equal(sm->record_count, 200);
    sm_records_destroy(sm);
    free(sm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_made_once_and_then_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

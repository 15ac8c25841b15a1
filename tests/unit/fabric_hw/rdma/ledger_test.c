/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue owes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric_hw/rdma/ledger.h"

static void a_ledger_is_full_until_its_oldest_was_polled(void **state)
{
    struct rdma_ledger ledger;
    (void)state;
    assert_true(rdma_ledger_open(&ledger, 3));
    for (uint64_t i = 0; i < 3; i++)
        rdma_ledger_add(&ledger, (struct rdma_entry){.wr_id = i, .signaled = true}, true);
    assert_true(rdma_ledger_full(&ledger));
    rdma_ledger_at(&ledger, 0)->told = true;
    ledger.pushed = 1;
    assert_true(rdma_ledger_full(&ledger));
    assert_int_equal(rdma_ledger_polled(&ledger)->wr_id, 0);
    assert_false(rdma_ledger_full(&ledger));
    assert_int_equal(rdma_ledger_outstanding(&ledger), 2);
    rdma_ledger_close(&ledger);
}

static void one_completion_covers_the_unsignaled_before_it(void **state)
{
    struct rdma_ledger ledger;
    (void)state;
    assert_true(rdma_ledger_open(&ledger, 8));
    for (uint64_t i = 0; i < 4; i++)
        rdma_ledger_add(&ledger, (struct rdma_entry){.wr_id = i}, true);
    rdma_ledger_at(&ledger, 3)->told = true;
    ledger.pushed = 4;
    assert_int_equal(rdma_ledger_polled(&ledger)->wr_id, 3);
    assert_int_equal(rdma_ledger_outstanding(&ledger), 0);
    rdma_ledger_close(&ledger);
}

/* Also where the low bits begin anew. */
static void low_bits_name_the_position_among_those_that_are_owed(void **state)
{
    static const uint64_t starts[] = {0, RDMA_SEQUENCE_MASK - 1, UINT64_C(5) << 31};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rdma_ledger ledger;
        uint64_t position;
        assert_true(rdma_ledger_open(&ledger, 8));
        ledger.polled = ledger.pushed = ledger.given = ledger.next = starts[i];
        for (int j = 0; j < 4; j++)
            rdma_ledger_add(&ledger, (struct rdma_entry){.wr_id = 1}, true);
        uint32_t low = (uint32_t)starts[i] & RDMA_SEQUENCE_MASK;
        assert_true(rdma_ledger_find(&ledger, (low + 3) & RDMA_SEQUENCE_MASK, &position));
        assert_int_equal(position, starts[i] + 3);
        assert_false(rdma_ledger_find(&ledger, (low + 4) & RDMA_SEQUENCE_MASK, &position));
        assert_false(rdma_ledger_find(&ledger, (low - 1) & RDMA_SEQUENCE_MASK, &position));
        rdma_ledger_close(&ledger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_is_full_until_its_oldest_was_polled),
        cmocka_unit_test(one_completion_covers_the_unsignaled_before_it),
        cmocka_unit_test(low_bits_name_the_position_among_those_that_are_owed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that need one bed each, from seed 1 with every capability: cmocka's set-up and
 * tear-down, and faults on it. */
#ifndef TESTS_SUPPORT_ONE_BED_H
#define TESTS_SUPPORT_ONE_BED_H

#include "tests/support/sim_bed.h"

extern struct sim_bed bed;
int bed_setup(void **state);
int bed_teardown(void **state);
enum testbed_result bed_apply(struct testbed_fault fault);

#define FAULT(...)                                                                                 \
    (struct testbed_fault)                                                                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define DO(...) assert_int_equal(bed_apply(__VA_ARGS__), TESTBED_DONE)
#define WRONG(...) assert_int_equal(bed_apply(__VA_ARGS__), TESTBED_WRONG)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/one_bed.h"

struct sim_bed bed;

int bed_setup(void **state)
{
    (void)state;
    sim_bed_open(&bed, 1, FABRIC_CAPS_ALL);
    return 0;
}

int bed_teardown(void **state)
{
    (void)state;
    sim_bed_close(&bed);
    return 0;
}

enum testbed_result bed_apply(struct testbed_fault fault)
{
    return sim_bed_apply(&bed, &fault);
}

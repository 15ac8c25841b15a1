/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/seeded.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t seeded_next(uint64_t *state, uint64_t below)
{
    assert(state && below > 0);
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

uint64_t seeded_draw(struct seeded *seeded, uint64_t below)
{
    return seeded_next(&seeded->random, below);
}

void seeded_violation(struct seeded *seeded, const char *format, ...)
{
    va_list arguments;
    printf("seed %" PRIu64 ": ", seeded->seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    ++*seeded->violations;
}

void seeded_must(enum testbed_result result, const char *detail)
{
    if (result == TESTBED_DONE)
        return;
    fprintf(stderr, "the testbed: %s\n", detail);
    exit(2);
}

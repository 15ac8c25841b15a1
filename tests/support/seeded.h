/* SPDX-License-Identifier: Apache-2.0 */
/* What programs share that play many seeded worlds and count what should not be. */
#ifndef TESTS_SUPPORT_SEEDED_H
#define TESTS_SUPPORT_SEEDED_H

#include <stdint.h>

#include "src/scenario/testbed.h"

struct seeded {
    uint64_t seed, random; /* of this world; the generator's state, which begins as the seed */
    uint64_t *violations;  /* counted over all worlds */
};

/* splitmix64: from `*state`, which moves on, below `below` (1 or more). */
uint64_t seeded_next(uint64_t *state, uint64_t below);
uint64_t seeded_draw(struct seeded *seeded, uint64_t below);

/* Prints what should not be, with the seed, and counts it. */
void seeded_violation(struct seeded *seeded, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the program (2) with `detail` when the testbed did not do what it was asked. */
void seeded_must(enum testbed_result result, const char *detail);

#endif

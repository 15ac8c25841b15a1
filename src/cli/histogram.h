/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long operations took: a count for each of 64 steps between a power of two and the next, so
 * every value is counted, and a percentile is at most 1/64 above the value that was measured.
 */
#ifndef SRC_CLI_HISTOGRAM_H
#define SRC_CLI_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 64u                                  /* of each power of two */
#define HISTOGRAM_COUNTS ((64u - 6u + 1u) * HISTOGRAM_STEPS) /* values below 64 are exact */

struct histogram { /* zeroed to begin with */
    uint64_t counts[HISTOGRAM_COUNTS];
    uint64_t count, sum, least, most; /* sum: saturates */
};

void histogram_add(struct histogram *h, uint64_t value);
/* Counts in `h` too what was counted in `other`. */
void histogram_merge(struct histogram *h, const struct histogram *other);
/* The least value such that `per_million` of a million values are not above it; 0 of none. The true
 * one is not above it and not more than 1/64 below; never above `most`. */
uint64_t histogram_at(const struct histogram *h, uint32_t per_million);
uint64_t histogram_mean(const struct histogram *h);

#endif

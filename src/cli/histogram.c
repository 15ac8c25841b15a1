/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/histogram.h"

#include <assert.h>

#include "src/fabric/planted.h"

#define STEP_BITS 6u

static uint32_t place_of(uint64_t value)
{
    uint32_t bits = 0;
    while (value >> bits >= 2 * HISTOGRAM_STEPS)
        bits++;
    /* The value's first 7 bits; below 64 it is its own place. */
    const uint32_t place = bits * HISTOGRAM_STEPS + (uint32_t)(value >> bits);
    assert(place < HISTOGRAM_COUNTS);
    return place;
}

/* The largest value that is counted there. */
static uint64_t top_of(uint32_t place)
{
    assert(place < HISTOGRAM_COUNTS);
    if (place < 2 * HISTOGRAM_STEPS)
        return place;
    const uint32_t bits = (place >> STEP_BITS) - 1;
    const uint64_t first = place - bits * HISTOGRAM_STEPS;
    return (first << bits) + ((UINT64_C(1) << bits) - 1);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    assert(h);
    h->counts[place_of(value)]++;
    h->least = h->count == 0 || value < h->least ? value : h->least;
    h->most = value > h->most ? value : h->most;
    h->sum = h->sum > UINT64_MAX - value ? UINT64_MAX : h->sum + value;
    h->count++;
}

void histogram_merge(struct histogram *h, const struct histogram *other)
{
    assert(h && other && h != other);
    if (other->count == 0)
        return;
    for (uint32_t i = 0; i < HISTOGRAM_COUNTS; i++)
        h->counts[i] += other->counts[i];
    h->least = h->count == 0 || other->least < h->least ? other->least : h->least;
    h->most = other->most > h->most ? other->most : h->most;
    h->sum = h->sum > UINT64_MAX - other->sum ? UINT64_MAX : h->sum + other->sum;
    h->count += other->count;
}

/* The part of `count` that is `per_million`, rounded up; no product overflows. */
static uint64_t part_of(uint64_t count, uint32_t per_million)
{
    const uint64_t whole = count / 1000000 * per_million;
    return whole + (count % 1000000 * per_million + 999999) / 1000000;
}

uint64_t histogram_at(const struct histogram *h, uint32_t per_million)
{
    assert(h && per_million <= 1000000);
    uint64_t wanted = part_of(h->count, per_million), seen = 0;
    wanted = wanted ? wanted : 1;
    if (PLANTED(cli_percentile_low))
        wanted = (wanted + 1) / 2;
    for (uint32_t i = 0; i < HISTOGRAM_COUNTS; i++) {
        seen += h->counts[i];
        if (seen >= wanted)
            return top_of(i) < h->most ? top_of(i) : h->most;
    }
    return 0;
}

uint64_t histogram_mean(const struct histogram *h)
{
    assert(h);
    return h->count ? h->sum / h->count : 0;
}

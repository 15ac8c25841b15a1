/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differential test of the two engines: one random sequence of operations, drawn from a seed
 * alone, is played in a world of packets and in one where the message engine carries what it may;
 * what both wrote down must be the same. Each step ends when everything that it began is over.
 */
#ifndef TESTS_SUPPORT_TWIN_H
#define TESTS_SUPPORT_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TWIN_TEXT 65536

struct twin; /* both worlds */

struct twin *twin_create(uint64_t seed);
void twin_destroy(struct twin *twin);
/* Plays the sequence of this number in both. False when they differ: where, then stands in `text`
 * (TWIN_TEXT bytes): some lines before, and the line of each. */
bool twin_play(struct twin *twin, uint64_t sequence, char *text);
/* Requests posted in the second world, and how many of them went as whole messages. */
void twin_count(const struct twin *twin, uint64_t *posted, uint64_t *carried);
/* Completions by status in the first world, over all that was played: FABRIC_WC_STATUS_COUNT. */
const uint64_t *twin_statuses(const struct twin *twin);

#endif

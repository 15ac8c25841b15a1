/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that holds events back until a later time (HA-1.6). It lives by the clock and the timers
 * of the fabric below, so it works in virtual time and on hardware alike.
 */
#ifndef SRC_FABRIC_LAYER_DELAY_H
#define SRC_FABRIC_LAYER_DELAY_H

#include "src/fabric/fabric.h"

#define LAYER_DELAY_RULES 32

/* Events whose type is in `events` (a set of 1 << enum fabric_event_type) come `by` ns later; of
 * ASYNC events only those whose type is in `async_types` (a set of 1 << enum fabric_async_type; 0:
 * every type). The first rule that matches decides. Events of one object stay in their order: what
 * follows a held one waits for it. An event's time is the time at which the layer let it go. */
struct layer_delay_rule {
    uint32_t events;
    uint32_t async_types;
    uint64_t by;
};

/* A delay layer over `next` without a rule. Errors: resources_exhausted. See layer.h. */
enum fabric_error layer_delay_create(struct fabric *next, struct fabric **out);

/* Adds a rule for events that arrive from now on. Errors: resources_exhausted (LAYER_DELAY_RULES
 * are in force). */
enum fabric_error layer_delay_add(struct fabric *f, const struct layer_delay_rule *rule);

/* Removes every rule; what is held becomes due at once. */
void layer_delay_clear(struct fabric *f);

/* How many events are held back now. */
size_t layer_delay_held(const struct fabric *f);

#endif

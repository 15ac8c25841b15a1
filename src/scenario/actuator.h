/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault word as commands for machines (HA-4.4): the inventory's own, or those of a built-in set.
 * A function of its arguments; nothing is run here.
 */
#ifndef SRC_SCENARIO_ACTUATOR_H
#define SRC_SCENARIO_ACTUATOR_H

#include <jansson.h>

#include "src/scenario/inventory.h"

/* What a cable does to packets, as the words that came so far have it. */
struct actuator_cable {
    uint32_t loss, reorder, duplicate; /* parts per million */
    bool cut;                          /* nothing leaves */
    uint64_t delay, jitter;            /* ns */
};

struct actuator_target {
    const struct inventory_node *node, *peer;
    const struct inventory_device *device; /* null: the word is about none */
    struct actuator_cable *cable;          /* of that device; changed by the word */
};

struct actuation { /* arrays of arrays of words; actuation_free */
    bool on_runner;
    json_t *commands, *undo;
};

/* What {places} in `commands` may be called, besides read:PATH; null ends them. */
extern const char *const actuator_places[];

/* Whether the word is about nothing but programs that the agent itself runs. */
bool actuator_is_own(enum testbed_word word);
/* Capabilities that at least one actuator of the inventory gives. */
fabric_caps actuator_caps(const struct inventory *inventory);
/* DONE; LACKS: there is no actuator, or the inventory does not allow the word; `detail`
 * (TESTBED_DETAIL bytes) says which. Nothing is to be freed then. */
enum testbed_result actuate(const struct inventory *inventory, const struct actuator_target *target,
                            const struct testbed_fault *fault, struct actuation *out, char *detail);
void actuation_free(struct actuation *actuation);

#endif

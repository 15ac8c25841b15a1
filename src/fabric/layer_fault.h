/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer that makes operations and completions fail (HA-1.6, HA-5.3): operation, nth, repeat.
 */
#ifndef SRC_FABRIC_LAYER_FAULT_H
#define SRC_FABRIC_LAYER_FAULT_H

#include "src/fabric/fabric.h"

#define LAYER_FAULT_RULES 32            /* rules in force at once */
#define LAYER_FAULT_ANY FABRIC_OP_COUNT /* as an operation: every one that can fail */

/* What is counted are calls of `op` after the rule was added; the `nth` (from 1) is the first that
 * fails, and `repeat` of them in a row do (0: all from then on). Two kinds:
 *  - status SUCCESS: the call returns `error` (FABRIC_OK: one that the operation documents) and
 *    nothing is passed on. Not for operations that never fail.
 *  - another status, with op QP_POST_SEND or QP_POST_RECV: the post is passed on and accepted, and
 *    its completion carries this status. With op POLL: successful completions are counted instead
 *    of calls. Either way the queue pair is then moved to ERR and what follows on it is flushed, as
 *    after a real failure; whether the request was carried out is unknown, as after a real one. */
struct layer_fault_rule {
    enum fabric_op op;
    uint64_t nth, repeat;
    enum fabric_error error;
    enum fabric_wc_status status;
};

/* A fault layer over `next` without a rule. Errors: resources_exhausted. See layer.h. */
enum fabric_error layer_fault_create(struct fabric *next, struct fabric **out);

/* Adds a rule; rules are asked in the order in which they were added, all of them count, the first
 * that fires decides. Errors: resources_exhausted (LAYER_FAULT_RULES are in force). */
enum fabric_error layer_fault_add(struct fabric *f, const struct layer_fault_rule *rule);

/* Removes every rule; the next fault is a real one. fired goes on counting. */
void layer_fault_clear(struct fabric *f);

/* How often a rule fired since the layer was made. A sweep adds {LAYER_FAULT_ANY, nth, 1} for nth =
 * 1, 2, 3... to fresh worlds and ends with the first run in which this is 0. */
uint64_t layer_fault_fired(const struct fabric *f);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a memory key grants to a queue pair (chapter 10.6.3), for both engines. */
#ifndef FABRIC_SIM_HCA_KEYS_H
#define FABRIC_SIM_HCA_KEYS_H

#include "fabric_sim/hca/rules.h"
#include "fabric_sim/hca/state.h"

/* The key by which a peer of the queue pair may do that to what lies in the domain; null: it may
 * not. */
const struct key_state *keys_remote(const struct hca_state *state, const struct qp_state *qp,
                                    uint32_t pd, uint32_t rkey, uint64_t addr, uint32_t length,
                                    uint32_t access);
/* The region behind an entry of a request in the domain; null: it is not allowed. */
const struct key_state *keys_local(const struct hca_state *state, uint32_t pd,
                                   const struct hca_sge *sge, uint32_t access);
/* Whether all entries are allowed; empty ones are not looked at. */
bool keys_all_local(const struct hca_state *state, uint32_t pd, const struct hca_sge *sges,
                    uint32_t count, uint32_t access);
/* Whether no engine has anything on its way through the key that would not ask for it again. Then
 * who holds the lock may end it: packets that wait to land do not ask, and memory of the engine's
 * own process is referred to by its packets. */
bool keys_quiet(const struct hca_state *state, const struct key_state *key);

#endif

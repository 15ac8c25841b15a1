/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that bind or invalidate a memory window of a program (chapters 10.6.7, 10.8.3), for both
 * engines. */
#ifndef FABRIC_SIM_HCA_BIND_H
#define FABRIC_SIM_HCA_BIND_H

#include "fabric_sim/hca/state.h"

struct bind {
    struct key_state *window;
    struct key_state *region; /* that it is bound to; null: to nothing from now on */
    uint32_t key;             /* its next one */
    uint32_t qp;              /* id: of a window of type 2; else 0 */
};

/* What the request does; false: it may not, which is MW_BIND_ERR. Changes nothing. */
bool bind_judge(const struct hca_state *state, const struct qp_state *qp,
                const struct send_wqe *wqe, struct bind *out);
/* The same of the invalidation of a key that a message of the peer names. */
bool bind_judge_invalidation(const struct hca_state *state, const struct qp_state *qp,
                             uint32_t rkey, struct bind *out);
/* Whether the window was bound: then nothing may be under way through it any more. */
bool bind_ends(const struct bind *bind);
/* Does what was judged. */
void bind_execute(struct hca_state *state, const struct send_wqe *wqe, const struct bind *bind);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message engine (HA-2.8): whole messages, carried by the thread that posts them. It finds the
 * peer, asks the same questions as the packet engine (arrive.h, keys.h, rules.h), copies once, and
 * completes in the rings of both. It has no state of its own: a queue pair is left as the packets
 * of the message would have left it, so that either engine goes on from there.
 *
 * Bindings and invalidations of windows, which send nothing, it carries out likewise.
 *
 * It carries what succeeds and nothing else: RC, UC and UD messages between two ports with a plain
 * way between them (net_plain_way), when nothing is under way at either end, no check fails, a
 * receive is there, both completion queues have room, and nothing but completions is to be told.
 * message_may_carry (message_judge.c) alone decides. Everything else is left in the send queue for
 * the packet engine, which alone knows of time and of failure.
 *
 * Threading: whoever calls holds the lock of all devices that a route may lead to.
 */
#ifndef FABRIC_SIM_HCA_MESSAGE_H
#define FABRIC_SIM_HCA_MESSAGE_H

#include "fabric_sim/hca/state.h"

/* Where packets out of a port end that are plainly for a LID. */
struct message_route {
    struct hca_state *state; /* of the device there, the world's */
    uint8_t port_num;
    uint32_t mtu; /* bytes of payload that pass on the way */
};

/* A stretch of memory. */
struct message_part {
    uint64_t host;  /* its address, as a number */
    uint32_t owner; /* program whose address that is; 0: of this process */
    uint32_t length;
};

/* What the engine asks of whoever uses it. */
struct message_world {
    void *context;
    /* False: the way is not plain, or not known to be. */
    bool (*route)(void *context, const struct hca_state *from, uint8_t port_num,
                  const struct packet *packet, struct message_route *out);
    /* Copies all of it, also onto itself; false: part of it is out of reach. */
    bool (*copy)(void *context, const struct message_part *to, const struct message_part *from);
    /* A completion was put into the CQ; `asked`: its program wants to be told. Null: nobody. */
    void (*completed)(void *context, struct hca_state *state, struct cq_state *cq, bool solicited,
                      bool asked);
    /* Sees to it that nothing that is under way reaches memory through this window of that device
     * any more; false: it cannot. */
    bool (*quiet)(void *context, struct hca_state *state, const struct key_state *window);
    uint64_t now; /* ns, as completions show it */
};

/* Carries messages of the queue pair from the oldest on, until there is none left, one is not for
 * this engine, or there were `most`; returns how many. Look at queue_send_rings afterwards. */
uint32_t message_run(const struct message_world *world, struct hca_state *state,
                     struct qp_state *qp, uint32_t most);

/* Whether the request that is to be begun next would go plainly to its peer, and the answer back.
 */
bool message_passes(const struct message_world *world, struct hca_state *state,
                    struct qp_state *qp);

#endif

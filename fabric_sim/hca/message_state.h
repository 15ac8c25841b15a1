/* SPDX-License-Identifier: Apache-2.0 */
/* One message on its way through the message engine; shared by the files message*.c only. */
#ifndef FABRIC_SIM_HCA_MESSAGE_STATE_H
#define FABRIC_SIM_HCA_MESSAGE_STATE_H

#include "fabric_sim/hca/bind.h"
#include "fabric_sim/hca/message.h"
#include "fabric_sim/hca/rules.h"

struct message_end {
    struct hca_state *state;
    struct port_info *port;
    struct qp_state *qp;
    struct path_state *path;
    struct requester *req;
    struct responder *rsp;
};

struct message {
    const struct message_world *world;
    struct message_end from, to;
    struct send_wqe *wqe;
    struct path_state path; /* of the sender, for this message */
    struct packet head;     /* what the first packet would say; of a datagram, the only one */
    uint32_t span;          /* PSNs */
    const struct key_state *remote; /* of an RDMA operation that touches memory */
    bool receives;                  /* takes a receive */
    bool loops;                     /* never leaves the port */
    struct recv_wqe recv;
};

/* ---- message_judge.c. Whether the oldest request of the queue pair at `from` is for this engine;
 * fills the rest of the message. Changes nothing else. */
bool message_may_carry(struct message *m);

/* Whether its packets would arrive at once, and their answers; part of the above. */
bool message_reaches(struct message *m);

/* Whether that request, which sends nothing, is for this engine; fills *bind. It may be that the
 * window is quiet now. */
bool message_may_bind(const struct message *m, struct bind *bind);

/* ---- message_copy.c. Moves the bytes; false: some of them are out of reach. */
bool message_copy(struct message *m);

/* The ring that the receives of a queue pair come from; *srq is null where it is its own. */
struct recv_ring *message_receives(struct message_end *end, struct srq_state **srq);
struct cq_state *message_cq(const struct message_end *end, uint32_t id);

#endif

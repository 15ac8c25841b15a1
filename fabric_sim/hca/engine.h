/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet engine: what runs on top of rules and state in one process. Private to this room.
 *
 * A qp_context is the engine's side of one queue pair, or of one initiator that a DC target serves
 * (a DC responder). It is a requester, a responder or both, and stands in the ready queue of its
 * port and lane while it may have a packet to send. Each turn gives at most one packet. What it
 * must not forget stands in the arena; here are scheduled events, packets, payloads, and addresses
 * in the arena that were looked up once.
 */
#ifndef FABRIC_SIM_HCA_ENGINE_H
#define FABRIC_SIM_HCA_ENGINE_H

#include "fabric_sim/hca/rules.h"
#include "fabric_sim/hca/state.h"

#define ENGINE_HELD 8 /* packets of one RDMA WRITE that may wait to land out of order */

/* What a send request needs besides its ring entry. */
struct send_slot {
    struct payload *payload;
    uint8_t *gathered; /* several entries copied into one */
};

struct qp_context {
    struct hca *hca;
    struct qp_state *qp;   /* the target, of a DC responder */
    struct dcr_state *dcr; /* null: the queue pair itself */
    struct path_state *path;
    struct requester *req;
    struct responder *rsp;

    bool queued;
    uint8_t lane;
    struct qp_context *next_ready;

    struct send_slot *slots; /* parallel to the send ring */
    sim_event turn;          /* its next message is looked at again then */
    sim_event timer; /* for the deadline of the requester, or the idle limit of a responder */
    uint64_t armed;  /* time of the scheduled event, at or before the deadline */

    struct payload *answers[RESPONDER_RESOURCES]; /* parallel to the resources */
    struct key_state *write_key;                  /* what the rkey was found to be; see key_lives */
    struct packet *held_head, *held_tail;
    uint32_t held;
    struct qp_context *dcr_recent; /* of a target: found last; null when there is none */
};

struct lane {
    struct qp_context *head, *tail;
    struct packet *stalled; /* built, no credit yet */
};

struct hca_port {
    struct hca *hca;
    struct net_port *net_port;
    struct port_state *state;
    struct port_info *info; /* in it */
    struct port_info *home; /* where the attributes lie without a device */
    struct lane lanes[PORT_VLS];
    uint16_t ready;                       /* lanes with a queue pair in them, a bit each */
    struct packet *loop_head, *loop_tail; /* to this very port, oldest first */
    sim_event loop;
    sim_event kick;
    bool running; /* answers to what is being received go out at its end */
};

/* Contexts by index of the queue pair or DC responder. */
struct context_list {
    struct qp_context **at;
    uint32_t capacity;
};

struct hca {
    struct net *net;
    struct sim *sim;
    struct net_node *node;
    const char *label; /* of trace lines */
    const struct hca_profile *profile;
    bool discard_payload;
    bool use_messages;
    uint64_t messages; /* that the message engine carried */
    const struct hca_reach *reach;
    sim_event overrun; /* queue pairs of an overrun CQ are about to end */
    struct hca_state state;
    struct hca_port *ports; /* port_num - 1 */
    struct context_list contexts, dcr_contexts;
    sim_event *revokes; /* by index of the window: its scheduled end */
    uint32_t revoke_capacity;
    struct hca_notify notify;
    hca_trap_handler trap_handler;
    void *trap_context;
};

static inline bool hca_has(const struct hca *hca, fabric_caps cap)
{
    return (hca->state.device->caps & cap) != 0;
}

/* ---- port.c: sending and receiving */
struct hca_port *port_of(struct hca *hca, uint8_t port_num);
void context_ready(struct qp_context *ctx);
void context_unqueue(struct qp_context *ctx);
void port_size_tables(struct hca_port *port); /* by profile and link layer */
void port_close(struct hca_port *port);       /* packets that wait in it are gone */
struct packet *context_packet(struct qp_context *ctx, uint8_t operation, uint32_t psn);
void packet_finish(const struct hca_port *port, struct packet *packet);
void packet_trace(struct hca *hca, const char *what, const struct packet *packet,
                  const char *reason);
void packet_drop(struct hca *hca, struct packet *packet, const char *reason);
void port_receive(void *context, struct net_port *net_port, struct packet *packet);
void port_can_send(void *context, struct net_port *net_port, uint8_t vl);
void port_changed(void *context, struct net_port *net_port, const struct port_info *before);

/* ---- receive.c: which queue pair an arrived packet is for, if any */
void receive_packet(struct hca *hca, struct hca_port *port, struct packet *packet);

/* ---- requester.c */
void requester_reset(struct qp_context *ctx);
struct packet *requester_next(struct qp_context *ctx);
void requester_response(struct qp_context *ctx, struct packet *packet);
void requester_fail(struct qp_context *ctx, enum fabric_wc_status status);
void requester_complete(struct qp_context *ctx, enum fabric_wc_status status); /* the oldest */
bool requester_rewind(struct qp_context *ctx); /* counts a retry; false: that was one too many */
void requester_check_drained(struct qp_context *ctx);
struct send_slot *requester_slot(struct qp_context *ctx, uint32_t counter);
void send_slot_release(struct hca *hca, struct send_slot *slot);

/* ---- request.c: building requests */
struct packet *request_build(struct qp_context *ctx);
bool request_prepare(struct qp_context *ctx, struct send_wqe *wqe, struct send_slot *slot);

/* ---- timer.c */
void timer_await(struct qp_context *ctx); /* starts the ACK timer unless it runs */
void timer_progress(struct qp_context *ctx);
void timer_rnr(struct qp_context *ctx, uint8_t code);
void timer_stop(struct qp_context *ctx);
void timer_cancel(struct qp_context *ctx); /* before the context goes */

/* ---- responder.c */
void responder_reset(struct qp_context *ctx);
void responder_request(struct qp_context *ctx, struct packet *packet);
struct packet *responder_next(struct qp_context *ctx);
void responder_nak(struct qp_context *ctx, enum rules_nak nak);
void responder_ack(struct qp_context *ctx, uint32_t psn);
void responder_comm_established(struct qp_context *ctx);
void responder_complete_recv(struct qp_context *ctx, const struct packet *packet, bool write);
/* Rights of the queue pair and of the key for an RDMA WRITE; then it begins. */
bool responder_write_allowed(struct qp_context *ctx, const struct packet *packet);
void responder_write_begin(struct qp_context *ctx, const struct packet *packet);

/* ---- resource.c: READs and atomics */
void resource_read(struct qp_context *ctx, struct packet *packet);
void resource_atomic(struct qp_context *ctx, struct packet *packet);
void resource_duplicate(struct qp_context *ctx, struct packet *packet);
struct packet *resource_next(struct qp_context *ctx);
void resources_drop(struct qp_context *ctx);

/* ---- landing.c: bytes of RDMA WRITEs into memory */
void landing_begin(struct qp_context *ctx);
void landing_packet(struct qp_context *ctx, struct packet *packet); /* takes it */
void landing_end(struct qp_context *ctx);                           /* everything is there */
void landing_abandon(struct qp_context *ctx); /* some of it lands, the rest never does */

/* ---- memory.c */
void *key_host(const struct key_state *key, uint64_t addr);
/* Whether what was found by `value` earlier is still that key. */
static inline bool key_lives(const struct key_state *key, uint32_t value)
{
    return key->slot.id && key->key == value && !key->unbound;
}
struct key_state *key_take(struct hca *hca, const struct pd_state *pd); /* null: no room */
/* Nothing that is under way reaches memory through it any more; what comes asks the key again. */
void key_quiet(struct hca *hca, const struct key_state *key);
bool key_remote(const struct qp_context *ctx, uint32_t rkey, uint64_t addr, uint32_t length,
                uint32_t access);
bool key_remote_of(const struct qp_context *ctx, uint32_t pd, uint32_t rkey, uint64_t addr,
                   uint32_t length, uint32_t access);
bool memory_local(const struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
                  uint32_t access);
bool memory_scatter(struct qp_context *ctx, const struct hca_sge *sges, uint32_t count,
                    uint32_t offset, const uint8_t *bytes, uint32_t length);
void payload_give_back(struct hca *hca, struct payload *payload); /* detaches, then unrefs */
void windows_end_revoking(struct hca *hca);                       /* each with its event */
void windows_cancel(struct hca *hca); /* without events: the device is being destroyed */

/* ---- window.c: windows of programs */
/* A request that sends nothing: binds or invalidates. */
enum fabric_wc_status window_execute(struct qp_context *ctx, const struct send_wqe *wqe);
/* False: no window of type 2 of this queue pair has that key. */
bool window_invalidate(struct qp_context *ctx, uint32_t rkey);

/* ---- reach.c: bytes of a key that was checked. False: they are out of reach, and the responder is
 * silent. */
bool memory_read(struct qp_context *ctx, const struct key_state *key, uint64_t addr, void *to,
                 uint32_t length);
bool memory_write(struct qp_context *ctx, const struct key_state *key, uint64_t addr,
                  const void *from, uint32_t length);
/* A payload that refers to them, or, of another program, is a copy; null: out of reach. */
struct payload *memory_payload(struct qp_context *ctx, const struct key_state *key, uint64_t addr,
                               uint32_t length);

/* ---- dc.c */
struct qp_context *dcr_context(const struct hca *hca, uint32_t number); /* index + 1; 0: null */
void dc_request(struct qp_context *target, struct hca_port *port, struct packet *packet);
void dc_drop_all(struct qp_context *target);
struct packet *dc_disconnect(struct qp_context *ctx);

/* ---- xrc.c */
/* Whether a request to a target is for a receive queue of its domain, which is then the one that is
 * served; false: the requester has been told. */
bool xrc_enter(struct qp_context *ctx, const struct packet *packet);
void xrc_leave(struct hca *hca, const struct srq_state *srq); /* of a queue that is destroyed */
/* The queue that receives are taken from; null: there is none, or it was destroyed. */
struct srq_state *context_srq(const struct qp_context *ctx);
uint32_t context_recv_cq(const struct qp_context *ctx); /* id; 0: gone with the queue */
/* The domain that keys are judged by: an XRC request is of the domain of its queue. */
static inline uint32_t context_pd(const struct qp_context *ctx)
{
    return ctx->qp->type == HCA_QP_XRC_TGT ? ctx->rsp->pd : ctx->qp->pd;
}

/* ---- uc.c */
struct packet *uc_next(struct qp_context *ctx);
void uc_request(struct qp_context *ctx, struct packet *packet); /* takes it */

/* ---- ud.c */
struct packet *ud_next(struct qp_context *ctx);
void ud_receive(struct qp_context *ctx, struct hca_port *port, struct packet *packet);

/* ---- qp.c */
struct qp_state *qp_find(const struct hca *hca, hca_qp handle); /* aborts on a wrong one */
struct qp_context *context_of(const struct hca *hca, const struct qp_state *qp);
struct qp_context *context_by_number(const struct hca *hca, uint32_t qp_num);
void qp_set_state(struct qp_context *ctx, enum fabric_qp_state state);
void qp_enter_error(struct qp_context *ctx);     /* flushes */
void qp_drop_everything(struct qp_context *ctx); /* without completions */
void qp_flush_sends(struct qp_context *ctx);
void qp_flush_recvs(struct qp_context *ctx);
bool qp_take_recv(struct qp_context *ctx, struct recv_wqe *out);
uint32_t qp_next_recv_length(const struct qp_context *ctx); /* 0: there is none */
/* The context of a queue pair or of a DC responder, with nothing under way, in its list. */
struct qp_context *context_make(struct hca *hca, struct qp_state *qp, struct dcr_state *dcr);
void context_free(struct qp_context *ctx); /* drops everything */

/* ---- message_local.c: what of the send queue the message engine may carry, it carries */
void message_run_local(struct qp_context *ctx);
/* The oldest request that was not begun, before it is: true when it is not to be begun as packets
 * now, because it was carried, or will be once what is under way is over. So a queue pair is moved
 * back at a message boundary when its way is plain again. */
bool message_turn(struct qp_context *ctx);

/* ---- cq.c */
void cq_push(struct hca *hca, uint32_t cq_id, const struct hca_wc *wc, uint32_t qp_id,
             uint32_t release, bool solicited);
void cq_push_send(struct qp_context *ctx, const struct send_wqe *wqe, enum fabric_wc_status status);
void cq_push_recv(struct qp_context *ctx, const struct recv_wqe *recv, struct hca_wc *wc,
                  bool solicited);

/* ---- event.c */
void event_push(struct hca *hca, const struct hca_event *event);
void event_qp(struct qp_context *ctx, enum fabric_async_type type);
void event_port(struct hca *hca, uint8_t port_num, enum fabric_async_type type);
void event_trap(struct hca_port *port, uint16_t number, const struct packet *packet, uint32_t key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DC at the server (MK-A5): a fixed pool of initiators for each class (rail, path MTU), and the
 * links that take turns on them.
 *
 * An initiator is granted to one link at a time, so what one target does takes no other client's
 * requests along. Links wait first come, first served, for so many bytes a turn. A link from which
 * no word comes for a hold while others wait loses its initiator and is a suspect: few initiators
 * may be with suspects, each proves with an empty WRITE that its target answers before it is served
 * again, and who fails to again and again has lost its link. Requests that were flushed and are not
 * the guilty ones are posted again on another initiator.
 */
#ifndef SRC_SERVER_DC_H
#define SRC_SERVER_DC_H

#include "src/rail/initiator.h"
#include "src/rail/pair.h"
#include "src/wire/message.h"

struct server;
struct server_connection;
struct server_link;
struct server_transfer;

/* A hold: so many ACK time-outs, and so many ns for each byte of the largest post. A lost packet is
 * noticed within four of them, and is no reason for suspicion. */
#define SERVER_DC_HOLD_TIMEOUTS 6u
#define SERVER_DC_HOLD_BYTE 10u
#define SERVER_DC_MISSES 4u   /* holds without a word that a suspect has before its link ends */
#define SERVER_DC_TURN 4u     /* of the largest posts, in bytes: a turn, and what is under way */
#define SERVER_DC_REFUSALS 8u /* keys of a link in a row that its target did not know */
#define SERVER_DC_FLUSHES 8u  /* of one transfer that nobody is to blame for */

/* Of a link that leads to a DC target. */
struct server_dc_link {
    bool used; /* the link is one of DC */
    fabric_ah ah;
    uint32_t epoch; /* the rail's when the address handle was made */
    uint32_t dct_num;
    uint64_t access_key;
    enum fabric_mtu mtu;                  /* its class */
    struct server_connection *connection; /* that it is of */
    uint8_t index;                        /* there */
    struct server_initiator *initiator;   /* granted; null: none */
    bool waits;                           /* in the queue of its class */
    struct server_link *before, *after;   /* there */
    bool wants;                           /* has more to post when it lets go of its initiator */
    bool suspect;                         /* must answer before it is served */
    bool dead;                            /* missed too often: what is flushed now is its fault */
    uint32_t refusals;                    /* keys in a row that the target did not know */
    uint32_t misses;                      /* holds in a row without a word */
    uint32_t taken_back;                  /* initiators, since it last moved data */
};

struct server_initiator {
    fabric_qp qp;               /* id 0: could not be made */
    struct server_link *holder; /* null: free, or what it still carries is nobody's */
    uint32_t outstanding;       /* posts */
    uint32_t turn;              /* posts since it was granted */
    uint64_t turn_bytes;        /* of them */
    uint64_t bytes;             /* of the posts outstanding, whose lengths stand in a ring */
    uint32_t lengths[RAIL_SEND_DEPTH], next_length;
    uint64_t since; /* ns: granted, or the last word from the target */
    bool broken;    /* in error: recovers when nothing is outstanding */
    bool proving;   /* its only post is a proof */
};

struct server_dc_queue {
    struct server_link *first, *last;
};

struct server_dc_class {
    struct server_initiator *initiators; /* num_dcis of them; null: nobody asked for this class */
    uint32_t epoch;                      /* the rail's when they were made */
    struct server_dc_queue waiting[2];   /* those to trust, suspects */
    bool suspect_last;                   /* who was granted the last one */
    bool timed;                          /* a timer is set */
};

struct server_dc {
    struct server_dc_class classes[RAIL_MAX][FABRIC_MTU_4096 + 1];
    bool used;  /* there is a class */
    bool dirty; /* something changed that a turn works off */
    uint64_t recoveries, taken_back, flushed, proofs;
};

/* ------------------------------------------------------------------ dc.c */

/* Whether the link that `request` asks for goes over DC, by configuration and by what both ends
 * have; its initiators are there then. Where it must and cannot: dc_unsupported, or why they could
 * not be made, with `detail` (FABRIC_AV_DETAIL bytes). l->rail and l->path are chosen. */
enum fabric_error server_dc_choose(struct server *s, const struct server_link *l,
                                   const struct wire_message *request, bool *out, char *detail);
/* The link leads to the target of the request from now on. */
void server_dc_begin(struct server_connection *c, struct server_link *l,
                     const struct wire_message *request);
/* Looks up the target's link-layer address; RESOLVED with `cookie` follows. Errors: those of
 * fabric_resolve. */
enum fabric_error server_dc_resolve(struct server *s, const struct server_link *l, uint64_t cookie);
/* After RESOLVED: the way to the target. Errors: those of fabric_ah_create. */
enum fabric_error server_dc_connect(struct server *s, struct server_link *l);
/* The link ends. What it still has under way is given up, so that its initiator is free soon. */
void server_dc_release(struct server *s, struct server_link *l);
/* Its target has answered. */
void server_dc_trust(struct server_link *l);

/* Of either transport: whether it may post now; otherwise it waits for an initiator, and is pumped
 * when it has one. */
bool server_link_may_post(struct server *s, struct server_link *l);
/* Posts on the link's queue pair; fills in how a target is reached. Errors: fabric_qp_post_send's.
 */
enum fabric_error server_link_post(struct server *s, struct server_link *l,
                                   struct fabric_send_wr *wr);
/* Whether the link posts on this queue pair now. */
bool server_link_is_on(const struct server_link *l, fabric_qp qp);
const char *server_link_transport(const struct server_link *l); /* "dc" */

/* What a completion of a link that posts on this initiator means for its transfer: FABRIC_OK after
 * a success, and for a flush that it is not to blame for. `bytes` is what the post moved. */
enum fabric_error server_dc_judge(struct server *s, struct server_link *l,
                                  struct server_transfer *t, enum fabric_error error,
                                  uint32_t bytes);
/* Whether a failed transfer speaks against its link. A key that the target does not know was taken
 * back by an operation that gave up (MK-A4): that ends the operation alone. Who does so again and
 * again breaks initiators that others want: it is a suspect, and then loses its link. */
bool server_dc_is_to_blame(struct server_link *l, const struct server_transfer *t,
                           enum fabric_error error);
/* All posts of a transfer are back, and some were flushed in vain: it goes on where they began when
 * its link has another initiator. False: nothing of the kind. */
bool server_dc_goes_again(struct server_transfer *t, struct server_link *l);

/* ------------------------------------------------------------------ dc_pool.c */

/* Makes the initiators of a class unless they are there. FABRIC_OK with one or more of them. */
enum fabric_error server_dc_class_make(struct server *s, uint32_t rail, enum fabric_mtu mtu);
void server_dc_wait(struct server *s, struct server_link *l);
void server_dc_wait_no_more(struct server *s, struct server_link *l);
bool server_dc_others_wait(const struct server *s, const struct server_link *l);
/* Moves it to the error state: what is under way is flushed, and then it recovers. */
void server_dc_break(struct server *s, struct server_initiator *in);
/* Counts a completion for the initiator that it is of, and takes those of proofs. */
void server_dc_completed(struct server *s, const struct fabric_wc *wc);
/* Works off what changed: recovers, lets go, grants. At the end of every event. */
void server_dc_turn(struct server *s);
void server_dc_timer(struct server *s, uint64_t cookie);
/* What a timer that could not be set, and an initiator that could not be made, wait for. */
void server_dc_tick(struct server *s);
/* The device says that a queue pair is broken. */
void server_dc_queue_pair_broke(struct server *s, fabric_qp qp);
/* The rail is another one: its initiators are gone. */
void server_dc_rail_changed(struct server *s, uint32_t rail);
void server_dc_free(struct server *s);
/* How long a link may hold an initiator without a word while others wait, ns. */
uint64_t server_dc_hold(struct server *s, const struct server_link *l);
/* Initiators of a rail that are there, those that are granted, and links that wait. */
void server_dc_count(const struct server *s, uint32_t rail, uint32_t *initiators, uint32_t *held,
                     uint32_t *waiting);

#endif

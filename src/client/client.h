/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's inside. What its users see is api.h.
 *
 * core.c       start, stop, dispatch of events, the turn that ends each of them
 * request.c    the requests of the user: submitted, cancelled, completed; their memory
 * pool.c       which connection serves a key: server, lane, member of the pool
 * peer.c       one connection: its control stream, reconnection, falling back
 * link.c       one rail over one connection: queue pair, generation, readiness
 * rails.c      what becomes of links when a port changes
 * target.c     the DC target of a rail
 * way.c        by which way and over which connection an operation goes
 * operation.c  one put, get, exists or delete: attempts, deadline, revocation
 * bulk.c       the bytes of values over TCP
 * buffer.c     memory that peers may be lent
 * status.c     what the client tells about itself
 *
 * program.c, job.c and file.c are a user: they make requests of a driver's commands.
 *
 * Nothing acts on an operation from inside another one's change: changes mark what they concern,
 * and the turn at the end of the event works the marks off.
 */
#ifndef SRC_CLIENT_CLIENT_H
#define SRC_CLIENT_CLIENT_H

#include "src/client/api.h"
#include "src/rail/backoff.h"
#include "src/rail/pair.h"
#include "src/rail/said.h"
#include "src/rail/target.h"
#include "src/wire/channel.h"

#define CLIENT_OPERATION_PAGE 16u /* positions that are allocated together */
#define CLIENT_PEERS 1024u        /* connections: servers x lanes x pool */
#define CLIENT_ATTEMPTS 16u       /* of one operation */
/* ns for a server to answer about a link: it may look our address up first, and a kernel gives that
 * up after 3 s (three unanswered requests). */
#define CLIENT_LINK_TIME (5ull * 1000000000ull)
#define CLIENT_CONNECT_TIME (5ull * 1000000000ull) /* ns from connecting to WELCOME */
#define CLIENT_MESSAGES 64u                        /* taken from one connection in a row */
#define CLIENT_PIECE (128u * 1024u)                /* bytes of a PUT that are announced at a time */
#define CLIENT_LONG_PIECE (512u * 1024u) /* the same where no small one waits for its turn */
#define CLIENT_ID_SLOT 16           /* low bits of an attempt's number: its operation's position */
#define CLIENT_TURN (2048u * 1024u) /* bytes of a PUT before it is another's turn */
#define CLIENT_BULK (2048u * 1024u) /* bytes of PUTs sent on one connection in a row */
#define CLIENT_SILENCE (30ull * 1000000000ull) /* ns: a server silent so long is lost */

enum client_cookie {
    CLIENT_STREAM = 1,   /* peer */
    CLIENT_PEER_TIMER,   /* peer: reconnect, or no answer */
    CLIENT_LINK_TIMER,   /* peer * RAIL_MAX + rail */
    CLIENT_WINDOW,       /* operation */
    CLIENT_PROBE_WINDOW, /* peer * RAIL_MAX + rail, generation of the link */
    CLIENT_DEADLINE,     /* operation */
    CLIENT_START_WAIT,
    CLIENT_REQUERY,
    CLIENT_QUEUE_PAIR,
    CLIENT_RESOLVE, /* peer * RAIL_MAX + rail, generation of the link */
    CLIENT_REOPEN,  /* timer of a rail whose device is away */
    CLIENT_RECEIVE, /* timer of a peer: more messages wait */
    CLIENT_TARGET,  /* rail */
    CLIENT_SEND,    /* timer of a peer: more bytes of values can be sent */
};

_Static_assert(CLIENT_OPERATIONS <= 1u << CLIENT_ID_SLOT, "a position fits");

struct client_buffer {
    uint8_t *memory;
    uint64_t size; /* bytes */
    uint64_t iova;
    bool read_only; /* peers only READ it, and it may be memory that nobody can write */
    fabric_mr mr[RAIL_MAX];
    uint32_t epoch[RAIL_MAX]; /* the rail's when it was registered; 0: not */
};

struct client_memory {
    struct client_buffer buffer; /* of the caller's memory */
    uint32_t users;              /* open requests in it */
    bool of_request;             /* ends with the only one */
    struct client_memory *next, **link;
};

enum client_link_state {
    CLIENT_LINK_DOWN,      /* `reason` says why; maybe a timer will try again */
    CLIENT_LINK_LENDING,   /* the window for the probe is being opened */
    CLIENT_LINK_REQUESTED, /* LINK_REQUEST is out */
    CLIENT_LINK_RESOLVING, /* LINK_ACCEPT came; the server's link-layer address is looked up */
    CLIENT_LINK_PROBED,    /* our queue pair receives; the server probes it */
    CLIENT_LINK_UP,        /* operations may use it */
};

struct client_link {
    enum client_link_state state;
    enum fabric_error reason;
    char detail[WIRE_DETAIL];
    bool ever_up;
    bool peer_waits; /* the server's port is not ready: nothing failed */
    uint32_t generation;
    struct rail_pair pair; /* over RC, or not known yet */
    bool dc;               /* accepted over DC: the server reaches the rail's target */
    struct fabric_path path;
    struct wire_message request; /* as sent: the digest covers it */
    struct wire_message accept;  /* as it came, while RESOLVING */
    uint8_t digest[WIRE_MAC_BYTES];
    struct client_buffer probe;
    fabric_window probe_window; /* id 0: none */
    uint32_t probe_epoch;
    uint32_t revoked;    /* generation in which a window was revoked under a request */
    bool probed_again;   /* after the first failure of its probe */
    uint64_t lost_at;    /* ns; when it last ended in silence and no other was up */
    uint8_t server_rail; /* once accepted */
    uint64_t up_since;   /* ns */
    struct rail_said said, said_again, said_notes;
    uint64_t backoff; /* ns */
    fabric_timer timer;
    uint32_t timer_serial;
    bool timer_missed; /* could not be set: the tick does its work */
};

enum client_peer_state {
    CLIENT_PEER_DOWN,       /* a timer will connect again */
    CLIENT_PEER_CONNECTING, /* the stream, then the handshake */
    CLIENT_PEER_READY,      /* it said WELCOME */
};

/* One connection. A server's lanes share nothing, so each has connections of its own: the first
 * carries the links and whatever goes over TCP, the others of the pool only the latter. */
struct client_peer {
    uint32_t index;        /* in client.peers */
    uint32_t server;       /* in config.servers */
    uint32_t lane, member; /* of the server; of the lane's pool */
    uint32_t under_way;    /* bounded operations that it serves */
    uint32_t operations;   /* as many the server takes at once */
    bool holds;            /* others wait for their end */
    enum client_peer_state state;
    enum fabric_error reason;
    struct wire_channel *channel;
    uint32_t stream_serial;
    bool resumes;              /* more messages wait for a timer that is set */
    bool pumps;                /* and so do bytes of values */
    uint32_t sends;            /* PUTs that have more to send */
    uint32_t small_sends;      /* of them, those of one piece */
    uint32_t turn, small_turn; /* slots of those that sent last: a larger one, a small */
    uint32_t turn_bytes;       /* that `turn` sent in a row */
    bool small_was_last;
    struct client_operation *sending;   /* whose memory the stream reads */
    struct client_operation *receiving; /* whose memory the stream writes */
    uint8_t rails;                      /* the server's */
    bool changed;                       /* something that decides about falling back */
    bool fell_back;
    bool may_return;                      /* fell back only because no rail was ever ready */
    bool start_over;                      /* the time to wait for rails at the start has passed */
    uint64_t backoff, ready_since, heard; /* ns */
    fabric_timer timer;
    uint32_t timer_serial;
    bool timer_missed; /* could not be set: the tick does its work */
    struct client_link links[RAIL_MAX];
};

enum client_operation_state {
    CLIENT_FREE,
    CLIENT_QUEUED,   /* waits for a way */
    CLIENT_LENDING,  /* its window is being opened */
    CLIENT_SENT,     /* the server has it */
    CLIENT_REVOKING, /* the attempt is over, but its window may still be touched */
    CLIENT_DONE,     /* nothing can touch the memory any more; its completion can be drained */
};

struct client_operation {
    enum client_operation_state state;
    uint32_t slot, serial;
    client_request_id request;
    uint64_t cookie;    /* the user's */
    uint32_t next_free; /* FREE: position of the next free one */
    struct client_operation *next_done;
    bool kicked;  /* something changed that a queued operation waits for */
    bool held;    /* QUEUED: its connection has enough under way */
    bool counted; /* among what its connection has under way */
    enum wire_type type;
    uint32_t server, peer;
    bool bound; /* to this connection: what went out on it may still take effect there */
    uint8_t key_length;
    struct client_memory *memory; /* null: it moves no data, or has not needed any */
    uint8_t *data;                /* in it */
    uint32_t length;              /* PUT: of the value; GET: room, then what came */
    uint32_t room;
    uint64_t deadline; /* ns, monotonic */
    fabric_timer timer;
    bool timer_set, expired, cancelled;
    uint32_t attempts;

    uint64_t id; /* of this attempt: a late answer to an earlier one finds nothing */
    enum wire_way way;
    bool dc; /* RC way: over a link of DC */
    uint32_t rail, generation;
    fabric_window window;     /* id 0: none open or opening */
    uint32_t next;            /* bulk sent or received */
    bool sends;               /* PUT over TCP: more of it is to be sent */
    struct wire_tag_run *run; /* over TCP: of what was sent or received; null: none is wanted */
    struct wire_tag tag;
    bool answered;  /* GET over TCP: RESULT came, bulk follows */
    bool prepared;  /* PUT: COMMIT is out; only RESULT, or the deadline, tells how it ended */
    bool doubt;     /* the answer to a COMMIT was lost: no failure is told before the deadline */
    uint32_t batch; /* sent together: the serial of its first one */
    bool lent;      /* LENDING: the window is open under `rkey`, others of the batch's are not */
    uint32_t rkey;
    bool revoking; /* the window goes ahead of the end of the attempt */

    enum fabric_error error; /* of the attempt, then of the operation */
    bool retry;
    bool found;
    bool refused;    /* at once: no server has heard of it */
    uint32_t needed; /* bytes, after buffer_too_small */

    char detail[WIRE_DETAIL]; /* last: a new operation clears only its beginning, and no key */
    uint8_t key[WIRE_MAX_KEY];
};

enum client_choice {
    CLIENT_CHOICE_WAIT, /* something is under way that will kick this operation */
    CLIENT_CHOICE_FAIL, /* nothing is: fail by name, at once */
    CLIENT_CHOICE_TCP,
    CLIENT_CHOICE_RC,
};

struct client_server {
    uint64_t seed;  /* placement */
    uint32_t lanes; /* as it said last; 0: not yet */
    enum fabric_error
        said; /* why there is no connection, as was logged; FABRIC_OK: there was one */
};

struct client_target {
    struct rail_target target;
    struct rail_said said;
};

struct client_counters {
    uint64_t operations, failed, retries, fallbacks, stale, rdma_bytes, tcp_bytes;
};

struct client {
    struct fabric *fabric;
    struct fabric_report_sink sink; /* report may be null */
    struct client_config config;
    struct rail rails[RAIL_MAX];
    struct client_target targets[RAIL_MAX];
    uint32_t rail_count;
    struct client_server servers[CONFIG_MAX_SERVERS];
    struct client_peer *peers[CLIENT_PEERS]; /* the first ones: lane 0 of every server */
    uint32_t peer_count;
    struct client_operation *operations[CLIENT_OPERATIONS / CLIENT_OPERATION_PAGE]; /* pages */
    uint32_t operation_room; /* positions in them */
    uint32_t operation_end;  /* positions from here on were never used */
    uint32_t open;           /* positions in use */
    uint32_t first_free;     /* operation_end: none */
    bool kicked;             /* an operation is */
    bool changed;            /* a connection is */
    struct client_operation *done_first, **done_end;
    uint32_t done_count;
    struct client_memory *memories;
    uint32_t serial, rotation;
    uint8_t instance[WIRE_INSTANCE_BYTES];
    bool tick_missed; /* could not be set: tried again at every event */
    uint64_t next_id;
    struct wire_tagger *tagger;
    struct client_counters counters;
};

uint64_t client_cookie(enum client_cookie kind, uint32_t slot, uint32_t serial);
uint32_t client_cookie_slot(uint64_t cookie);
uint64_t client_now(struct client *c);
/* Hands the object to whoever listens and releases it. */
void client_report(struct client *c, json_t *object);
/* Works off what was marked, then sends what was queued. */
void client_turn(struct client *c);

/* ------------------------------------------------------------------ buffer.c */

/* At least `size` bytes; nothing may be lent of it. False without memory. */
bool client_buffer_reserve(struct client *c, struct client_buffer *b, uint64_t size);
/* Makes it the memory of somebody else. */
void client_buffer_adopt(struct client *c, struct client_buffer *b, void *memory, uint64_t size);
/* Registers it with a rail unless it is. */
enum fabric_error client_buffer_register(struct client *c, struct client_buffer *b, uint32_t rail);
/* Ends its registrations. Nothing may be lent of it. */
void client_buffer_deregister(struct client *c, struct client_buffer *b);
/* Begins to lend `length` bytes from `offset` on to the peer at the other end of a rail;
 * WINDOW_OPENED follows. */
enum fabric_error client_buffer_lend(struct client *c, struct client_buffer *b, uint32_t rail,
                                     uint64_t offset, uint64_t length, uint32_t access,
                                     uint64_t cookie, fabric_window *window);
/* Memory of its own, after the devices were closed. */
void client_buffer_free(struct client_buffer *b);

/* ------------------------------------------------------------------ pool.c */

/* A connection for what it says; opens it at its first use. Null without memory, or with too many
 * of them. */
struct client_peer *client_pool_get(struct client *c, uint32_t server, uint32_t lane,
                                    uint32_t member);
/* The first connection to the lane that serves the key, as far as is known; null as above. */
struct client_peer *client_pool_first(struct client *c, const struct client_operation *op);
/* One of its lane's connections for the next transfer over TCP; `first` when no other is ready. */
struct client_peer *client_pool_member(struct client *c, struct client_peer *first);
/* What a WELCOME says about lanes. */
void client_pool_lanes(struct client *c, struct client_peer *p, uint32_t lanes);
/* The server as configured. */
const char *client_peer_address(const struct client *c, const struct client_peer *p);

/* ------------------------------------------------------------------ peer.c */

void client_peer_connect(struct client *c, struct client_peer *p);
void client_peer_event(struct client *c, const struct fabric_event *event);
void client_peer_timer(struct client *c, uint64_t cookie);
/* Goes on receiving where the budget of an event ended. */
void client_peer_resume(struct client *c, uint64_t cookie);
/* What is due without a timer: those that could not be set, and silence. */
void client_peer_tick(struct client *c, struct client_peer *p);
void client_peer_lost(struct client *c, struct client_peer *p, enum fabric_error error);
/* Queues it for the end of the turn. False when the connection is lost by now. */
bool client_peer_send(struct client *c, struct client_peer *p, const struct wire_message *m);
/* Sends what is queued; the connection may be lost by then. */
void client_peer_flush(struct client *c, struct client_peer *p);
/* Something changed: marks it for client_peers_judge. A rail that fails says nothing about those
 * that are still to be tried in the same event. */
void client_peer_judge(struct client *c, struct client_peer *p);
/* One step of the turn: whoever is marked falls back when no rail is left, and what waits for that
 * server wakes. */
void client_peers_judge(struct client *c);
/* The same, but nothing is known to have changed: wakes only when it then falls back. */
void client_peer_decide(struct client *c, struct client_peer *p);
/* Whether a lane of the server uses TCP because no rail was left. */
bool client_server_fell_back(const struct client *c, uint32_t server);
/* Whether this client would use RDMA towards that server if it could. */
bool client_peer_wants_rdma(const struct client *c, const struct client_peer *p);

/* ------------------------------------------------------------------ link.c */

/* Asks for a new link if the rail and the server are ready and it is down; otherwise does
 * nothing. */
void client_link_begin(struct client *c, struct client_peer *p, uint32_t rail);
void client_link_accept(struct client *c, struct client_peer *p, const struct wire_message *m);
/* The window for the probe has been opened, or could not be. */
void client_link_lent(struct client *c, const struct fabric_event *event);
/* A look-up has ended. */
void client_link_resolved(struct client *c, uint64_t cookie, enum fabric_error error);
void client_link_up(struct client *c, struct client_peer *p, const struct wire_message *m);
void client_link_refused(struct client *c, struct client_peer *p, const struct wire_message *m);
void client_peer_rail_changed(struct client *c, struct client_peer *p,
                              const struct wire_message *m);
/* Ends it: queue pair gone, operations over it begin a new attempt when nothing can touch their
 * buffers. `again`: a timer tries it again, unless the fault is one of configuration. */
void client_link_end(struct client *c, struct client_peer *p, uint32_t rail,
                     enum fabric_error reason, const char *detail, bool again);
void client_link_timer(struct client *c, uint64_t cookie);
/* The device says that a queue pair is broken. */
void client_queue_pair_broke(struct client *c, const struct fabric_async *async);
void client_link_tick(struct client *c, struct client_peer *p, uint32_t rail);
/* Our own port changed. */
void client_rail_changed(struct client *c, uint32_t rail);
void client_rail_report(struct client *c, uint32_t rail);
/* Looks at our own port, after an event unless that is null. */
void client_rail_look(struct client *c, uint32_t rail, const struct fabric_async *event);
bool client_link_in_progress(const struct client_peer *p);
/* What it needs at our end is broken: it ends, the server is told, and it is asked for again. */
void client_link_broke(struct client *c, struct client_peer *p, uint32_t rail, const char *detail);
/* Whether the first of its links that are up goes over DC. */
bool client_link_is_dc(const struct client *c, const struct client_peer *p);
const char *client_link_transport(const struct client_link *l); /* "dc" */

/* ------------------------------------------------------------------ target.c */

/* Adds the rail's DC target to a LINK_REQUEST, if its device can have one; makes it when there is
 * none of this class. The rail must be READY. */
void client_target_offer(struct client *c, uint32_t rail, struct wire_message *request);
/* The server chose DC: the queue pair is not needed. Errors: frame_invalid (none was offered). */
enum fabric_error client_target_accept(struct client *c, uint32_t rail, struct client_link *l);
/* The device says that a queue pair is broken; false when it is no target. */
bool client_target_broke(struct client *c, fabric_qp qp);

/* ------------------------------------------------------------------ way.c */

/* Where a queued operation goes now; sets its connection and rail. FAIL: its error is set. */
enum client_choice client_operation_choose(struct client *c, struct client_operation *op);

/* ------------------------------------------------------------------ operation.c */

/* A put or a get. */
bool client_has_data(const struct client_operation *op);
/* The server bounds how many of its kind a connection may have under way. */
bool client_is_bounded(const struct client_operation *op);

/* Room for so many more than are in use. False without memory. */
bool client_operation_reserve(struct client *c, uint32_t more);
/* A position below operation_end. */
struct client_operation *client_operation_at(const struct client *c, uint32_t slot);
/* A free position; room was reserved. Becomes QUEUED by client_operation_start. */
struct client_operation *client_operation_new(struct client *c, enum wire_type type);
void client_operation_free(struct client *c, struct client_operation *op);
void client_operation_start(struct client *c, struct client_operation *op, uint64_t now,
                            uint64_t timeout);
/* It is over: nothing can touch its memory any more. */
void client_operation_done(struct client *c, struct client_operation *op);
void client_operation_kick(struct client *c, struct client_operation *op);
/* Wakes every operation that waits for this connection. */
void client_operations_kick(struct client *c, const struct client_peer *p);
/* One step of the turn. */
void client_operation_step(struct client *c, struct client_operation *op);
/* The attempt is over: revokes, then tries again or is done. */
void client_attempt_end(struct client *c, struct client_operation *op, enum fabric_error error,
                        const char *detail, bool retry);
void client_operation_result(struct client *c, struct client_peer *p, const struct wire_message *m);
void client_operation_prepared(struct client *c, struct client_peer *p,
                               const struct wire_message *m);
/* The attempt that the server knows by this number; null when it is over. */
struct client_operation *client_operation_by_id(struct client *c, const struct client_peer *p,
                                                uint64_t id);
/* Its window has been opened, or could not be. */
void client_operation_lent(struct client *c, const struct fabric_event *event);
void client_operation_revoked(struct client *c, uint64_t cookie, fabric_window window);
void client_operation_deadline(struct client *c, uint64_t cookie);
/* Over RDMA, or what `op` would have used if it moved data. */
enum client_transport client_operation_transport(const struct client *c,
                                                 const struct client_operation *op);

/* ------------------------------------------------------------------ bulk.c */

/* A PUT has bytes to send, or a GET will get some. False without memory. */
bool client_bulk_begin(struct client *c, struct client_operation *op);
/* A piece follows, and bytes of it have come. May lose the connection. */
void client_operation_bulk(struct client *c, struct client_peer *p, const struct wire_message *m);
void client_operation_payload(struct client *c, struct client_peer *p,
                              const struct wire_message *m);
/* Sends more where the stream has room; the connection may be lost by then. */
void client_pump_bulk(struct client *c, struct client_peer *p);
/* Goes on sending where the budget of a turn ended. */
void client_bulk_goes_on(struct client *c, uint64_t cookie);
/* The attempt is over: nothing reads or writes its memory over TCP any more. */
void client_bulk_end(struct client *c, struct client_operation *op);
/* The channel is closed. */
void client_bulk_lost(struct client_peer *p);

/* ------------------------------------------------------------------ request.c */

/* Sees to it that an operation that uses RDMA has memory to lend, registered with its rail if it is
 * for this operation only. */
enum fabric_error client_memory_for(struct client *c, struct client_operation *op);
/* Ends what was registered for this operation only. */
void client_memory_end(struct client *c, struct client_operation *op);
/* After the devices were closed. */
void client_memories_free(struct client *c);

#endif

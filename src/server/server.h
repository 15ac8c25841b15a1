/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's inside. Everything one-sided is initiated here (MK-A4): a PUT makes the server READ
 * the client's window, a GET makes it WRITE into it. Its own memory keys go nowhere.
 *
 * program.c    start, stop, dispatch of events, commands
 * connection.c one client: its channel, its requests
 * link.c       one client's rail: queue pair, probe, teardown
 * transfer.c   one operation with data: from request to result, over RDMA
 * bulk.c       the same over TCP: the bytes of values on the stream
 * transfers.c  all of them: by position, by connection, and those that wait for their rail
 * probe.c      the transfer that proves a link
 * dc.c         how a link leads to a DC target (dc.h)
 * dc_pool.c    the DC initiators, and who gets one
 * admin.c      the HTTP end point
 * storage.c    what the media of the store have to do and tell
 * key.c        the key of the cluster and its change
 * drain.c      the end without a loss
 */
#ifndef SRC_SERVER_SERVER_H
#define SRC_SERVER_SERVER_H

#include <jansson.h>

#include "src/admin/admin.h"
#include "src/config/server_config.h"
#include "src/fabric/program.h"
#include "src/rail/pair.h"
#include "src/rail/pool.h"
#include "src/rail/said.h"
#include "src/server/dc.h"
#include "src/store/store.h"
#include "src/wire/channel.h"

#define SERVER_MAX_CONNECTIONS 1024u /* that have shown the key */
/* The server holds as many transfers as all connections together may have; and as many deletions
 * that wait for a medium. */
#define SERVER_CONNECTION_TRANSFERS 256u
/* What a connection is told: the rest is for probes and for attempts that are not over yet. */
#define SERVER_CONNECTION_OPERATIONS 128u
#define SERVER_MAX_STRANGERS 128u /* connections that have not shown the key */
#define SERVER_PLACES (SERVER_MAX_CONNECTIONS + SERVER_MAX_STRANGERS)
#define SERVER_HANDSHAKE_TIME (10ull * 1000000000ull) /* ns for a stranger to show the key */
#define SERVER_TICK (1000000000ull)                   /* ns */
#define SERVER_PING (5ull * 1000000000ull)            /* ns of silence until it is asked */
#define SERVER_SILENCE (15ull * 1000000000ull)        /* ns of silence until it is gone */
#define SERVER_TRANSFER_IDLE (30ull * 1000000000ull)  /* ns without progress */
#define SERVER_PROBE_SMALL 64u                        /* bytes of a probe's first packet */
#define SERVER_SMALL_ONLY 4u                          /* such probes in a row are no accident */
#define SERVER_SMALL_ONLY_LOST 1u                     /* nor so many after a link met silence */
#define SERVER_MESSAGES 64u                           /* taken from one connection in a row */
#define SERVER_BULK (1024u * 1024u) /* bytes of values sent on one connection in a row */
#define SERVER_LINK_BURST 16u       /* requests for a link in a row, and then */
#define SERVER_LINK_INTERVAL (100ull * 1000000ull) /* one in so many ns */
#define SERVER_KEYS 8u                             /* tags of blocks are known under so many */
#define SERVER_DRAIN_TIME (10ull * 1000000000ull)  /* ns for what is under way at the end */

/* What a cookie or wr_id means: kind, position, and a serial that tells a reused position. */
enum server_cookie {
    SERVER_LISTENER = 1,
    SERVER_CONNECTION,
    SERVER_TICK_TIMER,
    SERVER_HANDSHAKE, /* timer of a connection */
    SERVER_RECEIVE,   /* timer of a connection: more messages wait */
    SERVER_TRANSFER,  /* wr_id */
    SERVER_RESOLVE,   /* of a look-up: connection, the link's serial of it */
    SERVER_LINK,      /* of a queue pair: connection, rail in the serial's top byte */
    SERVER_HTTP,
    SERVER_SEND,      /* timer of a connection: more bytes of values can be sent */
    SERVER_DRAIN,     /* timer */
    SERVER_REOPEN,    /* timer of a rail whose device is away */
    SERVER_STORAGE,   /* of a request: lane and medium */
    SERVER_INITIATOR, /* of a DC initiator: rail, MTU */
    SERVER_DC_PROOF,  /* wr_id: rail */
    SERVER_DC_TIMER,  /* of a class of initiators: rail, MTU */
};

enum server_link_state {
    SERVER_LINK_NONE,
    SERVER_LINK_RESOLVING, /* the client's link-layer address is looked up */
    SERVER_LINK_ACCEPTED,  /* LINK_ACCEPT is out; the client's queue pair is not known to receive */
    SERVER_LINK_PROBING,   /* packets of full size go both ways */
    SERVER_LINK_UP,        /* said LINK_UP */
};

/* One of a client's rails, as this server reaches it. */
struct server_link {
    enum server_link_state state;
    uint32_t generation;      /* the client's latest */
    uint32_t rail;            /* ours */
    struct rail_pair pair;    /* over RC */
    struct server_dc_link dc; /* over DC */
    struct fabric_path path;
    struct wire_message request; /* as it came, while RESOLVING */
    uint32_t resolve;            /* serial of the look-up */
    uint8_t digest[WIRE_MAC_BYTES];
    uint64_t probe_iova;
    uint32_t probe_rkey;
    uint32_t outstanding; /* posts on this queue pair */
    uint32_t small_only;  /* so many probes in a row passed small packets and lost large ones */
    uint64_t requests_at; /* ns: by when the requests so far are paid for */
    struct rail_said said, said_notes, said_silent;
};

/* A shard: what it stores it shares with no other. A connection serves one of them. */
struct server_lane {
    struct store *store;
    fabric_mr slab_mr[RAIL_MAX];
    uint32_t slab_lkey[RAIL_MAX];
    uint32_t slab_epoch[RAIL_MAX]; /* the rail's when the slab was registered; 0: never */
};

struct server_connection {
    uint32_t slot, serial;
    struct server_lane *lane;
    uint16_t member;              /* of the client's pool */
    bool unsent;                  /* messages wait for the end of the event */
    struct wire_channel *channel; /* owns the stream */
    fabric_stream stream;
    bool carried_bulk; /* and was then looked at as a part of the TCP pool */
    char peer[FABRIC_ADDRESS_MAX];
    bool said_ready, pinged;
    bool resumes;                      /* more messages wait for a timer that is set */
    bool pumps;                        /* and so do bytes of values */
    uint64_t heard;                    /* ns */
    struct server_transfer *receiving; /* the PUT whose bytes the stream writes into its block */
    struct server_transfer *sending;   /* the GET whose block the stream reads */
    uint32_t turn;                     /* serial of the GET that sent last */
    uint64_t bulk_progress;            /* ns: the last in sending */
    bool has_instance;
    uint8_t instance[WIRE_INSTANCE_BYTES];
    fabric_timer handshake; /* id 0 when it came or was cancelled */
    uint32_t deletions;     /* that wait for their medium */
    uint32_t transfers;
    struct server_transfer *first, *last; /* of them, in the order in which they came */
    struct server_link links[RAIL_MAX];
};

enum server_transfer_kind {
    SERVER_PUT,
    SERVER_GET,
    SERVER_PROBE,
};

/* Data on its way. It outlives its connection until the fabric has given back every buffer. */
struct server_transfer {
    uint32_t slot, serial;
    struct server_transfer *previous, *following; /* of its connection */
    bool waits;                                   /* for room in the rail's completion queue */
    struct server_transfer *waits_before, *waits_after;
    enum server_transfer_kind kind;
    enum wire_way way;
    uint64_t id; /* the client's */
    uint32_t connection_slot, connection_serial;
    uint8_t link;        /* the client's rail */
    uint32_t generation; /* of the link that it began on */
    uint32_t rail;       /* ours */
    struct server_lane *lane;
    struct store_block *block;
    uint8_t key[WIRE_MAX_KEY];
    uint8_t key_length;
    struct wire_tag tag;
    struct wire_tag_run *run; /* PUT over TCP: of what has come */
    uint64_t iova;            /* the client's window */
    uint32_t rkey, length;
    uint32_t next;        /* first byte not yet posted, sent or received */
    uint32_t done;        /* DC: first byte not known to be moved */
    uint32_t flushes;     /* DC: by which nobody is to blame */
    bool flushed;         /* DC: some of the posts under way were */
    uint32_t outstanding; /* posts, and what a medium does with the block */
    bool stored;          /* a medium has it: nothing else goes on meanwhile */
    bool closed;          /* cancelled, or the connection is gone: nothing becomes visible */
    bool prepared;        /* PUT: verified, waits for COMMIT */
    uint64_t progress;    /* ns: the last */
    enum fabric_error error;
    uint8_t stage;  /* probe */
    uint8_t *probe; /* two pages */
    fabric_mr probe_mr;
    uint32_t probe_lkey, probe_epoch;
};

/* Transfers with something to post for which a completion queue had no room; first come, first
 * served. */
struct server_waiting {
    struct server_transfer *first, *last;
};

struct server_counters {
    uint64_t tag_mismatches, refused_links, auth_failures, strangers, stale, silent;
};

/* Values that were moved whole for who still wanted them, by way and by our rail. */
struct server_traffic {
    uint64_t values[ADMIN_TRANSPORTS], bytes[ADMIN_TRANSPORTS];
    uint64_t rail_bytes[RAIL_MAX];
};

/* A key of the cluster, as it was or is. */
struct server_key {
    uint32_t serial; /* made from it: the store keeps it, also over a restart */
    uint8_t bytes[CONFIG_KEY_BYTES];
};

struct server {
    struct fabric *fabric;
    struct fabric_report_sink sink;
    struct server_config config;
    struct server_lane lanes[CONFIG_MAX_LANES];
    uint32_t lane_count;
    struct rail rails[RAIL_MAX];
    uint32_t rail_count;
    uint32_t posts[RAIL_MAX]; /* under way: no more than the completion queue holds */
    struct server_waiting waiting[RAIL_MAX];
    struct server_dc dc;
    fabric_listener listener;
    char bound[FABRIC_ADDRESS_MAX];
    struct server_connection *connections[SERVER_PLACES];
    uint32_t unsent[SERVER_PLACES], unsent_count; /* slots of those with `unsent` */
    uint32_t connection_count, connection_serial, stranger_count, resolve_serial;
    struct rail_said strangers_said[ERR_COUNT][2]; /* by error, and by whether it was challenged */
    struct rail_said full_said;
    struct rail_pool pool;
    uint32_t ticks;
    bool tick_missed;                   /* could not be set: tried again at every event */
    struct server_transfer **transfers; /* transfer_room positions */
    uint32_t *free_transfers;           /* positions below transfer_end that are free */
    uint32_t transfer_room, free_count;
    uint32_t transfer_end; /* positions from here on were never used */
    uint32_t transfer_serial;
    struct server_counters counters;
    uint64_t started; /* ns */
    fabric_http http; /* id 0: none */
    char admin_bound[FABRIC_ADDRESS_MAX];
    struct server_traffic read, written; /* as seen by the store: GETs and PUTs */
    uint64_t refused[ERR_COUNT];         /* links over RDMA */
    /* The newest first; connections are accepted under two, tags of stored blocks under all. */
    struct server_key keys[SERVER_KEYS];
    uint32_t key_count;
    bool draining, drained_said;
    bool live;               /* listens, and has said that it is ready */
    uint32_t opening;        /* lanes whose media are not open yet */
    enum fabric_error unfit; /* why it will never be live */
    uint64_t drain_until;    /* ns */
};

uint64_t server_cookie(enum server_cookie kind, uint32_t slot, uint32_t serial);
enum server_cookie server_cookie_kind(uint64_t cookie);

/* ------------------------------------------------------------------ connection.c */

void server_accept(struct server *server, fabric_stream stream);
/* Null when that connection is gone. */
struct server_connection *server_connection_at(struct server *server, uint32_t slot,
                                               uint32_t serial);
struct server_connection *server_connection_of(struct server *server, uint64_t cookie);
void server_connection_event(struct server *server, const struct fabric_event *event);
void server_connection_timeout(struct server *server, uint64_t cookie);
/* Goes on receiving where the budget of an event ended. */
void server_connection_resume(struct server *server, uint64_t cookie);
/* Asks those who are silent, and drops those who stay so. */
void server_connections_tick(struct server *server);
uint64_t server_now(struct server *server);
/* Sends what was queued. */
void server_connections_flush(struct server *server);
/* One line of log unless `why` is null; frees it. */
void server_connection_close(struct server *server, struct server_connection *c,
                             enum fabric_error error, const char *why);
/* Queues it for the end of the event, so that answers travel together; a peer that does not read is
 * dropped. False when the connection is gone by now. */
bool server_send(struct server *server, struct server_connection *c,
                 const struct wire_message *message);
/* Sends a RESULT without data. False when the connection is gone by now. */
bool server_result(struct server *server, struct server_connection *c, uint64_t id,
                   enum fabric_error error, const char *detail);

/* ------------------------------------------------------------------ link.c */

void server_link_request(struct server *server, struct server_connection *c,
                         const struct wire_message *message);
/* A look-up has ended. */
void server_link_resolved(struct server *server, uint64_t cookie, enum fabric_error error);
void server_link_ready(struct server *server, struct server_connection *c,
                       const struct wire_message *message);
void server_link_down(struct server *server, struct server_connection *c,
                      const struct wire_message *message);
/* Ends a link and tells the client why. False when the connection is gone by now. */
bool server_link_fail(struct server *server, struct server_connection *c, uint32_t link,
                      enum fabric_error error, const char *detail);
void server_link_drop(struct server *server, struct server_connection *c, uint32_t link);
/* The probe's transfer has ended. */
void server_link_probed(struct server *server, struct server_connection *c,
                        const struct server_transfer *t);
/* A rail's address or state changed: its links end, and every client is told at once. */
void server_rail_changed(struct server *server, uint32_t rail);
/* Something failed over it: whether its port has changed unnoticed (MK-C4). Then all its links have
 * ended and the clients were told. */
bool server_rail_is_to_blame(struct server *server, uint32_t rail);
void server_rail_report(struct server *server, uint32_t rail);
bool server_rdma_active(const struct server *server);
/* A queue pair, or a completion queue, says that it is broken. */
void server_queue_pair_broke(struct server *server, const struct fabric_async *async);

/* ------------------------------------------------------------------ transfer.c */

void server_put(struct server *server, struct server_connection *c,
                const struct wire_message *message);
void server_get(struct server *server, struct server_connection *c,
                const struct wire_message *message);
void server_cancel(struct server *server, struct server_connection *c, uint64_t id);
/* The operation of a PREPARED is still open at the client. */
void server_commit(struct server *server, struct server_connection *c,
                   const struct wire_message *message);
/* Ends what makes no progress. */
void server_transfers_tick(struct server *server);
void server_completion(struct server *server, const struct fabric_wc *wc);
/* The connection ends: none of its operations becomes visible any more. */
void server_orphan(struct server *server, const struct server_connection *c);
/* The queue pair of a link is gone: what waited for it fails as flushed. May end the connection. */
void server_transfers_flush(struct server *server, const struct server_connection *c,
                            uint32_t link);

/* Posts what the link has to post. May end the connection. */
void server_transfers_pump(struct server *s, const struct server_connection *c, uint32_t link);
/* A medium has done what it had to do with the block. May end the connection. */
void server_transfer_stored(struct server *s, struct server_transfer *t, enum fabric_error error);
/* Ends it and tells the client. May end the connection. */
void server_transfer_finish(struct server *s, struct server_transfer *t);
/* The link it began on, while that is still the same; otherwise null. */
struct server_link *server_transfer_link(struct server *s, const struct server_transfer *t);

/* ------------------------------------------------------------------ bulk.c */

/* Begins to verify what will come for a PUT. False without memory. */
bool server_bulk_begin(struct server_connection *c, struct server_transfer *t);
/* A piece follows, and bytes of it have come. May end the connection. */
void server_bulk(struct server *server, struct server_connection *c,
                 const struct wire_message *message);
void server_payload(struct server *server, struct server_connection *c,
                    const struct wire_message *message);
/* Whether the tag of a PUT fits the bytes that came; counts those that do not. */
bool server_bulk_is_right(struct server *server, struct server_transfer *t);
/* Sends more where the stream has room. May end the connection. */
void server_pump_bulk(struct server *server, struct server_connection *c);
/* Goes on sending where the budget of an event ended. */
void server_bulk_goes_on(struct server *server, uint64_t cookie);
/* The stream still reads its block. */
bool server_bulk_is_lent(struct server *server, const struct server_transfer *t);
/* The stream has nothing to do with its block any more. */
void server_bulk_end(struct server *server, struct server_transfer *t);

/* ------------------------------------------------------------------ transfers.c */

/* Null when the connection has enough of them, or without memory. */
struct server_transfer *server_transfer_new(struct server *s, struct server_connection *c,
                                            enum server_transfer_kind kind);
/* Nothing of it is lent to the fabric any more. */
void server_transfer_free(struct server *s, struct server_transfer *t);
/* After the devices were closed: all of them. */
void server_transfers_free(struct server *server);
/* Null when it is gone. */
struct server_connection *server_transfer_owner(struct server *s, const struct server_transfer *t);
/* What the client calls `id`, unless it is over. */
struct server_transfer *server_transfer_by_id(struct server *s, const struct server_connection *c,
                                              uint64_t id);

/* A walk over the transfers of a connection, any of which, and the connection, may end meanwhile:
 * for (t = server_walk(s, c, &walk); t; t = server_walk_on(s, &walk)) */
struct server_walk {
    uint32_t connection_slot, connection_serial;
    uint32_t serial; /* of the one that the walk is at */
    struct server_transfer *following;
    uint32_t following_slot, following_serial;
};
struct server_transfer *server_walk(struct server *s, const struct server_connection *c,
                                    struct server_walk *walk);
struct server_transfer *server_walk_on(struct server *s, struct server_walk *walk);

/* It has something to post, and the completion queue of its rail is full. */
void server_transfer_wait(struct server *s, struct server_transfer *t);
/* The one that has waited longest for room there, and waits no more; null: nobody does, or there
 * is none. */
struct server_transfer *server_transfer_waited(struct server *s, uint32_t rail);

/* ------------------------------------------------------------------ lane.c */

/* Registers a lane's slab with a rail unless it is; for local use only. */
enum fabric_error server_slab_register(struct server *server, struct server_lane *lane,
                                       uint32_t rail);

/* ------------------------------------------------------------------ storage.c */

/* What media a lane has, and where; pointers into `paths`. Errors, said in the log:
 * config_invalid, not_supported. */
enum fabric_error server_storage_plan(struct server *server, uint32_t lane,
                                      char paths[CONFIG_MAX_MEDIA][FABRIC_PATH_MAX],
                                      struct store_media *out);
/* A request of a medium has completed. */
void server_storage_done(struct server *server, const struct fabric_io_done *done);
void server_storage_tick(struct server *server);
/* Tells whoever waited what the stores have done; after every event. May end connections and
 * transfers. */
void server_storage_look(struct server *server);
/* Begins to delete; the answer goes out now or later. */
void server_delete(struct server *server, struct server_connection *c,
                   const struct wire_message *message);

/* ------------------------------------------------------------------ probe.c */

/* Begins the probe of a link. Errors: queue_full, and those of registration and posting. */
enum fabric_error server_probe(struct server *server, struct server_connection *c, uint32_t link);
/* A post of it has completed: posts the next or ends. */
void server_probe_next(struct server *s, struct server_transfer *t);
/* The completion queue has room again: posts what waited for it, or ends. */
void server_probe_resume(struct server *s, struct server_transfer *t);
void server_probe_finish(struct server *server, struct server_transfer *t);
/* Gives back its memory. */
void server_probe_free(struct server *server, struct server_transfer *t);

/* ------------------------------------------------------------------ program.c */

/* What the command `status` tells; the caller owns it. */
json_t *server_status(struct server *server);
void server_report(struct server *server, json_t *object);
/* Listens and says that it is ready. The error was said. */
enum fabric_error server_go_live(struct server *server);

/* ------------------------------------------------------------------ admin.c */

/* Serves HTTP where the configuration says, or on the port after the data port. A fabric without
 * HTTP is no error. */
enum fabric_error server_admin_listen(struct server *server);
void server_http(struct server *server, const struct fabric_event *event);
/* A value was stored or sent whole. */
void server_count_transfer(struct server *server, const struct server_transfer *t);

/* ------------------------------------------------------------------ key.c */

/* From now on connections begin under this key or the one before it. The same key again changes
 * nothing; an older one comes to the front again. Connections that are open stay. */
void server_set_key(struct server *server, const uint8_t key[CONFIG_KEY_BYTES]);
/* Notes beside a block that is to be saved under which key its tag was made. */
void server_note_maker(struct server *server, const struct server_transfer *t);
/* Fills the tag of a GET that has its key and block: the tag that the client computes. False when
 * no key that this server has known made the tag that is stored: then the request was answered. */
bool server_tag_for(struct server *server, struct server_connection *c, struct server_transfer *t);
/* Whether the tag of a PUT fits its bytes under the client's key; counts those that do not. */
bool server_tag_is_right(struct server *server, const struct server_transfer *t);
/* Takes what a command `reload` names: {"auth_key": HEX}. Returns what is wrong with it, or null.
 */
const char *server_reload(struct server *server, const json_t *request);

/* ------------------------------------------------------------------ drain.c */

/* Takes nothing new, finishes what is under way, at most for SERVER_DRAIN_TIME, and then reports
 * {"event":"drained"}. */
void server_drain(struct server *server);
/* Looks whether the drain is over; after every event. */
void server_drain_look(struct server *server);
/* Whether a request of the client may begin; otherwise it was answered. */
bool server_may_begin(struct server *server, struct server_connection *c,
                      const struct wire_message *message);
/* Values on their way. */
uint32_t server_transfer_count(const struct server *server);

#endif

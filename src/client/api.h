/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client as C programs use it: requests on the caller's own memory go in, completions come out
 * of a queue that the caller drains. Nothing calls back and nothing waits; the caller drives the
 * client with the events of its fabric:
 *
 *     client_create
 *     client_submit                       any number of requests, each time
 *     fabric_poll, client_event           for every event
 *     client_completions                  until it gives none
 *     client_destroy
 *
 * One client belongs to the thread of its fabric. Several clients may share a process, each with a
 * fabric of its own.
 *
 * Cookies: of the timers, I/O requests and streams that the caller itself makes on this fabric, the
 * cookies have the bit CLIENT_CALLER_COOKIE; client_event passes over their events.
 */
#ifndef SRC_CLIENT_API_H
#define SRC_CLIENT_API_H

#include <jansson.h>

#include "src/config/client_config.h"
#include "src/fabric/program.h"

#define CLIENT_OPERATIONS 1024u /* requests that can be open: submitted and not yet drained */
#define CLIENT_MAX_KEY 255u     /* bytes, with the prefix */
#define CLIENT_MAX_VALUE (16u * 1024u * 1024u) /* bytes */
#define CLIENT_DETAIL 240u
#define CLIENT_CLASS 80u
#define CLIENT_CALLER_COOKIE (1ull << 63)

struct client;
struct client_memory; /* memory of the caller that rails can use; belongs to the client */

/* ------------------------------------------------------------------ the client */

/* Connects to every server of `config`, of which it takes a copy, and opens the devices. `f` stays
 * the caller's and must outlive the client. `sink` gets the reports of docs/programs.md that nobody
 * asked for (rail, link, transport); null drops them. After a failure nothing is left behind and
 * *out is untouched. Errors: resources_exhausted. */
enum fabric_error client_create(struct fabric *f, const struct client_config *config,
                                const struct fabric_report_sink *sink, struct client **out);

/* Ends it at once. What is open gets no completion; when this returns nothing can touch the
 * caller's memory any more, every registration is gone, and so is every client_memory. */
void client_destroy(struct client *c);

/* Takes one event that fabric_poll returned; requests go on and complete in here. */
void client_event(struct client *c, const struct fabric_event *event);

/* Rails, servers and counters (docs/programs.md, `status`). The caller owns the object. */
json_t *client_status(const struct client *c);

/* ------------------------------------------------------------------ memory */

/* Makes [data, data + length) known to the client, so that requests in it register nothing: it is
 * registered with every rail that is ready now, and with any other at its first use there. The
 * memory stays the caller's and stays mapped until client_memory_unregister or client_destroy.
 * `length` is 1 or more; regions may overlap. A device that refuses the registration is named when
 * a request first uses it. Errors: resources_exhausted. */
enum fabric_error client_memory_register(struct client *c, void *data, uint64_t length,
                                         struct client_memory **out);

/* No request may be open in it (programmer error). The registrations are gone when this returns. */
void client_memory_unregister(struct client *c, struct client_memory *memory);

/* ------------------------------------------------------------------ requests */

enum client_kind {
    CLIENT_PUT,
    CLIENT_GET,
    CLIENT_EXISTS,
    CLIENT_DELETE, /* of what is not there succeeds */
};

/* Names an open request; 0 names none, and no value comes twice in the life of a client. */
typedef uint64_t client_request_id;

struct client_request {
    enum client_kind kind;
    const char *prefix; /* the namespace: goes before the key; null for none */
    const void *key;    /* opaque bytes; with the prefix 1 to CLIENT_MAX_KEY */
    size_t key_length;

    /* PUT: the value, 1 byte to CLIENT_MAX_VALUE. GET: room for it. Lent to the client until the
     * completion was drained: a PUT's must not change, a GET's must not be read. */
    void *data;
    uint64_t length;
    /* What client_memory_register made of the memory around `data`. With null the memory is
     * registered at its first use on a rail, for this request only, which fails alone if it cannot
     * be; a PUT's may then be memory that cannot be written. */
    struct client_memory *memory;

    uint64_t timeout; /* ns from now on; 0: the configured one */
    uint64_t cookie;  /* comes back in the completion */
};

/* Submits `count` requests (1 to CLIENT_OPERATIONS) as one batch: what goes to the same server
 * travels together, at most 64 KiB to a record, and no request waits for the answer to another
 * (MK-J5). Each has its own completion and fails for itself, also for a key or a length that is
 * refused here. Keys are copied. `ids` (may be null) gets their names. Nothing is promised about
 * the order in which requests of one batch take effect.
 * Errors, after which nothing was submitted: queue_full (not so many can be open),
 * resources_exhausted. */
enum fabric_error client_submit(struct client *c, const struct client_request *requests,
                                size_t count, client_request_id *ids);

/* Asks for an early end. The completion comes all the same, once: with `cancelled` as soon as
 * nothing can touch the memory any more, or with the result when that is decided already (a PUT
 * whose confirmation is out ends as the server says). False when the request is not open. */
bool client_cancel(struct client *c, client_request_id id);

/* ------------------------------------------------------------------ completions */

enum client_transport {
    CLIENT_OVER_TCP,
    CLIENT_OVER_RC,
    CLIENT_OVER_DC,
};

struct client_completion {
    uint64_t cookie;
    client_request_id id;
    enum client_kind kind;
    /* FABRIC_OK, or why not: not_found, invalid_argument (key of 0 or too many bytes, PUT of 0
     * bytes), too_large, buffer_too_small (nothing was written), store_full, read_only,
     * tag_mismatch, checksum, cancelled, timeout, unreachable, resources_exhausted, queue_full, and
     * with transport rdma or before a rail is ready any error of a connection or a rail. After a
     * failed PUT nothing of it becomes visible; after a failed GET `data` may hold anything. */
    enum fabric_error error;
    uint64_t length; /* bytes stored or read; buffer_too_small: bytes that are needed */
    bool found;      /* EXISTS: it is there. DELETE: it was there */
    enum client_transport transport; /* what moved the value, or would have moved one */
    const char *server;              /* as configured; null when it was refused before */
    char detail[CLIENT_DETAIL];      /* for people; may be empty */
};

/* Takes up to `capacity` completions out of the queue, in the order in which they were completed,
 * and gives their number. The memory of their requests is the caller's again. */
size_t client_completions(struct client *c, struct client_completion *out, size_t capacity);

/* Completions that wait to be drained. */
size_t client_completed(const struct client *c);

const char *client_transport_name(enum client_transport transport); /* "dc" */

/* The outcome class of a completion or of the first failure of several: "rdma", "fell_back",
 * "refused:no_lid", ... */
void client_class(const struct client *c, enum fabric_error error, enum client_transport transport,
                  char out[CLIENT_CLASS]);

#endif

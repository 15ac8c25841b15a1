/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmemkv: a client of MemKV servers. It stores, fetches and deletes blocks of 1 byte to 16 MiB
 * under keys of 1 to 255 bytes, by RDMA where there is a way and by TCP otherwise.
 *
 * Two forms:
 *
 *  - struct memkv_client, the synchronous form. A call returns when its work is done. Any number of
 *    threads may use one client; it owns one thread that does the input and output.
 *  - struct memkv_queue, the poll form. Requests go in, completions come out, and everything
 * happens on the thread of the caller: nothing is started. A descriptor tells other people's loops
 * when there is something to do.
 *
 * Threads and callbacks
 *
 *  - Nothing calls back, ever: no function of yours runs inside the library.
 *  - Every function on a memkv_client may be called from any thread at any time, but for
 *    memkv_close, which must be the last call and the only one. memkv_interrupt makes calls that
 *    wait in other threads return early, so that they can be joined before it.
 *  - A memkv_queue, with its memory, is used by one thread at a time. Different queues and clients
 *    share nothing and need no lock between them.
 *  - The thread of a memkv_client blocks every signal. The library installs no handler, changes no
 *    signal's effect, and never raises SIGPIPE. A signal never ends a call early.
 *  - No function is safe in a signal handler, and none may be left by longjmp or by cancelling the
 *    thread.
 *  - fork: a client or queue belongs to the process that opened it. In a child every function on it
 *    fails with invalid_argument and touches nothing that parent and child share, and memkv_close
 *    and memkv_queue_close do nothing: what they would free is left to the end of the process or to
 *    exec. Descriptors are closed by exec. A child opens a client of its own. Fork while another
 *    thread is inside memkv_open or a call is as safe as malloc is after it.
 *
 * Results. Functions that can fail return 0, or the number of the error (enum memkv_error_code),
 * and fill in `error` where the caller gives one; it may be null. After a failure nothing is left
 * behind and no result is written, unless a function says otherwise.
 *
 * Memory of yours is lent to the library from the call that names it to the end of that call, or in
 * the poll form to the completion. Then nothing can touch it any more, neither the library nor an
 * adapter on behalf of a peer, also when the request failed.
 *
 * Sizes are bytes, times nanoseconds; strings are UTF-8 and end in NUL.
 */
#ifndef MEMKV_MEMKV_H
#define MEMKV_MEMKV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMKV_API __attribute__((visibility("default")))

#define MEMKV_VERSION_MAJOR 0 /* a change of it may break callers */
#define MEMKV_VERSION_MINOR 1

#define MEMKV_MAX_KEY 255u                    /* bytes, with the prefix */
#define MEMKV_MAX_VALUE (16u * 1024u * 1024u) /* bytes */
#define MEMKV_MAX_OPEN 1024u                  /* requests of a queue that are not yet completed */

/* "0.1": of the library that is loaded. Never freed. */
MEMKV_API const char *memkv_version(void);

/* ------------------------------------------------------------------ errors */

/* How much is lost with an error, smallest first. */
enum memkv_radius {
    MEMKV_RADIUS_NONE,       /* no error */
    MEMKV_RADIUS_OPERATION,  /* one request */
    MEMKV_RADIUS_CONNECTION, /* one connection to one server */
    MEMKV_RADIUS_RAIL,       /* one device port, towards every server */
    MEMKV_RADIUS_PROCESS,    /* the client cannot work as it was asked to */
};

/* Numbers stay what they are; later versions add some. `memkv explain NAME` tells more of each. */
enum memkv_error_code {
    MEMKV_OK = 0,
    /* radius operation */
    MEMKV_ERR_NOT_FOUND = 1,
    MEMKV_ERR_TOO_LARGE = 2,
    MEMKV_ERR_BUFFER_TOO_SMALL = 3,
    MEMKV_ERR_STORE_FULL = 4,
    MEMKV_ERR_READ_ONLY = 5,
    MEMKV_ERR_CHECKSUM = 6,
    MEMKV_ERR_TAG_MISMATCH = 7,
    MEMKV_ERR_TIMEOUT = 8,
    MEMKV_ERR_CANCELLED = 9,
    MEMKV_ERR_INVALID_ARGUMENT = 10,
    MEMKV_ERR_ACCESS_DENIED = 11,
    MEMKV_ERR_EXISTS = 12,
    MEMKV_ERR_QUEUE_FULL = 13,
    MEMKV_ERR_SYSFILE_INVALID = 14,
    MEMKV_ERR_NOT_SUPPORTED = 15,
    /* radius connection */
    MEMKV_ERR_AUTH_FAILED = 100,
    MEMKV_ERR_REPLAYED = 101,
    MEMKV_ERR_FRAME_INVALID = 102,
    MEMKV_ERR_FRAME_TOO_LARGE = 103,
    MEMKV_ERR_UNSUPPORTED_VERSION = 104,
    MEMKV_ERR_STALE_GENERATION = 105,
    MEMKV_ERR_PROBE_FAILED = 106,
    MEMKV_ERR_RETRY_EXCEEDED = 107,
    MEMKV_ERR_RNR_EXCEEDED = 108,
    MEMKV_ERR_REMOTE_ACCESS = 109,
    MEMKV_ERR_REMOTE_INVALID = 110,
    MEMKV_ERR_REMOTE_OPERATION = 111,
    MEMKV_ERR_LOCAL_PROTECTION = 112,
    MEMKV_ERR_LOCAL_LENGTH = 113,
    MEMKV_ERR_LOCAL_OPERATION = 114,
    MEMKV_ERR_FLUSHED = 115,
    MEMKV_ERR_PEER_GONE = 116,
    MEMKV_ERR_UNREACHABLE = 117,
    MEMKV_ERR_DRAINING = 118,
    MEMKV_ERR_LINK_LAYER_MISMATCH = 119,
    MEMKV_ERR_SUBNET_MISMATCH = 120,
    MEMKV_ERR_PKEY_MISMATCH = 121,
    MEMKV_ERR_PKEY_LIMITED_PAIR = 122,
    MEMKV_ERR_MTU_MISMATCH = 123,
    /* radius rail */
    MEMKV_ERR_NO_LID = 200,
    MEMKV_ERR_PEER_NO_LID = 201,
    MEMKV_ERR_WAITING_FOR_SM = 202,
    MEMKV_ERR_PATH_MTU_SMALLER = 203,
    MEMKV_ERR_RD_ATOMIC_NONE = 204,
    MEMKV_ERR_GID_FAMILY_MISMATCH = 205,
    MEMKV_ERR_PORT_DOWN = 206,
    MEMKV_ERR_PKEY_EMPTY = 207,
    MEMKV_ERR_PKEY_INDEX_RANGE = 208,
    MEMKV_ERR_PKEY_NOT_FOUND = 209,
    MEMKV_ERR_MTU_ABOVE_ACTIVE = 210,
    MEMKV_ERR_GID_NONE = 211,
    MEMKV_ERR_GRH_UNAVAILABLE = 212,
    MEMKV_ERR_SM_NO_RESOURCES = 213,
    MEMKV_ERR_DEVICE_REMOVED = 214,
    MEMKV_ERR_MEMLOCK_LIMIT = 215,
    MEMKV_ERR_REGISTRATION_FAILED = 216,
    MEMKV_ERR_DC_UNSUPPORTED = 217,
    MEMKV_ERR_RESOURCES_EXHAUSTED = 218,
    /* radius process */
    MEMKV_ERR_CONFIG_INVALID = 300,
    MEMKV_ERR_MTU_INVALID = 301,
    MEMKV_ERR_ADDRESS_IN_USE = 302,
    MEMKV_ERR_TLS_INVALID = 303,
    MEMKV_ERR_BUSY = 304,
    MEMKV_ERR_MEDIA_FAILED = 305,
    MEMKV_ERR_MEDIA_VERSION = 306,
    MEMKV_ERR_FALLBACK_TCP = 307,
    MEMKV_ERR_RDMA_REQUIRED = 308,
    MEMKV_ERR_INTERNAL = 309,
};

#define MEMKV_ERROR_TEXT 400

struct memkv_error {
    int code;         /* enum memkv_error_code; 0: no error */
    const char *name; /* "not_found"; "ok". Lives for ever */
    enum memkv_radius radius;
    bool retriable;              /* the same request may succeed later with nothing changed */
    bool fatal;                  /* nothing will succeed before somebody changes something */
    char text[MEMKV_ERROR_TEXT]; /* what happened, for people, without a newline */
};

/* ------------------------------------------------------------------ options */

enum memkv_log_level {
    MEMKV_LOG_WARN, /* the default: falling back to TCP is a warning */
    MEMKV_LOG_ERROR,
    MEMKV_LOG_INFO,
    MEMKV_LOG_DEBUG,
    MEMKV_LOG_NONE,
};

/* Set everything to zero, `size` to sizeof(struct memkv_options), then what you need: zero means
 * the default of every member. Later versions add members at the end; who was compiled with fewer
 * gets their defaults, and a member that this library does not know yet is refused unless it is
 * zero. */
struct memkv_options {
    size_t size;
    /* A YAML file; null: the one that the environment variable MEMKV_CONFIG names, if it is set. */
    const char *config;
    /* "KEY=VALUE" with the keys of that file ("servers=a:9900,b:9900", "timeout=2s"), ending in
     * null. They win over the variables of the environment (MEMKV_SERVERS, ...), which win over the
     * file; of several with one key the last holds, and lists are joined. A variable that is set
     * and empty is an error.
     */
    const char *const *settings;
    const char *key_prefix;  /* the namespace: goes before every key; null for none */
    bool ignore_environment; /* no variable is read, MEMKV_CONFIG neither */
    enum memkv_log_level log_level;
    int log_fd; /* where log lines go; 0: standard error. Stays yours and open to the end */
};

/* ------------------------------------------------------------------ requests */

enum memkv_operation {
    MEMKV_PUT = 1,
    MEMKV_GET,
    MEMKV_EXISTS, /* what is not there is no error */
    MEMKV_DELETE, /* likewise */
};

struct memkv_memory; /* registered memory; belongs to the client or queue it was registered with */

struct memkv_request {
    enum memkv_operation operation;
    const void *key; /* opaque bytes */
    size_t key_length;
    void *data;    /* PUT: the value, which must not change meanwhile. GET: room for it */
    size_t length; /* of it */
    /* What `data` lies in. Null: it is registered for this request only, which fails alone if it
     * cannot be; a PUT's may then be memory that cannot be written. */
    struct memkv_memory *memory;
    uint64_t timeout;     /* ns from now on; 0: the setting `timeout`, 10 s */
    uint64_t cookie;      /* yours: comes back in the completion */
    uint64_t reserved[4]; /* zero */
};

enum memkv_transport {
    MEMKV_OVER_TCP = 1,
    MEMKV_OVER_RDMA,
};

struct memkv_completion {
    uint64_t cookie; /* the request's */
    uint64_t id;     /* the request's, in the poll form */
    enum memkv_operation operation;
    enum memkv_transport
        transport;      /* what moved the value, or would have; 0: it was refused here */
    bool found;         /* EXISTS: it is there. DELETE: it was */
    size_t length;      /* bytes stored or fetched; with buffer_too_small: bytes that are needed */
    const char *server; /* as configured, until the client is closed; null: refused here */
    struct memkv_error error; /* of this request. After a failed PUT nothing of it becomes visible;
                               * after a failed GET `data` may hold anything */
    uint64_t reserved[4];
};

/* ------------------------------------------------------------------ the synchronous form */

struct memkv_client;

/* Reads the configuration (`options` may be null: environment and file alone) and starts to
 * connect; it does not wait for a server. Strings of `options` are copied. Errors: config_invalid,
 * mtu_invalid, invalid_argument (options->size or an unknown member), resources_exhausted. */
MEMKV_API int memkv_open(const struct memkv_options *options, struct memkv_client **out,
                         struct memkv_error *error);

/* Ends the client and frees it with its memory registrations. No call may be under way in another
 * thread. Null is fine. */
MEMKV_API void memkv_close(struct memkv_client *client);

/* Stores a copy of [data, data + length) under the key, whole or not at all; what was there before
 * is replaced. */
MEMKV_API int memkv_put(struct memkv_client *client, const void *key, size_t key_length,
                        const void *data, size_t length, struct memkv_error *error);

/* Fetches the value into `data`, which has room for `capacity` bytes. *length (may be null) gets
 * its size; with buffer_too_small the size that is needed, and nothing else is written. Errors
 * also: not_found. */
MEMKV_API int memkv_get(struct memkv_client *client, const void *key, size_t key_length, void *data,
                        size_t capacity, size_t *length, struct memkv_error *error);

/* *found (may not be null) gets whether there is a value. */
MEMKV_API int memkv_exists(struct memkv_client *client, const void *key, size_t key_length,
                           bool *found, struct memkv_error *error);

/* *found (may be null) gets whether there was one; it is gone in any case. */
MEMKV_API int memkv_delete(struct memkv_client *client, const void *key, size_t key_length,
                           bool *found, struct memkv_error *error);

/* Carries out `count` requests, any number and of any kind, and returns when the last one is done.
 * Those for one server travel together. out[i] is the completion of requests[i], always filled in
 * when it returns 0 or the error of a request, which is that of the first failed one in the order
 * of the array. Errors before anything was done, with `out` untouched: invalid_argument (an
 * operation that does not exist, data without an address or outside its memory, something in
 * `reserved`). */
MEMKV_API int memkv_batch(struct memkv_client *client, const struct memkv_request *requests,
                          size_t count, struct memkv_completion *out, struct memkv_error *error);

/* Makes every request that is under way, and every later one, end with `cancelled` as soon as
 * nothing can touch its memory any more; a PUT that is being confirmed ends as the server says, at
 * the latest with its timeout. For good: what remains is memkv_close. */
MEMKV_API void memkv_interrupt(struct memkv_client *client);

/* Registers [data, data + length) with the devices, so that requests in it need not: worth it for
 * memory that is used again. It stays mapped until it is unregistered. Errors: invalid_argument
 * (nothing), resources_exhausted. */
MEMKV_API int memkv_memory_register(struct memkv_client *client, void *data, size_t length,
                                    struct memkv_memory **out, struct memkv_error *error);

/* No request in it may be under way: otherwise invalid_argument, and it stays registered. */
MEMKV_API int memkv_memory_unregister(struct memkv_client *client, struct memkv_memory *memory,
                                      struct memkv_error *error);

/* Servers, rails and counters as JSON (docs/programs.md, `status`), for people and dashboards. The
 * caller frees *out with memkv_free. */
MEMKV_API int memkv_status(struct memkv_client *client, char **out, struct memkv_error *error);

/* Frees what a function here said to free so; null is fine. */
MEMKV_API void memkv_free(void *data);

/* ------------------------------------------------------------------ the poll form */

struct memkv_queue;

/* As memkv_open. */
MEMKV_API int memkv_queue_open(const struct memkv_options *options, struct memkv_queue **out,
                               struct memkv_error *error);

/* Ends it and frees it with its memory registrations. What is open gets no completion; when this
 * returns nothing can touch its memory any more. Null is fine. */
MEMKV_API void memkv_queue_close(struct memkv_queue *queue);

/* A descriptor that poll, epoll and their like find readable whenever memkv_queue_poll has work to
 * do or completions to give, timeouts included. Only wait for it; it belongs to the queue. -1 in
 * the child of a fork. */
MEMKV_API int memkv_queue_descriptor(struct memkv_queue *queue);

/* Submits `count` requests as one batch. Each gets exactly one completion from memkv_queue_poll,
 * whatever becomes of it and in whatever order; none comes before that call. ids[i] (`ids` may be
 * null) gets the name of requests[i], never 0 and never the same twice. Keys are copied. Errors,
 * after which nothing was submitted: invalid_argument as in memkv_batch, or `count` is 0;
 * queue_full (more than MEMKV_MAX_OPEN would be open); resources_exhausted. */
MEMKV_API int memkv_queue_submit(struct memkv_queue *queue, const struct memkv_request *requests,
                                 size_t count, uint64_t *ids, struct memkv_error *error);

/* Asks for an early end of the request with this id. Its completion comes all the same, once: with
 * `cancelled` as soon as nothing can touch its memory any more, or with its result when that is
 * decided. False when it is not open or has ended already. */
MEMKV_API bool memkv_queue_cancel(struct memkv_queue *queue, uint64_t id);

/* Works, and gives up to `capacity` (1 or more) completions; *count is their number. It returns
 * when there is one or after `timeout` ns: 0 only does what can be done at once, a negative one
 * waits for ever. Errors: invalid_argument, internal. */
MEMKV_API int memkv_queue_poll(struct memkv_queue *queue, struct memkv_completion *out,
                               size_t capacity, int64_t timeout, size_t *count,
                               struct memkv_error *error);

/* As those of the synchronous form. */
MEMKV_API int memkv_queue_memory_register(struct memkv_queue *queue, void *data, size_t length,
                                          struct memkv_memory **out, struct memkv_error *error);
MEMKV_API int memkv_queue_memory_unregister(struct memkv_queue *queue, struct memkv_memory *memory,
                                            struct memkv_error *error);
MEMKV_API int memkv_queue_status(struct memkv_queue *queue, char **out, struct memkv_error *error);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a benchmark over TCP does to a server, whoever made it: MemKV through its public library,
 * redis and memcached through a client of our own, so that no client's slowness flatters anybody.
 * Whatever goes wrong ends the program with a message: what is measured must work.
 */
#ifndef TESTS_SUPPORT_LOAD_H
#define TESTS_SUPPORT_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_MAX_CONNECTIONS 64u
#define LOAD_MAX_DEPTH 64u   /* requests in flight on each */
#define LOAD_MAX_SLOTS 1024u /* and over all */

enum load_operation {
    LOAD_PUT,
    LOAD_GET,
    LOAD_EXISTS,
};

struct load_plan {
    const char *address;         /* "IP:PORT" */
    uint32_t connections, depth; /* requests in flight on each connection */
    size_t size;                 /* bytes of every value */
};

/* A request in flight. The slot says which: slot / depth is the connection where connections are
 * the caller's affair. */
struct load_request {
    enum load_operation operation;
    uint32_t slot, key; /* the key is a number */
    uint8_t *data;      /* of `size` bytes; lent until the slot comes back */
};

struct load_link;

struct load_peer {
    const char *name;
    /* Connects; the caller closes it. */
    struct load_link *(*open)(const struct load_plan *plan);
    /* Takes `count` requests whose slots are free. */
    void (*submit)(struct load_link *link, const struct load_request *requests, size_t count);
    /* Waits for at least one answer; the slots that are free again go to `slots`, which has room
     * for LOAD_MAX_SLOTS. Every answer is "done", or for GET the whole value. */
    size_t (*wait)(struct load_link *link, uint32_t *slots);
    void (*close)(struct load_link *link);
};

extern const struct load_peer load_memkv_poll; /* memkv_queue: one thread */
extern const struct load_peer load_memkv_sync; /* memkv_client: one request at a time */
extern const struct load_peer load_redis;      /* RESP: SET, GET, EXISTS */
extern const struct load_peer load_memcached;  /* meta commands: ms, mg v, mg */

/* The text of a key, with its NUL; returns its length. */
size_t load_key(uint32_t key, char text[16]);

_Noreturn void load_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

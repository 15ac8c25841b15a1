/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the conformance suite needs of a fabric: a few connected nodes, time that passes, and things
 * that break. A backend's glue defines bench_backend; everything else is the same for every fabric.
 */
#ifndef TESTS_CONFORMANCE_BENCH_H
#define TESTS_CONFORMANCE_BENCH_H

#include "src/fabric/fabric.h"

#define BENCH_NODES 4
#define BENCH_REASON 128
#define BENCH_BODY 4096

enum bench_word {
    BENCH_KILL,      /* the node's program ends without a word; its fabric is gone */
    BENCH_PORT_DOWN, /* of the node's device, port 1 */
    BENCH_PORT_UP,
    BENCH_DEVICE_REMOVE,
    BENCH_DEVICE_RETURN,
    BENCH_POWER_CUT,    /* and power comes back: the node's fabric is a fresh one */
    BENCH_DISK_ERROR,   /* of every request from now on */
    BENCH_LID_CHANGE,   /* the subnet manager gives the port another LID */
    BENCH_LOSE_ALL,     /* every packet that the node sends is lost */
    BENCH_GRH_REQUIRED, /* the port demands a GRH */
    BENCH_OTHER_PKEY,   /* the port's P_Key at index 0 becomes 0x8005 */
    BENCH_MTU_1024,     /* the port's active MTU */
};

struct bench_setup {
    size_t nodes; /* 1 to BENCH_NODES, each with one device of one port */
    enum fabric_link_layer link_layer;
    fabric_caps caps; /* what the world may be able to do: masks what the fabric can */
};

/* What an HTTP client was answered. */
struct bench_answer {
    bool done;
    uint32_t status; /* 0: the connection broke instead */
    char type[FABRIC_HTTP_TYPE_MAX];
    uint8_t body[BENCH_BODY]; /* its beginning */
    size_t length;            /* of all of it */
};

struct bench;

struct bench_backend {
    const char *name;
    /* driver: "rxe 6.1 windows": driver, kernel and what lends memory, for the table of deviations;
     * null: there are none. */
    const char *(*driver)(void);
    /* create: the nodes with their ports ACTIVE and reachable from each other; null and a reason
     * when this fabric cannot be that. */
    struct bench *(*create)(const struct bench_setup *setup, char *reason);
    void (*destroy)(struct bench *bench);
    /* fabric: of a node; belongs to the bench. Another one after BENCH_POWER_CUT. */
    struct fabric *(*fabric)(struct bench *bench, size_t node);
    /* adopt: `f`, a layer over the node's fabric, stands for it now and is destroyed instead. */
    void (*adopt)(struct bench *bench, size_t node, struct fabric *f);
    const char *(*device)(struct bench *bench, size_t node);
    /* address: the node's IP on the control network, without a port. */
    const char *(*address)(struct bench *bench, size_t node);
    /* folder: of the node's storage, existing and empty, without a final slash. */
    const char *(*folder)(struct bench *bench, size_t node);
    fabric_caps (*caps)(struct bench *bench);
    /* ask: a client of the node's operator sends a request to `address`, as http_listen bound it;
     * `answer` is filled in while time passes and must live until it is done or the bench is gone.
     * False when nobody listens there. */
    bool (*ask)(struct bench *bench, size_t node, const char *address, const char *method,
                const char *path, struct bench_answer *answer);
    /* advance: lets time pass until something may have happened at a node, at most to `deadline`
     * (ns of the nodes' clocks). False when nothing can ever happen any more. */
    bool (*advance)(struct bench *bench, uint64_t deadline);
    /* inject: false when this fabric cannot do that. */
    bool (*inject)(struct bench *bench, size_t node, enum bench_word word);
};

extern const struct bench_backend bench_backend;

#endif

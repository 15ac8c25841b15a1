/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SMALL_WORLD_INSIDE_H
#define TESTS_SUPPORT_SMALL_WORLD_INSIDE_H

#include "tests/support/small_world.h"

#define SMALL_OBJECTS 256
#define SMALL_QUEUE 4096
#define SMALL_TEXTS 4096

struct small_pipe { /* one end of a stream */
    bool open, closed_told, connected;
    uint64_t cookie;
    uint32_t node, peer_node, peer; /* peer: id of the other end there */
    uint8_t *data;                  /* arrived, not received */
    size_t length, room;
    bool stalled; /* a short send waits for WRITABLE */
    bool peer_ended;
};

struct small_mr {
    bool open;
    struct fabric_mr_init init;
    uint32_t lkey, rkey;
};

struct small_window {
    bool open, revoking, told;
    uint32_t mr;
    uint64_t iova, length;
    uint32_t access, rkey;
    uint64_t cookie;
};

struct small_qp {
    bool open;
    uint32_t serial;
    struct fabric_qp_init init;
    struct fabric_qp_attr rtr;
    enum fabric_qp_state state;
    uint16_t pkey_index;
    uint32_t number;
};

struct small_post {
    struct fabric_send_wr wr;
    struct fabric_sge sge;
    uint32_t qp, qp_serial;
    fabric_cq cq;
    uint32_t number;
    struct fabric_av av; /* of a DC initiator's */
};

struct small_entry {
    bool used;
    uint64_t time, order;
    uint32_t node;
    bool is_post; /* otherwise an event to hand over */
    struct small_post post;
    struct fabric_event event;
};

struct small_stored {
    char path[128];
    uint8_t *data;
    size_t length;
};

struct small_node {
    struct fabric head;
    struct small_world *world;
    uint32_t index;
    const struct fabric_program *program;
    void *state;
    struct fabric_report_sink sink, own; /* own.report null: `sink`, which keeps the reports */
    struct small_port port;
    bool no_device, cut;
    const void *read_only; /* memory that cannot be written */
    uint32_t devices, handles;
    struct small_mr mrs[SMALL_OBJECTS];
    struct small_window windows[SMALL_OBJECTS];
    struct small_qp qps[SMALL_OBJECTS];
    bool srqs[SMALL_OBJECTS]; /* open */
    struct {
        bool open;
        struct fabric_av av;
    } ahs[SMALL_OBJECTS];
    struct small_pipe pipes[SMALL_OBJECTS];
    bool listening;
    uint64_t listen_cookie;
    char listen_address[FABRIC_NAME_MAX];
    bool http, http_asked;
    uint64_t http_cookie;
    uint32_t http_status;
    char http_body[65536]; /* of the last answer */
    struct small_stored files[8];
    char *reports[SMALL_TEXTS];
    uint32_t report_count, report_seen;
    char *logs[SMALL_TEXTS];
    uint32_t log_count;
    uint32_t fail_op, fail_nth, fail_repeat;
    enum fabric_error fail_error;
};

struct small_world {
    uint64_t now, order, random, delay, completion_delay, resolve_delay, lend_delay;
    enum fabric_error resolve_error, lend_error;
    size_t chunk; /* bytes that a stream takes at a time */
    uint32_t node_count, link_mtu, answer_mtu, corrupt;
    struct small_node *nodes[SMALL_NODES];
    struct small_entry *queue; /* SMALL_QUEUE */
};

struct small_node *small_of(struct fabric *f);
struct small_entry *small_schedule(struct small_world *w, uint32_t node, uint64_t after);
/* small_verbs.c: a post has arrived, or will never. */
void small_arrive(struct small_world *w, struct small_node *n, const struct small_post *post);
bool small_fails(struct small_node *n, enum fabric_op op);
/* The members that handle devices and memory; small_world.c has the others. */
#define SMALL_VERBS(X)                                                                             \
    X(device_open)                                                                                 \
    X(device_close)                                                                                \
    X(device_query)                                                                                \
    X(device_list)                                                                                 \
    X(port_query)                                                                                  \
    X(counters_query)                                                                              \
    X(gid_query)                                                                                   \
    X(dcb_query)                                                                                   \
    X(sysfile_list)                                                                                \
    X(pkey_query)                                                                                  \
    X(mr_register)                                                                                 \
    X(mr_deregister)                                                                               \
    X(resolve)                                                                                     \
    X(window_open)                                                                                 \
    X(window_revoke)                                                                               \
    X(cq_create)                                                                                   \
    X(srq_create)                                                                                  \
    X(srq_destroy)                                                                                 \
    X(ah_create)                                                                                   \
    X(ah_destroy)                                                                                  \
    X(qp_create)                                                                                   \
    X(qp_modify)                                                                                   \
    X(qp_query)                                                                                    \
    X(qp_destroy)                                                                                  \
    X(qp_post_send)
extern const struct fabric_ops small_verbs;

/* small_streams.c: streams and files. */
#define SMALL_STREAMS(X)                                                                           \
    X(listen)                                                                                      \
    X(connect)                                                                                     \
    X(listener_close)                                                                              \
    X(stream_peer)                                                                                 \
    X(stream_set_cookie)                                                                           \
    X(stream_send)                                                                                 \
    X(stream_recv)                                                                                 \
    X(stream_close)                                                                                \
    X(io_submit)
extern const struct fabric_ops small_streams;

/* small_http.c */
#define SMALL_HTTP(X)                                                                              \
    X(http_listen)                                                                                 \
    X(http_reply)                                                                                  \
    X(http_close)
extern const struct fabric_ops small_web;

void small_tell(struct small_node *n, uint32_t pipe, enum fabric_event_type type,
                enum fabric_error error, uint64_t after);
struct small_pipe *small_other_end(struct small_node *n, const struct small_pipe *p);
struct small_stored *small_stored(struct small_node *n, const char *path, bool create);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the suites share: a world with its nodes, their events in the order of polling, and the
 * usual objects. Everything that must succeed for a case to mean anything is asserted here.
 */
#ifndef TESTS_CONFORMANCE_KIT_H
#define TESTS_CONFORMANCE_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/fabric/av.h"
#include "tests/conformance/bench.h"

#define KIT_EVENTS 8192
#define KIT_BUFFER 65536
#define KIT_DEPTH 64
#define KIT_SECOND UINT64_C(1000000000)
#define KIT_REAL_PASS (KIT_SECOND / 20) /* of kit_pass where time is not virtual */
#define KIT_PATIENCE (30 * KIT_SECOND)  /* of any wait; in the fabric's own time */
#define KIT_IOVA UINT64_C(0x10000000)
#define KIT_ACCESS_ALL                                                                             \
    (FABRIC_ACCESS_LOCAL_WRITE | FABRIC_ACCESS_REMOTE_WRITE | FABRIC_ACCESS_REMOTE_READ)

struct kit_node {
    size_t index;
    struct fabric *f;
    fabric_device device;
    fabric_cq cq;
    fabric_mr mr;
    struct fabric_mr_keys keys;
    uint8_t *buffer; /* KIT_BUFFER bytes, page aligned, registered at KIT_IOVA with every access */
    struct fabric_port_address address;
    struct fabric_event *events; /* all that were polled */
    size_t event_count;
    bool gone; /* killed */
};

struct kit {
    struct bench *bench;
    fabric_caps caps;
    size_t node_count;
    struct kit_node nodes[BENCH_NODES];
};

/* A queue pair of a node and what the other end must know. */
struct kit_qp {
    struct kit_node *node;
    fabric_qp qp;
    uint32_t qp_num;
    uint32_t psn;
};

/* Makes a world of `nodes` InfiniBand nodes (RoCE where there are no LIDs) that can do what `caps`
 * names, or skips the running case and says why. The bit that the environment variable
 * CONFORMANCE_OFF names is masked off; with CONFORMANCE_LAYERS every fabric is seen through all
 * layers. */
struct kit *kit_new(size_t nodes, fabric_caps caps);
/* The same without opening devices. */
struct kit *kit_new_bare(size_t nodes, fabric_caps caps);
/* Skips the case, by name, where a device cannot ask for RDMA READs or not answer them. */
void kit_need_reads(struct kit *kit);
/* Destroys the world; for teardown functions, *state may be null. */
int kit_free(void **state);
/* Notes which case runs; its name comes as the state. */
int kit_begin(void **state);
/* A case with its teardown, by its name in the table of deviations. */
#define CASE(name)                                                                                 \
    cmocka_unit_test_prestate_setup_teardown(name, kit_begin, kit_free, (char[]){#name})

void kit_open(struct kit_node *node); /* device, completion queue, region, address */
struct fabric_port_attr kit_port(struct kit_node *node);

/* Puts a layer over the node's fabric; `f` is what its constructor gave. */
void kit_adopt(struct kit *kit, size_t node, struct fabric *f);

/* Ends the running case, which the backend cannot show: "BACKEND WHY". */
void kit_skip(const struct kit *kit, const char *why);

/* The status that is to be expected where this one is due: another one where the driver of the
 * running fabric is known for it, which is said. */
enum fabric_wc_status kit_due(enum fabric_wc_status due);

/* Breaks something, or skips the case. */
void kit_inject(struct kit *kit, size_t node, enum bench_word word);

/* Polls every node for what is there now; returns how many events came. */
size_t kit_poll(struct kit *kit);
/* Lets time pass until `done` is true or the patience ends; returns what it was. */
bool kit_until(struct kit *kit, bool (*done)(void *context), void *context);
/* Lets `ns` pass. */
void kit_pass(struct kit *kit, uint64_t ns);
uint64_t kit_now(const struct kit_node *node);

/* The nth (from 0) event of this type that the node has polled, or null. */
const struct fabric_event *kit_event(const struct kit_node *node, enum fabric_event_type type,
                                     size_t nth);
size_t kit_count(const struct kit_node *node, enum fabric_event_type type);
/* Waits for the nth event of this type; the case fails without it. */
const struct fabric_event *kit_await(struct kit *kit, struct kit_node *node,
                                     enum fabric_event_type type, size_t nth);
/* Waits for the completion of `wr_id` and returns it. */
struct fabric_wc kit_await_wc(struct kit *kit, struct kit_node *node, uint64_t wr_id);
/* How many completions of `wr_id` the node has polled. */
size_t kit_completions(const struct kit_node *node, uint64_t wr_id);
bool kit_has_async(const struct kit_node *node, enum fabric_async_type type);

/* Queue pairs. kit_connect takes both to RTS; the timeout is short, retry counts are small. */
struct fabric_qp_init kit_qp_init(const struct kit_node *node, enum fabric_qp_type type);
struct kit_qp kit_qp_new(struct kit_node *node, const struct fabric_qp_init *init);
struct fabric_qp_attr kit_attr_init(enum fabric_qp_type type);
/* The builder refuses pairs that cannot READ; all the rest of the contract holds for them too. */
struct fabric_path kit_path(const struct kit_node *from, const struct kit_node *to);
struct fabric_qp_attr kit_attr_rtr(const struct kit_qp *from, const struct kit_qp *to);
struct fabric_qp_attr kit_attr_rts(const struct kit_qp *qp);
void kit_connect(struct kit_qp *a, struct kit_qp *b);
/* Two connected RC queue pairs on nodes a and b of the world. */
void kit_pair(struct kit *kit, size_t a, size_t b, struct kit_qp *qa, struct kit_qp *qb);
enum fabric_qp_state kit_state(const struct kit_qp *qp);

/* Posts: one entry from the start of the node's buffer on, at `offset`. */
enum fabric_error kit_post(const struct kit_qp *qp, const struct fabric_send_wr *wr,
                           uint64_t offset, uint32_t length);
enum fabric_error kit_write(const struct kit_qp *qp, uint64_t wr_id, const struct kit_node *to,
                            uint64_t offset, uint32_t length);
enum fabric_error kit_send(const struct kit_qp *qp, uint64_t wr_id, uint64_t offset,
                           uint32_t length);
enum fabric_error kit_recv(const struct kit_qp *qp, uint64_t wr_id, uint64_t offset,
                           uint32_t length);

/* Fills bytes that depend on `seed`; and whether they are there. */
void kit_fill(uint8_t *bytes, size_t length, uint32_t seed);
bool kit_filled(const uint8_t *bytes, size_t length, uint32_t seed);

/* The suites; each returns the number of failed cases. */
int kit_memory_suite(void);
int kit_qp_suite(void);
int kit_post_suite(void);
int kit_rc_suite(void);
int kit_error_suite(void);
int kit_dc_suite(void);
int kit_stream_suite(void);
int kit_http_suite(void);
int kit_time_suite(void);
int kit_storage_suite(void);
int kit_port_suite(void);
int kit_layer_suite(void);

#endif

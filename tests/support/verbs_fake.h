/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libibverbs and libmlx5 behind the one table through which fabric_hw/rdma calls
 * them: one device that does nothing by itself, a record of what it was asked, and any set-up verb
 * made to fail. What a real device would do later, the test does.
 */
#ifndef TESTS_SUPPORT_VERBS_FAKE_H
#define TESTS_SUPPORT_VERBS_FAKE_H

#include "fabric_hw/rdma/calls.h"
#include "fabric_hw/rdma/rdma.h"
#include "tests/support/os_bed.h"

#define VERBS_FAKE_QUEUE 512

struct verbs_fake {
    /* What the device is; set before it is opened. */
    struct ibv_device device; /* "mlx5_0" */
    bool present, mlx5;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct ibv_gid_entry gids[4];
    uint16_t pkeys[4];

    /* What shall fail: the nth (from 1) set-up verb from now on, or every one of this name. */
    unsigned fail_nth;
    const char *fail_name;
    int fail_errno;
    unsigned verbs; /* set-up verbs that were called */

    char said[16384]; /* what was called, a word each, with what is remarkable about it */
    int live;         /* objects made and not destroyed */
    struct ibv_send_wr sent[VERBS_FAKE_QUEUE];
    struct ibv_sge sent_sge; /* the first entry of the latest */
    size_t sent_count;
    struct ibv_recv_wr received[VERBS_FAKE_QUEUE];
    size_t received_count;
    uint64_t complete_when_armed; /* this wr_id, just before the queue is armed; 0: none */
    bool hold_bindings;           /* their completions are the test's */
    enum ibv_wc_status binding_status;
    uint64_t bindings[VERBS_FAKE_QUEUE]; /* their wr_ids */
    size_t binding_count;
    struct ibv_qp_attr modified; /* by the latest modify_qp, and its mask */
    int modified_mask;
    struct ibv_qp_attr rtr; /* the latest move there */
    struct ibv_mr *region;  /* the latest */
    uint32_t given_again;   /* key of the next region; 0: a new one */
    int region_access;
    struct ibv_ah_attr ah;
    struct ibv_qp_init_attr_ex dc_init;
    struct mlx5dv_qp_init_attr dc;
};

extern struct verbs_fake verbs_fake; /* of the running test */
extern const struct verbs_calls verbs_fake_calls;

/* Forgets everything: an InfiniBand device of one ACTIVE port with LID 5, windows, no DC. */
void verbs_fake_reset(void);
/* An instance on it. */
void verbs_fake_open(struct os_bed *bed);
/* An instance on it, with the device open. */
fabric_device verbs_fake_device(struct os_bed *bed);

/* A completion queue of 64 places and an RC queue pair of 8 posts each way, in RTS; what was said
 * up to here is forgotten. */
fabric_qp verbs_fake_rc(struct os_bed *bed, fabric_device device, fabric_cq *cq);
enum fabric_error verbs_fake_move(struct os_bed *bed, fabric_qp qp, enum fabric_qp_state state);
/* A write without data, signaled or not, and a receive. */
enum fabric_error verbs_fake_send(struct os_bed *bed, fabric_qp qp, uint64_t wr_id, bool signaled);
enum fabric_error verbs_fake_recv(struct os_bed *bed, fabric_qp qp, uint64_t wr_id);
/* The next event, of a completion with this wr_id and status; the test fails on any other. */
struct fabric_wc verbs_fake_expect(struct os_bed *bed, uint64_t wr_id,
                                   enum fabric_wc_status status);
/* Whether an event waits to be polled; it is taken. */
bool verbs_fake_idle(struct os_bed *bed);

/* A completion of the latest queue but those of bindings, and one of theirs. */
void verbs_fake_complete(uint64_t wr_id, enum ibv_wc_status status);
void verbs_fake_complete_wc(const struct ibv_wc *wc);
void verbs_fake_bound(uint64_t wr_id, enum ibv_wc_status status);
/* An asynchronous event of the device, or of its latest queue pair or completion queue. */
void verbs_fake_event(enum ibv_event_type type);

/* For the stand-in's own files. */
__attribute__((format(printf, 1, 2))) void verbs_fake_say(const char *format, ...);
void verbs_fake_operations(struct ibv_qp_ex *ex, struct mlx5dv_qp_ex *mlx5);

/* How often a word was said. */
size_t verbs_fake_count(const char *word);

#endif

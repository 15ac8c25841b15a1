/* SPDX-License-Identifier: Apache-2.0 */
/* On a node (verbs_node.h): two connected RC queue pairs of nodes n1 and n2. */
#ifndef TESTS_SUPPORT_VERBS_PAIR_H
#define TESTS_SUPPORT_VERBS_PAIR_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#define PAIR_BYTES 16384

struct pair_end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    struct ibv_port_attr port;
    uint8_t *bytes; /* registered with every right */
};

/* All but the queue pair. A CQ that is there already is kept. */
bool pair_open(struct pair_end *end, const char *node);
/* Queue pairs of both, connected to each other. */
bool pair_connect(struct pair_end *a, struct pair_end *b);
/* Posts it, signaled, with `length` bytes from the start of the region. */
bool pair_post(struct pair_end *end, struct ibv_send_wr *wr, uint32_t length);
bool pair_receive(struct pair_end *end, uint32_t length);
/* Waits for the next completion of the CQ. */
struct ibv_wc pair_completion(const struct pair_end *end);
/* Of an RDMA WRITE of 64 bytes through that key. */
enum ibv_wc_status pair_write(struct pair_end *from, const struct pair_end *to, uint32_t rkey);

#endif

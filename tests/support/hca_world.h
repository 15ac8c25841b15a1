/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for tests of the simulated HCA: some hosts with one device each on one switch, the
 * ports set up as a subnet manager would, completions and events collected as they come.
 */
#ifndef TESTS_SUPPORT_HCA_WORLD_H
#define TESTS_SUPPORT_HCA_WORLD_H

#include "fabric_sim/hca/hca.h"

#define HCA_WORLD_HOSTS 4
#define HCA_WORLD_MEMORY (4u << 20) /* bytes of each host's region */
#define HCA_WORLD_WCS 4096
#define HCA_WORLD_EVENTS 256
#define HCA_WORLD_IOVA UINT64_C(0x100000000)

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

struct hca_host {
    struct net_node *node;
    struct hca *hca;
    hca_pd pd;
    hca_cq cq;
    hca_mr mr;
    uint32_t key;
    uint8_t *memory;
    struct hca_wc wcs[HCA_WORLD_WCS];
    size_t wc_count;
    struct hca_event events[HCA_WORLD_EVENTS];
    size_t event_count;
    struct hca_trap traps[HCA_WORLD_EVENTS];
    size_t trap_count;
};

struct hca_world {
    struct sim *sim;
    struct net *net;
    struct net_node *sw;
    bool ethernet;
    struct hca_host host[HCA_WORLD_HOSTS];
};

struct hca_world_init {
    const char *profile; /* null: "mlx5" */
    fabric_caps without; /* capabilities that are off */
    uint64_t seed;
    bool discard_payload;
    void *arena[HCA_WORLD_HOSTS]; /* where each device keeps its state; null: in its own memory */
    size_t arena_size;
    const struct hca_reach *reach; /* of the devices, for regions given to an owner */
};

/* Defaults: every port ACTIVE, LID 10 + i, P_Key 0xffff, MTU 4096, VL0 only. */
struct hca_world *hca_world_create(const struct hca_world_init *init);
void hca_world_destroy(struct hca_world *w);

/* Lets time pass; or stops early when the host has `count` completions, and says whether. */
void hca_world_run(struct hca_world *w, uint64_t ns);
bool hca_world_wait(struct hca_world *w, int host, size_t count, uint64_t ns);

/* Changes attributes of the host's port as management would. */
struct port_info *hca_world_port(struct hca_world *w, int host);
void hca_world_set_lid(struct hca_world *w, int host, uint16_t lid);
void hca_world_set_pkey(struct hca_world *w, int host, uint16_t index, uint16_t pkey);
void hca_world_set_state(struct hca_world *w, int host, enum fabric_port_state state);
void hca_world_loss(struct hca_world *w, int host, uint32_t ppm); /* of what it sends */

/* Attributes of a usual connection; tests change what they are about before connecting. */
struct hca_qp_attr hca_world_attr(struct hca_world *w, int from, int to);
hca_qp hca_world_qp(struct hca_world *w, int host, enum hca_qp_type type);
enum fabric_error hca_world_init_qp(struct hca_world *w, int host, hca_qp qp,
                                    const struct hca_qp_attr *attr);
/* INIT, RTR, RTS with the attributes; the type says which are used. First error. */
enum fabric_error hca_world_bring_up(struct hca_world *w, int host, hca_qp qp,
                                     enum hca_qp_type type, const struct hca_qp_attr *attr);
uint32_t hca_world_number(struct hca_world *w, int host, hca_qp qp);
/* An RC pair between hosts 0 and 1; `a` and `b` may be changed through the callback. */
void hca_world_connect(struct hca_world *w, struct hca_qp_attr *a, struct hca_qp_attr *b,
                       hca_qp qps[2]);

/* Posts of one entry at `offset` of the host's region. */
struct hca_send_wr hca_world_wr(enum hca_wr_opcode opcode, struct hca_sge *sge);
struct hca_sge hca_world_sge(struct hca_world *w, int host, uint32_t offset, uint32_t length);
enum fabric_error hca_world_send(struct hca_world *w, int host, hca_qp qp,
                                 enum hca_wr_opcode opcode, uint32_t offset, uint32_t length,
                                 uint64_t wr_id);
enum fabric_error hca_world_recv(struct hca_world *w, int host, hca_qp qp, uint32_t offset,
                                 uint32_t length, uint64_t wr_id);
void hca_world_fill(struct hca_world *w, int host, uint32_t offset, uint32_t length,
                    uint8_t pattern);
bool hca_world_same(struct hca_world *w, int a, uint32_t a_offset, int b, uint32_t b_offset,
                    uint32_t length);
size_t hca_world_events(const struct hca_world *w, int host, enum fabric_async_type type);
enum fabric_qp_state hca_world_qp_state(struct hca_world *w, int host, hca_qp qp);

/* Two hosts about to be connected; tests change the attributes in between. */
struct hca_pair {
    struct hca_world *w;
    hca_qp qp[2];
    struct hca_qp_attr a, b; /* of hosts 0 and 1 */
};
struct hca_pair hca_pair_make(const char *profile, fabric_caps without, uint64_t seed);
void hca_pair_connect(struct hca_pair *p);
struct hca_pair hca_pair_connected(const char *profile); /* with everything usual */
/* Posts one request on host 0 and waits for its completion; its status, or -1 when none came. */
int hca_pair_status(struct hca_pair *p, enum hca_wr_opcode opcode, uint32_t length, uint64_t ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The device's own queue pair, through which windows are bound, and the store of its windows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

/* The low 8 bits of a key count bindings (vol. 1, chapter 10.6.7.2.2), two a loan: one to lend, one
 * to take back. Before they begin anew the window rests. */
#define BINDINGS_MAX 240
#define LOOPBACK_TRIES 4
/* ns between attempts, doubling; meanwhile regions stand in for windows. An attempt may take
 * seconds in which the kernel waits for somebody to answer for the link address. */
#define LOOPBACK_PAUSE UINT64_C(1000000000)
#define LOOPBACK_PAUSE_MAX UINT64_C(64000000000)

/* ------------------------------------------------------------------ the store */

void rdma_mw_put(struct rdma_device *device, struct rdma_mw *mw)
{
    struct rdma_bind *bind = &device->bind;
    if (mw->bindings < BINDINGS_MAX || PLANTED(rdma_window_unrested)) {
        mw->next = bind->unused;
        bind->unused = mw;
        return;
    }
    mw->bindings = 0;
    mw->rested = rdma_clock(device->rdma) + FABRIC_KEY_QUARANTINE;
    mw->next = NULL;
    if (bind->resting)
        bind->resting_last->next = mw;
    else
        bind->resting = mw;
    bind->resting_last = mw;
}

/* Until when the keys of this place must not be used, ns; 0: they may. */
static uint64_t burnt_until(const struct rdma_bind *bind, uint32_t key)
{
    uint64_t until = 0;
    for (size_t i = 0; i < sizeof(bind->burnt) / sizeof(*bind->burnt); i++) {
        if (bind->burnt[i].until > until && bind->burnt[i].place == key >> 8)
            until = bind->burnt[i].until;
    }
    return until;
}

static struct rdma_mw *allocate(struct rdma_device *device)
{
    struct rdma_mw *mw = calloc(1, sizeof(*mw));
    errno = 0;
    if (mw)
        mw->mw = device->rdma->calls->alloc_mw(device->pd, IBV_MW_TYPE_1);
    if (mw && mw->mw)
        return mw;
    if (mw)
        (void)rdma_failed(device, "ibv_alloc_mw", errno);
    free(mw);
    return NULL;
}

struct rdma_mw *rdma_mw_take(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    struct rdma_mw *mw = bind->unused;
    uint64_t now = rdma_clock(device->rdma);
    if (mw) {
        bind->unused = mw->next;
        return mw;
    }
    mw = bind->resting;
    if (mw && mw->rested <= now) {
        bind->resting = mw->next;
        return mw;
    }
    mw = allocate(device);
    while (mw && burnt_until(bind, mw->mw->rkey) > now) { /* it rests, and another one is made */
        mw->bindings = BINDINGS_MAX;
        rdma_mw_put(device, mw);
        mw = allocate(device);
    }
    return mw;
}

void rdma_mw_burn(struct rdma_device *device, struct rdma_mw *mw)
{
    struct rdma_bind *bind = &device->bind;
    struct rdma_burnt *burnt = &bind->burnt[bind->burnt_next++ % 16];
    *burnt =
        (struct rdma_burnt){mw->mw->rkey >> 8, rdma_clock(device->rdma) + FABRIC_KEY_QUARANTINE};
    int number = device->rdma->calls->dealloc_mw(mw->mw);
    if (number)
        (void)rdma_failed(device, "ibv_dealloc_mw", number);
    free(mw);
}

static void free_list(struct rdma_device *device, struct rdma_mw *list)
{
    while (list) {
        struct rdma_mw *mw = list;
        list = mw->next;
        device->rdma->calls->dealloc_mw(mw->mw);
        free(mw);
    }
}

void rdma_bind_close(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    if (bind->qp)
        device->rdma->calls->destroy_qp(bind->qp);
    rdma_cq_close(&bind->cq);
    free_list(device, bind->unused);
    free_list(device, bind->resting);
    *bind = (struct rdma_bind){0};
}

/* ------------------------------------------------------------------ the queue pair */

static bool make(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    if (!bind->cq.cq && !rdma_cq_open(device, &bind->cq, RDMA_BIND_DEPTH))
        return false;
    struct ibv_qp_init_attr init = {.send_cq = bind->cq.cq,
                                    .recv_cq = bind->cq.cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = RDMA_BIND_DEPTH,
                                            .max_recv_wr = 1,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    errno = 0;
    bind->qp = device->rdma->calls->create_qp(device->pd, &init);
    if (!bind->qp)
        (void)rdma_failed(device, "ibv_create_qp", errno);
    return bind->qp != NULL;
}

static bool move(struct rdma_device *device, struct ibv_qp_attr *attr, int mask)
{
    return device->rdma->calls->modify_qp(device->bind.qp, attr, mask | IBV_QP_STATE) == 0;
}

/* Of rxe's own IPv4 address the kernel may find no link address: routing rules that send what is
 * ours over a cable, as between two devices of one machine, leave nobody to answer. A multicast
 * address needs none. */
static void name_destination(const struct rdma_device *device, union fabric_gid own,
                             uint8_t dgid[16])
{
    static const uint8_t all_hosts[4] = {224, 0, 0, 1};
    memcpy(dgid, own.raw, sizeof(own.raw));
    if (device->is_rxe && fabric_gid_family(&own) == FABRIC_GID_IPV4 &&
        !PLANTED(rdma_loopback_resolved))
        memcpy(dgid + 12, all_hosts, sizeof(all_hosts));
}

/* To itself, over a GID or the LID; no packet is ever sent, so any will do. */
static bool to_rtr(struct rdma_device *device, uint8_t port_num)
{
    struct fabric *f = device->rdma->f;
    const fabric_device handle = {device->id};
    struct fabric_port_attr port;
    if (rdma_port_query(f, handle, port_num, &port))
        return false;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_256,
                               .dest_qp_num = device->bind.qp->qp_num,
                               .ah_attr = {.port_num = port_num, .dlid = port.lid ? port.lid : 1}};
    const int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attr.ah_attr.is_global = port.link_layer == FABRIC_LINK_LAYER_ETHERNET ||
                             (port.flags & FABRIC_PORT_GRH_REQUIRED) != 0;
    if (!attr.ah_attr.is_global)
        return move(device, &attr, mask);
    uint32_t tried = 0;
    for (uint32_t i = 0; i < port.gid_tbl_len && i <= UINT8_MAX && tried < LOOPBACK_TRIES; i++) {
        struct fabric_gid_entry gid;
        if (rdma_gid_query(f, handle, port_num, i, &gid))
            continue;
        name_destination(device, gid.gid, attr.ah_attr.grh.dgid.raw);
        attr.ah_attr.grh.sgid_index = (uint8_t)i;
        attr.ah_attr.grh.hop_limit = 1;
        tried++;
        if (move(device, &attr, mask))
            return true;
    }
    return false;
}

static bool connect(struct rdma_device *device)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET},
                       rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 1};
    const int rts_mask = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC;
    for (uint8_t port_num = 1; port_num <= device->attr.num_ports; port_num++) {
        struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = port_num};
        if (move(device, &reset, 0) &&
            move(device, &init, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) &&
            to_rtr(device, port_num) && move(device, &rts, rts_mask))
            return true;
    }
    (void)rdma_failed(device, "the loopback of ibv_modify_qp", EAGAIN);
    return false;
}

bool rdma_bind_ready(struct rdma_device *device)
{
    struct rdma_bind *bind = &device->bind;
    if (bind->ready)
        return true;
    if (bind->outstanding > 0 || rdma_clock(device->rdma) < bind->retry_at)
        return false; /* it has failed, and its flushes are not all here; or it was just tried */
    bind->ready = (bind->qp || make(device)) && connect(device);
    if (bind->ready || PLANTED(rdma_loopback_hammered)) {
        bind->pause = 0;
        return bind->ready;
    }
    bind->pause = bind->pause == 0                   ? LOOPBACK_PAUSE
                  : bind->pause < LOOPBACK_PAUSE_MAX ? 2 * bind->pause
                                                     : bind->pause;
    bind->retry_at = rdma_clock(device->rdma) + bind->pause;
    return bind->ready;
}

void rdma_bind_failed(struct rdma_device *device)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    if (device->bind.ready)
        (void)move(device, &error, 0);
    device->bind.ready = false;
}

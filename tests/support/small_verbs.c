/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "src/fabric/pkey.h"
#include "tests/support/small_world_inside.h"

#define DEVICE "mlx5_0"

static enum fabric_error device_list(struct fabric *f, char (*names)[FABRIC_NAME_MAX],
                                     size_t capacity, size_t *count)
{
    *count = small_of(f)->no_device ? 0 : 1;
    if (*count && capacity)
        snprintf(names[0], FABRIC_NAME_MAX, DEVICE);
    return FABRIC_OK;
}

static enum fabric_error device_open(struct fabric *f, const char *name, fabric_device *out)
{
    struct small_node *n = small_of(f);
    if (small_fails(n, FABRIC_OP_DEVICE_OPEN))
        return n->fail_error;
    if (n->no_device || n->port.gone || strcmp(name, DEVICE) != 0)
        return ERR_NOT_FOUND;
    out->id = ++n->devices;
    return FABRIC_OK;
}

static enum fabric_error device_query(struct fabric *f, fabric_device device,
                                      struct fabric_device_attr *out)
{
    struct small_node *n = small_of(f);
    (void)device;
    *out = (struct fabric_device_attr){.name = DEVICE, .num_ports = 1, .max_init_rd_atomic = 16};
    out->max_rd_atomic = n->port.max_rd_atomic;
    out->caps = n->port.dc ? FABRIC_CAP_RC | FABRIC_CAP_DC : FABRIC_CAP_RC;
    return n->port.gone ? ERR_DEVICE_REMOVED : FABRIC_OK;
}

static enum fabric_error port_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    struct fabric_port_attr *out)
{
    struct small_node *n = small_of(f);
    (void)device;
    assert(port_num == 1);
    if (small_fails(n, FABRIC_OP_PORT_QUERY))
        return n->fail_error;
    *out = n->port.attr;
    return n->port.gone ? ERR_DEVICE_REMOVED : FABRIC_OK;
}

static enum fabric_error counters_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                        struct fabric_port_counters *out)
{
    struct small_node *n = small_of(f);
    (void)device;
    (void)port_num;
    *out = n->port.counters;
    n->port.counters.xmit_packets += n->port.busy;
    return n->port.gone ? ERR_DEVICE_REMOVED : out->present ? FABRIC_OK : ERR_NOT_SUPPORTED;
}

static enum fabric_error gid_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                   uint32_t index, struct fabric_gid_entry *out)
{
    struct small_node *n = small_of(f);
    (void)device;
    (void)port_num;
    if (index >= SMALL_GIDS || !n->port.gid_there[index])
        return ERR_NOT_FOUND;
    *out = n->port.gids[index];
    out->index = index;
    return FABRIC_OK;
}

static enum fabric_error dcb_query(struct fabric *f, const char *netdev, struct fabric_dcb *out)
{
    const struct small_port *p = &small_of(f)->port;
    if (p->dcb_fails)
        return ERR_ACCESS_DENIED;
    *out = (struct fabric_dcb){.known = true};
    if (p->physical && strcmp(netdev, p->physical) == 0)
        *out = p->dcb;
    return FABRIC_OK;
}

/* The interfaces of the device, and nothing else. */
static enum fabric_error sysfile_list(struct fabric *f, const char *path, void *buf,
                                      size_t capacity, size_t *length)
{
    const char *name = small_of(f)->port.physical;
    if (!name || strcmp(path, "/sys/class/infiniband/" DEVICE "/device/net") != 0)
        return ERR_NOT_FOUND;
    *length = strlen(name) + 1;
    assert(*length <= capacity);
    memcpy(buf, name, *length);
    return FABRIC_OK;
}

static enum fabric_error pkey_query(struct fabric *f, fabric_device device, uint8_t port_num,
                                    uint32_t index, uint16_t *out)
{
    (void)device;
    (void)port_num;
    if (index >= SMALL_PKEYS)
        return ERR_PKEY_INDEX_RANGE;
    *out = small_of(f)->port.pkeys[index];
    return FABRIC_OK;
}

static enum fabric_error cq_create(struct fabric *f, fabric_device device, uint32_t depth,
                                   fabric_cq *out)
{
    (void)device;
    (void)depth;
    if (small_fails(small_of(f), FABRIC_OP_CQ_CREATE))
        return small_of(f)->fail_error;
    out->id = ++small_of(f)->handles;
    return FABRIC_OK;
}

static enum fabric_error srq_create(struct fabric *f, fabric_device device, uint32_t max_wr,
                                    uint32_t max_sge, fabric_srq *out)
{
    struct small_node *n = small_of(f);
    assert(device.id && max_wr && max_sge);
    if (small_fails(n, FABRIC_OP_SRQ_CREATE))
        return n->fail_error;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->srqs[i])
            continue;
        n->srqs[i] = true;
        out->id = i;
        return FABRIC_OK;
    }
    return ERR_RESOURCES_EXHAUSTED;
}

static enum fabric_error srq_destroy(struct fabric *f, fabric_srq srq)
{
    struct small_node *n = small_of(f);
    assert(n->srqs[srq.id]);
    n->srqs[srq.id] = false;
    return FABRIC_OK;
}

static enum fabric_error ah_create(struct fabric *f, fabric_device device,
                                   const struct fabric_av *av, fabric_ah *out)
{
    struct small_node *n = small_of(f);
    assert(device.id);
    if (small_fails(n, FABRIC_OP_AH_CREATE))
        return n->fail_error;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->ahs[i].open)
            continue;
        n->ahs[i].open = true;
        n->ahs[i].av = *av;
        out->id = i;
        return FABRIC_OK;
    }
    return ERR_RESOURCES_EXHAUSTED;
}

static enum fabric_error ah_destroy(struct fabric *f, fabric_ah ah)
{
    struct small_node *n = small_of(f);
    assert(n->ahs[ah.id].open);
    n->ahs[ah.id].open = false;
    return FABRIC_OK;
}

/* ------------------------------------------------------------------ memory */

static enum fabric_error mr_register(struct fabric *f, fabric_device device,
                                     const struct fabric_mr_init *init, fabric_mr *out,
                                     struct fabric_mr_keys *keys)
{
    struct small_node *n = small_of(f);
    (void)device;
    if (small_fails(n, FABRIC_OP_MR_REGISTER))
        return n->fail_error;
    if (n->read_only && init->addr == n->read_only && (init->access & FABRIC_ACCESS_LOCAL_WRITE))
        return ERR_REGISTRATION_FAILED;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->mrs[i].open)
            continue;
        n->mrs[i] = (struct small_mr){true, *init, 0x1000u + ++n->handles, 0};
        out->id = i;
        *keys = (struct fabric_mr_keys){n->mrs[i].lkey, 0};
        return FABRIC_OK;
    }
    return ERR_RESOURCES_EXHAUSTED;
}

static enum fabric_error mr_deregister(struct fabric *f, fabric_mr mr)
{
    struct small_node *n = small_of(f);
    assert(n->mrs[mr.id].open);
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++)
        assert(!n->windows[i].open || n->windows[i].mr != mr.id);
    n->mrs[mr.id].open = false;
    return FABRIC_OK;
}

static void opened(struct small_node *n, uint32_t id, uint32_t rkey)
{
    struct small_entry *e = small_schedule(n->world, n->index, n->world->lend_delay);
    enum fabric_error error = n->world->lend_error;
    e->event.type = FABRIC_EVENT_WINDOW_OPENED;
    e->event.u.window.window.id = id;
    e->event.u.window.device.id = n->devices;
    e->event.u.window.cookie = n->windows[id].cookie;
    e->event.u.window.rkey = error ? 0 : rkey;
    e->event.u.window.error = error;
}

/* Its opening is not told any more. */
static void forget_opening(struct small_node *n, uint32_t id)
{
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        struct small_entry *e = &n->world->queue[i];
        if (e->used && !e->is_post && e->node == n->index &&
            e->event.type == FABRIC_EVENT_WINDOW_OPENED && e->event.u.window.window.id == id)
            e->used = false;
    }
}

static enum fabric_error window_open(struct fabric *f, fabric_mr mr, uint64_t iova, uint64_t length,
                                     uint32_t access, uint64_t cookie, fabric_window *out)
{
    struct small_node *n = small_of(f);
    if (small_fails(n, FABRIC_OP_WINDOW_OPEN))
        return n->fail_error;
    assert(n->mrs[mr.id].open);
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->windows[i].open)
            continue;
        uint32_t rkey = 0x770000u + ++n->handles;
        n->windows[i] =
            (struct small_window){true, false, false, mr.id, iova, length, access, rkey, cookie};
        out->id = i;
        opened(n, i, rkey);
        return FABRIC_OK;
    }
    return ERR_RESOURCES_EXHAUSTED;
}

static void revoked(struct small_node *n, uint32_t id)
{
    struct small_entry *e = small_schedule(n->world, n->index, 500);
    n->windows[id].revoking = true;
    e->event.type = FABRIC_EVENT_WINDOW_REVOKED;
    e->event.u.window.window.id = id;
    e->event.u.window.device.id = n->devices;
    e->event.u.window.cookie = n->windows[id].cookie;
}

static enum fabric_error window_revoke(struct fabric *f, fabric_window window)
{
    struct small_node *n = small_of(f);
    assert(n->windows[window.id].open && !n->windows[window.id].revoking);
    forget_opening(n, window.id);
    revoked(n, window.id);
    return FABRIC_OK;
}

static uint8_t *lent(struct small_node *n, uint32_t rkey, uint64_t iova, uint64_t length,
                     uint32_t access)
{
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        const struct small_window *w = &n->windows[i];
        if (!w->open || !w->told || w->rkey != rkey || !(w->access & access) || iova < w->iova ||
            iova + length > w->iova + w->length)
            continue;
        const struct small_mr *mr = &n->mrs[w->mr];
        return (uint8_t *)mr->init.addr + (iova - mr->init.iova);
    }
    return NULL;
}

/* ------------------------------------------------------------------ queue pairs */

static enum fabric_error resolve(struct fabric *f, fabric_device device, const struct fabric_av *av,
                                 uint64_t cookie)
{
    struct small_node *n = small_of(f);
    (void)av;
    if (small_fails(n, FABRIC_OP_RESOLVE))
        return n->fail_error;
    struct small_entry *e = small_schedule(n->world, n->index, n->world->resolve_delay);
    e->event.type = FABRIC_EVENT_RESOLVED;
    e->event.u.resolved.device = device;
    e->event.u.resolved.cookie = cookie;
    e->event.u.resolved.error = n->world->resolve_error;
    return FABRIC_OK;
}

static enum fabric_error qp_create(struct fabric *f, fabric_device device,
                                   const struct fabric_qp_init *init, fabric_qp *out)
{
    struct small_node *n = small_of(f);
    (void)device;
    if (small_fails(n, FABRIC_OP_QP_CREATE))
        return n->fail_error;
    if (init->type != FABRIC_QP_RC && !n->port.dc)
        return ERR_DC_UNSUPPORTED;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->qps[i].open)
            continue;
        n->qps[i] = (struct small_qp){.open = true, .serial = ++n->handles, .init = *init};
        n->qps[i].number = 0x100u + n->qps[i].serial;
        out->id = n->qps[i].serial * SMALL_OBJECTS + i; /* a handle is not used again */
        return FABRIC_OK;
    }
    return ERR_RESOURCES_EXHAUSTED;
}

static struct small_qp *qp_of(struct small_node *n, fabric_qp qp)
{
    struct small_qp *q = &n->qps[qp.id % SMALL_OBJECTS];
    assert(q->open && q->serial == qp.id / SMALL_OBJECTS);
    return q;
}

static void complete(struct small_node *n, const struct small_post *post,
                     enum fabric_wc_status status, uint64_t after)
{
    struct small_entry *e = small_schedule(n->world, n->index, after);
    e->event.type = FABRIC_EVENT_COMPLETION;
    e->event.u.wc = (struct fabric_wc){
        .wr_id = post->wr.wr_id,
        .cq = post->cq,
        .qp = {post->qp_serial * SMALL_OBJECTS + post->qp},
        .qp_num = post->number,
        .status = status,
        .opcode =
            post->wr.opcode == FABRIC_WR_RDMA_READ ? FABRIC_WC_RDMA_READ : FABRIC_WC_RDMA_WRITE,
        .is_send = true,
        .byte_len = post->sge.length,
    };
}

/* What is still on its way completes as flushed. */
static void flush(struct small_node *n, uint32_t id)
{
    for (uint32_t i = 0; i < SMALL_QUEUE; i++) {
        struct small_entry *e = &n->world->queue[i];
        if (!e->used || !e->is_post || e->node != n->index || e->post.qp != id ||
            e->post.qp_serial != n->qps[id].serial)
            continue;
        e->used = false;
        const struct small_post post = e->post;
        complete(n, &post, FABRIC_WC_WR_FLUSH_ERR, 0);
    }
}

static enum fabric_error qp_modify(struct fabric *f, fabric_qp qp,
                                   const struct fabric_qp_attr *attr)
{
    struct small_node *n = small_of(f);
    struct small_qp *q = qp_of(n, qp);
    if (small_fails(n, FABRIC_OP_QP_MODIFY))
        return n->fail_error;
    if (attr->state == FABRIC_QPS_INIT)
        q->pkey_index = attr->pkey_index;
    if (attr->state == FABRIC_QPS_RTR)
        q->rtr = *attr;
    q->state = attr->state;
    if (attr->state == FABRIC_QPS_ERR)
        flush(n, qp.id % SMALL_OBJECTS);
    return FABRIC_OK;
}

static enum fabric_error qp_query(struct fabric *f, fabric_qp qp, struct fabric_qp_info *out)
{
    struct small_qp *q = qp_of(small_of(f), qp);
    *out = (struct fabric_qp_info){.state = q->state, .qp_num = q->number};
    return FABRIC_OK;
}

static enum fabric_error qp_destroy(struct fabric *f, fabric_qp qp)
{
    struct small_node *n = small_of(f);
    qp_of(n, qp)->open = false;
    flush(n, qp.id % SMALL_OBJECTS);
    return FABRIC_OK;
}

static enum fabric_error device_close(struct fabric *f, fabric_device device)
{
    struct small_node *n = small_of(f);
    (void)device;
    for (uint32_t i = 1; i < SMALL_OBJECTS; i++) {
        if (n->qps[i].open) {
            n->qps[i].open = false;
            flush(n, i);
        }
        n->mrs[i].open = false;
        if (n->windows[i].open && !n->windows[i].revoking)
            n->windows[i].open = false;
    }
    return FABRIC_OK;
}

static enum fabric_error qp_post_send(struct fabric *f, fabric_qp qp,
                                      const struct fabric_send_wr *wr)
{
    struct small_node *n = small_of(f);
    struct small_qp *q = qp_of(n, qp);
    if (small_fails(n, FABRIC_OP_QP_POST_SEND))
        return n->fail_error;
    assert(wr->sge_count <= 1 && (wr->flags & FABRIC_SEND_SIGNALED));
    assert(q->init.type == FABRIC_QP_RC || n->ahs[wr->ah.id].open);
    struct small_entry *e = small_schedule(n->world, n->index, n->world->delay);
    e->is_post = true;
    e->post = (struct small_post){.wr = *wr,
                                  .qp = qp.id % SMALL_OBJECTS,
                                  .qp_serial = q->serial,
                                  .cq = q->init.send_cq,
                                  .number = q->number};
    if (wr->sge_count)
        e->post.sge = wr->sges[0];
    if (q->init.type == FABRIC_QP_DCI)
        e->post.av = n->ahs[wr->ah.id].av;
    return FABRIC_OK;
}

/* Whether a request is for this queue pair: a DC target answers whoever has its key. */
static bool is_for(const struct small_node *n, const struct small_qp *r, const struct small_qp *q,
                   const struct small_post *post)
{
    if (!r->open || r->state < FABRIC_QPS_RTR)
        return false;
    if (q->init.type == FABRIC_QP_DCI)
        return r->init.type == FABRIC_QP_DCT && r->number == post->wr.dct_num &&
               r->init.dc_access_key == post->wr.dc_access_key;
    return r->init.type == FABRIC_QP_RC && r->number == q->rtr.dest_qp_num &&
           r->rtr.av.dlid == n->port.attr.lid;
}

/* The queue pair that a packet of `q` reaches, or null where it is lost. */
static struct small_qp *reaches(struct small_node *n, const struct small_qp *q,
                                const struct small_post *post, struct small_node **peer)
{
    const uint16_t dlid = q->init.type == FABRIC_QP_DCI ? post->av.dlid : q->rtr.av.dlid;
    for (uint32_t i = 0; i < n->world->node_count; i++) {
        struct small_node *m = n->world->nodes[i];
        if (m == n || m->cut || n->cut || m->port.attr.lid != dlid ||
            m->port.attr.state != FABRIC_PORT_ACTIVE || n->port.attr.state != FABRIC_PORT_ACTIVE)
            continue;
        for (uint32_t k = 1; k < SMALL_OBJECTS; k++) {
            struct small_qp *r = &m->qps[k];
            uint16_t here = n->port.pkeys[q->pkey_index], there = m->port.pkeys[r->pkey_index];
            if (is_for(n, r, q, post) && fabric_pkey_match(here, there)) {
                *peer = m;
                return r;
            }
        }
    }
    return NULL;
}

void small_arrive(struct small_world *w, struct small_node *n, const struct small_post *post)
{
    struct small_qp *q = &n->qps[post->qp];
    struct small_node *peer = NULL;
    assert(q->open && q->serial == post->qp_serial);
    enum fabric_wc_status status = FABRIC_WC_SUCCESS;
    bool read = post->wr.opcode == FABRIC_WR_RDMA_READ;
    struct small_qp *r = q->state == FABRIC_QPS_RTS ? reaches(n, q, post, &peer) : NULL;
    uint32_t mtu = fabric_mtu_bytes(q->rtr.path_mtu);
    uint32_t packet = post->sge.length < mtu ? post->sge.length : mtu;
    bool too_long =
        (w->link_mtu && packet > w->link_mtu) || (read && w->answer_mtu && packet > w->answer_mtu);
    uint8_t *memory = NULL;
    if (q->state == FABRIC_QPS_ERR)
        status = FABRIC_WC_WR_FLUSH_ERR;
    else if (!r || too_long)
        status = FABRIC_WC_RETRY_EXC_ERR;
    else if (r->rtr.path_mtu != q->rtr.path_mtu)
        status = FABRIC_WC_REM_INV_REQ_ERR;
    else if (post->sge.length == 0)
        memory = NULL;
    else if (memory = lent(peer, post->wr.rkey, post->wr.remote_iova, post->sge.length,
                           read ? FABRIC_ACCESS_REMOTE_READ : FABRIC_ACCESS_REMOTE_WRITE),
             !memory)
        status = FABRIC_WC_REM_ACCESS_ERR;
    if (memory && read)
        memcpy(post->sge.addr, memory, post->sge.length);
    else if (memory)
        memcpy(memory, post->sge.addr, post->sge.length);
    if (memory && w->corrupt) {
        w->corrupt--;
        *(read ? (uint8_t *)post->sge.addr : memory) ^= 1;
    }
    complete(n, post, status, status == FABRIC_WC_RETRY_EXC_ERR ? 200000000u : w->completion_delay);
    if (status) {
        q->state = FABRIC_QPS_ERR;
        flush(n, post->qp);
    }
}

const struct fabric_ops small_verbs = {
#define X(member) .member = member,
    SMALL_VERBS(X)
#undef X
};

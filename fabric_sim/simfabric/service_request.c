/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control calls of programs, carried out on the HCA. A handle is looked up by the client that
 * names it: what is not its own is not there (EINVAL).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fabric_sim/hca/state.h"
#include "fabric_sim/simfabric/service_call.h"
#include "src/fabric/planted.h"

int service_errno(enum fabric_error error)
{
    switch (error) {
    case FABRIC_OK:
        return 0;
    case ERR_RESOURCES_EXHAUSTED:
    case ERR_QUEUE_FULL:
    case ERR_REGISTRATION_FAILED:
        return ENOMEM;
    case ERR_DEVICE_REMOVED:
        return EIO;
    case ERR_NOT_SUPPORTED:
    case ERR_DC_UNSUPPORTED:
        return EOPNOTSUPP;
    default:
        return EINVAL;
    }
}

/* ------------------------------------------------------------------ objects */

/* At the device; the error when something still uses it. */
static enum fabric_error end_at_device(struct hca *hca, const struct object *object)
{
    switch (object->kind) {
    case OBJECT_QP:
        hca_qp_destroy(hca, (hca_qp){object->id});
        return FABRIC_OK;
    case OBJECT_AH:
        hca_ah_destroy(hca, (hca_ah){object->id});
        return FABRIC_OK;
    case OBJECT_SRQ:
        return hca_srq_destroy(hca, (hca_srq){object->id});
    case OBJECT_CQ:
        return hca_cq_destroy(hca, (hca_cq){object->id});
    case OBJECT_MW:
        hca_mw_end(hca, (hca_mw){object->id});
        return FABRIC_OK;
    case OBJECT_MR:
        return hca_mr_deregister(hca, (hca_mr){object->id});
    case OBJECT_PD:
        return hca_pd_dealloc(hca, (hca_pd){object->id});
    case OBJECT_XRCD:
        return hca_xrcd_dealloc(hca, (hca_xrcd){object->id});
    case OBJECT_CHANNEL:
    case OBJECT_KINDS:
        break;
    }
    return FABRIC_OK;
}

/* What several programs share lives at the device until the last of them lets go. */
static enum fabric_error end_object(struct service *service, struct hca *hca,
                                    const struct object *object)
{
    if (object->users)
        return ERR_INVALID_ARGUMENT;
    if (!service_hand_over(service, hca, object)) {
        enum fabric_error error = hca ? end_at_device(hca, object) : FABRIC_OK;
        if (error)
            return error;
    }
    struct object *domain = objects_get(&service->objects, object->xrcd);
    if (domain)
        domain->users--;
    return FABRIC_OK;
}

void service_end_object(struct service *service, struct hca *hca, struct object *object)
{
    enum fabric_error error = end_object(service, hca, object);
    assert(!error); /* what used it ended before it */
    (void)error;
    objects_drop(&service->objects, object);
}

/* No record names it any more: its program knows it by the cookie, which may be given again. */
static void forget_events(const struct call *call, const struct object *object)
{
    const struct objects *objects = &call->service->objects;
    struct object *completions = objects_get(objects, object->channel);
    struct object *async = objects_get(objects, call->client->async);
    if (completions)
        outbox_drop(&completions->outbox, sizeof(struct protocol_completion), object->cookie);
    if (async && object->cookie)
        outbox_drop(&async->outbox, sizeof(struct protocol_async), object->cookie);
}

static void destroy(const struct call *call, enum object_kind kind)
{
    struct object *object = mine(call, call->request->u.handle, kind);
    if (!object) {
        call->out->reply.error = EINVAL;
        return;
    }
    if (end_object(call->service, call->hca, object) != FABRIC_OK) {
        call->out->reply.error = EBUSY;
        return;
    }
    forget_events(call, object);
    objects_drop(&call->service->objects, object);
}

static void alloc_pd(const struct call *call)
{
    hca_pd pd = {0};
    struct object *object = begin(call, OBJECT_PD, 0);
    if (!object)
        return;
    enum fabric_error error = hca_pd_alloc(call->hca, &pd);
    finish(call, object, error, pd.id);
}

static void reg_mr(const struct call *call)
{
    const struct protocol_request *request = call->request;
    const struct object *pd = mine(call, request->u.mr.pd, OBJECT_PD);
    struct object *object = pd ? begin(call, OBJECT_MR, 0) : NULL;
    hca_mr mr = {0};
    uint32_t key = 0;
    if (!pd)
        call->out->reply.error = EINVAL;
    if (!object)
        return;
    enum fabric_error error = hca_mr_register(
        call->hca, (hca_pd){pd->id}, (void *)(uintptr_t)request->u.mr.addr, request->u.mr.length,
        request->u.mr.iova, request->u.mr.access, object->handle, &mr, &key);
    if (!error)
        hca_mr_give(call->hca, mr, call->client->number);
    finish(call, object, error, mr.id);
    call->out->reply.u.made.key = key;
}

static void rereg_mr(const struct call *call)
{
    const struct protocol_request *request = call->request;
    const struct object *mr = mine(call, request->u.mr.handle, OBJECT_MR);
    const struct object *pd = mine(call, request->u.mr.pd, OBJECT_PD);
    if (!mr || (!pd && (request->u.mr.changes & HCA_MR_PD))) {
        call->out->reply.error = EINVAL;
        return;
    }
    const struct hca_mr_new to = {.changes = request->u.mr.changes,
                                  .pd = {pd ? pd->id : 0},
                                  .addr = (void *)(uintptr_t)request->u.mr.addr,
                                  .length = request->u.mr.length,
                                  .iova = request->u.mr.iova,
                                  .access = request->u.mr.access};
    call->out->reply.error = service_errno(hca_mr_reregister(call->hca, (hca_mr){mr->id}, &to));
}

static void alloc_mw(const struct call *call)
{
    const struct protocol_request *request = call->request;
    const struct object *pd = mine(call, request->u.mw.pd, OBJECT_PD);
    struct object *object = pd ? begin(call, OBJECT_MW, 0) : NULL;
    hca_mw mw = {0};
    uint32_t key = 0;
    if (!pd)
        call->out->reply.error = EINVAL;
    if (!object)
        return;
    enum fabric_error error =
        hca_mw_alloc(call->hca, (hca_pd){pd->id}, request->u.mw.type, object->handle, &mw, &key);
    finish(call, object, error, mw.id);
    call->out->reply.u.made.key = key;
}

static void create_channel(const struct call *call)
{
    bool async = call->request->u.channel.async != 0;
    struct object *object = async && call->client->async ? NULL : begin(call, OBJECT_CHANNEL, 0);
    int fd;
    if (async && call->client->async)
        call->out->reply.error = EBUSY;
    if (!object)
        return;
    if (!outbox_open(&object->outbox, &fd)) {
        objects_drop(&call->service->objects, object);
        call->out->reply.error = EMFILE;
        return;
    }
    finish(call, object, FABRIC_OK, 0);
    if (async)
        call->client->async = object->handle;
    call->out->fds[call->out->fd_count++] = fd;
}

static void create_cq(const struct call *call)
{
    const struct protocol_request *request = call->request;
    uint32_t channel = request->u.cq.channel;
    hca_cq cq = {0};
    if (channel && !mine(call, channel, OBJECT_CHANNEL)) {
        call->out->reply.error = EINVAL;
        return;
    }
    struct object *object = begin(call, OBJECT_CQ, request->u.cq.cookie);
    if (!object)
        return;
    object->channel = channel;
    enum fabric_error error = hca_cq_create(call->hca, request->u.cq.depth, object->handle, &cq);
    finish(call, object, error, cq.id);
    call->out->reply.u.made.size = request->u.cq.depth;
}

static void resize_cq(const struct call *call)
{
    const struct object *cq = mine(call, call->request->u.cq.handle, OBJECT_CQ);
    uint32_t depth = call->request->u.cq.depth;
    enum fabric_error error =
        cq ? hca_cq_resize(call->hca, (hca_cq){cq->id}, depth) : ERR_INVALID_ARGUMENT;
    call->out->reply.error = service_errno(error);
    call->out->reply.u.made.size = depth;
}

/* ------------------------------------------------------------------ shared receive queues */

static void create_srq(const struct call *call)
{
    const struct protocol_request *request = call->request;
    const struct object *pd = mine(call, request->u.srq.pd, OBJECT_PD);
    const struct object *cq = mine(call, request->u.srq.cq, OBJECT_CQ);
    struct object *xrcd = mine(call, request->u.srq.xrcd, OBJECT_XRCD);
    bool xrc = request->u.srq.xrcd != 0;
    if (!pd || (xrc && (!xrcd || !cq))) {
        call->out->reply.error = EINVAL;
        return;
    }
    struct object *object = begin(call, OBJECT_SRQ, request->u.srq.cookie);
    hca_srq srq = {0};
    if (!object)
        return;
    uint32_t max_wr = request->u.srq.max_wr, max_sge = request->u.srq.max_sge;
    enum fabric_error error =
        xrc ? hca_srq_create_xrc(call->hca, (hca_pd){pd->id}, (hca_xrcd){xrcd->id},
                                 (hca_cq){cq->id}, max_wr, max_sge, object->handle, &srq)
            : hca_srq_create(call->hca, (hca_pd){pd->id}, max_wr, max_sge, object->handle, &srq);
    if (!error && xrc)
        call_join(object, xrcd);
    finish(call, object, error, srq.id);
}

static void set_srq_limit(const struct call *call)
{
    const struct object *srq = mine(call, call->request->u.srq.handle, OBJECT_SRQ);
    enum fabric_error error =
        srq ? hca_srq_set_limit(call->hca, (hca_srq){srq->id}, call->request->u.srq.limit)
            : ERR_INVALID_ARGUMENT;
    call->out->reply.error = service_errno(error);
}

static void query_srq(const struct call *call)
{
    const struct object *srq = mine(call, call->request->u.handle, OBJECT_SRQ);
    struct hca_srq_info info;
    if (!srq) {
        call->out->reply.error = EINVAL;
        return;
    }
    hca_srq_query(call->hca, (hca_srq){srq->id}, &info);
    call->out->reply.u.srq.max_wr = info.max_wr;
    call->out->reply.u.srq.max_sge = info.max_sge;
    call->out->reply.u.srq.limit = info.limit;
}

/* ------------------------------------------------------------------ groups */

static void join_group(const struct call *call, bool joins)
{
    const struct object *qp = mine(call, call->request->u.mcast.handle, OBJECT_QP);
    uint16_t mlid = (uint16_t)call->request->u.mcast.mlid;
    union fabric_gid gid;
    memcpy(gid.raw, call->request->u.mcast.gid, sizeof(gid.raw));
    if (!qp)
        call->out->reply.error = EINVAL;
    else if (joins)
        call->out->reply.error =
            service_errno(hca_qp_attach(call->hca, (hca_qp){qp->id}, &gid, mlid));
    else
        hca_qp_detach(call->hca, (hca_qp){qp->id}, &gid, mlid);
}

/* ------------------------------------------------------------------ queries */

static void query_device(const struct call *call)
{
    struct protocol_device *out = &call->out->reply.u.device;
    const struct hca_profile *profile = hca_profile(call->hca);
    struct fabric_device_attr attr;
    hca_device_query(call->hca, &attr);
    *out = (struct protocol_device){.node_guid = attr.node_guid,
                                    .sys_image_guid = attr.sys_image_guid,
                                    .max_mr_size = attr.max_mr_size,
                                    .vendor_id = attr.vendor_id,
                                    .vendor_part_id = attr.vendor_part_id,
                                    .hw_ver = attr.hw_ver,
                                    .num_ports = attr.num_ports,
                                    .local_ca_ack_delay = attr.local_ca_ack_delay,
                                    .max_rd_atomic = attr.max_rd_atomic,
                                    .max_init_rd_atomic = attr.max_init_rd_atomic,
                                    .max_qp = attr.max_qp,
                                    .max_qp_wr = attr.max_qp_wr,
                                    .max_sge = attr.max_sge,
                                    .max_cq = attr.max_cq,
                                    .max_cqe = attr.max_cqe,
                                    .max_mr = attr.max_mr,
                                    .max_srq = attr.max_srq,
                                    .max_ah = attr.max_ah,
                                    .max_pd = profile->max_pd,
                                    .max_inline = attr.max_inline,
                                    .max_mcast_attach = profile->max_mcast_attach,
                                    .max_pkeys = profile->pkey_count,
                                    .max_mw = profile->max_mw};
    memcpy(out->fw_ver, attr.fw_ver, sizeof(out->fw_ver));
}

static void query_clock(const struct call *call)
{
    call->out->reply.u.clock = sim_now(call->service->sim);
}

static void query_port(const struct call *call)
{
    struct protocol_port *out = &call->out->reply.u.port;
    struct fabric_port_attr attr;
    enum fabric_error error = hca_port_query(call->hca, (uint8_t)call->request->u.port, &attr);
    call->out->reply.error = service_errno(error);
    if (error)
        return;
    *out = (struct protocol_port){.state = attr.state,
                                  .phys_state = attr.phys_state,
                                  .link_layer = attr.link_layer,
                                  .max_mtu = attr.max_mtu,
                                  .active_mtu = attr.active_mtu,
                                  .lid = attr.lid,
                                  .sm_lid = attr.sm_lid,
                                  .sm_sl = attr.sm_sl,
                                  .lmc = attr.lmc,
                                  .gid_tbl_len = attr.gid_tbl_len,
                                  .pkey_tbl_len = attr.pkey_tbl_len,
                                  .grh_required = (attr.flags & FABRIC_PORT_GRH_REQUIRED) != 0,
                                  .speed_mbps = attr.active_speed_mbps,
                                  .width = attr.active_width,
                                  .capability_mask = attr.capability_mask,
                                  .bad_pkey_cntr = attr.bad_pkey_cntr,
                                  .qkey_viol_cntr = attr.qkey_viol_cntr};
}

/* ------------------------------------------------------------------ dispatch */

static void end_channel(const struct call *call)
{
    uint32_t handle = call->request->u.handle;
    if (handle == call->client->async)
        call->client->async = 0;
    destroy(call, OBJECT_CHANNEL);
}

static void carry_out(const struct call *call)
{
    static void (*const makers[PROTOCOL_OP_COUNT])(const struct call *call) = {
        [PROTOCOL_QUERY_DEVICE] = query_device,
        [PROTOCOL_QUERY_PORT] = query_port,
        [PROTOCOL_ALLOC_PD] = alloc_pd,
        [PROTOCOL_REG_MR] = reg_mr,
        [PROTOCOL_QUERY_CLOCK] = query_clock,
        [PROTOCOL_REREG_MR] = rereg_mr,
        [PROTOCOL_RESIZE_CQ] = resize_cq,
        [PROTOCOL_ALLOC_MW] = alloc_mw,
        [PROTOCOL_CREATE_CHANNEL] = create_channel,
        [PROTOCOL_DESTROY_CHANNEL] = end_channel,
        [PROTOCOL_CREATE_CQ] = create_cq,
        [PROTOCOL_CREATE_SRQ] = create_srq,
        [PROTOCOL_SET_SRQ_LIMIT] = set_srq_limit,
        [PROTOCOL_QUERY_SRQ] = query_srq,
        [PROTOCOL_CREATE_QP] = call_create_qp,
        [PROTOCOL_MODIFY_QP] = call_modify_qp,
        [PROTOCOL_QUERY_QP] = call_query_qp,
        [PROTOCOL_CREATE_AH] = call_create_ah};
    switch (call->request->op) {
    case PROTOCOL_DEALLOC_PD:
        destroy(call, OBJECT_PD);
        return;
    case PROTOCOL_DEREG_MR:
        destroy(call, OBJECT_MR);
        return;
    case PROTOCOL_DEALLOC_MW:
        destroy(call, OBJECT_MW);
        return;
    case PROTOCOL_DESTROY_CQ:
        destroy(call, OBJECT_CQ);
        return;
    case PROTOCOL_DESTROY_SRQ:
        destroy(call, OBJECT_SRQ);
        return;
    case PROTOCOL_DESTROY_QP:
        destroy(call, OBJECT_QP);
        return;
    case PROTOCOL_DESTROY_AH:
        destroy(call, OBJECT_AH);
        return;
    case PROTOCOL_CLOSE_XRCD:
        destroy(call, OBJECT_XRCD);
        return;
    case PROTOCOL_OPEN_XRCD:
        call_open_xrcd(call);
        return;
    case PROTOCOL_OPEN_QP:
        call_open_qp(call);
        return;
    case PROTOCOL_ATTACH_MCAST:
    case PROTOCOL_DETACH_MCAST:
        join_group(call, call->request->op == PROTOCOL_ATTACH_MCAST);
        return;
    default:
        assert(makers[call->request->op]);
        makers[call->request->op](call);
    }
}

static void dispatch(struct service *service, struct service_client *client,
                     const struct protocol_request *request, struct service_answer *out)
{
    const struct call call = {service, client, service_hca(service, client), request, out};
    if (request->op == PROTOCOL_OPEN)
        service_open(service, client, request, out);
    else if (request->op == PROTOCOL_INSPECT)
        service_inspect(service, out);
    else if (request->op == PROTOCOL_FAULT || request->op == PROTOCOL_UNDO ||
             request->op == PROTOCOL_ASK)
        service_control(service, request, out);
    else if (!client->place)
        out->reply.error = ENODEV;
    else if (request->op == PROTOCOL_ROUTE)
        service_route(service, request, out);
    else if (request->op == PROTOCOL_OWNER)
        service_owner(service, request, out);
    else if (!call.hca)
        out->reply.error = EIO;
    else
        carry_out(&call);
}

void service_request(struct service *service, struct service_client *client, const void *bytes,
                     size_t length, struct service_answer *out)
{
    struct protocol_request request;
    assert(service && client && out);
    memset(out, 0, sizeof(*out));
    out->reply.magic = PROTOCOL_MAGIC;
    out->reply.error = protocol_check(bytes, length, &request);
    if (out->reply.error)
        return;
    bool locked = shared_lock(service->shared);
    assert(locked);
    (void)locked;
    dispatch(service, client, &request, out);
    service_unlock(service);
}

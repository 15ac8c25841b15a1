/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs and address handles of programs.
 */
#include <string.h>

#include "fabric_sim/simfabric/service_call.h"

static void read_av(const struct protocol_av *from, struct fabric_av *to)
{
    *to = (struct fabric_av){.dlid = from->dlid,
                             .sl = from->sl,
                             .src_path_bits = from->src_path_bits,
                             .port_num = from->port_num,
                             .is_global = from->is_global != 0};
    memcpy(to->grh.dgid.raw, from->dgid, sizeof(from->dgid));
    to->grh.sgid_index = from->sgid_index;
    to->grh.hop_limit = from->hop_limit;
    to->grh.traffic_class = from->traffic_class;
    to->grh.flow_label = from->flow_label;
}

static void write_av(const struct fabric_av *from, struct protocol_av *to)
{
    *to = (struct protocol_av){.flow_label = from->grh.flow_label,
                               .dlid = from->dlid,
                               .sl = from->sl,
                               .src_path_bits = from->src_path_bits,
                               .port_num = from->port_num,
                               .is_global = from->is_global,
                               .sgid_index = from->grh.sgid_index,
                               .hop_limit = from->grh.hop_limit,
                               .traffic_class = from->grh.traffic_class};
    memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
}

static void read_attr(const struct protocol_qp_attr *from, struct hca_qp_attr *to)
{
    *to = (struct hca_qp_attr){.state = from->state,
                               .cur_state = from->cur_state,
                               .en_sqd_async_notify = from->en_sqd_async_notify != 0,
                               .port_num = (uint8_t)from->port_num,
                               .pkey_index = (uint16_t)from->pkey_index,
                               .access = from->access,
                               .qkey = from->qkey,
                               .path_mtu = from->path_mtu,
                               .dest_qp_num = from->dest_qp_num,
                               .rq_psn = from->rq_psn,
                               .sq_psn = from->sq_psn,
                               .max_rd_atomic = (uint8_t)from->max_rd_atomic,
                               .max_dest_rd_atomic = (uint8_t)from->max_dest_rd_atomic,
                               .min_rnr_timer = (uint8_t)from->min_rnr_timer,
                               .timeout = (uint8_t)from->timeout,
                               .retry_cnt = (uint8_t)from->retry_cnt,
                               .rnr_retry = (uint8_t)from->rnr_retry};
    read_av(&from->av, &to->av);
}

static void write_attr(const struct hca_qp_attr *from, struct protocol_qp_attr *to)
{
    *to = (struct protocol_qp_attr){.state = from->state,
                                    .cur_state = from->state,
                                    .port_num = from->port_num,
                                    .pkey_index = from->pkey_index,
                                    .access = from->access,
                                    .qkey = from->qkey,
                                    .path_mtu = from->path_mtu,
                                    .en_sqd_async_notify = from->en_sqd_async_notify,
                                    .dest_qp_num = from->dest_qp_num,
                                    .rq_psn = from->rq_psn,
                                    .sq_psn = from->sq_psn,
                                    .max_rd_atomic = from->max_rd_atomic,
                                    .max_dest_rd_atomic = from->max_dest_rd_atomic,
                                    .min_rnr_timer = from->min_rnr_timer,
                                    .timeout = from->timeout,
                                    .retry_cnt = from->retry_cnt,
                                    .rnr_retry = from->rnr_retry};
    write_av(&from->av, &to->av);
}

/* What the queue pair is to use; false when something is missing or not the caller's. An initiator
 * receives nothing and a target sends nothing, so they need no completion queue for that. */
static bool find_parts(const struct call *call, struct hca_qp_init *init)
{
    const struct protocol_request *request = call->request;
    const struct object *pd = mine(call, request->u.qp.pd, OBJECT_PD);
    const struct object *send_cq = mine(call, request->u.qp.send_cq, OBJECT_CQ);
    const struct object *recv_cq = mine(call, request->u.qp.recv_cq, OBJECT_CQ);
    const struct object *srq = mine(call, request->u.qp.srq, OBJECT_SRQ);
    const struct object *xrcd = mine(call, request->u.qp.xrcd, OBJECT_XRCD);
    bool initiator = init->type == HCA_QP_DCI || init->type == HCA_QP_XRC_INI;
    bool target = init->type == HCA_QP_DCT || init->type == HCA_QP_XRC_TGT;
    bool sends = !target, receives = !initiator && init->type != HCA_QP_XRC_TGT;
    if (init->type == HCA_QP_XRC_TGT ? !xrcd : !pd)
        return false;
    if ((sends && !send_cq) || (receives && !recv_cq) || (request->u.qp.srq && !srq))
        return false;
    init->pd.id = pd ? pd->id : 0;
    init->xrcd.id = xrcd ? xrcd->id : 0;
    init->send_cq.id = send_cq ? send_cq->id : 0;
    init->recv_cq.id = recv_cq ? recv_cq->id : 0;
    init->srq.id = srq ? srq->id : 0;
    return true;
}

void call_create_qp(const struct call *call)
{
    const struct protocol_request *request = call->request;
    struct hca_qp_init init = {.type = request->u.qp.type,
                               .max_send_wr = request->u.qp.max_send_wr,
                               .max_recv_wr = request->u.qp.max_recv_wr,
                               .max_send_sge = request->u.qp.max_send_sge,
                               .max_recv_sge = request->u.qp.max_recv_sge,
                               .max_inline = request->u.qp.max_inline,
                               .sq_sig_all = request->u.qp.sq_sig_all != 0,
                               .dc_access_key = request->u.qp.dc_access_key};
    if (!find_parts(call, &init)) {
        call->out->reply.error = EINVAL;
        return;
    }
    struct object *object = begin(call, OBJECT_QP, request->u.qp.cookie);
    if (!object)
        return;
    init.context = object->handle;
    hca_qp qp = {0};
    struct hca_qp_info info = {.qp_num = 0};
    enum fabric_error error = hca_qp_create(call->hca, &init, &qp);
    if (!error)
        error = hca_qp_query(call->hca, qp, &info);
    struct object *xrcd = mine(call, request->u.qp.xrcd, OBJECT_XRCD);
    if (!error && xrcd && init.type == HCA_QP_XRC_TGT)
        call_join(object, xrcd);
    finish(call, object, error, qp.id);
    call->out->reply.u.made.key = info.qp_num;
}

void call_modify_qp(const struct call *call)
{
    const struct object *qp = mine(call, call->request->u.modify.handle, OBJECT_QP);
    struct hca_qp_attr attr;
    read_attr(&call->request->u.modify.attr, &attr);
    enum fabric_error error =
        qp ? hca_qp_modify(call->hca, (hca_qp){qp->id}, &attr, call->request->u.modify.mask)
           : ERR_INVALID_ARGUMENT;
    call->out->reply.error = service_errno(error);
}

void call_query_qp(const struct call *call)
{
    const struct object *qp = mine(call, call->request->u.handle, OBJECT_QP);
    struct hca_qp_info info;
    enum fabric_error error =
        qp ? hca_qp_query(call->hca, (hca_qp){qp->id}, &info) : ERR_INVALID_ARGUMENT;
    call->out->reply.error = service_errno(error);
    if (error)
        return;
    call->out->reply.u.qp.type = info.type;
    call->out->reply.u.qp.sq_draining = info.sq_draining;
    write_attr(&info.attr, &call->out->reply.u.qp.attr);
}

void call_create_ah(const struct call *call)
{
    const struct object *pd = mine(call, call->request->u.ah.pd, OBJECT_PD);
    struct object *object = pd ? begin(call, OBJECT_AH, 0) : NULL;
    struct fabric_av av;
    hca_ah ah = {0};
    if (!pd)
        call->out->reply.error = EINVAL;
    if (!object)
        return;
    read_av(&call->request->u.ah.av, &av);
    enum fabric_error error = hca_ah_create(call->hca, (hca_pd){pd->id}, &av, &ah);
    finish(call, object, error, ah.id);
}

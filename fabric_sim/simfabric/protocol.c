/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/simfabric/protocol.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fabric_sim/hca/hca.h"
#include "fabric_sim/testbed.h"
#include "src/fabric/planted.h"

static bool has_end(const char *name)
{
    return name[0] != '\0' && memchr(name, '\0', PROTOCOL_NAME) != NULL;
}

#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

static bool is_fault(const struct protocol_fault *fault)
{
    bool names = ENDS(fault->node) && ENDS(fault->device) && ENDS(fault->peer) && ENDS(fault->sm) &&
                 ENDS(fault->network) && ENDS(fault->text);
    bool times = fault->duration <= PROTOCOL_LONGEST && fault->jitter <= PROTOCOL_LONGEST;
    return names && times && fault->word < TESTBED_WORD_COUNT && fault->port < 256 &&
           fault->on <= 1 && fault->gid_type <= FABRIC_GID_TYPE_ROCE_V2;
}

static bool is_av(const struct protocol_av *av)
{
    return av->sl < 16 && av->is_global <= 1 && av->flow_label < 1u << 20 && av->unused == 0;
}

static bool is_attr(const struct protocol_qp_attr *attr, uint32_t mask)
{
    bool states = attr->state <= FABRIC_QPS_ERR && attr->cur_state <= FABRIC_QPS_ERR;
    bool mtu = !(mask & HCA_QP_PATH_MTU) ||
               (attr->path_mtu >= FABRIC_MTU_256 && attr->path_mtu <= FABRIC_MTU_4096);
    bool small = attr->port_num < 256 && attr->pkey_index < 65536 && attr->max_rd_atomic < 256 &&
                 attr->max_dest_rd_atomic < 256 && attr->min_rnr_timer < 32 && attr->timeout < 32 &&
                 attr->retry_cnt < 8 && attr->rnr_retry < 8 && attr->en_sqd_async_notify <= 1;
    bool numbers =
        attr->dest_qp_num < 1u << 24 && attr->rq_psn < 1u << 24 && attr->sq_psn < 1u << 24;
    return states && mtu && small && numbers && (!(mask & HCA_QP_AV) || is_av(&attr->av));
}

static bool is_access(uint32_t access)
{
    const uint32_t known = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
                           HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_MW_BIND;
    return (access & ~known) == 0;
}

static bool is_mr_change(const struct protocol_request *request)
{
    const uint32_t known = HCA_MR_TRANSLATION | HCA_MR_PD | HCA_MR_ACCESS;
    uint32_t changes = request->u.mr.changes;
    return changes != 0 && (changes & ~known) == 0 && is_access(request->u.mr.access) &&
           (request->u.mr.addr != 0 || !(changes & HCA_MR_TRANSLATION));
}

static bool holds_values(const struct protocol_request *request)
{
    switch (request->op) {
    case PROTOCOL_OPEN:
        return has_end(request->u.open.node) && has_end(request->u.open.device);
    case PROTOCOL_FAULT:
        return is_fault(&request->u.fault);
    case PROTOCOL_ASK:
        return has_end(request->u.ask.node) && ENDS(request->u.ask.query);
    case PROTOCOL_QUERY_PORT:
        return request->u.port < 256;
    case PROTOCOL_ROUTE:
        return request->u.route.port < 256 && request->u.route.dlid < 65536 &&
               request->u.route.sl < 16;
    case PROTOCOL_REG_MR:
        return is_access(request->u.mr.access) && request->u.mr.addr != 0;
    case PROTOCOL_REREG_MR:
        return is_mr_change(request);
    case PROTOCOL_ALLOC_MW:
        return request->u.mw.type == HCA_MW_TYPE_1 || request->u.mw.type == HCA_MW_TYPE_2;
    case PROTOCOL_CREATE_CHANNEL:
        return request->u.channel.async <= 1;
    case PROTOCOL_CREATE_SRQ:
        return request->u.srq.max_sge <= FABRIC_MAX_SGE;
    case PROTOCOL_CREATE_QP:
        return request->u.qp.type <= HCA_QP_DCT && request->u.qp.sq_sig_all <= 1;
    case PROTOCOL_OPEN_XRCD:
        return request->u.xrcd.by_file <= 1;
    case PROTOCOL_OPEN_QP:
        return request->u.open_qp.qp_num < 1u << 24;
    case PROTOCOL_MODIFY_QP:
        return is_attr(&request->u.modify.attr, request->u.modify.mask);
    case PROTOCOL_CREATE_AH:
        return is_av(&request->u.ah.av);
    case PROTOCOL_ATTACH_MCAST:
    case PROTOCOL_DETACH_MCAST:
        return request->u.mcast.mlid < 65536;
    default:
        return request->op < PROTOCOL_OP_COUNT;
    }
}

int protocol_check(const void *bytes, size_t length, struct protocol_request *out)
{
    assert(out && (bytes || length == 0));
    if (length != sizeof(*out))
        return EPROTO;
    memcpy(out, bytes, length);
    if (out->magic != PROTOCOL_MAGIC)
        return EPROTO;
    return holds_values(out) || PLANTED(simfabric_values_unchecked) ? 0 : EINVAL;
}

const char *protocol_op_name(uint32_t op)
{
    static const char *const names[] = {
#define PROTOCOL_OP(name) #name,
        PROTOCOL_OPS(PROTOCOL_OP)
#undef PROTOCOL_OP
    };
    return op < PROTOCOL_OP_COUNT ? names[op] : "unknown";
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/arrive.h"

#include <assert.h>

#include "src/fabric/planted.h"

static bool gid_is_own(const struct port_info *info, const union fabric_gid *gid)
{
    bool infiniband = info->link_layer != FABRIC_LINK_LAYER_ETHERNET;
    for (uint16_t i = 0; i < info->gid_count; i++)
        if (rules_gid(&info->gids[i].gid, gid, infiniband))
            return true;
    return false;
}

const char *arrive_port(const struct port_info *info, const struct packet *packet)
{
    bool ethernet = info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    if (info->state < FABRIC_PORT_ARMED)
        return "port state";
    assert(info->gid_count <= PORT_GIDS);
    bool multicast = ethernet ? packet->dgid.raw[0] == 0xff : packet->dlid >= 0xc000;
    if (multicast)
        return NULL;
    if (!ethernet && !rules_dlid(info, packet->dlid))
        return "DLID";
    if (packet->is_global && !gid_is_own(info, &packet->dgid))
        return "DGID";
    return NULL;
}

const char *arrive_queue_pair(const struct qp_state *qp, const struct path_state *path,
                              const struct port_info *info, const struct packet *packet)
{
    uint8_t kind = rules_opcode(packet->opcode)->kind;
    assert(path->transport != BTH_RD && path->transport <= BTH_DC);
    bool response = kind == RULES_RESPONSE;
    if (qp->attr.port_num != info->port_num && !PLANTED(hca_port_unchecked))
        return "port";
    if (path->transport != (packet->opcode & 0xe0))
        return "transport";
    if ((qp->type == HCA_QP_DCI || qp->type == HCA_QP_XRC_INI) && !response)
        return "direction";
    if ((qp->type == HCA_QP_DCT || qp->type == HCA_QP_XRC_TGT) && response)
        return "direction";
    if (qp->type == HCA_QP_UD && kind != RULES_SEND)
        return "opcode";
    if ((qp->state < FABRIC_QPS_RTR || qp->state == FABRIC_QPS_ERR) &&
        !PLANTED(hca_state_unchecked))
        return "QP state";
    return NULL;
}

bool arrive_pkey(const struct qp_state *qp, const struct port_info *info,
                 const struct packet *packet)
{
    bool response = rules_opcode(packet->opcode)->kind == RULES_RESPONSE;
    assert(qp->attr.pkey_index < PORT_PKEYS);
    if (PLANTED(hca_pkey_not_on_acks) && (packet->opcode & 0x1f) == BTH_ACKNOWLEDGE)
        return true;
    if (PLANTED(hca_pkey_not_on_responses) && response)
        return true;
    return rules_pkey(info->pkeys[qp->attr.pkey_index], packet->pkey);
}

const char *arrive_peer(fabric_caps caps, const struct qp_state *qp, const struct path_state *path,
                        const struct port_info *info, const struct packet *packet)
{
    if (!rules_grh(path->av.is_global, packet->is_global))
        return "GRH";
    if (qp->type == HCA_QP_DCT)
        return NULL;
    bool ethernet = info->link_layer == FABRIC_LINK_LAYER_ETHERNET;
    if (packet->is_global && !rules_gid(&path->av.grh.dgid, &packet->sgid, !ethernet))
        return "SGID";
    if (!ethernet && (caps & FABRIC_CAP_SLID_CHECK) && !rules_slid(path->av.dlid, packet->slid))
        return "SLID";
    return NULL;
}

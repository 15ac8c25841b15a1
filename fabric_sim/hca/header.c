/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_sim/hca/header.h"

#include <assert.h>
#include <string.h>

#include "src/fabric/planted.h"

uint16_t header_wire_bytes(const struct packet *packet, bool ethernet)
{
    const struct rules_opcode *op = rules_opcode(packet->opcode);
    uint32_t bytes = 12 + (packet->payload_length + 3) / 4 * 4 + 4; /* BTH, payload, ICRC */
    if (ethernet)
        bytes += 14 + 40 + 8 + 4; /* Ethernet, IPv6, UDP, FCS */
    else
        bytes += 8 + (packet->is_global ? 40u : 0u) + 2; /* LRH, GRH, VCRC */
    bytes += op->reth ? 16u : 0u;
    bytes += op->aeth ? 4u : 0u;
    bytes += op->imm || op->ieth ? 4u : 0u;
    bytes += op->atomic_eth ? 28u : 0u;
    bytes += op->atomic_ack_eth ? 8u : 0u;
    bytes += (packet->opcode & 0xe0) == BTH_UD ? 8u : 0u;
    bytes += (packet->opcode & 0xe0) == BTH_DC ? 16u : 0u;
    bytes += (packet->opcode & 0xe0) == BTH_XRC && op->kind != RULES_RESPONSE ? 4u : 0u;
    assert(bytes <= UINT16_MAX);
    return (uint16_t)bytes;
}

static void put_addresses(const struct port_info *info, const struct fabric_av *av,
                          struct packet *packet)
{
    packet->sl = av->sl;
    packet->is_global = av->is_global;
    if (info->link_layer != FABRIC_LINK_LAYER_ETHERNET) {
        uint16_t mask = (uint16_t)((1u << info->lmc) - 1);
        packet->dlid = av->dlid;
        packet->slid = (uint16_t)((info->lid & ~mask) | (av->src_path_bits & mask));
    }
    if (!av->is_global)
        return;
    packet->sgid = info->gids[av->grh.sgid_index].gid;
    packet->dgid = av->grh.dgid;
    packet->hop_limit = av->grh.hop_limit;
    packet->traffic_class = av->grh.traffic_class;
    packet->flow_label = av->grh.flow_label;
}

void header_fill(struct packet *packet, const struct port_info *info, const struct qp_state *qp,
                 const struct path_state *path, uint8_t operation, uint32_t psn)
{
    assert(psn <= RULES_PSN_MASK && qp->attr.pkey_index < PORT_PKEYS);
    put_addresses(info, &path->av, packet);
    packet->opcode = (uint8_t)(path->transport | operation);
    packet->pkey = info->pkeys[qp->attr.pkey_index];
    packet->dest_qp = path->dest_qp;
    packet->psn = psn;
    if (path->transport != BTH_RC && path->transport != BTH_UC)
        packet->src_qp = qp->qp_num;
}

uint8_t header_operation(enum hca_wr_opcode opcode, bool first, bool last)
{
    bool write = opcode == HCA_WR_RDMA_WRITE || opcode == HCA_WR_RDMA_WRITE_WITH_IMM;
    bool imm = opcode == HCA_WR_SEND_WITH_IMM || opcode == HCA_WR_RDMA_WRITE_WITH_IMM;
    uint8_t base = write ? BTH_WRITE_FIRST : BTH_SEND_FIRST;
    assert(!rules_is_read_or_atomic(opcode));
    if (opcode == HCA_WR_SEND_WITH_INV && last)
        return first ? BTH_SEND_ONLY_INV : BTH_SEND_LAST_INV;
    if (first && last)
        return (uint8_t)(base + (imm ? 5 : 4));
    if (first)
        return base;
    return (uint8_t)(base + (last ? (imm ? 3 : 2) : 1));
}

uint32_t header_qkey(const struct qp_state *qp, uint32_t requested)
{
    return requested & 0x80000000u ? qp->attr.qkey : requested;
}

bool header_loops_back(const struct port_info *info, const struct packet *packet)
{
    if (info->state != FABRIC_PORT_ACTIVE)
        return false;
    if (info->link_layer == FABRIC_LINK_LAYER_ETHERNET)
        return memcmp(&packet->sgid, &packet->dgid, sizeof(packet->dgid)) == 0;
    return packet->dlid < 0xc000 && rules_dlid(info, packet->dlid) && !PLANTED(hca_dlid_unchecked);
}

void header_grh(const struct packet *packet, uint8_t out[GRH_BYTES])
{
    uint32_t head = 6u << 28 | (uint32_t)packet->traffic_class << 20 | packet->flow_label;
    uint32_t length = packet->payload_length;
    memset(out, 0, GRH_BYTES);
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(head >> (24 - 8 * i));
    out[4] = (uint8_t)(length >> 8);
    out[5] = (uint8_t)length;
    out[6] = 0x1b; /* IBA transport */
    out[7] = packet->hop_limit;
    memcpy(out + 8, packet->sgid.raw, 16);
    memcpy(out + 24, packet->dgid.raw, 16);
}

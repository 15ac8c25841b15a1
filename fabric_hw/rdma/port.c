/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and their tables. */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "fabric_hw/rdma/state.h"
#include "src/fabric/gid.h"
#include "src/fabric/planted.h"

bool rdma_is_port(const struct rdma_device *device, uint8_t port_num)
{
    return port_num >= 1 && port_num <= device->attr.num_ports;
}

static enum fabric_error query(struct rdma_device *device, uint8_t port_num,
                               struct ibv_port_attr *out)
{
    if (device->removed)
        return ERR_DEVICE_REMOVED;
    if (!rdma_is_port(device, port_num))
        return ERR_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    int number = device->rdma->calls->query_port(device->context, port_num, out);
    return number ? rdma_failed(device, "ibv_query_port", number) : FABRIC_OK;
}

static enum fabric_link_layer link_layer_of(const struct rdma_device *device, uint8_t link_layer)
{
    if (link_layer == IBV_LINK_LAYER_ETHERNET)
        return FABRIC_LINK_LAYER_ETHERNET;
    if (link_layer == IBV_LINK_LAYER_INFINIBAND)
        return FABRIC_LINK_LAYER_INFINIBAND;
    /* Drivers from before RoCE say nothing: InfiniBand, unless it is iWARP. */
    return device->attr.iwarp ? FABRIC_LINK_LAYER_ETHERNET : FABRIC_LINK_LAYER_INFINIBAND;
}

bool rdma_device_links_ethernet(struct rdma_device *device, uint8_t port_num)
{
    struct ibv_port_attr port;
    return !query(device, port_num, &port) &&
           link_layer_of(device, port.link_layer) == FABRIC_LINK_LAYER_ETHERNET;
}

static enum fabric_port_state state_of(enum ibv_port_state state)
{
    if (state == IBV_PORT_ACTIVE_DEFER) /* its link is gone for the moment */
        return FABRIC_PORT_ARMED;
    return state <= IBV_PORT_ACTIVE ? (enum fabric_port_state)state : FABRIC_PORT_NOP;
}

static uint8_t lanes_of(uint8_t width)
{
    static const uint8_t lanes[][2] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    for (size_t i = 0; i < sizeof(lanes) / sizeof(*lanes); i++) {
        if (lanes[i][0] == width)
            return lanes[i][1];
    }
    return 0;
}

/* Mbit/s of one lane: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR (vol. 1, PortInfo: LinkSpeed). */
static uint32_t lane_speed(uint8_t speed)
{
    static const uint32_t speeds[][2] = {{1, 2500},   {2, 5000},   {4, 10000},  {8, 10000},
                                         {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}};
    for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++) {
        if (speeds[i][0] == speed)
            return speeds[i][1];
    }
    return 2500;
}

static uint64_t guid_of(struct rdma_device *device, uint8_t port_num)
{
    struct ibv_gid_entry entry;
    union fabric_gid gid;
    if (device->rdma->calls->query_gid_ex(device->context, port_num, 0, &entry, 0))
        return 0;
    memcpy(gid.raw, entry.gid.raw, sizeof(gid.raw));
    return be64toh(entry.gid.global.interface_id);
}

enum fabric_error rdma_port_query(struct fabric *f, fabric_device handle, uint8_t port_num,
                                  struct fabric_port_attr *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    struct ibv_port_attr port;
    enum fabric_error error = query(device, port_num, &port);
    if (error)
        return error;
    bool infiniband = link_layer_of(device, port.link_layer) == FABRIC_LINK_LAYER_INFINIBAND;
    *out = (struct fabric_port_attr){
        .port_num = port_num,
        .state = state_of(port.state),
        .link_layer = link_layer_of(device, port.link_layer),
        .lid = infiniband ? port.lid : 0,
        .sm_lid = infiniband ? port.sm_lid : 0,
        .phys_state = port.phys_state,
        .sm_sl = port.sm_sl,
        .lmc = infiniband ? port.lmc : 0,
        .max_mtu = (enum fabric_mtu)port.max_mtu,
        .active_mtu = (enum fabric_mtu)port.active_mtu,
        .flags = port.flags & IBV_QPF_GRH_REQUIRED && infiniband ? FABRIC_PORT_GRH_REQUIRED : 0,
        .gid_tbl_len = port.gid_tbl_len > 0 ? (uint32_t)port.gid_tbl_len : 0,
        .pkey_tbl_len = port.pkey_tbl_len,
        .active_width = lanes_of(port.active_width),
        .capability_mask = infiniband ? port.port_cap_flags : 0,
        .port_guid = guid_of(device, port_num),
        .bad_pkey_cntr = port.bad_pkey_cntr,
        .qkey_viol_cntr = port.qkey_viol_cntr,
    };
    out->active_speed_mbps = lane_speed(port.active_speed) * out->active_width;
    return FABRIC_OK;
}

/* A hole, and an entry past the end, are ENODATA; older kernels are asked through files, which
 * answer a hole with zeros. */
enum fabric_error rdma_gid_query(struct fabric *f, fabric_device handle, uint8_t port_num,
                                 uint32_t index, struct fabric_gid_entry *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    static const union ibv_gid none;
    struct ibv_port_attr port;
    struct ibv_gid_entry entry;
    enum fabric_error error = query(device, port_num, &port);
    if (error)
        return error;
    if (port.gid_tbl_len <= 0 || index >= (uint32_t)port.gid_tbl_len)
        return ERR_NOT_FOUND;
    int number = device->rdma->calls->query_gid_ex(device->context, port_num, index, &entry, 0);
    if (number == ENODATA || number == ENOENT || number == EINVAL)
        return ERR_NOT_FOUND;
    if (number)
        return rdma_failed(device, "ibv_query_gid_ex", number);
    if (memcmp(&entry.gid, &none, sizeof(none)) == 0 && !PLANTED(rdma_gid_hole_told))
        return ERR_NOT_FOUND;
    *out = (struct fabric_gid_entry){.index = index};
    memcpy(out->gid.raw, entry.gid.raw, sizeof(out->gid.raw));
    out->type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? FABRIC_GID_TYPE_ROCE_V2
                : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? FABRIC_GID_TYPE_ROCE_V1
                                                         : FABRIC_GID_TYPE_IB;
    char name[IF_NAMESIZE];
    if (entry.ndev_ifindex && if_indextoname(entry.ndev_ifindex, name))
        snprintf(out->netdev, sizeof(out->netdev), "%s", name);
    return FABRIC_OK;
}

enum fabric_error rdma_pkey_query(struct fabric *f, fabric_device handle, uint8_t port_num,
                                  uint32_t index, uint16_t *out)
{
    struct rdma_device *device = rdma_device_get(rdma_of(f), handle.id);
    struct ibv_port_attr port;
    __be16 pkey = 0;
    enum fabric_error error = query(device, port_num, &port);
    if (error)
        return error;
    if (index >= port.pkey_tbl_len)
        return ERR_PKEY_INDEX_RANGE;
    errno = 0;
    if (device->rdma->calls->query_pkey(device->context, port_num, (int)index, &pkey))
        return rdma_failed(device, "ibv_query_pkey", errno ? errno : EIO);
    *out = be16toh(pkey);
    return FABRIC_OK;
}

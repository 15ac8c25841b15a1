/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* endian.h */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric_sim/verbs/plugin.h"

#define MAX_MESSAGE 0x80000000u /* 2^31 bytes; vol. 1, chapter 9.2 */
#define PAGE_SIZES 0xfffff000u  /* a page of 4096 bytes and any larger one */
#define CLOCK_KHZ 1000000       /* of time stamps: one tick a ns */
#define GROUPS 8192             /* multicast groups */

static void fill_device(const struct protocol_device *from, struct ibv_device_attr *to)
{
    *to = (struct ibv_device_attr){
        .node_guid = htobe64(from->node_guid),
        .sys_image_guid = htobe64(from->sys_image_guid),
        .max_mr_size = from->max_mr_size,
        .page_size_cap = PAGE_SIZES,
        .vendor_id = from->vendor_id,
        .vendor_part_id = from->vendor_part_id,
        .hw_ver = from->hw_ver,
        .max_qp = (int)from->max_qp,
        .max_qp_wr = (int)from->max_qp_wr,
        .device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                            IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
                            IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                            IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_XRC,
        .max_sge = (int)from->max_sge,
        .max_sge_rd = (int)from->max_sge,
        .max_cq = (int)from->max_cq,
        .max_cqe = (int)from->max_cqe,
        .max_mr = (int)from->max_mr,
        .max_mw = (int)from->max_mw,
        .max_pd = (int)from->max_pd,
        .max_qp_rd_atom = (int)from->max_rd_atomic,
        .max_res_rd_atom = (int)(from->max_rd_atomic * from->max_qp),
        .max_qp_init_rd_atom = (int)from->max_init_rd_atomic,
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_mcast_grp = GROUPS,
        .max_mcast_qp_attach = (int)from->max_mcast_attach,
        .max_total_mcast_qp_attach = (int)(from->max_mcast_attach * GROUPS),
        .max_ah = (int)from->max_ah,
        .max_srq = (int)from->max_srq,
        .max_srq_wr = (int)from->max_qp_wr,
        .max_srq_sge = (int)from->max_sge,
        .max_pkeys = (uint16_t)from->max_pkeys,
        .local_ca_ack_delay = (uint8_t)from->local_ca_ack_delay,
        .phys_port_cnt = (uint8_t)from->num_ports};
    snprintf(to->fw_ver, sizeof(to->fw_ver), "%.31s", from->fw_ver);
}

/* `size` says how much of the structure the caller has: an older program knows less of it. */
int plugin_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                        struct ibv_device_attr_ex *attr, size_t size)
{
    assert(context && attr);
    struct protocol_request request = client_request(PROTOCOL_QUERY_DEVICE);
    struct protocol_reply reply;
    if ((input && input->comp_mask) || size < sizeof(attr->orig_attr))
        return EINVAL;
    int error = plugin_call(context_of_plugin(context), &request, &reply, NULL);
    if (error)
        return error;
    memset(attr, 0, size);
    fill_device(&reply.u.device, &attr->orig_attr);
    if (size >= offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof(uint32_t))
        attr->phys_port_cnt_ex = reply.u.device.num_ports;
    if (size >= offsetof(struct ibv_device_attr_ex, device_cap_flags_ex) + sizeof(uint64_t)) {
        attr->completion_timestamp_mask = UINT64_MAX;
        attr->hca_core_clock = CLOCK_KHZ;
        attr->device_cap_flags_ex = attr->orig_attr.device_cap_flags;
    }
    return 0;
}

/* As drivers give it: a count of ticks, all of it in tv_nsec. */
int plugin_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    assert(context && values);
    struct protocol_request request = client_request(PROTOCOL_QUERY_CLOCK);
    struct protocol_reply reply;
    int error = plugin_call(context_of_plugin(context), &request, &reply, NULL);
    if (error)
        return error;
    values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
    if (values->comp_mask)
        values->raw_clock = (struct timespec){.tv_nsec = (long)reply.u.clock};
    return 0;
}

/* Codes of LinkSpeedActive and LinkSpeedExtActive as verbs give them, for one lane. */
static uint8_t speed_code(uint32_t mbps)
{
    static const struct {
        uint32_t mbps;
        uint8_t code;
    } speeds[] = {{2500, 1},   {5000, 2},   {10000, 4},   {14000, 16},
                  {25000, 32}, {50000, 64}, {100000, 128}};
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
        if (speeds[i].mbps >= mbps)
            return speeds[i].code;
    }
    return 128;
}

static uint8_t width_code(uint32_t lanes)
{
    return lanes >= 12 ? 8 : lanes >= 8 ? 4 : lanes >= 4 ? 2 : 1;
}

int plugin_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
    struct protocol_request request = client_request(PROTOCOL_QUERY_PORT);
    struct protocol_reply reply;
    const struct protocol_port *from = &reply.u.port;
    request.u.port = port;
    int error = plugin_call(context_of_plugin(context), &request, &reply, NULL);
    if (error)
        return error;
    assert(from->state <= IBV_PORT_ACTIVE);
    uint32_t lanes = from->width ? from->width : 1;
    *attr = (struct ibv_port_attr){.state = from->state,
                                   .max_mtu = from->max_mtu,
                                   .active_mtu = from->active_mtu,
                                   .gid_tbl_len = (int)from->gid_tbl_len,
                                   .port_cap_flags = from->capability_mask,
                                   .max_msg_sz = MAX_MESSAGE,
                                   .bad_pkey_cntr = from->bad_pkey_cntr,
                                   .qkey_viol_cntr = from->qkey_viol_cntr,
                                   .pkey_tbl_len = (uint16_t)from->pkey_tbl_len,
                                   .lid = (uint16_t)from->lid,
                                   .sm_lid = (uint16_t)from->sm_lid,
                                   .lmc = (uint8_t)from->lmc,
                                   .max_vl_num = 1,
                                   .sm_sl = (uint8_t)from->sm_sl,
                                   .active_width = width_code(lanes),
                                   .active_speed = speed_code(from->speed_mbps / lanes),
                                   .phys_state = (uint8_t)from->phys_state,
                                   .link_layer = (uint8_t)from->link_layer,
                                   .flags = from->grh_required ? IBV_QPF_GRH_REQUIRED : 0};
    return 0;
}

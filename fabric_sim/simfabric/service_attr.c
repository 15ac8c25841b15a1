/* SPDX-License-Identifier: Apache-2.0 */
/* Address vectors and attributes of queue pairs, from the form of the protocol and back. */
#include <assert.h>
#include <string.h>

#include "fabric_sim/simfabric/service.h"

void service_read_av(const struct protocol_av *from, struct fabric_av *to)
{
    assert(from && to);
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

void service_write_av(const struct fabric_av *from, struct protocol_av *to)
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

void service_read_attr(const struct protocol_qp_attr *from, struct hca_qp_attr *to)
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
    service_read_av(&from->av, &to->av);
}

void service_write_attr(const struct hca_qp_attr *from, struct protocol_qp_attr *to)
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
    service_write_av(&from->av, &to->av);
}

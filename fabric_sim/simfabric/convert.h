/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of requests and replies, as the device has them. */
#ifndef FABRIC_SIM_SIMFABRIC_CONVERT_H
#define FABRIC_SIM_SIMFABRIC_CONVERT_H

#include "fabric_sim/hca/hca.h"
#include "fabric_sim/simfabric/protocol.h"

void convert_read_av(const struct protocol_av *from, struct fabric_av *to);
void convert_write_av(const struct fabric_av *from, struct protocol_av *to);
void convert_read_attr(const struct protocol_qp_attr *from, struct hca_qp_attr *to);
void convert_write_attr(const struct hca_qp_attr *from, struct protocol_qp_attr *to);

#endif

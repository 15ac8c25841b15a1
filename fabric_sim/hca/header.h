/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of packets as a queue pair sends them (chapters 5, 7, 9 of the InfiniBand specification,
 * vol. 1), and what they weigh on the wire. Both engines make and weigh them by these.
 */
#ifndef FABRIC_SIM_HCA_HEADER_H
#define FABRIC_SIM_HCA_HEADER_H

#include "fabric_sim/hca/rules.h"
#include "fabric_sim/hca/state.h"

#define GRH_BYTES 40

/* Fills addresses, opcode, P_Key, destination and PSN of a packet that is zero. The attributes of
 * the port are those of the moment. */
void header_fill(struct packet *packet, const struct port_info *info, const struct qp_state *qp,
                 const struct path_state *path, uint8_t operation, uint32_t psn);
/* The operation of a packet of a SEND or an RDMA WRITE. */
uint8_t header_operation(enum hca_wr_opcode opcode, bool first, bool last);
/* The Q_Key that a datagram carries (chapter 10.2.5: with the top bit set, the queue pair's own).
 */
uint32_t header_qkey(const struct qp_state *qp, uint32_t requested);
/* Bytes on the wire (RoCE v2 as annex A17). */
uint16_t header_wire_bytes(const struct packet *packet, bool ethernet);
/* Whether it is for the very port that sends it, and so never leaves it. */
bool header_loops_back(const struct port_info *info, const struct packet *packet);
/* The GRH of a datagram as it stands before the data of its receive (chapter 11.4.1.2). */
void header_grh(const struct packet *packet, uint8_t out[GRH_BYTES]);

#endif

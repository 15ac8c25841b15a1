/* SPDX-License-Identifier: Apache-2.0 */
/* What completions say (chapter 11.4.2.1), whichever engine brings them. */
#ifndef FABRIC_SIM_HCA_COMPLETION_H
#define FABRIC_SIM_HCA_COMPLETION_H

#include "fabric_sim/hca/rules.h"
#include "fabric_sim/hca/state.h"

struct hca_wc completion_of_send(const struct qp_state *qp, const struct send_wqe *wqe,
                                 enum fabric_wc_status status);
/* Whether a request that went well completes to the program at all (chapter 10.7.3.1). */
bool completion_is_signaled(const struct qp_state *qp, const struct send_wqe *wqe);
/* Of a message of `length` bytes whose last packet is given: a SEND, or else an RDMA WRITE. */
struct hca_wc completion_of_message(const struct packet *last, bool write, uint32_t length);
/* Of a datagram that came in by the port. */
struct hca_wc completion_of_datagram(const struct qp_state *qp, const struct port_info *info,
                                     const struct packet *packet);
/* Whose receive it was. */
void completion_name_receive(struct hca_wc *wc, const struct qp_state *qp,
                             const struct recv_wqe *recv);

#endif

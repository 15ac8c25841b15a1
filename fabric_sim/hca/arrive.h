/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a packet that arrives (chapter 9.6 of the InfiniBand specification, vol. 1), in
 * that order, on the state of the device alone: the rules by which both engines judge. Each gives
 * the reason why the packet is dropped, or null.
 */
#ifndef FABRIC_SIM_HCA_ARRIVE_H
#define FABRIC_SIM_HCA_ARRIVE_H

#include "fabric_sim/hca/rules.h"
#include "fabric_sim/hca/state.h"

/* Chapter 7.11 and 8.4: the packet is for this port at all. */
const char *arrive_port(const struct port_info *info, const struct packet *packet);
/* Chapter 9.6.1.2.1: the queue pair is one of this port, transport and type agree, and it receives.
 * A requester takes only responses, a target only requests. */
const char *arrive_queue_pair(const struct qp_state *qp, const struct path_state *path,
                              const struct port_info *info, const struct packet *packet);
/* Chapter 9.6.1.2.3 and 10.9.3: on requests, acknowledgements and responses alike. True: matches.
 */
bool arrive_pkey(const struct qp_state *qp, const struct port_info *info,
                 const struct packet *packet);
/* Chapter 9.6.1.5: a connected queue pair hears only its peer. A DC target has none; its responders
 * were made for the source they came from. */
const char *arrive_peer(fabric_caps caps, const struct qp_state *qp, const struct path_state *path,
                        const struct port_info *info, const struct packet *packet);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program does to the state of a device by itself, without any engine: posting and polling.
 * In one process the HCA calls these; where the state lies in shared memory each program does, in
 * its own thread, and rings a doorbell afterwards (hca_qp_doorbell).
 *
 * Whoever calls holds the lock of the state, where there is one. A caller that dies in the middle
 * leaves every ring whole: the entry is written first, then the position that makes it part of the
 * ring, so that the next owner of the lock finds all of the request or none of it.
 */
#ifndef FABRIC_SIM_HCA_QUEUE_H
#define FABRIC_SIM_HCA_QUEUE_H

#include "fabric_sim/hca/state.h"

/* Promises and errors as fabric.h states them at qp_post_send and qp_post_recv; also
 * device_removed. Inline data is read through its host address, now. */
enum fabric_error queue_post_send(struct hca_state *state, struct qp_state *qp,
                                  const struct hca_send_wr *wr);
enum fabric_error queue_post_recv(struct hca_state *state, struct qp_state *qp,
                                  const struct hca_recv_wr *wr);
enum fabric_error queue_post_srq_recv(struct hca_state *state, struct srq_state *srq,
                                      const struct hca_recv_wr *wr);

/* Whether the engine must look at the queue pair after such a post: it has something to send, or to
 * flush. */
bool queue_send_rings(const struct qp_state *qp);
bool queue_recv_rings(const struct qp_state *qp);

/* Takes up to capacity completions, oldest first, and returns their number. */
size_t queue_poll(struct hca_state *state, struct cq_state *cq, struct hca_wc *wcs,
                  size_t capacity);
/* Completions of the queue pair are gone, as from the CQs of a program that resets it. The order of
 * the others stays. */
void queue_purge(struct hca_state *state, struct cq_state *cq, uint32_t qp);
/* Whether there is nothing to poll; needs no lock, of the one thread that polls this CQ. */
bool queue_is_empty(const struct cq_state *cq);

/* Asks to be told of the next completion, or of the next solicited or failed one (vol. 1, chapter
 * 11.4.2.2). Having asked for any is not taken back by asking for less. */
void queue_arm(struct cq_state *cq, bool solicited_only);
/* For the engine, at each completion: whether the program is to be told now, which takes the
 * request back. */
bool queue_tells(struct cq_state *cq, bool solicited_or_failed);

#endif
